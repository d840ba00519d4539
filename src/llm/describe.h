// The description of a build for the model: the findings and the text of their files.
#pragma once

#include "tree_lines.h"

#include <xaas/base/json.h>
#include <xaas/discover/discover.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas::llm {

struct Description {
  std::string text;                  // JSON
  std::vector<std::string> left_out; // "120 of 400 options", for people
};

// A function of its arguments and of the tree. At most `limit` bytes plus a frame of less than 4 KiB: each
// kind of finding has a share, and the files get the rest.
Description describe(TreeLines& tree, const discover::Findings& findings,
                     const discover::Discovery& discovery, uint64_t limit);

} // namespace xaas::llm
