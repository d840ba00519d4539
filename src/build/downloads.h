// Files that the sources need but do not contain.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::build {

// The contents by their path among the sources. Each must have the digest that the spec gives; otherwise an
// integrity error names both. Redirects are followed. network: a file cannot be fetched; always with
// `offline`.
Result<std::map<std::string, std::string>> download(const std::vector<spec::Download>& downloads,
                                                    bool offline, Progress& progress);

} // namespace xaas::build
