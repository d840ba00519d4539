// Helpers of the link tests: a directory, and commands in it.
#pragma once

#include "base/directory_testing.h"

#include <xaas/base/process.h>

namespace xaas::link {

class LinkTest : public DirectoryTest {
protected:
  // Runs a shell command in the directory; its output.
  std::string sh(const std::string& command, int expected = 0) const {
    const auto result = run_process({.arguments = {"sh", "-c", command}, .directory = directory_->path()});
    EXPECT_TRUE(result) << result.error().message;
    if (!result)
      return {};
    EXPECT_EQ(result->exit_code, expected) << command << "\n" << result->output;
    return result->output;
  }
};

} // namespace xaas::link
