// A machine in a temporary directory, for the tests of detection.
#pragma once

#include <xaas/system/system.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace xaas::system {

// The first bytes of a shared library for an architecture.
inline std::string elf(const std::string& arch = "x86_64") {
  std::string header("\x7f"
                     "ELF\x02\x01\x01",
                     7);
  header.resize(64);
  header[16] = 3;
  header[18] = static_cast<char>(arch == "x86_64" ? 62 : 183);
  return header;
}

class Detect : public testing::Test {
protected:
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  Probes probes_;

  void SetUp() override {
    probes_.root = directory_.path() / "root";
    probes_.cpu = *target::cpu_by_name("x86_64", "znver3");
    probes_.path = {(directory_.path() / "bin").string()};
    probes_.environment = {{"HOME", "/root"}};
    ASSERT_TRUE(make_directories(probes_.root));
    ASSERT_TRUE(make_directories(probes_.path[0]));
  }

  void TearDown() override {
    for (const std::string& name : variables_)
      unsetenv(name.c_str());
  }

  // A variable of this process, for the length of the test; for the libraries that it loads.
  void variable(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
  }

  void file(const std::string& absolute, const std::string& content) {
    const fs::path path = probes_.root / absolute.substr(1);
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, content, 0644, false));
  }

  void copy(const std::string& from, const std::string& absolute) {
    const fs::path path = probes_.root / absolute.substr(1);
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(xaas::copy_file(from, path));
  }

  void link(const std::string& target, const std::string& absolute) {
    const fs::path path = probes_.root / absolute.substr(1);
    ASSERT_TRUE(make_directories(path.parent_path()));
    fs::create_symlink(target, path);
  }

  void program(const std::string& name, const std::string& script) {
    ASSERT_TRUE(write_file(fs::path(probes_.path[0]) / name, "#!/bin/sh\n" + script + "\n", 0755, false));
  }

  // One processor of /sys with its second-level cache.
  void processor(unsigned number, const std::string& siblings, const std::string& socket,
                 const std::string& l3) {
    const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(number);
    file(cpu + "/topology/core_cpus_list", siblings + "\n");
    file(cpu + "/topology/physical_package_id", socket + "\n");
    file(cpu + "/cache/index0/level", "1\n");
    file(cpu + "/cache/index0/type", "Data\n");
    file(cpu + "/cache/index0/size", "32K\n");
    file(cpu + "/cache/index0/shared_cpu_list", siblings + "\n");
    file(cpu + "/cache/index3/level", "3\n");
    file(cpu + "/cache/index3/type", "Unified\n");
    file(cpu + "/cache/index3/size", "32M\n");
    file(cpu + "/cache/index3/shared_cpu_list", l3 + "\n");
  }

private:
  std::vector<std::string> variables_;
};

} // namespace xaas::system
