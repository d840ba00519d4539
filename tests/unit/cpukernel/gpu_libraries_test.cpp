#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/cpukernel/gpu_libraries.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>

namespace xaas::cpukernel {

namespace {

using ::testing::HasSubstr;

TEST(GpuLibraries, AreFoundByTheNamesOfTheirFiles) {
  const auto name = [](const char* file) {
    const GpuLibrary* library = find_gpu_library(file);
    return library ? std::string(library->name) : "none";
  };
  EXPECT_EQ(name("libcufft.so.12"), "cuFFT");
  EXPECT_EQ(name("libcufft_static_nocallback.a"), "cuFFT");
  EXPECT_EQ(name("libcufftw.so"), "cuFFTW");
  EXPECT_EQ(name("libcublas.so"), "cuBLAS");
  EXPECT_EQ(name("libcublasLt_static.a"), "cuBLASLt");
  EXPECT_EQ(name("libcusolverMg.so"), "cuSOLVER");
  EXPECT_EQ(name("libnppig.so.13"), "NPP");
  EXPECT_EQ(name("libcuda.so"), "the CUDA driver");
  EXPECT_EQ(name("libcudart.so.13"), "none");
  EXPECT_EQ(name("libcudart_static.a"), "none");
  EXPECT_EQ(name("libfftw3.so"), "none");
}

class StandIns : public ::testing::Test {
protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::create(temporary_root(), "xaas-stand-ins-");
    ASSERT_TRUE(directory);
    directory_.emplace(*std::move(directory));
  }
  fs::path path(const std::string& name) const { return directory_->path() / name; }
  void write(const std::string& name, const std::string& content) const {
    ASSERT_TRUE(write_file(path(name), content, 0644, false));
  }
  ProcessResult sh(const std::string& command) const {
    auto result = run_process({.arguments = {"sh", "-c", command}, .directory = directory_->path()});
    EXPECT_TRUE(result);
    return result ? *result : ProcessResult{1, ""};
  }
  // What a program says that has stand-ins for these functions of a library.
  std::string said(const char* library, const std::set<std::string>& functions, const std::string& program,
                   const std::set<std::string>& defined = {}) const {
    const auto bitcode = stand_ins("x86_64", *find_gpu_library(library), functions, defined);
    EXPECT_TRUE(bitcode);
    write("stand_ins.bc", *bitcode);
    write("main.c", "#include <stdio.h>\n#include <string.h>\n" + program);
    const ProcessResult result = sh(XAAS_TEST_CLANG " -O2 main.c stand_ins.bc -o program && ./program 2>&1");
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  }

  std::optional<TemporaryDirectory> directory_;
};

TEST_F(StandIns, SayOnceWhichFunctionWasCalledAndFail) {
  EXPECT_EQ(said("libcufft.so", {"cufftPlan3d", "cufftExecC2C"},
                 "int cufftPlan3d(int* plan, int x, int y, int z, int type); int cufftExecC2C(int, void*, "
                 "void*, int);\n"
                 "int main(void) { int plan = 7, i; for (i = 0; i < 3; ++i) if (cufftPlan3d(&plan, 1, 2, 3, "
                 "4) != 16)\n"
                 "  return 1; printf(\"%d %d\\n\", plan, cufftExecC2C(plan, 0, 0, 1)); }\n"),
            "xaas: cufftPlan3d() of cuFFT needs a GPU; the program was deployed for the CPU\n"
            "xaas: cufftExecC2C() of cuFFT needs a GPU; the program was deployed for the CPU\n"
            "7 16\n");
}

TEST_F(StandIns, ReturnWhatTheFunctionsType) {
  const std::string text = said(
      "libcublas.so",
      {"cublasGetStatusString", "cublasSdot", "cublasDdot", "cublasZdotu", "cublasCdotu", "cublasIsamax",
       "cublasGetCudartVersion", "cublasSscal", "cublasCreate_v2"},
      "const char* cublasGetStatusString(int); float cublasSdot(int, float); double cublasDdot(double);\n"
      "double _Complex cublasZdotu(double); float _Complex cublasCdotu(float); int cublasIsamax(int);\n"
      "size_t cublasGetCudartVersion(void); void cublasSscal(float); int cublasCreate_v2(void*);\n"
      "int main(void) { double _Complex z = cublasZdotu(5); float _Complex c = cublasCdotu(5);\n"
      "cublasSscal(3); return strlen(cublasGetStatusString(15)) == 0 || cublasSdot(1, 2) != 0 ||\n"
      "cublasDdot(4) != 0 || __real__ z != 0 || __imag__ z != 0 || __real__ c != 0 || __imag__ c != 0 ||\n"
      "cublasIsamax(3) != 0 || cublasGetCudartVersion() != 0 || cublasCreate_v2(&z) != 15; }\n");
  EXPECT_THAT(text, HasSubstr("cublasSscal() of cuBLAS"));
  EXPECT_THAT(said("libnppc.so", {"nppGetLibVersion"},
                   "struct v { int a, b, c; }; const struct v* nppGetLibVersion(void);\n"
                   "int main(void) { return nppGetLibVersion()->a + nppGetLibVersion()->c; }\n"),
              HasSubstr("of NPP"));
}

TEST_F(StandIns, GiveWayToTheProgramsOwnFunctions) {
  EXPECT_EQ(
      said("libcufft.so", {"cufftPlan1d"},
           "int cufftPlan1d(void) { return 3; }\nint main(void) { printf(\"%d\\n\", cufftPlan1d()); }\n"),
      "3\n");
}

// The number of a status changed with cuDNN 9.
TEST_F(StandIns, ReturnTheStatusOfTheLibrarysRelease) {
  const std::string program =
      "int cudnnCreate(void*);\nint main(void) { printf(\"%d\\n\", cudnnCreate(0)); }\n";
  EXPECT_THAT(said("libcudnn.so", {"cudnnCreate"}, program, {"cudnnCreate"}), HasSubstr("\n9\n"));
  EXPECT_THAT(said("libcudnn.so", {"cudnnCreate"}, program, {"cudnnCreate", "cudnnGetLastErrorString"}),
              HasSubstr("\n3000\n"));
}

TEST_F(StandIns, AreForTheArchitecturesOfKernelsOnly) {
  const auto none = stand_ins("riscv64", *find_gpu_library("libcufft.so"), {"cufftDestroy"}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfied);
}

class CudaHeaders : public StandIns {
protected:
  void SetUp() override {
    StandIns::SetUp();
    const char* const toolkit = std::getenv("CUDA_PATH");
    include_ = fs::path(toolkit ? toolkit : "/usr/local/cuda") / "include";
    if (!fs::exists(include_ / "cuda.h"))
      GTEST_SKIP() << "there are no headers in " << include_ << " (CUDA_PATH names another toolkit)";
  }
  bool has(const std::string& header) const { return fs::exists(include_ / header); }
  // The types of a header's functions whose names begin with `prefix`.
  std::map<std::string, std::string> functions(const std::string& header, const std::string& prefix) const {
    const std::string before =
        header == "cuda.h" ? "" : "#include <cstdio>\n#include <cuda_runtime_api.h>\n"; // with cuComplex.h
    write("all.cpp", before + "#include \"" + header + "\"\n");
    std::istringstream lines(sh(XAAS_TEST_CLANG " -fsyntax-only -w -Xclang -ast-dump -Xclang "
                                                "-ast-dump-filter=" +
                                prefix + " -I" + include_.string() + " all.cpp")
                                 .output);
    std::map<std::string, std::string> found;
    for (std::string line; std::getline(lines, line);) {
      // FunctionDecl 0x... <place> place NAME 'TYPE (PARAMETERS)' ...
      const size_t quote = line.find(" '");
      if (!line.starts_with("FunctionDecl ") || quote == std::string::npos)
        continue;
      const size_t start = line.rfind(' ', quote - 1) + 1;
      const std::string name = line.substr(start, quote - start);
      if (name.starts_with(prefix))
        found[name] = trim(line.substr(quote + 2, line.find('(', quote) - quote - 2));
    }
    return found;
  }
  static Returned returned(const std::string& type, const std::string& status) {
    if (type == "void" || (!status.empty() && type.starts_with(status)))
      return Returned::status;
    if (type == "const char *")
      return Returned::text;
    if (type == "float" || type == "double" || type == "cuComplex" || type == "cuDoubleComplex")
      return Returned::real;
    return Returned::zero;
  }

  fs::path include_;
};

TEST_F(CudaHeaders, HaveTheTypesOfTheTable) {
  const struct {
    const char *header, *prefix, *status;
    size_t least; // functions
  } headers[] = {{"cuda.h", "cu", "CUresult", 300},
                 {"cufft.h", "cufft", "cufftResult", 20},
                 {"cufftXt.h", "cufft", "cufftResult", 20},
                 {"cublas_v2.h", "cublas", "cublasStatus", 300},
                 {"cublas.h", "cublas", "cublasStatus", 100},
                 {"cublasXt.h", "cublasXt", "cublasStatus", 20},
                 {"cublasLt.h", "cublasLt", "cublasStatus", 20},
                 {"cudnn.h", "cudnn", "cudnnStatus_t", 100},
                 {"curand.h", "curand", "curandStatus", 20},
                 {"cusparse.h", "cusparse", "cusparseStatus_t", 100},
                 {"cusolverDn.h", "cusolver", "cusolverStatus_t", 100},
                 {"cusolverSp.h", "cusolver", "cusolverStatus_t", 20},
                 {"cusolverMg.h", "cusolver", "cusolverStatus_t", 10},
                 {"nvrtc.h", "nvrtc", "nvrtcResult", 10},
                 {"nccl.h", "nccl", "ncclResult_t", 20}};
  for (const auto& [header, prefix, status, least] : headers) {
    if (!has(header))
      continue;
    const auto found = functions(header, prefix);
    EXPECT_GE(found.size(), least) << header;
    for (const auto& [name, type] : found) {
      if (std::islower(static_cast<unsigned char>(name[2])) && std::string_view(prefix) == "cu")
        continue; // of other headers
      if (type != "void")
        EXPECT_EQ(returned_by(name), returned(type, status)) << type << " " << name;
    }
  }
  if (has("cufftw.h")) {
    const auto plans = functions("cufftw.h", "fftw");
    EXPECT_GE(plans.size(), 40u);
    for (const auto& [name, type] : plans)
      if (type != "void")
        EXPECT_EQ(returned_by(name), returned(type, "")) << type << " " << name;
  }
}

TEST_F(CudaHeaders, HaveTheStatusesOfTheTable) {
  const std::pair<const char*, const char*> files[] = {
      {"libcuda.so", "cuda.h"},        {"libcublas", "cublas_v2.h"},  {"libcublasLt", "cublasLt.h"},
      {"libcudnn", "cudnn.h"},         {"libcufft", "cufft.h"},       {"libcurand", "curand.h"},
      {"libcusolver", "cusolverDn.h"}, {"libcusparse", "cusparse.h"}, {"libnccl", "nccl.h"},
      {"libnvrtc", "nvrtc.h"}};
  size_t compared = 0;
  for (const auto& [file, header] : files) {
    if (!has(header))
      continue;
    const GpuLibrary* const library = find_gpu_library(file);
    ASSERT_TRUE(library);
    write("status.cpp", "#include <cuda_runtime_api.h>\n#include \"" + std::string(header) +
                            "\"\nstatic_assert(" + std::string(library->status_name) +
                            " == " + std::to_string(library->status) + ");\n");
    const ProcessResult result =
        sh(XAAS_TEST_CLANG " -fsyntax-only -w -I" + include_.string() + " status.cpp");
    EXPECT_EQ(result.exit_code, 0) << header << ": " << result.output;
    ++compared;
  }
  EXPECT_GE(compared, 5u);
}

} // namespace

} // namespace xaas::cpukernel
