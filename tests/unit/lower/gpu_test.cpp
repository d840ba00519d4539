// Lowering of device code without a toolkit: the test makes the library itself.
#include "lower/testing.h"

#include <xaas/base/text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace xaas::lower {

namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
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
    EXPECT_THAT(object->bytes, Not(HasSubstr("call")));  // linked code is optimized with the rest
    EXPECT_THAT(object->bytes, HasSubstr("0f40E00000")); // 7.0
    EXPECT_EQ(object->bytes, lower(gpu_job(arch, ptx))->bytes);
  }
}

// The same forms as where the kernels are made, without an object.
TEST(LowerGpu, FormsOfKernelsOnTheCpu) {
  Job job = job_of(std::string(kernel) + R"(
define ptx_kernel void @refused() { call void asm sideeffect "wgmma.fence.sync.aligned;", ""() ret void }
)");
  job.form = Form::kernels;
  const auto made = lower(job);
  ASSERT_TRUE(made) << made.error().message;
  job.form = Form::kernel_forms;
  const auto read = lower(job);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(made->bytes, Not(HasSubstr("BC")));
  EXPECT_FALSE(made->bytes.empty());
  EXPECT_TRUE(read->bytes.empty());
  ASSERT_EQ(read->kernels.size(), 2u);
  EXPECT_EQ(read->kernels[0].name, "refused");
  EXPECT_EQ(read->kernels[0].form, cpukernel::Form::refused);
  EXPECT_THAT(read->kernels[0].reason, HasSubstr("wgmma.fence"));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->kernels[i].name, made->kernels[i].name);
    EXPECT_EQ(read->kernels[i].form, made->kernels[i].form);
    EXPECT_EQ(read->kernels[i].reason, made->kernels[i].reason);
  }
  EXPECT_EQ(parse_object(to_bytes(*read))->kernels.size(), 2u);

  Job host = job_of("target triple = \"x86_64-pc-linux-gnu\"\ndefine void @f() { ret void }");
  host.form = Form::kernel_forms;
  EXPECT_EQ(lower(host).error().kind, ErrorKind::integrity);
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
  job.options.gpu.clear(); // no option is left over
  EXPECT_EQ(lower(job)->bytes, exact->bytes);
}

// for_ptxas.cpp
constexpr const char* loop = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @sum(ptr noalias %from, ptr noalias %to, i32 %n) {
entry:
  br label %body
body:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %sum = phi float [ 0.0, %entry ], [ %more, %body ]
  %place = getelementptr float, ptr %from, i32 %i
  %value = load float, ptr %place
  %more = fadd float %sum, %value
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %body
end:
  store float %more, ptr %to
  ret void
}
)";

TEST(LowerGpu, LoopsEndWithABranchBack) {
  Job job = gpu_job("sm_90", "ptx78");
  job.bitcode = job_of(loop).bitcode;
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->bytes, ContainsRegex("setp\\.ne\\.[^\n]*\n[^\n]*@%p[0-9]+ bra"));
  EXPECT_THAT(object->bytes, Not(HasSubstr("bra.uni")));
}

// The condition has another use, which keeps its meaning.
TEST(LowerGpu, ConditionsWithOtherUses) {
  std::string text = loop;
  text.replace(text.find("store float"), 0, "%bit = zext i1 %done to i32 %word = bitcast i32 %bit to float ");
  text.replace(text.find("store float %more"), 17, "%total = fadd float %more, %word store float %total");
  Job job = gpu_job("sm_90", "ptx78");
  job.bitcode = job_of(text).bitcode;
  const auto object = lower(job);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_THAT(object->bytes, ContainsRegex("setp\\.ne\\.[^\n]*\n[^\n]*@%p[0-9]+ bra"));
}

TEST(LowerGpu, CopiesLoadBeforeTheyStore) {
  const auto accesses = [](const std::string& attributes, const std::string& arguments, int level = 2) {
    Job job = gpu_job("sm_90", "ptx78");
    job.options.codegen["OptimizationLevel"] = level;
    const std::string text = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptx_kernel void @copy(ptr noalias %to, ptr @attributes %from) {
  call void @llvm.memcpy.p0.p0.i64(@arguments)
  ret void
})";
    job.bitcode =
        job_of(replaced(replaced(text, "@attributes", attributes), "@arguments", arguments)).bitcode;
    const auto object = lower(job);
    EXPECT_TRUE(object) << object.error().message;
    std::string order, line;
    for (std::istringstream lines(object->bytes); std::getline(lines, line);)
      if ((line.starts_with("\tld.") || line.starts_with("\tst.")) && !line.starts_with("\tld.param"))
        order += line.substr(1, line.find_first_of(" \t", 1) - 1) + " ";
    return order;
  };
  EXPECT_EQ(accesses("noalias readonly", "ptr align 4 %to, ptr align 4 %from, i64 8, i1 false"),
            "ld.global.nc.b32 ld.global.nc.b32 st.global.b32 st.global.b32 ");
  EXPECT_EQ(accesses("", "ptr align 4 %to, ptr align 8 %from, i64 8, i1 false"),
            "ld.global.b64 st.global.b32 st.global.b32 ");
  EXPECT_EQ(accesses("", "ptr align 16 %to, ptr align 16 %from, i64 27, i1 false"),
            "ld.global.v4.b32 ld.global.v2.b32 ld.global.b16 ld.global.b8 "
            "st.global.v4.b32 st.global.v2.b32 st.global.b16 st.global.b8 ");
  // As the back end has it: there are not that many registers, nothing is optimized, it must be as written.
  EXPECT_THAT(accesses("", "ptr align 1 %to, ptr align 1 %from, i64 17, i1 false"),
              HasSubstr("st.global.b8 ld.global.b8"));
  EXPECT_THAT(accesses("", "ptr align 4 %to, ptr align 4 %from, i64 8, i1 false", 0),
              HasSubstr("st.b32 ld.b32"));
  EXPECT_THAT(accesses("", "ptr align 4 %to, ptr align 4 %from, i64 8, i1 true"), HasSubstr("volatile"));
}

Job amd_job(const std::string& arch) {
  Job job = job_of(R"(
target triple = "amdgcn-amd-amdhsa"
declare float @helper(float)
define amdgpu_kernel void @scale(ptr addrspace(1) %values) {
  %value = load float, ptr addrspace(1) %values
  %result = call float @helper(float %value)
  store float %result, ptr addrspace(1) %values
  ret void
}
define hidden float @own(float %x) { ret float %x }
)");
  job.options.text["triple"] = "amdgcn-amd-amdhsa";
  job.options.gpu = {{"CodeObjectVersion", 5}, {"InternalizeSymbols", 1}};
  job.target = {"amdgcn", arch, {}};
  job.libraries = {job_of(R"(
target triple = "amdgcn-amd-amdhsa"
define linkonce_odr protected float @helper(float %x) { %y = fmul float %x, 7.0 ret float %y }
define linkonce_odr protected float @unused(float %x) { ret float %x }
)")
                       .bitcode};
  return job;
}

TEST(LowerGpu, MakesAnObjectForTheAmdGpu) {
  for (const auto& [arch, number] : {std::pair("gfx908", 0x30), std::pair("gfx90a", 0x3f),
                                     std::pair("gfx942", 0x4c), std::pair("gfx1030", 0x36)}) {
    const auto object = lower(amd_job(arch));
    ASSERT_TRUE(object) << object.error().message;
    ASSERT_GT(object->bytes.size(), 64u);
    EXPECT_EQ(object->bytes.substr(1, 3), "ELF");
    EXPECT_EQ(static_cast<unsigned char>(object->bytes[18]), 224);    // e_machine: EM_AMDGPU
    EXPECT_EQ(static_cast<unsigned char>(object->bytes[48]), number); // e_flags: EF_AMDGPU_MACH
    EXPECT_EQ(object->bytes[8], 3);                                   // the ABI of version 5
    EXPECT_THAT(object->bytes,
                AllOf(HasSubstr("scale.kd"), Not(HasSubstr("unused")), Not(HasSubstr("helper")),
                      Not(HasSubstr("own")))); // no kernel needs it
    EXPECT_EQ(object->bytes, lower(amd_job(arch))->bytes);
  }
  Job job = amd_job("gfx90a");
  // Linked code treats denormal numbers as the unit does; otherwise its rounding mode would differ.
  job.options.text["FP32DenormalMode"] = "preserve-sign,preserve-sign";
  EXPECT_NE(lower(job)->bytes, lower(amd_job("gfx90a"))->bytes);
  job.options.text["FP32DenormalMode"] = "as you like";
  EXPECT_EQ(lower(job).error().kind, ErrorKind::integrity);
  job = amd_job("gfx90a");
  job.options.gpu["CodeObjectVersion"] = 6;
  EXPECT_EQ(lower(job)->bytes[8], 4);
  job.options.gpu["CodeObjectVersion"] = 9;
  ASSERT_FALSE(lower(job));
  EXPECT_EQ(lower(job).error().kind, ErrorKind::integrity);
  job = amd_job("gfx9999");
  EXPECT_FALSE(lower(job));
}

TEST(LowerGpu, DamagedCodeAndLibraries) {
  const Job job = gpu_job("sm_90", "ptx78");
  for (const Job& whole : {job, amd_job("gfx90a")}) {
    for (const size_t size : {size_t(0), size_t(5), whole.bitcode.size() / 2}) {
      Job damaged = whole;
      damaged.bitcode.resize(size);
      ASSERT_FALSE(lower(damaged));
      EXPECT_EQ(lower(damaged).error().kind, ErrorKind::integrity);
    }
    for (const size_t size : {size_t(0), size_t(5), whole.libraries[0].size() / 2}) {
      Job damaged = whole;
      damaged.libraries[0].resize(size);
      const auto object = lower(damaged);
      ASSERT_FALSE(object) << size;
      EXPECT_EQ(object.error().kind, ErrorKind::integrity);
    }
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
