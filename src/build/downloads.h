// Files that sources need and do not have.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::build {

// The contents by their place among the sources, each with the digest that the spec gives, else an integrity
// error with both. Redirects are followed. network: it cannot be had; with `offline` always.
Result<std::map<std::string, std::string>> download(const std::vector<spec::Download>& downloads,
                                                    bool offline, Progress& progress);

} // namespace xaas::build
