// Command lines with HIP: Clang's options for them, and the translation of hipcc's.
#include "arguments.h"
#include "hip/hip_arguments.h"
#include "hip/hipcc.h"
#include "hip/rocm.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/frontdoor/toolchains.h>

#include <gmock/gmock.h>

#include <llvm/Bitcode/LLVMBitCodes.h>
#include <llvm/Bitstream/BitstreamWriter.h>
#include <llvm/Config/llvm-config.h>

#include <cstdlib>

namespace xaas::frontdoor {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using HipWords = std::vector<std::string>;

// Possible installations of HIP.
class Hip : public ::testing::Test {
protected:
  Hip() : directory_(*TemporaryDirectory::create()) {
    session_.rocm.root = directory_.path();
    session_.rocm.bitcode = directory_.path() / "amdgcn" / "bitcode";
    session_.arch = "x86_64";
    add("include/hip/hip_runtime.h");
    add("amdgcn/bitcode/ocml.bc");
    add("amdgcn/bitcode/oclc_abi_version_400.bc");
    add("amdgcn/bitcode/oclc_abi_version_500.bc");
    version("5");
  }
  void add(const std::string& name, const std::string& content = "") {
    EXPECT_TRUE(make_directories((directory_.path() / name).parent_path()));
    EXPECT_TRUE(write_file(directory_.path() / name, content));
  }
  void version(const std::string& major) {
    add("include/hip/hip_version.h",
        "#define HIP_VERSION_MAJOR " + major + "\n#define HIP_VERSION_MINOR 2\n");
  }
  HipWords options(const HipWords& words) { return hip_options(session_, words); }
  std::string line(const HipWords& words) {
    return " " + join(front_door_arguments(session_, words).all, " ") + " ";
  }

  TemporaryDirectory directory_;
  session::Session session_;
};

TEST_F(Hip, ASourceIsOne) {
  EXPECT_TRUE(is_hip({"-c", "a.hip"}));
  EXPECT_TRUE(is_hip({"-x", "hip", "-c", "a.cpp"}));
  EXPECT_TRUE(is_hip({"-xhip", "-c", "a.cpp"}));
  EXPECT_FALSE(is_hip({"-x", "cuda", "-c", "a.cu"}));
  EXPECT_FALSE(is_hip({"-c", "a.cpp", "-DHIP"}));
}

TEST_F(Hip, EverySourceTakesTheGpusOfItsVendor) {
  session_.gpus = {"sm_90", "gfx90a", "gfx1030"};
  const std::string hip = line({"-x", "hip", "-c", "a.cpp", "--offload-arch=gfx906"});
  EXPECT_THAT(hip, HasSubstr(" --offload-arch=gfx90a --offload-arch=gfx1030 "));
  EXPECT_THAT(hip, Not(HasSubstr("gfx906")));
  EXPECT_THAT(hip, Not(HasSubstr("sm_90")));
  const std::string cuda = line({"-c", "a.cu", "--offload-arch=sm_80"});
  EXPECT_THAT(cuda, HasSubstr(" --offload-arch=sm_90 "));
  EXPECT_THAT(cuda, Not(HasSubstr("gfx")));
  EXPECT_THAT(cuda, Not(HasSubstr("sm_80")));
  session_.gpus = {"sm_90"}; // no GPU of this vendor: the build's own applies
  EXPECT_THAT(line({"-x", "hip", "-c", "a.cpp", "--offload-arch=gfx906"}),
              HasSubstr(" --offload-arch=gfx906 "));
}

TEST_F(Hip, WhereHipAndItsLibrariesAre) {
  const HipWords found = options({"-c", "a.hip"});
  EXPECT_THAT(found, Contains("--rocm-path=" + directory_.path().string()));
  EXPECT_THAT(found, Contains("--rocm-device-lib-path=" + session_.rocm.bitcode.string()));
  EXPECT_THAT(found, Contains("-mcode-object-version=5")); // the newest that the libraries support
  EXPECT_THAT(options({"-c", "a.hip", "-mcode-object-version=4"}), Not(Contains("-mcode-object-version=5")));
  add("amdgcn/bitcode/oclc_abi_version_600.bc");
  EXPECT_THAT(options({"-c", "a.hip"}), Contains("-mcode-object-version=6"));
  EXPECT_THAT(line({"-x", "hip", "-isystem", "/usr/include", "-c", "a.cpp"}),
              Not(HasSubstr("/usr/include ")));
  EXPECT_THAT(line({"-isystem", "/usr/include", "-c", "a.cpp"}), HasSubstr("/usr/include "));
}

TEST_F(Hip, TheWidthOfAWavefrontForOlderHeaders) {
  session_.gpus = {"gfx90a", "gfx1030"};
  const std::string older = line({"-c", "a.hip"});
  EXPECT_THAT(older, HasSubstr("-Xarch_host -D__AMDGCN_WAVEFRONT_SIZE=64 -Xarch_gfx90a "
                               "-D__AMDGCN_WAVEFRONT_SIZE=64 -Xarch_gfx1030 -D__AMDGCN_WAVEFRONT_SIZE=32"));
  EXPECT_THAT(line({"-c", "a.hip", "-mwavefrontsize64"}), Not(HasSubstr("SIZE=32")));
  session_.gpus.clear();
  EXPECT_THAT(line({"-c", "a.hip", "--offload-arch=gfx1100,gfx942:xnack+"}),
              HasSubstr("-Xarch_gfx1100 -D__AMDGCN_WAVEFRONT_SIZE=32 -Xarch_gfx942:xnack+ "
                        "-D__AMDGCN_WAVEFRONT_SIZE=64"));
  version("7");
  EXPECT_THAT(line({"-c", "a.hip"}), Not(HasSubstr("WAVEFRONT")));
}

TEST_F(Hip, NamesOfDeviceVariablesAreThoseOfTheSource) {
  session_.prefixes = {{"/one", "."}};
  const auto cuid = [&](const HipWords& words) {
    for (const std::string& option : options(words))
      if (option.starts_with("-cuid="))
        return option;
    return std::string();
  };
  const std::string first = cuid({"-x", "hip", "-c", "/one/a.cpp", "-o", "/one/b.cpp"});
  session_.prefixes = {{"/other", "."}};
  EXPECT_EQ(cuid({"-O2", "-xhip", "-c", "/other/a.cpp"}), first);
  EXPECT_NE(cuid({"-xhip", "-c", "/other/b.cpp"}), first);
  EXPECT_EQ(cuid({"-xhip", "/other/a.cpp", "/other/b.cpp"}), ""); // it would be the same for both
}

TEST_F(Hip, WithoutDeviceLibraries) {
  session_.rocm.bitcode.clear();
  EXPECT_THAT(hip_obstacle(session_, {"-c", "a.hip"})->message, HasSubstr("ocml.bc"));
  EXPECT_EQ(hip_obstacle(session_, {"-c", "a.hip"})->kind, ErrorKind::missing_tool);
  for (const char* without : {"-nogpulib", "--cuda-host-only", "--rocm-device-lib-path=/own"})
    EXPECT_FALSE(hip_obstacle(session_, {"-c", "a.hip", without})) << without;
  EXPECT_TRUE(hip_obstacle(session_, {"-c", "-MD", "a.hip"}));
  EXPECT_FALSE(hip_obstacle(session_, {"-c", "a.cpp"}));
}

// The start of a bitcode file: its magic number, and an identification block with this producer.
std::string bitcode_by(const std::string& producer) {
  llvm::SmallVector<char, 0> bytes;
  llvm::BitstreamWriter stream(bytes);
  stream.Emit('B', 8);
  stream.Emit('C', 8);
  stream.Emit(0x0, 4);
  stream.Emit(0xC, 4);
  stream.Emit(0xE, 4);
  stream.Emit(0xD, 4);
  stream.EnterSubblock(llvm::bitc::IDENTIFICATION_BLOCK_ID, 5);
  llvm::SmallVector<unsigned, 32> characters(producer.begin(), producer.end());
  stream.EmitRecord(llvm::bitc::IDENTIFICATION_CODE_STRING, characters);
  stream.EmitRecord(llvm::bitc::IDENTIFICATION_CODE_EPOCH,
                    llvm::SmallVector<unsigned, 1>{llvm::bitc::BITCODE_CURRENT_EPOCH});
  stream.ExitBlock();
  return std::string(bytes.begin(), bytes.end());
}

TEST_F(Hip, DeviceLibrariesOfANewerLlvm) {
  const unsigned own = LLVM_VERSION_MAJOR;
  add("amdgcn/bitcode/ocml.bc", bitcode_by("LLVM" + std::to_string(own) + ".1.0"));
  EXPECT_EQ(llvm_of_device_libraries(session_.rocm), own);
  EXPECT_FALSE(hip_obstacle(session_, {"-c", "a.hip"}));
  add("amdgcn/bitcode/ocml.bc", bitcode_by("LLVM" + std::to_string(own + 1) + ".0.0git"));
  const auto obstacle = hip_obstacle(session_, {"-c", "a.hip"});
  ASSERT_TRUE(obstacle);
  EXPECT_EQ(obstacle->kind, ErrorKind::missing_tool);
  EXPECT_THAT(obstacle->message, HasSubstr("are bitcode of LLVM " + std::to_string(own + 1)));
  EXPECT_FALSE(hip_obstacle(session_, {"-c", "a.hip", "--cuda-host-only"}));
}

TEST_F(Hip, TheLibraryOfOlderHeaders) {
  const HipWords command = {"-cc1", "-mlink-builtin-bitcode", "ocml.bc", "-x", "hip"};
  EXPECT_EQ(with_hip_library(session_, command), command);
  add("amdgcn/bitcode/hip.bc");
  EXPECT_THAT(with_hip_library(session_, command),
              ElementsAre("-cc1", "-mlink-builtin-bitcode", (session_.rocm.bitcode / "hip.bc").string(),
                          "-mlink-builtin-bitcode", "ocml.bc", "-x", "hip"));
  EXPECT_THAT(with_hip_library(session_, {"-cc1", "-x", "hip"}), ElementsAre("-cc1", "-x", "hip"));
}

TEST_F(Hip, HipccsWords) {
  session_.rocm.root = "/usr";
  const auto words = [&](const HipWords& given) {
    return join(clang_arguments_of_hipcc(session_, given), " ");
  };
  const std::string first = "-D__HIP_PLATFORM_AMD__=1 ";
  EXPECT_EQ(words({"-c", "-O2", "a.cpp", "-o", "a.o"}), first + "-c -O2 -x hip a.cpp -x none -o a.o");
  EXPECT_EQ(words({"-c", "a.cu"}), "-O3 " + first + "-c -x hip a.cu -x none"); // which optimizes by itself
  EXPECT_EQ(words({"-O1", "a.cpp", "b.o", "c.c"}), first + "-O1 -x hip a.cpp -x none b.o c.c --hip-link");
  EXPECT_EQ(words({"-O1", "-x", "c++", "-c", "a.cpp"}), first + "-O1 -x c++ -c a.cpp");
  EXPECT_EQ(words({"-O1", "-c", "--amdgpu-target=gfx906,gfx90a", "--offload-arch=gfx908"}),
            first + "-O1 -c --offload-arch=gfx906 --offload-arch=gfx90a --offload-arch=gfx908");
  EXPECT_EQ(words({"-O1", "--genco", "-use_fast_math", "--hipcc-func-supp", "a.cpp"}),
            first + "-O1 --cuda-device-only -DHIP_FAST_MATH -x hip a.cpp -x none");
  EXPECT_THAT(words({"--version"}), Not(HasSubstr("--hip-link")));
  session_.rocm.root = "/opt/rocm";
  EXPECT_THAT(words({"a.o"}), HasSubstr("-isystem /opt/rocm/include"));
}

TEST_F(Hip, ARocmDirectoryIsSeenWithOurHipcc) {
  add("bin/hipcc");
  add("bin/hipconfig");
  add("amdgcn/other");
  add("lib/cmake/hip/hip-config.cmake");
  add("session/tools/clang");
  session_.directory = directory_.path() / "session";
  const Result<void> made = shadow_rocm(session_, session_.directory / "tools/clang");
  ASSERT_TRUE(made) << made.error().message;
  const fs::path shadow = session_.directory / "rocm";
  EXPECT_EQ(fs::read_symlink(shadow / "bin/hipcc"), session_.directory / "tools/clang");
  EXPECT_EQ(fs::read_symlink(shadow / "bin/hipconfig"), directory_.path() / "bin/hipconfig");
  EXPECT_TRUE(fs::exists(shadow / "lib/cmake/hip/hip-config.cmake"));
  EXPECT_TRUE(fs::exists(shadow / "include/hip/hip_version.h"));
  EXPECT_TRUE(fs::exists(shadow / "amdgcn/bitcode/ocml.bc"));
}

TEST_F(Hip, IsFoundWhereTheEnvironmentSays) {
  setenv("ROCM_PATH", directory_.path().c_str(), 1);
  const session::Rocm found = find_rocm();
  EXPECT_EQ(found.root, directory_.path());
  EXPECT_EQ(found.bitcode, session_.rocm.bitcode);
  add("elsewhere/ocml.bc");
  setenv("HIP_DEVICE_LIB_PATH", (directory_.path() / "elsewhere").c_str(), 1);
  EXPECT_EQ(find_rocm().bitcode, directory_.path() / "elsewhere");
  unsetenv("HIP_DEVICE_LIB_PATH");
  fs::remove(session_.rocm.bitcode / "ocml.bc");
  EXPECT_EQ(find_rocm().root, directory_.path()); // and nothing to compile it with
  EXPECT_THAT(find_rocm().bitcode.string(), IsEmpty());
  // In the resource directories of Clang: the newest that can be read.
  const auto place = [](unsigned version) {
    return "lib/llvm-" + std::to_string(version) + "/lib/clang/" + std::to_string(version) +
           "/amdgcn/bitcode";
  };
  const unsigned own = LLVM_VERSION_MAJOR;
  add(place(own + 1) + "/ocml.bc");
  EXPECT_EQ(find_rocm().bitcode, directory_.path() / place(own + 1));
  add(place(own - 2) + "/ocml.bc");
  add(place(own - 1) + "/ocml.bc");
  EXPECT_EQ(find_rocm().bitcode, directory_.path() / place(own - 1));
  add("lib/llvm/lib/clang/" + std::to_string(own) + "/lib/amdgcn/bitcode/ocml.bc"); // ROCm 7
  EXPECT_EQ(find_rocm().bitcode,
            directory_.path() / "lib/llvm/lib/clang" / std::to_string(own) / "lib/amdgcn/bitcode");
  unsetenv("ROCM_PATH");
}

} // namespace

} // namespace xaas::frontdoor
