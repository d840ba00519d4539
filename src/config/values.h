// Texts as values of settings.
#pragma once

#include <xaas/config/settings.h>

namespace xaas::config {

std::string_view config_schema(); // specs/schema/config.schema.json

using Environment = std::function<std::optional<std::string>(const char* name)>;

// A path of a file of settings: `~/` at its beginning and `${NAME}` anywhere are replaced. `what` names the
// place in errors: a variable that is not set, a path that is not absolute in the end.
Result<std::string> expand(const std::string& path, const Environment& environment, const std::string& what);

// What a variable or an option says, as a value of a setting. Usage error that begins with `what`.
Result<Json> parse_value(const Definition& definition, const std::string& text, const std::string& what);

// What holds if nobody says anything.
Json built_in_value(const Definition& definition, const Environment& environment);

} // namespace xaas::config
