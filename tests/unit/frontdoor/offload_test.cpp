// OpenMP target regions without a GPU (the device is the CPU), and the tools that link device code.
#include "frontdoor/testing.h"

#include <gmock/gmock.h>

namespace xaas::frontdoor {

namespace {

using ::testing::HasSubstr;

const std::string region = "#include \"part.h\"\n"
                           "int main(void) {\n"
                           "  double sum = 0;\n"
                           "#pragma omp target teams distribute parallel for reduction(+ : sum)\n"
                           "  for (int i = 0; i < 100; ++i) sum += part(i);\n"
                           "  return sum != 4950;\n"
                           "}\n";
const std::string part = "#pragma omp declare target\n"
                         "static double part(int i) { return i; }\n"
                         "#pragma omp end declare target\n";
const std::string offload = "-O2 -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu";

class Offload : public FrontDoorTest {
protected:
  void write_region(const std::string& source) {
    write(source, region);
    write(fs::path(source).parent_path() / "part.h", part);
  }
};

TEST_F(Offload, ARegionIsAUnitForTheDevice) {
  write_region("src/a.c");
  sh("$CC " + offload + " -c a.c -o ../build/a.o");
  const ir::Unit unit = unit_of("build/a.o");
  EXPECT_EQ(unit.offload, "openmp");
  ASSERT_EQ(unit.device.size(), 1u);
  EXPECT_EQ(unit.device.begin()->first, ir::host_device);
  const Json device = stored(unit.device.begin()->second);
  const auto parsed = ir::parse_unit(JsonReader(device, "unit"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->source, "a.c");
  EXPECT_TRUE(parsed->machine.cpu.empty()); // the target decides
}

TEST_F(Offload, ASourceWithoutRegionsHasNone) {
  write("src/a.c", "int f(void) { return 1; }\n");
  sh("$CC " + offload + " -c a.c -o ../build/a.o");
  EXPECT_TRUE(unit_of("build/a.o").device.empty());
  EXPECT_TRUE(unit_of("build/a.o").offload.empty());
}

// Clang derives the name of a region from the file's device and inode.
TEST_F(Offload, RegionsHaveTheSameNamesEverywhere) {
  write_region("src/a.c");
  sh("$CC " + offload + " -c a.c -o ../build/a.o");
  const ir::Unit first = unit_of("build/a.o");
  write_region("src/other.c"); // takes the free inode
  fs::remove(path("src/a.c"));
  write_region("src/a.c");
  sh("$CC " + offload + " -c a.c -o ../build/a.o");
  EXPECT_EQ(unit_of("build/a.o"), first);
  sh("$CC " + offload + " -c other.c -o ../build/other.o");
  EXPECT_NE(unit_of("build/other.o").module, first.module); // two files, two names
}

TEST_F(Offload, AProgramOfItLinks) {
  write_region("src/a.c");
  sh("$CC " + offload + " a.c -o ../build/a -L$(dirname $(dirname $CLANG))/lib");
  EXPECT_TRUE(is_captured("build/a"));
}

TEST_F(Offload, ErrorsOfTheDeviceAreTheSources) {
  write("src/a.c", "int main(void) {\n#pragma omp target\n  { undeclared(); }\n  return 0;\n}\n");
  const std::string output = sh("$CC " + offload + " -c a.c -o ../build/a.o", 1);
  EXPECT_THAT(output, HasSubstr("undeclared"));
  EXPECT_FALSE(fs::exists(path("build/a.o")));
}

TEST_F(Offload, WhatCannotBeIrIsAnErrorWhereItIsLinked) {
  write_region("src/a.c");
  EXPECT_THAT(sh("$CC " + offload + " -fsanitize=address -c a.c -o ../build/a.o", 1),
              HasSubstr("device code that is linked must be IR"));
}

} // namespace

} // namespace xaas::frontdoor
