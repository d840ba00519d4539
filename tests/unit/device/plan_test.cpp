#include "planning.h"

#include <xaas/device/make.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::device {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DevicePlans : public ::testing::Test {
protected:
  void SetUp() override {
    ir::Unit host{"a.cu", digest_of("host"), digest_of("options"), {}};
    for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
      ir::Unit unit{"a.cu", digest_of(std::string("module for ") + arch), digest_of("options"), {}};
      unit.machine.features = {"+ptx88"};
      bundle_.units[unit.id()] = unit;
      host.device[arch] = unit.id();
    }
    host_ = host.id();
    bundle_.units[host_] = host;
  }
  static system::Gpu gpu(const std::string& arch, const std::string& driver = {}) {
    system::Gpu gpu;
    gpu.vendor = arch.starts_with("gfx") ? "amd" : "nvidia";
    gpu.arch = arch;
    gpu.driver = driver;
    return gpu;
  }
  static device::Assembler assembler(unsigned major, unsigned minor) {
    return {"/ptxas", {major, minor}, std::to_string(major) + "." + std::to_string(minor) + ".1"};
  }
  Result<DevicePlan> plan(const std::vector<system::Gpu>& gpus,
                          std::optional<device::Assembler> assembler = {}, bool no_gpu = false) {
    return plan_jobs(bundle_, {host_}, gpus, no_gpu, std::move(assembler));
  }
  // The architecture of the chosen IR.
  std::string code_of(const DeviceJob& job) const {
    for (const auto& [arch, unit] : bundle_.units.at(host_).device)
      if (unit == job.unit)
        return arch;
    return {};
  }

  image::Bundle bundle_;
  Digest host_;
};

TEST_F(DevicePlans, TheBestCodeForEachGpu) {
  for (const auto& [device, code] :
       {std::pair("sm_75", "sm_75"), std::pair("sm_86", "sm_80"), std::pair("sm_90", "sm_90"),
        std::pair("sm_100", "sm_90"), std::pair("sm_120", "sm_90")}) {
    const auto planned = plan({gpu(device)}, assembler(13, 0));
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_EQ(planned->host_units.at(host_).size(), 1u);
    const DeviceJob& job = planned->host_units.at(host_).front();
    EXPECT_EQ(code_of(job), code);
    EXPECT_EQ(job.arch, device);
    EXPECT_TRUE(job.assembled);
  }
  const auto two = plan({gpu("sm_90"), gpu("sm_80"), gpu("sm_90"), gpu("gfx90a")}, assembler(13, 0));
  ASSERT_TRUE(two);
  EXPECT_THAT(two->gpus, ElementsAre("sm_80", "sm_90"));
  EXPECT_EQ(two->host_units.at(host_).size(), 2u);
}

TEST_F(DevicePlans, TheVersionOfPtxFitsWhoReadsIt) {
  const auto version = [this](const std::vector<system::Gpu>& gpus,
                              std::optional<device::Assembler> by = {}) {
    const auto planned = plan(gpus, std::move(by));
    EXPECT_TRUE(planned) << planned.error().message;
    return planned ? to_string(planned->host_units.at(host_).front().ptx) : "";
  };
  EXPECT_EQ(version({gpu("sm_90")}), "8.8"); // no reader is known that would refuse it
  EXPECT_EQ(version({gpu("sm_90", "535.54.03")}), "8.2");
  EXPECT_EQ(version({gpu("sm_90", "999.1.1")}), "8.8");
  EXPECT_EQ(version({gpu("sm_90")}, assembler(12, 2)), "8.2");
  EXPECT_EQ(version({gpu("sm_90")}, assembler(13, 0)), "8.8");
}

TEST_F(DevicePlans, OfEqualGpusTheOldestDriverDecides) {
  for (const auto& gpus : {std::vector{gpu("sm_90", "580.65.06"), gpu("sm_90", "535.54.03")},
                           std::vector{gpu("sm_90", "535.54.03"), gpu("sm_90", "580.65.06")},
                           std::vector{gpu("sm_90"), gpu("sm_90", "535.54.03")}}) {
    const auto planned = plan(gpus);
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_EQ(to_string(planned->host_units.at(host_).front().ptx), "8.2");
    EXPECT_FALSE(plan(gpus, assembler(13, 0)));
  }
}

TEST_F(DevicePlans, WhatTheAssemblerDoesNotKnowIsLeftToTheDriver) {
  ir::Unit host = bundle_.units.at(host_);
  host.device["sm_70"] = host.device.at("sm_75");
  host_ = host.id();
  bundle_.units[host_] = host;
  EXPECT_FALSE(plan({gpu("sm_70")}, assembler(13, 0))->host_units.at(host_).front().assembled);
  EXPECT_TRUE(plan({gpu("sm_70")}, assembler(12, 8))->host_units.at(host_).front().assembled);
  EXPECT_FALSE(plan({gpu("sm_120")}, assembler(12, 2))->host_units.at(host_).front().assembled);
}

TEST_F(DevicePlans, WhatCannotBe) {
  const auto refused = [this](const std::vector<system::Gpu>& gpus,
                              std::optional<device::Assembler> by = {}) {
    const auto planned = plan(gpus, std::move(by));
    EXPECT_FALSE(planned);
    EXPECT_EQ(planned.error().kind, ErrorKind::unsatisfied);
    return planned ? "" : planned.error().message + "; " + planned.error().hint;
  };
  EXPECT_THAT(refused({}), HasSubstr("--gpu none"));
  EXPECT_THAT(refused({gpu("gfx90a")}), HasSubstr("none of these"));
  EXPECT_THAT(refused({gpu("sm_61")}), HasSubstr("sm_61"));
  EXPECT_THAT(refused({gpu("")}), HasSubstr("unknown"));
  EXPECT_THAT(refused({gpu("sm_90", "535.54.03")}, assembler(13, 0)), HasSubstr("535.54"));
  EXPECT_THAT(refused({gpu("sm_90", "470.57.02")}), HasSubstr("470.57"));
}

TEST_F(DevicePlans, TheRunTimeLibraryNeedsItsDriver) {
  bundle_.options[digest_of("options")].gpu["CudaVersion"] = 13000;
  const auto old = plan({gpu("sm_90", "535.54.03")});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(old.error().message, HasSubstr("run-time library of CUDA 13.0"));
  EXPECT_THAT(old.error().hint, HasSubstr("build the image with CUDA 12"));
  const auto current = plan({gpu("sm_90", "580.65.06")});
  ASSERT_TRUE(current);
  EXPECT_EQ(current->code.begin()->runtime, "13.0");
  EXPECT_TRUE(plan({gpu("sm_90")})); // of a GPU whose driver is unknown
}

TEST_F(DevicePlans, WithoutAGpuThePlacesAreEmpty) {
  const auto planned = plan({gpu("sm_90")}, {}, true);
  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->gpus, IsEmpty());
  EXPECT_THAT(planned->host_units.at(host_), IsEmpty());
  EXPECT_EQ(planned->key(host_), "ptx");
  EXPECT_TRUE(plan_jobs(bundle_, {}, {}, false, {})); // no device code, nothing to ask for
}

class HipPlans : public DevicePlans {
protected:
  void SetUp() override {
    DevicePlans::SetUp();
    ir::Unit host{"a.hip", digest_of("hip host"), digest_of("options"), {}};
    for (const char* arch : {"gfx908", "gfx90a"}) {
      const ir::Unit unit{"a.hip", digest_of(std::string("module for ") + arch), digest_of("hip"), {}};
      bundle_.units[unit.id()] = unit;
      host.device[arch] = unit.id();
    }
    bundle_.options[digest_of("hip")].gpu["CodeObjectVersion"] = 5;
    cuda_ = host_;
    host_ = host.id();
    bundle_.units[host_] = host;
  }
  Digest cuda_;
};

TEST_F(HipPlans, EachGpuGetsItsOwn) {
  const auto planned = plan({gpu("gfx90a:sramecc+:xnack-"), gpu("gfx908"), gpu("gfx90a"), gpu("sm_90")});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(planned->gpus, ElementsAre("gfx908", "gfx90a"));
  const std::vector<DeviceJob>& jobs = planned->host_units.at(host_);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].arch, "gfx908");
  EXPECT_EQ(code_of(jobs[1]), "gfx90a");
  EXPECT_THAT(planned->code, ElementsAre(image::GpuCode{"gfx908", "gfx908", "", "", "", "5"},
                                         image::GpuCode{"gfx90a", "gfx90a", "", "", "", "5"}));
  EXPECT_NE(planned->key(host_), plan({gpu("gfx90a")})->key(host_));
}

TEST_F(HipPlans, WhatNoCodeServes) {
  for (const auto& [gpus, words] : {std::pair{std::vector{gpu("gfx906")}, "gfx906"},
                                    std::pair{std::vector{gpu("gfx90a"), gpu("gfx1100")}, "gfx1100"},
                                    std::pair{std::vector{gpu("sm_90")}, "code for AMD GPUs"},
                                    std::pair{std::vector<system::Gpu>(), "no GPU"}}) {
    const auto planned = plan(gpus);
    ASSERT_FALSE(planned) << words;
    EXPECT_EQ(planned.error().kind, ErrorKind::unsatisfied);
    EXPECT_THAT(planned.error().message, HasSubstr(words));
  }
  bundle_.options.clear(); // a bundle that does not say which ABI its code is for
  EXPECT_EQ(plan({gpu("gfx90a")}).error().kind, ErrorKind::integrity);
}

// A program of two parts: the part for GPUs of a missing vendor stays empty.
TEST_F(HipPlans, BesideCuda) {
  const auto both = [this](const std::vector<system::Gpu>& gpus) {
    return plan_jobs(bundle_, {host_, cuda_}, gpus, false, {});
  };
  const auto amd = both({gpu("gfx90a")});
  ASSERT_TRUE(amd) << amd.error().message;
  EXPECT_EQ(amd->host_units.at(host_).size(), 1u);
  EXPECT_THAT(amd->host_units.at(cuda_), IsEmpty());
  const auto two = both({gpu("sm_90"), gpu("gfx90a")});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_THAT(two->gpus, ElementsAre("gfx90a", "sm_90"));
  EXPECT_EQ(two->host_units.at(cuda_).front().arch, "sm_90");
  const auto none = both({});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("NVIDIA and AMD GPUs"));
}

// The object cache depends on it.
TEST_F(DevicePlans, TheKeySaysAllThatDecides) {
  std::set<std::string> keys;
  keys.insert(plan({gpu("sm_90")})->key(host_));
  keys.insert(plan({gpu("sm_80")})->key(host_));
  keys.insert(plan({gpu("sm_80"), gpu("sm_90")})->key(host_));
  keys.insert(plan({gpu("sm_90", "535.54.03")})->key(host_));
  keys.insert(plan({gpu("sm_90")}, assembler(13, 0))->key(host_));
  keys.insert(plan({gpu("sm_90")}, assembler(12, 9))->key(host_));
  keys.insert(plan({gpu("sm_90")}, {}, true)->key(host_));
  EXPECT_EQ(keys.size(), 7u);
  EXPECT_EQ(plan({gpu("sm_90")})->key(digest_of("a unit without device code")), "");
}

using Form = link::DeviceFile::Form;

// A configuration whose only device code is in a file.
class DeviceFilePlans : public DevicePlans {
protected:
  Result<DevicePlan> plan(Form form, const std::set<std::string>& archs, const std::vector<system::Gpu>& gpus,
                          std::optional<device::Assembler> by = assembler(13, 0), bool no_gpu = false) {
    link::DeviceFile file{form, {}};
    for (const std::string& arch : archs)
      file.units[arch] = bundle_.units.at(host_).device.at(arch);
    return plan_jobs(bundle_, {}, gpus, no_gpu, std::move(by), {{"share/k", file}});
  }
  // "sm_90 assembled, ..." of the jobs, or the error.
  std::string made(Form form, const std::set<std::string>& archs, const std::vector<system::Gpu>& gpus,
                   std::optional<device::Assembler> by = assembler(13, 0)) {
    const auto planned = plan(form, archs, gpus, std::move(by));
    if (!planned) {
      EXPECT_EQ(planned.error().kind, ErrorKind::unsatisfied);
      return planned.error().message;
    }
    std::string text;
    for (const DeviceJob& job : planned->files.at("share/k").jobs)
      text += (text.empty() ? "" : ", ") + code_of(job) + " for " + job.arch +
              (job.assembled ? "" : " as PTX " + to_string(job.ptx));
    return text;
  }
};

TEST_F(DeviceFilePlans, AFileKeepsItsForm) {
  EXPECT_EQ(made(Form::ptx, {"sm_80"}, {gpu("sm_90")}), "sm_80 for sm_90 as PTX 8.8");
  EXPECT_EQ(made(Form::cubin, {"sm_80", "sm_90"}, {gpu("sm_90")}), "sm_90 for sm_90");
  EXPECT_EQ(made(Form::fatbin, {"sm_80"}, {gpu("sm_90")}), "sm_80 for sm_90");
  EXPECT_EQ(made(Form::fatbin, {"sm_80"}, {gpu("sm_90")}, {}), "sm_80 for sm_90 as PTX 8.8");
  EXPECT_THAT(made(Form::cubin, {"sm_80"}, {gpu("sm_90")}, {}), HasSubstr("/share/k: it is machine code"));
  EXPECT_THAT(made(Form::cubin, {"sm_80"}, {gpu("sm_120")}, assembler(12, 2)),
              HasSubstr("ptxas 12.2.1 makes none for sm_120"));
}

TEST_F(DeviceFilePlans, SeveralGpusShareAFile) {
  const std::vector<system::Gpu> both = {gpu("sm_90"), gpu("sm_80")};
  EXPECT_EQ(made(Form::ptx, {"sm_75", "sm_80", "sm_90"}, both), "sm_80 for sm_80 as PTX 8.8");
  EXPECT_EQ(made(Form::fatbin, {"sm_80"}, both), "sm_80 for sm_80, sm_80 for sm_90");
  EXPECT_THAT(made(Form::cubin, {"sm_80"}, both), HasSubstr("one cubin is for one GPU"));
  EXPECT_EQ(made(Form::cubin, {"sm_80"}, {gpu("sm_86"), gpu("sm_80")}), "sm_80 for sm_80");
  EXPECT_EQ(made(Form::cubin, {"sm_90"}, both), "no device code of the image serves sm_80; its files were "
                                                "compiled for sm_90"); // it is the only file
  // The driver of each GPU reads it.
  EXPECT_EQ(made(Form::ptx, {"sm_80"}, {gpu("sm_80", "580.65.06"), gpu("sm_90", "535.54.03")}),
            "sm_80 for sm_80 as PTX 8.2");
}

TEST_F(DeviceFilePlans, WhatNeedsNoAssemblerNeedsNoDriverForIt) {
  EXPECT_EQ(made(Form::ptx, {"sm_80"}, {gpu("sm_80", "535.54.03")}), "sm_80 for sm_80 as PTX 8.2");
  EXPECT_THAT(made(Form::cubin, {"sm_80"}, {gpu("sm_80", "535.54.03")}), HasSubstr("535.54"));
}

TEST_F(DeviceFilePlans, WithoutGpusItStaysWhatItIs) {
  const auto planned = plan(Form::cubin, {"sm_80"}, {}, {}, true);
  ASSERT_TRUE(planned);
  EXPECT_THAT(planned->files.at("share/k").jobs, IsEmpty());
  EXPECT_THAT(planned->code, IsEmpty());
  EXPECT_FALSE(plan(Form::cubin, {"sm_80"}, {}));
}

TEST_F(DeviceFilePlans, ItIsSaidOfEachGpuAlone) {
  const auto planned = plan(Form::ptx, {"sm_80"}, {gpu("sm_80"), gpu("sm_90")});
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->code.size(), 2u);
  for (const image::GpuCode& code : planned->code) {
    EXPECT_TRUE(code.in_file);
    EXPECT_EQ(code.arch, "sm_80");
  }
  EXPECT_FALSE(plan(Form::fatbin, {"sm_80"}, {gpu("sm_80")})->code.begin()->in_file);
}

// A program that is linked with libraries of CUDA's, for the CPU.
class CpuPlans : public DevicePlans {
protected:
  void SetUp() override {
    DevicePlans::SetUp();
    bundle_.arch = "x86_64";
    bundle_.options[digest_of("options")];
  }
  Result<DevicePlan> plan(const std::vector<std::string>& libraries, bool stand_ins,
                          link::OutputKind kind = link::OutputKind::executable) {
    link::LinkRecord record{kind, "app", {}};
    const auto add = [&](link::FileRef::Kind of, const Digest& digest, const std::string& name) {
      record.items.push_back({link::LinkItem::Kind::input, "", "", {of, digest, name}});
    };
    add(link::FileRef::Kind::unit, host_, "a.o");
    for (const std::string& name : libraries)
      add(link::FileRef::Kind::kit, digest_of(name), name);
    record_ = record.digest();
    bundle_.links = {{record_, record}};
    image::Usage usage;
    usage.units = {host_};
    usage.links = {record_};
    return plan_device_code(bundle_, configuration_, usage,
                            {.gpus = {system::cpu_as_gpu()}, .stand_ins = stand_ins});
  }
  static link::FileRef kit(const std::string& name) {
    return {link::FileRef::Kind::kit, digest_of(name), name};
  }

  image::BundleConfiguration configuration_;
  Digest record_;
};

TEST_F(CpuPlans, NameTheLibraryThatNeedsAGpu) {
  for (const auto& [file, name] :
       {std::pair("libcufft.so.12", "cuFFT"), std::pair("libcublas_static.a", "cuBLAS"),
        std::pair("libnccl.so", "NCCL"), std::pair("libcuda.so", "the CUDA driver")}) {
    const auto refused = plan({"libcudart.so", file}, false);
    ASSERT_FALSE(refused) << file;
    EXPECT_EQ(refused.error().kind, ErrorKind::unsatisfied);
    EXPECT_THAT(refused.error().message,
                HasSubstr("app is linked with " + std::string(file) + " (" + name + ")"));
    EXPECT_THAT(refused.error().hint, HasSubstr("--force"));
  }
  EXPECT_TRUE(plan({"libcudart.so", "libfftw3.so"}, false));
  // Its code is already part of the object.
  const auto part = plan({"libcufft_static.a"}, true, link::OutputKind::relocatable);
  ASSERT_FALSE(part);
  EXPECT_THAT(part.error().message, HasSubstr("relocatable"));
  EXPECT_THAT(part.error().hint, ::testing::Not(HasSubstr("--force")));
}

TEST_F(CpuPlans, ReplaceLibrariesIfThatIsWanted) {
  const auto planned = plan({"libcudart.so", "libcufft.so.12", "libcurand.so", "libm.so"}, true);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_THAT(planned->libraries.at(record_),
              ::testing::UnorderedElementsAre(kit("libcufft.so.12"), kit("libcurand.so")));
  for (const char* name : {"libcudart.so", "libcufft.so.12", "libcurand.so"}) {
    EXPECT_TRUE(is_replaced(*planned, record_, kit(name))) << name;
    EXPECT_FALSE(is_replaced(*planned, digest_of("another link"), kit(name))) << name;
  }
  EXPECT_FALSE(is_replaced(*planned, record_, kit("libm.so")));
  EXPECT_FALSE(is_replaced(DevicePlan{}, record_, kit("libcufft.so.12")));
}

TEST_F(CpuPlans, NameTheFilesThatOnlyTheDriverLoads) {
  for (const auto& [path, form] :
       {std::pair("share/a.ptx", Form::ptx), std::pair("share/b.cubin", Form::cubin),
        std::pair("share/c.spv", Form::spirv), std::pair("share/d.fatbin", Form::fatbin)}) {
    link::InstalledFile file;
    file.path = path;
    file.device = link::DeviceFile{form, {}};
    configuration_.installed.push_back(file);
  }
  const auto refused = plan({"libcuda.so"}, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("/share/a.ptx (PTX), /share/b.cubin (a cubin), /share/d.fatbin (a fat binary)"));
  EXPECT_THAT(plan({"libcufft.so"}, false).error().message, ::testing::Not(HasSubstr("ptx")));
  const auto planned = plan({}, false);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->useless_files.size(), 3u);
  EXPECT_EQ(planned->useless_files.at("share/b.cubin"), Form::cubin);
}

} // namespace

} // namespace xaas::device
