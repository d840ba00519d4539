#include <xaas/select/select.h>

#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace xaas::select {
namespace {

using spec::Configuration;
using spec::SpecializationPoint;
using system::SystemDescription;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Assignment = std::map<std::string, std::string>;

const std::vector<std::string> v2 = {"64bit", "cmov", "crc32", "cx16", "cx8",   "fxsr",   "mmx",    "popcnt",
                                     "sahf",  "sse",  "sse2",  "sse3", "ssse3", "sse4.1", "sse4.2", "x87"};
const std::vector<std::string> v3_extra = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                                           "fma", "lzcnt", "movbe", "xsave"};
const std::vector<std::string> v4_extra = {"avx512f",  "avx512bw", "avx512cd",
                                           "avx512dq", "avx512vl", "evex512"};
const std::vector<std::string> sse4a_fma4 = {"sse4a", "fma4", "xop"};

SystemDescription machine(const std::string& name, std::initializer_list<std::vector<std::string>> features,
                          const std::string& arch = "x86_64") {
  SystemDescription system;
  system.arch = arch;
  system.cpu.name = name;
  for (const auto& some : features)
    system.cpu.features.insert(system.cpu.features.end(), some.begin(), some.end());
  std::sort(system.cpu.features.begin(), system.cpu.features.end());
  return system;
}

SystemDescription old() {
  return machine("x86-64-v2", {v2});
}
SystemDescription haswell() {
  return machine("haswell", {v2, v3_extra});
}
SystemDescription piledriver() {
  return machine("bdver2", {v2, {"avx", "xsave", "fma", "f16c"}, sse4a_fma4});
}
SystemDescription zen4() {
  return machine("znver4", {v2, v3_extra, v4_extra, {"sse4a", "avx512vnni"}});
}
SystemDescription grace() {
  return machine("neoverse-v2", {{"neon", "fp-armv8", "sve", "sve2"}}, "aarch64");
}

// The SIMD levels of GROMACS, weakest first.
SpecializationPoint simd() {
  SpecializationPoint point{"simd", "cpu", "", {}, {}};
  const auto add = [&](const std::string& name, std::vector<std::string> cpu) {
    spec::Value value{name, {}, {}};
    value.requires_.cpu = std::move(cpu);
    point.values.push_back(std::move(value));
  };
  add("None", {});
  add("SSE4.1", {"sse4.1"});
  add("AVX_256", {"avx"});
  add("AVX_128_FMA", {"avx", "fma4"});
  add("AVX2_256", {"avx2", "fma"});
  add("AVX_512", {"avx512f"});
  add("ARM_NEON_ASIMD", {"neon"});
  add("ARM_SVE", {"sve"});
  point.prefer = {{{"neoverse-v2"}, {"ARM_NEON_ASIMD", "ARM_SVE"}}};
  return point;
}

SpecializationPoint threads() {
  return {"threads", "threading", "on", {{"off", {}, {}}, {"on", {}, {}}}, {}};
}

// All combinations.
std::vector<Configuration> every(const std::vector<SpecializationPoint>& points) {
  std::vector<Assignment> all = {{}};
  for (const SpecializationPoint& point : points) {
    std::vector<Assignment> next;
    for (const Assignment& one : all)
      for (const spec::Value& value : point.values) {
        next.push_back(one);
        next.back()[point.name] = value.value;
      }
    all = std::move(next);
  }
  return {all.begin(), all.end()};
}

Selection chosen(const std::vector<SpecializationPoint>& points, const SystemDescription& system,
                 const Assignment& set = {}) {
  auto result = select(points, every(points), system, set);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : Selection{};
}

Error refused(const std::vector<SpecializationPoint>& points, const std::vector<Configuration>& available,
              const SystemDescription& system, const Assignment& set, ErrorKind kind) {
  const auto result = select(points, available, system, set);
  EXPECT_FALSE(result);
  if (result)
    return {};
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  return result.error();
}

std::string reason_against(const Selection& selection, const std::string& configuration) {
  for (const Rejection& rejection : selection.rejected)
    if (rejection.configuration == configuration)
      return rejection.reason;
  return "not rejected";
}

TEST(Select, LastListedSatisfiedValueOnEachMachine) {
  EXPECT_EQ(chosen({simd()}, old()).configuration.id(), "simd=SSE4.1");
  EXPECT_EQ(chosen({simd()}, zen4()).configuration.id(), "simd=AVX_512");
  const Selection selection = chosen({simd()}, haswell());
  EXPECT_EQ(selection.configuration.id(), "simd=AVX2_256");
  EXPECT_EQ(selection.choices.at(0).reason, "last listed value that this system satisfies");
  EXPECT_EQ(selection.rejected.size(), simd().values.size() - 1);
  EXPECT_EQ(reason_against(selection, "simd=AVX_512"), "simd=AVX_512: this CPU (haswell) lacks avx512f");
  EXPECT_EQ(reason_against(selection, "simd=AVX_256"), "simd=AVX_256 ranks below simd=AVX2_256");
}

TEST(Select, Fma4IsNeverChosenOnIntel) {
  EXPECT_EQ(chosen({simd()}, piledriver()).configuration.id(), "simd=AVX_128_FMA");
  const SystemDescription sandybridge = machine("sandybridge", {v2, {"avx", "xsave"}});
  const Selection selection = chosen({simd()}, sandybridge);
  EXPECT_EQ(selection.configuration.id(), "simd=AVX_256");
  EXPECT_EQ(reason_against(selection, "simd=AVX_128_FMA"),
            "simd=AVX_128_FMA: this CPU (sandybridge) lacks fma4");
  EXPECT_EQ(reason_against(selection, "simd=AVX2_256"),
            "simd=AVX2_256: this CPU (sandybridge) lacks avx2, fma");
}

TEST(Select, PreferenceOfACpu) {
  const Selection selection = chosen({simd()}, grace());
  EXPECT_EQ(selection.configuration.id(), "simd=ARM_NEON_ASIMD");
  EXPECT_EQ(selection.choices.at(0).reason, "preferred on neoverse-v2");
  EXPECT_EQ(reason_against(selection, "simd=ARM_SVE"), "simd=ARM_SVE ranks below simd=ARM_NEON_ASIMD");
  SystemDescription other = grace();
  other.cpu.name = "neoverse-v1";
  EXPECT_EQ(chosen({simd()}, other).configuration.id(), "simd=ARM_SVE");
  // A preferred value that is not satisfied is skipped.
  SystemDescription plain = grace();
  std::erase(plain.cpu.features, "neon");
  EXPECT_EQ(chosen({simd()}, plain).configuration.id(), "simd=ARM_SVE");
}

TEST(Select, IsaIsTheHighestLevelThatTheCpuHas) {
  const SpecializationPoint isa = spec::isa_point(target::isa_levels("x86_64"));
  EXPECT_EQ(chosen({isa}, old()).configuration.id(), "isa=x86-64-v2");
  EXPECT_EQ(chosen({isa}, haswell()).configuration.id(), "isa=x86-64-v3");
  const Selection selection = chosen({isa}, zen4());
  EXPECT_EQ(selection.configuration.id(), "isa=x86-64-v4");
  EXPECT_EQ(selection.choices.at(0).reason, "highest level that the CPU has");
  EXPECT_EQ(chosen({spec::isa_point({"x86-64", "x86-64-v3"})}, zen4()).choices.at(0).reason,
            "highest level listed that the CPU has");
}

TEST(Select, AnyOneAvx512FeatureIsNotV4) {
  const SpecializationPoint isa = spec::isa_point(target::isa_levels("x86_64"));
  for (const char* feature : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) {
    EXPECT_EQ(chosen({isa}, machine("knl", {v2, v3_extra, {feature}})).configuration.id(), "isa=x86-64-v3");
    SystemDescription lacking = zen4();
    std::erase(lacking.cpu.features, feature);
    const Selection selection = chosen({isa}, lacking);
    EXPECT_EQ(selection.configuration.id(), "isa=x86-64-v3");
    EXPECT_EQ(reason_against(selection, "isa=x86-64-v4"),
              "isa=x86-64-v4: this CPU (znver4) lacks " + std::string(feature) + " of x86-64-v4");
  }
}

TEST(Select, ThisMachineHasItsOwnLevel) {
  const target::Cpu host = target::host_cpu();
  SystemDescription system = machine(host.name, {host.features}, host.arch);
  const std::string level = target::isa_level(host.arch, host.features);
  EXPECT_EQ(chosen({spec::isa_point(target::isa_levels(host.arch))}, system).configuration.id(),
            "isa=" + level);
}

// The shipped spec chooses what GROMACS advises for these CPUs.
TEST(Select, GromacsOnEachCpu) {
  const auto gromacs = spec::read_application(fs::path(XAAS_SPECS) / "applications/gromacs.json");
  ASSERT_TRUE(gromacs) << gromacs.error().message;
  const auto on = [&](const std::string& cpu) {
    const auto features = target::features_of("x86_64", cpu);
    EXPECT_TRUE(features) << cpu;
    return chosen(gromacs->points, machine(cpu, {features ? *features : v2})).configuration.id();
  };
  EXPECT_EQ(on("nehalem"), "simd=SSE4.1");
  EXPECT_EQ(on("sandybridge"), "simd=AVX_256");
  EXPECT_EQ(on("bdver2"), "simd=AVX_128_FMA");
  EXPECT_EQ(on("bdver4"), "simd=AVX2_256");
  EXPECT_EQ(on("znver1"), "simd=AVX2_128");
  EXPECT_EQ(on("haswell"), "simd=AVX2_256");
  EXPECT_EQ(on("znver3"), "simd=AVX2_256");
  EXPECT_EQ(on("icelake-client"), "simd=AVX2_256");
  EXPECT_EQ(on("skylake-avx512"), "simd=AVX_512");
  EXPECT_EQ(on("znver4"), "simd=AVX_512");
}

TEST(Select, DefaultThenFirstSatisfiedValue) {
  Selection selection = chosen({threads()}, old());
  EXPECT_EQ(selection.configuration.id(), "threads=on");
  EXPECT_EQ(selection.choices.at(0).reason, "default");
  EXPECT_EQ(reason_against(selection, "threads=off"), "threads=off ranks below threads=on");
  SpecializationPoint point = threads();
  point.values[1].requires_.mpi = "mpich-12";
  selection = chosen({point}, old());
  EXPECT_EQ(selection.configuration.id(), "threads=off");
  EXPECT_EQ(selection.choices.at(0).reason, "first satisfied value");
  EXPECT_THAT(reason_against(selection, "threads=on"), HasSubstr("threads=on: this system has no MPI"));
}

TEST(Select, EarlierPointsDecideWhereTheBestCombinationWasNotBuilt) {
  const std::vector<SpecializationPoint> points = {threads(), simd()};
  const std::vector<Configuration> available = {Configuration({{"threads", "off"}, {"simd", "AVX2_256"}}),
                                                Configuration({{"threads", "on"}, {"simd", "None"}}),
                                                Configuration({{"threads", "on"}, {"simd", "SSE4.1"}})};
  const auto selection = select(points, available, haswell(), {});
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->configuration.id(), "simd=SSE4.1,threads=on");
  EXPECT_EQ(selection->choices.at(1).reason, "the image has no simd=AVX2_256 with the choices above");
  EXPECT_EQ(reason_against(*selection, "simd=AVX2_256,threads=off"), "threads=off ranks below threads=on");
  EXPECT_EQ(reason_against(*selection, "simd=None,threads=on"), "simd=None ranks below simd=SSE4.1");
  const auto turned = select({simd(), threads()}, available, haswell(), {});
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->configuration.id(), "simd=AVX2_256,threads=off");
}

TEST(Set, ByHand) {
  const std::vector<SpecializationPoint> points = {threads(), simd()};
  const Selection selection = chosen(points, haswell(), {{"simd", "SSE4.1"}});
  EXPECT_EQ(selection.configuration.id(), "simd=SSE4.1,threads=on");
  EXPECT_EQ(selection.choices.at(1).reason, "set by hand");
  EXPECT_EQ(reason_against(selection, "simd=AVX2_256,threads=on"),
            "simd=AVX2_256: simd=SSE4.1 was set by hand");
}

TEST(Set, UnknownPointOrValue) {
  const auto available = every({simd()});
  const auto point = refused({simd()}, available, haswell(), {{"smd", "None"}}, ErrorKind::usage);
  EXPECT_THAT(point.message, HasSubstr("\"smd\" is not a specialization point"));
  EXPECT_THAT(point.hint, HasSubstr("`simd`"));
  EXPECT_THAT(refused({simd()}, available, haswell(), {{"simd", "AVX2_265"}}, ErrorKind::usage).hint,
              HasSubstr("`AVX2_256`"));
  // `inspect` lists this point, but no configuration has it.
  EXPECT_THAT(refused({simd()}, available, haswell(), {{"gpu", "sm_90"}}, ErrorKind::usage).hint,
              HasSubstr("--gpu sm_90"));
}

TEST(Set, NotSatisfiedByThisSystem) {
  const auto error =
      refused({simd()}, every({simd()}), haswell(), {{"simd", "AVX_512"}}, ErrorKind::unsatisfied);
  EXPECT_EQ(error.message, "configuration simd=AVX_512: this CPU (haswell) lacks avx512f");
  EXPECT_EQ(error.hint, "`--set simd=AVX2_256`, or leave the choice to xaas");
  const SpecializationPoint isa = spec::isa_point(target::isa_levels("x86_64"));
  const auto level = refused({isa}, every({isa}), haswell(), {{"isa", "x86-64-v4"}}, ErrorKind::unsatisfied);
  EXPECT_THAT(level.message,
              HasSubstr("configuration isa=x86-64-v4: needs x86-64-v4; this CPU (haswell) has x86-64-v3"));
  EXPECT_EQ(level.hint, "`--set isa=x86-64-v3`, or leave the choice to xaas");
}

TEST(Set, NotBuilt) {
  const std::vector<Configuration> available = {Configuration({{"threads", "off"}, {"simd", "AVX2_256"}}),
                                                Configuration({{"threads", "on"}, {"simd", "SSE4.1"}})};
  const auto error = refused({threads(), simd()}, available, haswell(),
                             {{"threads", "on"}, {"simd", "AVX2_256"}}, ErrorKind::unsatisfied);
  EXPECT_THAT(error.message,
              HasSubstr("configuration simd=AVX2_256,threads=on: the image has no such configuration"));
  EXPECT_THAT(error.message, HasSubstr("simd=SSE4.1,threads=on"));
}

TEST(Select, NothingFitsListsEveryReason) {
  const std::vector<Configuration> available = {Configuration({{"simd", "AVX2_256"}}),
                                                Configuration({{"simd", "AVX_512"}})};
  const auto error = refused({simd()}, available, old(), {}, ErrorKind::unsatisfied);
  EXPECT_EQ(error.message, "no configuration of the image fits this system (x86-64-v2):"
                           "\n  simd=AVX2_256: simd=AVX2_256: this CPU (x86-64-v2) lacks avx2, fma"
                           "\n  simd=AVX_512: simd=AVX_512: this CPU (x86-64-v2) lacks avx512f");
  const SpecializationPoint isa = spec::isa_point({"x86-64-v2"});
  EXPECT_THAT(refused({isa}, every({isa}), grace(), {}, ErrorKind::unsatisfied).message,
              HasSubstr("this CPU (neoverse-v2) is aarch64 and lacks x86-64-v2"));
}

TEST(Select, OneReasonForAllConfigurationsIsOneLine) {
  const SpecializationPoint isa = spec::isa_point({"x86-64-v4"});
  const auto error =
      refused({threads(), isa}, every({threads(), isa}), haswell(), {}, ErrorKind::unsatisfied);
  EXPECT_EQ(error.message, "no configuration of the image fits this system (haswell): isa=x86-64-v4: needs "
                           "x86-64-v4; this CPU (haswell) has x86-64-v3");
  EXPECT_THAT(missing_features({threads(), isa}, haswell()),
              ElementsAre(AllOf(HasSubstr("isa=x86-64-v4 needs "), HasSubstr("avx512bw, avx512cd"),
                                HasSubstr("which this CPU (haswell) lacks"))));
}

TEST(Select, DamagedOrEmptyImage) {
  refused({simd()}, {}, old(), {}, ErrorKind::unsatisfied);
  refused({simd()}, {Configuration()}, old(), {}, ErrorKind::integrity);
  refused({simd()}, {Configuration({{"simd", "nonsense"}})}, old(), {}, ErrorKind::integrity);
  refused({simd()}, {Configuration({{"simd", "None"}, {"other", "1"}})}, old(), {}, ErrorKind::integrity);
  const auto plain = select({}, {Configuration()}, old(), {});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->configuration.id(), "default");
}

TEST(Unmet, Gpu) {
  SystemDescription system = haswell();
  spec::Requirement required;
  required.gpu = {"nvidia", "sm_90", "550"};
  EXPECT_THAT(unmet(required, system), ElementsAre(HasSubstr("this system has no GPU")));
  required.gpu->or_cpu = true; // also below, where the system has a GPU
  ASSERT_EQ(needs_of(required, system).size(), 1u);
  EXPECT_TRUE(needs_of(required, system)[0].by_cpu);
  EXPECT_THAT(unmet(required, system), IsEmpty());
  system::Gpu gpu;
  gpu.vendor = "amd";
  gpu.arch = "gfx90a";
  system.gpus = {gpu};
  EXPECT_THAT(unmet(required, system),
              ElementsAre("this system has no nvidia GPU of architecture sm_90 (it has amd gfx90a)"));
  gpu.vendor = "nvidia";
  gpu.arch = "sm_90";
  system.gpus.push_back(gpu);
  EXPECT_THAT(unmet(required, system), ElementsAre(HasSubstr("driver version of the nvidia GPU")));
  system.gpus[1].driver = "535.104.5";
  EXPECT_THAT(unmet(required, system), ElementsAre(HasSubstr("is 535.104.5; 550 or later")));
  system.gpus[1].driver = "550.54.15";
  EXPECT_THAT(unmet(required, system), IsEmpty());
  required.gpu = spec::Requirement::Gpu{};
  EXPECT_THAT(unmet(required, system), IsEmpty());
}

TEST(Unmet, MpiByAbi) {
  SystemDescription system = haswell();
  spec::Requirement required;
  required.mpi = "mpich-12";
  EXPECT_THAT(unmet(required, system), ElementsAre(HasSubstr("this system has no MPI")));
  system.mpi = {{"openmpi", "4.1.4", "openmpi-40", ""}};
  EXPECT_THAT(unmet(required, system), ElementsAre(HasSubstr("(it has openmpi-40)")));
  system.mpi.push_back({"cray-mpich", "8.1", "mpich-12", ""});
  EXPECT_THAT(unmet(required, system), IsEmpty());
}

TEST(Unmet, AMissingLibraryIsNotALibraryOfAnotherVersion) {
  SystemDescription system = haswell();
  const auto need = [&](const std::string& version) {
    spec::Requirement required;
    required.libraries = {{"fftw3", version}};
    return unmet(required, system);
  };
  EXPECT_THAT(need("3.3"), ElementsAre("this system has no library fftw3"));
  system.libraries = {{"fftw3f", "9", ""}, {"fftw3", "", ""}};
  EXPECT_THAT(need("3.3"),
              ElementsAre("the version of the library fftw3 is not known; 3.3 or later is needed"));
  EXPECT_THAT(need(""), IsEmpty());
  system.libraries = {{"fftw3", "3.9.1", ""}};
  EXPECT_THAT(need("3.10"), ElementsAre("the library fftw3 has version 3.9.1; 3.10 or later is needed"));
  for (const char* enough : {"3.9.1", "3.9.1.0", "3.9", "3", "2.99", "03.08", "0"})
    EXPECT_THAT(need(enough), IsEmpty()) << enough;
  for (const char* more : {"3.9.2", "3.9.1.1", "4", "3.10.0", "99999999999999999999999"})
    EXPECT_THAT(need(more), Not(IsEmpty())) << more;
}

TEST(Unmet, EveryNeedHasItsSentence) {
  spec::Requirement required;
  required.cpu = {"avx512f"};
  required.mpi = "mpich-12";
  required.libraries = {{"a", ""}, {"b", ""}};
  EXPECT_EQ(unmet(required, haswell()).size(), 4u);
  EXPECT_THAT(unmet({}, haswell()), IsEmpty());
}

TEST(Explain, NamesEveryChoiceAndRejection) {
  const std::string text = explain(chosen({threads(), simd()}, haswell()));
  EXPECT_THAT(text, HasSubstr("configuration: simd=AVX2_256,threads=on\n"));
  EXPECT_THAT(text, HasSubstr("threads  on        default\n"));
  EXPECT_THAT(text, HasSubstr("simd     AVX2_256  last listed value that this system satisfies\n"));
  EXPECT_THAT(text, HasSubstr("simd=AVX_512: this CPU (haswell) lacks avx512f\n"));
}

} // namespace
} // namespace xaas::select
