// What the model is told of a build: the findings, and the text of the files that they are from.
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

// A function of its arguments and of the tree alone. At most `limit` bytes, but for a frame of less than
// 4 KiB: each kind of finding has a share, and what shares leave over is the files'.
Description describe(TreeLines& tree, const discover::Findings& findings,
                     const discover::Discovery& discovery, uint64_t limit);

} // namespace xaas::llm
