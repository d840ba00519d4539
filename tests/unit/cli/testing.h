// Runs the command line in this process.
#pragma once

#include <xaas/cli/cli.h>

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

namespace xaas::cli {

struct Ended {
  int code = 0;
  std::string output, errors;
};

inline Ended run_xaas(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "xaas");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ended result;
  result.code = run(static_cast<int>(argv.size()), argv.data());
  std::cout.flush();
  std::cerr.flush();
  result.output = ::testing::internal::GetCapturedStdout();
  result.errors = ::testing::internal::GetCapturedStderr();
  return result;
}

} // namespace xaas::cli
