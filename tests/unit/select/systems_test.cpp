// Choices and rejections on six supercomputers, as described by the published prototype (tests/data/systems),
// for the shipped specs and for the GPU back ends of GROMACS.
#include <xaas/select/select.h>

#include <gmock/gmock.h>

#include <algorithm>

namespace xaas::select {
namespace {

using system::SystemDescription;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

SystemDescription machine(const std::string& name) {
  const auto found = system::import_prototype(fs::path(XAAS_TEST_DATA) / "systems" / (name + ".json"));
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : SystemDescription();
}

spec::Application application(const fs::path& path) {
  const auto found = spec::read_application(path);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : spec::Application();
}
spec::Application shipped(const std::string& name) {
  return application(fs::path(XAAS_SPECS) / "applications" / (name + ".json"));
}
spec::Application with_gpus() {
  return application(fs::path(XAAS_TEST_DATA) / "specs/gromacs-gpu.json");
}

// As built for the architecture of the machine; `all`: every combination, not only those that the spec
// builds.
Result<Selection> selected(spec::Application application, const SystemDescription& system, bool all = false,
                           const std::map<std::string, std::string>& set = {},
                           const std::map<std::string, std::string>& brought = {}) {
  if (all)
    application.configurations.clear();
  XAAS_TRY(const auto points, spec::all_points(application, system.arch, {}));
  XAAS_TRY(const auto available, spec::expand(application, points, {}, 1000));
  return select(points, available, system, set, brought);
}

Selection chosen(const spec::Application& application, const SystemDescription& system, bool all = false,
                 const std::map<std::string, std::string>& brought = {}) {
  const auto selection = selected(application, system, all, {}, brought);
  EXPECT_TRUE(selection) << selection.error().message;
  return selection ? *selection : Selection();
}

std::string value_of(const Selection& selection, const std::string& point) {
  const std::string* value = selection.configuration.find(point);
  return value ? *value : "no such point";
}

std::vector<std::string> possible(const Selection& selection, const std::string& point) {
  std::vector<std::string> values;
  for (const Outcome& outcome : selection.values)
    if (outcome.point == point && outcome.possible)
      values.push_back(outcome.value);
  return values;
}

const Outcome& outcome(const Selection& selection, const std::string& point, const std::string& value) {
  static const Outcome none;
  for (const Outcome& each : selection.values)
    if (each.point == point && each.value == value)
      return each;
  ADD_FAILURE() << "no value " << point << "=" << value;
  return none;
}

const std::vector<std::string> machines = {"ault23", "ault25", "aurora", "clariden-alps", "lumi", "mn5"};

TEST(Systems, TheirGpus) {
  const auto archs = [](const std::string& name) {
    std::set<std::string> found;
    for (const system::Gpu& gpu : machine(name).gpus)
      found.insert(gpu.vendor + " " + gpu.arch);
    return found;
  };
  EXPECT_THAT(archs("ault23"), UnorderedElementsAre("nvidia sm_70"));
  EXPECT_THAT(archs("ault25"), UnorderedElementsAre("nvidia sm_80"));
  EXPECT_THAT(archs("aurora"), UnorderedElementsAre("intel pvc"));
  EXPECT_THAT(archs("clariden-alps"), UnorderedElementsAre("nvidia sm_90"));
  EXPECT_EQ(machine("clariden-alps").arch, "aarch64");
  EXPECT_THAT(archs("lumi"), UnorderedElementsAre("amd gfx90a"));
  EXPECT_EQ(machine("lumi").gpus.at(0).model, "AMD Instinct MI250X");
  EXPECT_THAT(archs("mn5"), UnorderedElementsAre("nvidia ")); // detected by PCI only
}

TEST(Systems, GromacsSimd) {
  const std::vector<std::string> up_to_avx2 = {"SSE2", "SSE4.1", "AVX_256", "AVX2_128", "AVX2_256"};
  std::vector<std::string> up_to_avx512 = up_to_avx2;
  up_to_avx512.emplace_back("AVX_512");
  const struct {
    const char *name, *best;
    std::vector<std::string> possible;
  } expected[] = {
      {"ault23", "AVX_512", up_to_avx512}, {"ault25", "AVX2_256", up_to_avx2},
      {"aurora", "AVX_512", up_to_avx512}, {"clariden-alps", "ARM_NEON_ASIMD", {"ARM_NEON_ASIMD", "ARM_SVE"}},
      {"lumi", "AVX2_256", up_to_avx2},    {"mn5", "AVX_512", up_to_avx512}};
  for (const auto& each : expected)
    for (const bool all : {false, true}) {
      const Selection selection = chosen(shipped("gromacs"), machine(each.name), all);
      EXPECT_EQ(value_of(selection, "simd"), each.best) << each.name;
      EXPECT_EQ(possible(selection, "simd"), each.possible) << each.name;
    }
}

TEST(Systems, NeonBeforeSve) {
  const Selection selection = chosen(shipped("gromacs"), machine("clariden-alps"), true);
  EXPECT_EQ(selection.choices.at(0).reason, "preferred on armv8-a (generic)");
  EXPECT_EQ(outcome(selection, "simd", "ARM_SVE").reason,
            "ranks below simd=ARM_NEON_ASIMD, which is preferred on armv8-a (generic)");
  // Its CPU by name, and others; and the CPU with that vector length.
  for (const auto& [cpu, best] :
       {std::pair("neoverse-v2", "ARM_NEON_ASIMD"), std::pair("grace", "ARM_NEON_ASIMD"),
        std::pair("neoverse-v1", "ARM_NEON_ASIMD"), std::pair("a64fx", "ARM_SVE")}) {
    const auto named = system::with_cpu(machine("clariden-alps"), cpu);
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_EQ(value_of(chosen(shipped("gromacs"), *named, true), "simd"), best) << cpu;
  }
}

// Not on Intel CPUs, nor on AMD CPUs since Zen.
TEST(Systems, Fma4OnlyWhereItIs) {
  for (const std::string& name : machines)
    for (const Outcome& each : chosen(shipped("gromacs"), machine(name), true).values)
      if (each.value == "AVX_128_FMA") {
        EXPECT_FALSE(each.possible || each.chosen) << name;
        EXPECT_THAT(each.reason, HasSubstr("lacks fma4, xop")) << name;
      }
  for (const std::string& cpu : target::cpu_names("x86_64")) {
    const auto system = system::any_system("x86_64", cpu);
    ASSERT_TRUE(system);
    const Selection selection = chosen(shipped("gromacs"), *system, true);
    EXPECT_EQ(outcome(selection, "simd", "AVX_128_FMA").possible, cpu.starts_with("bdver")) << cpu;
  }
}

TEST(Systems, Avx512OnlyWithAllOfItsLevel) {
  for (const std::string& cpu : target::cpu_names("x86_64")) {
    const auto system = system::any_system("x86_64", cpu);
    ASSERT_TRUE(system);
    EXPECT_EQ(outcome(chosen(shipped("gromacs"), *system, true), "simd", "AVX_512").possible,
              system->cpu.level == "x86-64-v4")
        << cpu;
  }
  for (const char* feature : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) {
    SystemDescription system = machine("mn5");
    std::erase(system.cpu.features, feature);
    const Selection selection = chosen(shipped("gromacs"), system);
    EXPECT_EQ(value_of(selection, "simd"), "AVX2_256");
    EXPECT_EQ(outcome(selection, "simd", "AVX_512").reason,
              "this CPU (x86-64-v4) lacks " + std::string(feature) + " of x86-64-v4");
  }
}

TEST(Systems, WhatGromacsIsNotBuiltFor) {
  const auto old = system::any_system("x86_64", "x86-64");
  ASSERT_TRUE(old);
  const auto nothing = selected(shipped("gromacs"), *old);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::unsatisfied);
  EXPECT_EQ(nothing.error().hint,
            "simd=SSE2 would fit, but the image was built without it (`xaas build --config simd=SSE2`)");
  EXPECT_EQ(value_of(chosen(shipped("gromacs"), *old, true), "simd"), "SSE2");
  const auto piledriver = system::any_system("x86_64", "bdver2");
  ASSERT_TRUE(piledriver);
  const Selection selection = chosen(shipped("gromacs"), *piledriver);
  EXPECT_EQ(value_of(selection, "simd"), "AVX_256");
  const Outcome& better = outcome(selection, "simd", "AVX_128_FMA");
  EXPECT_TRUE(better.possible && !better.built);
  EXPECT_EQ(better.reason, "the image has no configuration with it");
}

TEST(Systems, FftwAndHmmer) {
  for (const std::string& name : machines) {
    const SystemDescription system = machine(name);
    const bool arm = system.arch == "aarch64";
    Selection selection = chosen(shipped("fftw"), system);
    EXPECT_EQ(value_of(selection, "precision"), "double");
    EXPECT_EQ(value_of(selection, "simd"), arm ? "no such point" : "AVX2") << name;
    selection = chosen(shipped("fftw-autotools"), system);
    EXPECT_EQ(value_of(selection, "codelets"), arm ? "NEON" : "x86") << name;
    EXPECT_THAT(possible(selection, "codelets"), testing::SizeIs(1));
    selection = chosen(shipped("hmmer"), system);
    EXPECT_EQ(value_of(selection, "isa"), system.cpu.level) << name;
    EXPECT_EQ(value_of(selection, "mpi"), "off");
    // The image contains MPICH, so it fits systems without MPI or with another one.
    EXPECT_THAT(possible(selection, "mpi"), UnorderedElementsAre("off", "on")) << name;
  }
}

TEST(Systems, GpusOfferedAndChosen) {
  const struct {
    const char *name, *best;
    std::vector<std::string> possible;
  } expected[] = {{"ault23", "CUDA", {"OFF", "CUDA"}},
                  {"ault25", "CUDA", {"OFF", "CUDA"}},
                  {"aurora", "SYCL", {"OFF", "SYCL"}},
                  {"clariden-alps", "CUDA-sm_90", {"OFF", "CUDA", "CUDA-sm_90"}},
                  {"lumi", "hipSYCL-gfx90a", {"OFF", "OpenCL", "hipSYCL-gfx90a"}},
                  {"mn5", "OFF", {"OFF"}}};
  for (const auto& each : expected) {
    const Selection selection = chosen(with_gpus(), machine(each.name));
    EXPECT_EQ(value_of(selection, "gpu"), each.best) << each.name;
    EXPECT_EQ(possible(selection, "gpu"), each.possible) << each.name;
  }
  const Selection unknown = chosen(with_gpus(), machine("mn5"));
  EXPECT_EQ(outcome(unknown, "gpu", "CUDA").reason,
            "the driver version of the nvidia GPU is not known; 450.36 or later is needed");
  EXPECT_EQ(outcome(unknown, "gpu", "CUDA-sm_90").reason,
            "the architecture of the nvidia GPU is not known; sm_90 is needed");
}

TEST(Systems, NvidiaLibrariesOnlyBesideAnNvidiaGpu) {
  for (const std::string& name : machines) {
    SystemDescription system = machine(name);
    const auto is_nvidia = [](const system::Gpu& gpu) { return gpu.vendor == "nvidia"; };
    const bool has_one = std::any_of(system.gpus.begin(), system.gpus.end(), is_nvidia);
    const bool has_cufft = std::any_of(system.libraries.begin(), system.libraries.end(),
                                       [](const auto& library) { return library.name == "cufft"; });
    EXPECT_EQ(outcome(chosen(with_gpus(), system), "gpu-fft", "cuFFT").possible, has_one && has_cufft)
        << name;
    // Like a login node: libraries, but no GPU.
    system.libraries.push_back({"cufft", "11.0", "/usr/lib/libcufft.so"});
    std::erase_if(system.gpus, is_nvidia);
    const Selection without = chosen(with_gpus(), system);
    for (const char* value : {"CUDA", "CUDA-sm_90"})
      EXPECT_FALSE(outcome(without, "gpu", value).possible) << name;
    EXPECT_FALSE(outcome(without, "gpu-fft", "cuFFT").possible) << name;
  }
}

TEST(Systems, TheHostsMpiByItsAbi) {
  const std::map<std::string, std::vector<std::string>> expected = {{"ault23", {"off", "openmpi"}},
                                                                    {"ault25", {"off", "openmpi"}},
                                                                    {"aurora", {"off", "mpich"}},
                                                                    {"clariden-alps", {"off"}},
                                                                    {"lumi", {"off"}},
                                                                    {"mn5", {"off", "mpich"}}};
  for (const auto& [name, values] : expected)
    EXPECT_EQ(possible(chosen(with_gpus(), machine(name)), "mpi"), values) << name;
}

TEST(Systems, OfTheImageAndOfTheHost) {
  const std::map<std::string, std::string> brought = {{"fftw3f", "libfftw3f.so.3"}};
  const Selection selection = chosen(with_gpus(), machine("aurora"), false, brought);
  const Need& image = outcome(selection, "fft", "fftw3").needs.at(0);
  EXPECT_TRUE(image.met);
  EXPECT_EQ(image.from, Need::From::image);
  EXPECT_EQ(text_of(image), "the library fftw3f: libfftw3f.so.3");
  const Need& host = outcome(selection, "fft", "mkl").needs.at(0);
  EXPECT_TRUE(host.met);
  EXPECT_EQ(host.from, Need::From::host);
  EXPECT_THAT(host.found, HasSubstr("/opt/aurora/"));
  const Need& mpi = outcome(selection, "mpi", "mpich").needs.at(0);
  EXPECT_THAT(text_of(mpi),
              AllOf(HasSubstr("an MPI with the ABI mpich-12: mpich ("), HasSubstr("/mpich-4.2.3")));
  const std::string text = explain(selection);
  EXPECT_THAT(text, HasSubstr("  fft=fftw3           chosen        default\n"));
  EXPECT_THAT(text, HasSubstr("  fft=fftw3           from the image  the library fftw3f: libfftw3f.so.3\n"));
  EXPECT_THAT(text, HasSubstr("  fft=mkl             from the host   the library MKL: MKL (/opt/aurora"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  gpu=CUDA            from the host   nvidia GPU, driver 450.36 or later: this system has no "
          "nvidia GPU (it has intel pvc)\n"));
  const Need gpu = outcome(chosen(with_gpus(), machine("clariden-alps")), "gpu", "CUDA-sm_90").needs.at(0);
  EXPECT_EQ(text_of(gpu),
            "nvidia GPU of architecture sm_90, driver 525.60 or later: NVIDIA GH200 120GB, sm_90, "
            "driver 550.54.15 (nvidia-smi)");
  SystemDescription older = machine("clariden-alps");
  for (system::Gpu& each : older.gpus)
    each.driver = "515.1";
  EXPECT_EQ(text_of(outcome(chosen(with_gpus(), older), "gpu", "CUDA-sm_90").needs.at(0)),
            "nvidia GPU of architecture sm_90, driver 525.60 or later: the driver of the nvidia GPU of "
            "architecture sm_90 is "
            "515.1; 525.60 or later is needed; found: NVIDIA GH200 120GB, sm_90, driver 515.1 (nvidia-smi)");
}

TEST(Systems, EveryValueHasAReason) {
  for (const std::string& name : machines)
    for (const auto& each : {shipped("gromacs"), shipped("fftw"), shipped("hmmer"), with_gpus()})
      for (const Outcome& value : chosen(each, machine(name)).values)
        EXPECT_FALSE(value.reason.empty()) << name << ": " << value.point << "=" << value.value;
}

} // namespace
} // namespace xaas::select
