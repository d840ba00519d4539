#include "base/directory_testing.h"

#include <xaas/frontdoor/toolchains.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace xaas::frontdoor {

namespace {

// Leaves the variables of the environment as they were.
class ToolchainsTest : public DirectoryTest {
protected:
  void SetUp() override {
    DirectoryTest::SetUp();
    for (auto& [name, value] : variables_)
      if (const char* set = std::getenv(name))
        value = set;
  }
  void TearDown() override {
    for (const auto& [name, value] : variables_)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

private:
  std::map<const char*, std::optional<std::string>> variables_ = {{"CUDA_PATH", {}}, {"CUDA_HOME", {}}};
};

TEST_F(ToolchainsTest, AToolkitHasTheHeadersOfTheRunTimeLibrary) {
  write("wrapper/bin/nvcc", "#!/bin/sh\n");
  write("wrapper/include/other.h", "");
  write("toolkit/bin/nvcc", "#!/bin/sh\n");
  write("toolkit/include/cuda_runtime.h", "");
  setenv("CUDA_PATH", path("wrapper").c_str(), 1);
  setenv("CUDA_HOME", path("toolkit").c_str(), 1);
  EXPECT_EQ(find_cuda(), path("toolkit"));
}

} // namespace

} // namespace xaas::frontdoor
