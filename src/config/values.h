// Conversion of text to the values of settings.
#pragma once

#include <xaas/config/settings.h>

namespace xaas::config {

std::string_view config_schema(); // specs/schema/config.schema.json

using Environment = std::function<std::optional<std::string>(const char* name)>;

// Expands a path of a settings file: a leading `~/` and every `${NAME}`. `what` names the place in errors: a
// variable that is not set, a path that is not absolute after expansion.
Result<std::string> expand(const std::string& path, const Environment& environment, const std::string& what);
// Whether every variable that expand() would need is set.
bool variables_are_set(const std::string& path, const Environment& environment);

// The text of a variable or an option as the value of a setting. A usage error begins with `what`.
Result<Json> parse_value(const Definition& definition, const std::string& text, const std::string& what);

// The value where no file, variable or option sets one.
Json built_in_value(const Definition& definition, const Environment& environment);

} // namespace xaas::config
