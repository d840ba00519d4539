#include <xaas/image/application_image.h>
#include <xaas/image/coverage.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Source {
  std::string name, code; // equal code: equal IR
  ir::MachineFlags machine;
  bool unoptimized = false;
};

// Bundles in which every configuration installs one program.
class CoverageOf : public ::testing::Test {
protected:
  CoverageOf() {
    bundle_.name = "solver";
    bundle_.arch = "x86_64";
    bundle_.llvm = llvm_version();
    bundle_.points = {point("isa", "cpu"), point("simd", "cpu"), point("threads", "threading")};
  }

  static spec::SpecializationPoint point(const std::string& name, const std::string& category) {
    spec::SpecializationPoint point;
    point.name = name;
    point.category = category;
    return point;
  }

  Digest put(const std::string& content) {
    const Digest digest = digest_of(content);
    contents_[digest] = content;
    return digest;
  }

  link::FileRef unit(const Source& source) {
    ir::Unit unit;
    unit.source = source.name;
    unit.machine = source.machine;
    unit.unoptimized = source.unoptimized;
    unit.module = put(source.code);
    unit.options = ir::UnitOptions{}.digest();
    bundle_.options[unit.options] = {};
    bundle_.modules[unit.module] = source.code.size();
    bundle_.units[unit.id()] = unit;
    return {link::FileRef::Kind::unit, unit.id(), "u.o"};
  }

  link::FileRef native(const std::string& name, const std::string& content, const std::string& reason) {
    const Digest digest = put(content);
    bundle_.kit[digest] = {name, content.size(), true, reason};
    return {link::FileRef::Kind::kit, digest, name};
  }

  void add(const std::map<std::string, std::string>& values, const std::vector<link::FileRef>& inputs) {
    link::LinkRecord record;
    record.name = "solver";
    for (const link::FileRef& input : inputs)
      record.items.push_back({link::LinkItem::Kind::input, "", "", input});
    bundle_.links[record.digest()] = record;
    BundleConfiguration configuration;
    configuration.configuration = spec::Configuration(values);
    link::InstalledFile program;
    program.kind = link::InstalledFile::Kind::link;
    program.path = "usr/bin/solver";
    program.digest = record.digest();
    configuration.installed = {program};
    bundle_.configurations.push_back(configuration);
  }

  Coverage coverage() const {
    Result<Coverage> result = coverage_of(bundle_);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Coverage{};
  }

  Bundle bundle_;
  std::map<Digest, std::string> contents_;
};

TEST_F(CoverageOf, ASourceIsSensitiveIfItsIrDiffersWhereOnlyTheInstructionSetDoes) {
  const auto plain = unit({"plain.c", "plain", {}});
  add({{"isa", "v1"}, {"threads", "off"}}, {plain, unit({"kernel.c", "kernel v1", {}})});
  add({{"isa", "v2"}, {"threads", "off"}}, {plain, unit({"kernel.c", "kernel v2", {}})});
  add({{"isa", "v1"}, {"threads", "on"}},
      {unit({"plain.c", "plain omp", {}}), unit({"kernel.c", "omp", {}})});
  add({{"isa", "v2"}, {"threads", "on"}},
      {unit({"plain.c", "plain omp", {}}), unit({"kernel.c", "omp", {}})});
  const Coverage found = coverage();
  ASSERT_TRUE(found.sensitive);
  EXPECT_THAT(*found.sensitive, ElementsAre("kernel.c"));
  EXPECT_EQ(found.sources, 2u);
  EXPECT_EQ(found.units, 8u);
  EXPECT_EQ(found.modules, 5u);
  EXPECT_EQ(found.unit_bytes, 4u * 9 + 2 * 5 - 2 * 9 + 2 * 9 + 2 * 3);
}

TEST_F(CoverageOf, AnApplicationsOwnCpuPointCountsAsTheInstructionSet) {
  add({{"simd", "sse"}}, {unit({"kernel.c", "sse", {}})});
  add({{"simd", "avx"}}, {unit({"kernel.c", "avx", {}})});
  EXPECT_THAT(*coverage().sensitive, ElementsAre("kernel.c"));
}

TEST_F(CoverageOf, ASourceThatOneConfigurationLacksIsNotSensitive) {
  add({{"isa", "v1"}}, {unit({"a.c", "a", {}})});
  add({{"isa", "v2"}}, {unit({"a.c", "a", {}}), unit({"extra.c", "extra", {}})});
  EXPECT_THAT(*coverage().sensitive, IsEmpty());
}

TEST_F(CoverageOf, SensitivityIsUnknownWhereNothingCanBeCompared) {
  add({{"isa", "v1"}, {"threads", "off"}}, {unit({"a.c", "a", {}})});
  add({{"isa", "v2"}, {"threads", "on"}}, {unit({"a.c", "b", {}})});
  EXPECT_FALSE(coverage().sensitive);
}

TEST_F(CoverageOf, MachineFlagsAreCountedPerUnitAndListedPerSource) {
  const auto open = unit({"open.c", "open", {}});
  const auto fixed = unit({"fixed.c", "fixed", {"haswell", "", {}}});
  const auto native = unit({"native.c", "native", {"native", "native", {}}});
  const auto tuned = unit({"tuned.c", "tuned", {"", "native", {"+avx2"}}});
  add({{"isa", "v1"}}, {open, fixed, native, tuned});
  add({{"isa", "v2"}}, {open, fixed, native});
  const Coverage found = coverage();
  EXPECT_EQ(found.configurations[0].machine.open, 2u);
  EXPECT_EQ(found.configurations[0].machine.native, 2u);
  EXPECT_EQ(found.configurations[0].machine.fixed, 1u);
  EXPECT_EQ(found.configurations[0].machine.features, 1u);
  EXPECT_EQ(found.machine.open, 3u);
  EXPECT_EQ(found.machine.native, 3u);
  EXPECT_EQ(found.machine.fixed, 2u);
  EXPECT_THAT(found.machine_sources, ElementsAre(Field(&MachineFlagSource::source, "fixed.c"),
                                                 Field(&MachineFlagSource::source, "native.c"),
                                                 Field(&MachineFlagSource::source, "tuned.c")));
}

TEST_F(CoverageOf, SourcesWithoutOptimizationAreListedExceptInDebugBuilds) {
  const auto slow = unit({"slow.f90", "slow", {}, true});
  add({{"isa", "v1"}}, {slow, unit({"fast.c", "fast", {}})});
  add({{"isa", "v2"}}, {slow});
  add({{"isa", "v3"}}, {unit({"debugged.c", "debugged", {}, true})});
  bundle_.configurations[2].arguments = {"-DX=1", "-DCMAKE_BUILD_TYPE=Debug"};
  EXPECT_THAT(coverage().unoptimized, ElementsAre("slow.f90"));
}

TEST_F(CoverageOf, ArgumentsTellADebugBuild) {
  add({{"isa", "v1"}}, {unit({"a.c", "a", {}, true})});
  for (const char* argument :
       {"-DCMAKE_BUILD_TYPE=Debug", "--buildtype=debug", "-Dbuildtype=debug", "DEBUG=1", "-DDEBUG=ON",
        "--enable-debug", "--enable-debug=yes", "BUILD=debug"}) {
    bundle_.configurations[0].arguments = {"-DA=B", argument};
    EXPECT_THAT(coverage().unoptimized, IsEmpty()) << argument;
  }
  for (const char* argument :
       {"-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "DEBUG=0", "--disable-debug",
        "--enable-debug=no", "-DWITH_DEBUG=OFF", "debugger.c", ""}) {
    bundle_.configurations[0].arguments = {argument};
    EXPECT_THAT(coverage().unoptimized, SizeIs(1)) << argument;
  }
}

TEST_F(CoverageOf, NativeObjectsHaveTheirReasonAndTheirConfigurations) {
  add({{"isa", "v1"}}, {native("b.o", "code", "assembly"), unit({"a.c", "a", {}})});
  add({{"isa", "v2"}}, {native("b.o", "code", "assembly"), native("a.o", "other", "sanitizer")});
  link::InstalledFile tool;
  tool.path = "usr/bin/tool";
  tool.native = true;
  tool.digest = put("tool");
  bundle_.configurations[1].installed.push_back(tool);
  const Coverage found = coverage();
  ASSERT_THAT(found.native_objects, SizeIs(3));
  EXPECT_EQ(found.native_objects[0].name, "/usr/bin/tool");
  EXPECT_FALSE(found.native_objects[0].bytes);
  EXPECT_EQ(found.native_objects[1].reason, "sanitizer");
  EXPECT_THAT(found.native_objects[1].configurations, ElementsAre("isa=v2"));
  EXPECT_EQ(found.native_objects[2].bytes, 4u);
  EXPECT_THAT(found.native_objects[2].configurations, ElementsAre("isa=v1", "isa=v2"));
  EXPECT_EQ(found.configurations[1].native_objects, 3u);
  EXPECT_EQ(found.kit.files, 2u);
  EXPECT_EQ(found.kit.bytes, 9u);
  EXPECT_EQ(found.configurations[0].kit.bytes, 4u);
}

TEST_F(CoverageOf, ADamagedBundleIsAnIntegrityError) {
  add({{"isa", "v1"}}, {unit({"a.c", "a", {}})});
  bundle_.units.clear();
  EXPECT_EQ(coverage_of(bundle_).error().kind, ErrorKind::integrity);
}

TEST_F(CoverageOf, ATransferIsTheLayersOfAConfigurationAndWhatOthersReadOfThem) {
  const auto common = unit({"common.c", "common", {}});
  add({{"isa", "v1"}}, {common, unit({"k.c", "one", {}})});
  add({{"isa", "v2"}}, {common, unit({"k.c", "two", {}})});
  const auto directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  const auto reference = oci::parse_reference("oci:" + (directory->path() / "i").string() + ":ir");
  const auto made = make_application_image(
      bundle_, [&](const Digest& digest) -> Result<std::string> { return contents_.at(digest); }, 0);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(oci::write_image(*reference, *made));
  const auto image = oci::open_image(*reference);
  ASSERT_TRUE(image);
  const std::vector<oci::Descriptor>& layers = (*image)->manifest().layers;
  ASSERT_THAT(layers, SizeIs(4)); // metadata, common IR, IR of each
  uint64_t both = 0;
  std::set<size_t> own;
  for (const char* id : {"isa=v1", "isa=v2"}) {
    const Transfer transfer = transfer_of(**image, id);
    ASSERT_THAT(transfer.layers, SizeIs(3));
    EXPECT_THAT(std::vector<size_t>(transfer.layers.begin(), transfer.layers.begin() + 2), ElementsAre(0, 1));
    own.insert(transfer.layers[2]);
    EXPECT_EQ(transfer.shared_bytes, layers[0].size + layers[1].size);
    both += transfer.bytes - transfer.shared_bytes;
  }
  EXPECT_THAT(own, ElementsAre(2, 3));
  EXPECT_EQ(both, layers[2].size + layers[3].size);
  EXPECT_THAT(transfer_of(**image, "isa=v3").layers, IsEmpty());
}

} // namespace
} // namespace xaas::image
