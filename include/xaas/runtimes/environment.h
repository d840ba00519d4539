// The environment of a program that runs in an image.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xaas::runtimes {

// The variables of the host that images get, then the image's (K=V), then `own`; later ones win. `visible`
// tells whether the program sees a directory of the host.
std::map<std::string, std::string> environment_of(const std::map<std::string, std::string>& host,
                                                  const std::vector<std::string>& image,
                                                  const std::map<std::string, std::string>& own,
                                                  const std::function<bool(const std::string&)>& visible);

// True for a name that a shell takes: letters, digits and `_`, and no digit first.
bool is_variable_name(const std::string& name);

// True if `name` matches one of the patterns.
bool matches(const std::string& name, const std::vector<std::string>& patterns);

} // namespace xaas::runtimes
