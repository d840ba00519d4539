// What a source tree that has no spec says of itself.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::cli {

struct TreeDescription {
  Json json;                      // for `inspect`
  std::vector<std::string> notes; // what could not be read
};
Result<TreeDescription> describe_tree(const std::string& directory);
Result<Json> describe_tree_for_paper(const std::string& directory);

} // namespace xaas::cli
