#include "base/directory_testing.h"

#include <xaas/frontdoor/toolchains.h>

#include <gtest/gtest.h>

#include <cstdlib>

namespace xaas::frontdoor {

namespace {

class ToolchainsTest : public DirectoryTest {};

TEST_F(ToolchainsTest, AToolkitHasTheHeadersOfTheRunTimeLibrary) {
  write("wrapper/bin/nvcc", "#!/bin/sh\n");
  write("wrapper/include/other.h", "");
  write("toolkit/bin/nvcc", "#!/bin/sh\n");
  write("toolkit/include/cuda_runtime.h", "");
  setenv("CUDA_PATH", path("wrapper").c_str(), 1);
  setenv("CUDA_HOME", path("toolkit").c_str(), 1);
  EXPECT_EQ(find_cuda(), path("toolkit"));
  unsetenv("CUDA_PATH");
  unsetenv("CUDA_HOME");
}

} // namespace

} // namespace xaas::frontdoor
