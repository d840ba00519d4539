// Reads sources for instruction sets and programming models that the build may not mention. It counts, by
// file, the marks that compilers and interfaces prescribe: macros, headers, directives.
#include "knowledge.h"
#include "readers/readers.h"

#include <xaas/base/text.h>
#include <xaas/discover/discover.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace xaas::discover {

namespace {

struct Mark {
  const char* text;
  const char* sign;
};
// ISO C and psABI macros, intrinsics' prefixes (Intel Intrinsics Guide, ACLE), directives (OpenMP, OpenACC),
// headers and keywords of the interfaces.
constexpr Mark marks[] = {{"__SSE2__", "sse2"},
                          {"emmintrin.h", "sse2"},
                          {"__SSE4_1__", "sse4.1"},
                          {"smmintrin.h", "sse4.1"},
                          {"__AVX__", "avx"},
                          {"_mm256_", "avx"},
                          {"__AVX2__", "avx2"},
                          {"__FMA__", "fma"},
                          {"__AVX512F__", "avx512f"},
                          {"_mm512_", "avx512f"},
                          {"arm_neon.h", "neon"},
                          {"__ARM_NEON", "neon"},
                          {"arm_sve.h", "sve"},
                          {"__ARM_FEATURE_SVE", "sve"},
                          {"altivec.h", "vsx"},
                          {"target_clones", "target_clones"},
                          {"pragma omp", "OpenMP"},
                          {"!$omp", "OpenMP"},
                          {"!$OMP", "OpenMP"},
                          {"_OPENMP", "OpenMP"},
                          {"pragma acc ", "OpenACC"},
                          {"!$acc ", "OpenACC"},
                          {"MPI_Init", "MPI"},
                          {"mpi.h", "MPI"},
                          {"use mpi", "MPI"},
                          {"cuda_runtime", "CUDA"},
                          {"__global__", "CUDA"},
                          {"hip_runtime", "HIP"},
                          {"sycl.hpp", "SYCL"},
                          {"CL/cl.h", "OpenCL"},
                          {"fftw3.h", "FFTW"},
                          {"mkl.h", "MKL"},
                          {"pthread_create", "pthreads"},
                          {"#include <thread>", "std::thread"},
                          {"tbb/", "TBB"},
                          {"cblas", "BLAS"}};

bool is_source(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
    return false;
  static const std::set<std::string> extensions = {"c",   "cc",  "cpp", "cxx", "C",   "h",   "hh",  "hpp",
                                                   "hxx", "cu",  "cuh", "cl",  "f",   "F",   "f90", "F90",
                                                   "f03", "F03", "f08", "F08", "for", "hip", "inl", "ipp"};
  return extensions.count(path.substr(dot + 1)) > 0;
}

} // namespace

bool is_for_developers(const std::string& path) {
  for (size_t at = 0, slash; (slash = path.find('/', at)) != std::string::npos; at = slash + 1)
    if (Knowledge::get().is_for_developers(Knowledge::words_of(path.substr(at, slash - at))))
      return true;
  return false;
}

bool is_bundled(const std::string& path) {
  for (size_t at = 0, slash; (slash = path.find('/', at)) != std::string::npos; at = slash + 1)
    if (Knowledge::get().is_bundled(to_lower(path.substr(at, slash - at))))
      return path.find('/', slash + 1) != std::string::npos; // files right in it are the project's own
  return false;
}

void read_sources(const TreeFiles& tree, const Limits& limits, Findings& findings) {
  std::map<std::string, Sign> signs;
  uint64_t left = limits.source_bytes;
  std::string text;
  for (const std::string& path : tree.paths()) {
    if (!is_source(path) || is_for_developers(path))
      continue;
    std::ifstream stream(tree.root() / path, std::ios::binary | std::ios::ate);
    const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
    if (size <= 0 || static_cast<uint64_t>(size) > limits.file_bytes)
      continue;
    if (static_cast<uint64_t>(size) > left) {
      findings.notes.push_back("sources of more than " + std::to_string(limits.source_bytes >> 20) +
                               " MiB: those from " + path + " on are not read");
      break;
    }
    left -= static_cast<uint64_t>(size);
    text.resize(static_cast<size_t>(size));
    stream.seekg(0);
    stream.read(text.data(), size);
    std::set<std::string> here;
    for (const Mark& mark : marks) {
      if (here.count(mark.sign))
        continue;
      const void* const found = memmem(text.data(), text.size(), mark.text, std::strlen(mark.text));
      if (!found)
        continue;
      here.insert(mark.sign);
      Sign& sign = signs[mark.sign];
      if (sign.files++ == 0) {
        sign.name = mark.sign;
        sign.place = {path, 1 + static_cast<unsigned>(std::count(static_cast<const char*>(text.data()),
                                                                 static_cast<const char*>(found), '\n'))};
      }
    }
  }
  for (auto& [name, sign] : signs)
    findings.signs.push_back(std::move(sign));
}

} // namespace xaas::discover
