// The environment of a program in an image.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xaas::runtimes {

// What of the host's environment goes in, then the image's (K=V) over it, then `own`. `visible` says whether
// a directory of the host is seen by the program.
std::map<std::string, std::string> environment_of(const std::map<std::string, std::string>& host,
                                                  const std::vector<std::string>& image,
                                                  const std::map<std::string, std::string>& own,
                                                  const std::function<bool(const std::string&)>& visible);

// True if `name` matches one of the patterns.
bool matches(const std::string& name, const std::vector<std::string>& patterns);

} // namespace xaas::runtimes
