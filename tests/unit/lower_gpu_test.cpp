// Device code, without any toolkit: the library is made here.
#include "lower_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::lower {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kernel = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare float @helper(float)
define ptx_kernel void @scale(ptr %values) {
  %value = load float, ptr %values
  %result = call float @helper(float %value)
  store float %result, ptr %values
  ret void
}
)";
constexpr const char* library = R"(
target triple = "nvptx64-nvidia-gpulibs"
define float @helper(float %x) { %y = fmul float %x, 7.0 ret float %y }
define float @unused(float %x) { ret float %x }
)";

Job gpu_job(const std::string& arch, const std::string& ptx) {
  Job job = job_of(kernel);
  job.unit.machine.features = {"+" + ptx};
  job.options.text["triple"] = "nvptx64-nvidia-cuda";
  job.target = {"nvptx64", arch, {}};
  job.libraries = {job_of(library).bitcode};
  return job;
}

TEST(LowerGpu, MakesPtxForTheGpu) {
  for (const auto& [arch, ptx, version] :
       {std::tuple("sm_70", "ptx60", ".version 6.0"), std::tuple("sm_90", "ptx78", ".version 7.8"),
        std::tuple("sm_100", "ptx88", ".version 8.8")}) {
    const auto object = lower(gpu_job(arch, ptx));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_THAT(object->bytes, AllOf(HasSubstr(std::string(".target ") + arch), HasSubstr(version),
                                     HasSubstr(".visible .entry scale"), Not(HasSubstr("unused"))));
    EXPECT_THAT(object->bytes, Not(HasSubstr("call")));  // what is linked in is optimised with the rest
    EXPECT_THAT(object->bytes, HasSubstr("0f40E00000")); // 7.0
    EXPECT_EQ(object->bytes, lower(gpu_job(arch, ptx))->bytes);
  }
}

TEST(LowerGpu, ExactnessIsTheUnits) {
  Job job = gpu_job("sm_80", "ptx70");
  job.libraries = {job_of(R"(
target triple = "nvptx64-nvidia-gpulibs"
define float @helper(float %x) { %y = fdiv float 1.0, %x ret float %y })")
                       .bitcode};
  const auto exact = lower(job);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_THAT(exact->bytes, HasSubstr("rcp.rn.f32"));
  job.options.gpu["PrecDivF32"] = 0;
  EXPECT_THAT(lower(job)->bytes, HasSubstr("rcp.approx"));
  job.options.gpu.clear(); // nothing stays behind
  EXPECT_EQ(lower(job)->bytes, exact->bytes);
}

TEST(LowerGpu, DamagedCodeAndLibraries) {
  Job job = gpu_job("sm_90", "ptx78");
  for (const size_t size : {size_t(0), size_t(5), job.bitcode.size() / 2}) {
    Job damaged = job;
    damaged.bitcode.resize(size);
    ASSERT_FALSE(lower(damaged));
    EXPECT_EQ(lower(damaged).error().kind, ErrorKind::integrity);
  }
  for (const size_t size : {size_t(0), size_t(5), job.libraries[0].size() / 2}) {
    Job damaged = job;
    damaged.libraries[0].resize(size);
    const auto object = lower(damaged);
    ASSERT_FALSE(object) << size;
    EXPECT_EQ(object.error().kind, ErrorKind::integrity);
  }
  Job unknown = job;
  unknown.unit.machine.features = {"+ptx999"};
  EXPECT_FALSE(lower(unknown) && lower(unknown)->bytes.find("99.9") != std::string::npos);
  Job of_host = job_of("define void @f() { ret void }");
  of_host.unit.device = {{"sm_90", digest_of("device")}}; // and no place for it
  ASSERT_FALSE(lower(of_host));
  EXPECT_EQ(lower(of_host).error().kind, ErrorKind::integrity);
}

} // namespace

} // namespace xaas::lower
