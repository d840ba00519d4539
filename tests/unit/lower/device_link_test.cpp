// Links of device code of several units, without a toolkit.
#include "lower/testing.h"

#include <xaas/lower/device_link.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::lower {

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string gpu_head =
    "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n";
const std::string caller = gpu_head + R"(
@factor = external addrspace(1) global float
declare float @helper(float)
define protected ptx_kernel void @scale(ptr %values) {
  %value = load float, ptr %values
  %factor = load float, ptr addrspace(1) @factor
  %helped = call float @helper(float %value)
  %result = fmul float %helped, %factor
  store float %result, ptr %values
  ret void
}
)";
const std::string callee = gpu_head + R"(
@factor = protected addrspace(1) externally_initialized global float 3.0
define hidden float @helper(float %x) { %y = fmul float %x, 7.0 ret float %y }
define hidden float @nobody_calls(float %x) { ret float %x }
)";

Job gpu_job(const std::string& text) {
  Job job = job_of(text);
  job.unit.machine.features = {"+ptx78"};
  job.options.text["triple"] = "nvptx64-nvidia-cuda";
  job.target = {"nvptx64", "sm_90", {}};
  job.form = Form::lto;
  return job;
}

DeviceInput input_of(const std::string& source, const Job& job) {
  const auto object = lower(job);
  EXPECT_TRUE(object) << object.error().message;
  return {source, object ? object->bytes : "", job.options};
}

Result<std::string> linked(const std::vector<DeviceInput>& inputs,
                           const std::vector<std::string>& libraries = {}) {
  return link_device_code(inputs, libraries, {"nvptx64", "sm_90", {}}, {"+ptx78"});
}

TEST(DeviceLinks, CallsGoAcrossUnits) {
  const DeviceInput a = input_of("a.cu", gpu_job(caller));
  const DeviceInput b = input_of("b.cu", gpu_job(callee));
  const auto ptx = linked({a, b});
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_THAT(*ptx,
              AllOf(HasSubstr(".target sm_90"), HasSubstr(".version 7.8"), HasSubstr(".visible .entry scale"),
                    HasSubstr(".visible .global .align 4 .f32 factor"), HasSubstr("0f40E00000")));
  EXPECT_THAT(*ptx, AllOf(Not(HasSubstr("call")), Not(HasSubstr(".extern")), Not(HasSubstr("nobody_calls"))));
  EXPECT_EQ(*ptx, *linked({a, b}));
}

TEST(DeviceLinks, WhatIsNotThereStaysAReference) {
  const auto ptx = linked({input_of("a.cu", gpu_job(caller))});
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_THAT(*ptx, HasSubstr(".extern .func")); // named by inline assembly
}

TEST(DeviceLinks, TwoDefinitions) {
  const DeviceInput b = input_of("b.cu", gpu_job(callee));
  const DeviceInput c = input_of("c.cu", gpu_job(callee));
  const auto twice = linked({b, c});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::failed);
  EXPECT_THAT(twice.error().message, AllOf(HasSubstr("b.cu"), HasSubstr("c.cu")));
  std::string weak = callee;
  for (const char* word : {"hidden float", "protected addrspace"})
    weak.replace(weak.find(word), 0, word[0] == 'h' ? "linkonce_odr " : "weak ");
  weak.replace(weak.find("hidden float @nobody"), 0, "linkonce_odr ");
  const DeviceInput d = input_of("d.cu", gpu_job(weak));
  EXPECT_TRUE(linked({input_of("a.cu", gpu_job(caller)), d, d}));
  EXPECT_TRUE(linked({b, d}));
}

TEST(DeviceLinks, AStrongDefinitionStaysWhereverItIs) {
  std::string other = callee;
  other.replace(other.find("7.0"), 3, "5.0");
  other.replace(other.find("hidden float @helper"), 0, "weak ");
  other.replace(other.find("protected addrspace"), 0, "weak ");
  other.replace(other.find("hidden float @nobody"), 0, "weak ");
  const DeviceInput a = input_of("a.cu", gpu_job(caller));
  const DeviceInput weak = input_of("w.cu", gpu_job(other));
  const DeviceInput strong = input_of("s.cu", gpu_job(callee));
  for (const auto& inputs : {std::vector{weak, a, strong}, std::vector{strong, a, weak}}) {
    const auto ptx = linked(inputs);
    ASSERT_TRUE(ptx) << ptx.error().message;
    EXPECT_THAT(*ptx, AllOf(HasSubstr("0f40E00000"), Not(HasSubstr("0f40A00000")))); // 7.0, 5.0
  }
  EXPECT_THAT(*linked({weak, a}), HasSubstr("0f40A00000"));
}

TEST(DeviceLinks, LibrariesAreThereForAll) {
  const std::string library = R"(
target triple = "nvptx64-nvidia-gpulibs"
@state = internal addrspace(1) global i32 7
@factor = addrspace(1) global float 3.0
define float @helper(float %x) { %y = fmul float %x, 7.0 ret float %y }
define float @nobody_calls(float %x) { ret float %x }
)";
  const auto ptx = linked({input_of("a.cu", gpu_job(caller))}, {job_of(library).bitcode});
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_THAT(*ptx,
              AllOf(HasSubstr("0f40E00000"), Not(HasSubstr(".extern")), Not(HasSubstr("nobody_calls"))));
  const auto damaged = linked({input_of("a.cu", gpu_job(caller))}, {"BC"});
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::integrity);
}

TEST(DeviceLinks, EveryKernelKeepsItsRegisters) {
  Job job = gpu_job(caller);
  job.options.gpu["PtxasRegisters"] = 32;
  const auto ptx = linked({input_of("a.cu", job), input_of("b.cu", gpu_job(callee))});
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_THAT(*ptx, HasSubstr(".maxnreg 32"));
}

TEST(DeviceLinks, UnitsWithOtherOptions) {
  ir::UnitOptions quick, exact;
  quick.codegen["OptimizationLevel"] = 1;
  quick.gpu = {{"PrecDivF32", 0}, {"PtxasRegisters", 32}};
  exact.codegen["OptimizationLevel"] = 3;
  exact.gpu = {{"PrecDivF32", 2}, {"PtxasLevel", 3}};
  const ir::UnitOptions both = link_options({quick, exact});
  EXPECT_EQ(both.codegen.at("OptimizationLevel"), 3);
  EXPECT_EQ(both.gpu, (std::map<std::string, int64_t>{{"PrecDivF32", 2}, {"PtxasLevel", 3}}));
  EXPECT_EQ(link_options({exact, quick}), both);
}

TEST(DeviceLinks, DamagedBitcode) {
  const DeviceInput a = input_of("a.cu", gpu_job(caller));
  for (const size_t size : {size_t(0), size_t(5), a.bitcode.size() / 2}) {
    DeviceInput damaged = a;
    damaged.bitcode.resize(size);
    const auto ptx = linked({damaged});
    ASSERT_FALSE(ptx) << size;
    EXPECT_EQ(ptx.error().kind, ErrorKind::integrity);
    EXPECT_THAT(ptx.error().message, HasSubstr("a.cu"));
  }
}

Job kernels_job(const std::vector<LinkedSource>& linked) {
  Job job;
  job.unit.source = "a.cu and 1 more";
  job.options.codegen["OptimizationLevel"] = 2;
  job.target = *target::cpu_by_name("x86_64", "haswell");
  job.form = Form::kernels;
  job.linked = linked;
  return job;
}

TEST(LinkedKernels, AreOneObject) {
  const Job job = kernels_job({{"a.cu", bitcode_of(caller)}, {"b.cu", bitcode_of(callee)}});
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->wanted, ElementsAre("xaas_register_module"));
  const auto again = parse_object(to_bytes(*object));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->kernels.size(), 1u);
  EXPECT_EQ(again->kernels[0].name, "scale");
  EXPECT_EQ(again->kernels[0].source, "a.cu");
  EXPECT_EQ(again->bytes, lower(job)->bytes);
}

TEST(LinkedKernels, WithChecks) {
  Job job = kernels_job({{"a.cu", bitcode_of(caller)}, {"b.cu", bitcode_of(callee)}});
  job.form = Form::checked_kernels;
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->wanted, Contains("xaas_thread_check_access"));
  ASSERT_EQ(object->kernels.size(), 1u);
  EXPECT_EQ(object->kernels[0].form, cpukernel::Form::masked);
  EXPECT_EQ(object->kernels[0].source, "a.cu");
  EXPECT_EQ(object->bytes, lower(job)->bytes);
}

TEST(LinkedKernels, ErrorsNameTheSource) {
  const auto damaged = lower(kernels_job({{"a.cu", bitcode_of(caller)}, {"b.cu", "BC\xc0\xde damaged"}}));
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, ErrorKind::integrity);
  EXPECT_THAT(damaged.error().message, HasSubstr("b.cu"));
  const auto of_host = lower(
      kernels_job({{"a.cu", bitcode_of(caller)}, {"b.cu", job_of("define void @f() { ret void }").bitcode}}));
  ASSERT_FALSE(of_host);
  EXPECT_EQ(of_host.error().kind, ErrorKind::integrity);
  EXPECT_THAT(of_host.error().message, AllOf(HasSubstr("b.cu"), HasSubstr("x86_64")));
  const auto twice = lower(kernels_job({{"b.cu", bitcode_of(callee)}, {"c.cu", bitcode_of(callee)}}));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::failed);
  EXPECT_THAT(twice.error().message, HasSubstr("is defined in b.cu and in c.cu"));
}

TEST(Registrations, AreObjectsWithAConstructor) {
  for (const std::string arch : {"x86_64", "aarch64"}) {
    const auto cuda = cuda_registration("fat binary", arch);
    ASSERT_TRUE(cuda) << cuda.error().message;
    EXPECT_THAT(*cuda, AllOf(HasSubstr("fat binary"), HasSubstr("__cudaRegisterFatBinary"),
                             HasSubstr(".init_array"), HasSubstr("__start_llvm_offload_entries")));
    const auto openmp = openmp_registration({{"nvptx64-nvidia-cuda", "sm_80", "image"}}, arch);
    ASSERT_TRUE(openmp) << openmp.error().message;
    EXPECT_THAT(*openmp, AllOf(HasSubstr("image"), HasSubstr("sm_80"), HasSubstr("__tgt_register_lib"),
                               HasSubstr(".init_array")));
    EXPECT_EQ(*openmp, *openmp_registration({{"nvptx64-nvidia-cuda", "sm_80", "image"}}, arch));
    EXPECT_TRUE(openmp_registration({}, arch)); // the run-time library is told that there is none
  }
}

} // namespace

} // namespace xaas::lower
