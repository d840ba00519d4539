#include <xaas/image/targets.h>

#include <xaas/base/text.h>
#include <xaas/image/deployed.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::HasSubstr;

target::Cpu cpu(const std::string& name) {
  return *target::cpu_by_name("x86_64", name);
}

Annotations of(const std::string& name) {
  return {{annotation::cpu, name}, {annotation::features, join(cpu(name).features, ",")}};
}

// Images that do not differ in their device code are chosen without a look at the GPUs.
oci::Chooser choose(const target::Cpu& host, IfNoneFits if_none_fits = IfNoneFits::fail) {
  return best_for(
      host,
      [] {
        ADD_FAILURE() << "GPUs were looked for";
        return std::vector<target::Gpu>();
      },
      if_none_fits);
}

TEST(Targets, TheOneWithMostFeaturesThatTheCpuHas) {
  const std::vector<Annotations> images = {of("x86-64"), of("nehalem"), of("haswell"), of("znver4")};
  const auto chosen = [&](const std::string& name) { return *choose(cpu(name))(images); };
  EXPECT_EQ(chosen("core2"), 0u);
  EXPECT_EQ(chosen("sandybridge"), 1u);
  EXPECT_EQ(chosen("haswell"), 2u);
  EXPECT_EQ(chosen("skylake"), 2u);
  EXPECT_EQ(chosen("znver4"), 3u);
  EXPECT_EQ(chosen("znver5"), 3u);
  EXPECT_EQ(*choose(cpu("haswell"))({of("haswell"), of("haswell")}), 0u);
}

TEST(Targets, OfNoneThatFitsAllAreNamed) {
  const std::vector<Annotations> images = {of("haswell"), of("znver4")};
  const Result<size_t> unfit = choose(cpu("nehalem"))(images);
  ASSERT_FALSE(unfit);
  EXPECT_EQ(unfit.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(unfit.error().message, HasSubstr("that for haswell needs "));
  EXPECT_THAT(unfit.error().message, HasSubstr("that for znver4 needs"));
  EXPECT_EQ(*choose(cpu("nehalem"), IfNoneFits::first)(images), 0u);
}

// Names that LLVM does not know count for nothing, and annotations are no prose for messages.
TEST(Targets, HostileAnnotations) {
  Annotations many = of("x86-64");
  for (int i = 0; i < 1000; ++i)
    many[annotation::features] += ",invented" + std::to_string(i);
  EXPECT_EQ(*choose(cpu("nehalem"))({many, of("nehalem")}), 1u);
  Annotations lying = of("haswell");
  lying[annotation::cpu] = "a\nline";
  EXPECT_THAT(choose(cpu("nehalem"))(std::vector<Annotations>(1000, lying)).error().message,
              ::testing::AllOf(HasSubstr("one needs "), ::testing::Not(HasSubstr("line")),
                               ::testing::SizeIs(::testing::Lt(1000u))));
}

Annotations with(Annotations annotations, const std::string& gpu, const std::string& code) {
  annotations[annotation::gpu] = gpu;
  if (!code.empty())
    annotations[annotation::gpu_code] = code;
  return annotations;
}

TEST(Targets, DeviceCodeForTheGpusOfTheNode) {
  const auto ptx = [](const std::string& name, const std::string& arch) {
    return with(of(name), arch, R"([{"gpu": ")" + arch + R"(", "arch": ")" + arch + R"(", "ptx": "8.4"}])");
  };
  const auto machine_code = [](const std::string& name, const std::string& arch) {
    return with(of(name), arch,
                R"([{"gpu": ")" + arch + R"(", "arch": ")" + arch + R"(", "assembler": "13.0.88"}])");
  };
  const Annotations amd =
      with(of("haswell"), "gfx90a", R"([{"gpu": "gfx90a", "arch": "gfx90a", "code_object": "5"}])");
  const auto no_gpu = [](const std::string& name) { return with(of(name), "none", ""); };
  const auto on_cpu = [](const std::string& name) { return with(of(name), "cpu", ""); };
  const auto chosen = [&](std::vector<std::string> archs, const std::vector<Annotations>& images) {
    const FindGpus gpus = [archs] {
      std::vector<target::Gpu> found;
      for (const std::string& arch : archs) {
        const Result<target::GpuArch> known = target::parse_gpu_arch(arch);
        found.push_back(known ? target::Gpu{known->vendor, *known}
                              : target::Gpu{target::GpuArch::Vendor::nvidia, std::nullopt});
      }
      return found;
    };
    return *best_for(cpu("znver4"), gpus)(images);
  };
  // A GPU decides before the CPU's features do.
  const std::vector<Annotations> partitions = {no_gpu("haswell"), ptx("haswell", "sm_80"), no_gpu("znver4"),
                                               ptx("znver4", "sm_90"), amd};
  EXPECT_EQ(chosen({}, partitions), 2u);
  EXPECT_EQ(chosen({"sm_80"}, partitions), 1u);
  EXPECT_EQ(chosen({"sm_90"}, partitions), 3u);
  EXPECT_EQ(chosen({"sm_100"}, partitions), 3u);
  EXPECT_EQ(chosen({"sm_70"}, partitions), 2u);
  EXPECT_EQ(chosen({"gfx90a"}, partitions), 4u);
  EXPECT_EQ(chosen({"gfx908"}, partitions), 2u);
  EXPECT_EQ(chosen({"gfx908", "sm_80"}, partitions), 1u);
  EXPECT_EQ(chosen({""}, partitions), 3u); // a GPU of NVIDIA without a working driver
  // Machine code does not run on later GPUs; code of the GPU's own is better than that of an older one.
  EXPECT_EQ(chosen({"sm_90"}, {no_gpu("haswell"), machine_code("haswell", "sm_80")}), 0u);
  EXPECT_EQ(chosen({"sm_86"}, {no_gpu("haswell"), machine_code("haswell", "sm_80")}), 1u);
  EXPECT_EQ(chosen({"sm_90"}, {ptx("haswell", "sm_80"), ptx("haswell", "sm_90")}), 1u);
  // Without a GPU, kernels on the CPU come before no kernels, and these before code for GPUs.
  EXPECT_EQ(chosen({}, {no_gpu("znver4"), on_cpu("haswell")}), 1u);
  EXPECT_EQ(chosen({"sm_90"}, {on_cpu("znver4"), ptx("haswell", "sm_90")}), 1u);
  EXPECT_EQ(chosen({}, {ptx("znver4", "sm_90"), no_gpu("haswell")}), 1u);
  EXPECT_EQ(chosen({}, {ptx("haswell", "sm_80"), ptx("znver4", "sm_90")}), 1u);
}

TEST(Targets, DamagedDeviceCodeIsReported) {
  for (const char* code :
       {"", "{", R"([{"gpu": "sm_90"}])", R"([{"gpu": "a", "arch": "sm_x", "ptx": "8.4"}])"}) {
    const FindGpus no_gpus = [] { return std::vector<target::Gpu>(); };
    Annotations damaged = of("haswell");
    damaged[annotation::gpu] = "sm_90";
    damaged[annotation::gpu_code] = code;
    const Result<size_t> chosen = best_for(cpu("haswell"), no_gpus)({of("haswell"), damaged});
    ASSERT_FALSE(chosen) << code;
    EXPECT_EQ(chosen.error().kind, ErrorKind::integrity) << code;
    EXPECT_THAT(chosen.error().message, HasSubstr("dev.xaas.gpu.code"));
  }
}

// An image without annotations may run anywhere; others are better.
TEST(Targets, ImagesOfOtherToolsFit) {
  EXPECT_EQ(*choose(cpu("nehalem"))({{}, of("haswell")}), 0u);
  EXPECT_EQ(*choose(cpu("haswell"))({{}, of("haswell")}), 1u);
  EXPECT_TRUE(lacking({}, cpu("x86-64")).empty());
}

} // namespace
} // namespace xaas::image
