#include "cuda/first_headers.h"

#include <xaas/base/file.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace xaas::frontdoor {

namespace {

std::string define(const std::string& macro, const std::string& text) {
  return "#define " + macro + " " + text + "\n";
}

// The built-in atomic functions that nvcc has since CUDA 12.8 (CUDA C++ Programming Guide, "Atomic
// Functions", __nv_atomic_*), in terms of Clang's. They are macros, because scopes must be constants and
// pointers may point to anything. The last argument, the scope, may be missing. Therefore the first of two
// macros adds the default scope behind all arguments, and the second takes as many as the function has:
//
//     __nv_atomic_load_n(p, order)         __xaas_nv_load_n(p, order, SYSTEM, )          scope SYSTEM
//     __nv_atomic_load_n(p, order, BLOCK)  __xaas_nv_load_n(p, order, BLOCK, SYSTEM, )   scope BLOCK
std::string atomic_functions() {
  static const std::vector<std::pair<std::string, std::string>> constants = {
      {"__NV_ATOMIC_RELAXED", "__ATOMIC_RELAXED"},
      {"__NV_ATOMIC_CONSUME", "__ATOMIC_CONSUME"},
      {"__NV_ATOMIC_ACQUIRE", "__ATOMIC_ACQUIRE"},
      {"__NV_ATOMIC_RELEASE", "__ATOMIC_RELEASE"},
      {"__NV_ATOMIC_ACQ_REL", "__ATOMIC_ACQ_REL"},
      {"__NV_ATOMIC_SEQ_CST", "__ATOMIC_SEQ_CST"},
      {"__NV_THREAD_SCOPE_THREAD", "__MEMORY_SCOPE_SINGLE"},
      {"__NV_THREAD_SCOPE_BLOCK", "__MEMORY_SCOPE_WRKGRP"},
      {"__NV_THREAD_SCOPE_CLUSTER", "__MEMORY_SCOPE_CLUSTR"},
      {"__NV_THREAD_SCOPE_DEVICE", "__MEMORY_SCOPE_DEVICE"},
      {"__NV_THREAD_SCOPE_SYSTEM", "__MEMORY_SCOPE_SYSTEM"},
  };
  // Functions and their parameters before the scope.
  static const std::vector<std::pair<std::string, std::string>> functions = {
      {"load", "p, to, order"},
      {"load_n", "p, order"},
      {"store", "p, from, order"},
      {"store_n", "p, value, order"},
      {"exchange", "p, from, to, order"},
      {"exchange_n", "p, value, order"},
      {"compare_exchange", "p, expected, from, weak, success, failure"},
      {"compare_exchange_n", "p, expected, value, weak, success, failure"},
      {"thread_fence", "order"},
  };
  std::string text;
  for (const auto& [name, value] : constants)
    text += define(name, value);
  const auto add = [&text](const std::string& name, const std::string& parameters) {
    text += define("__xaas_nv_" + name + "(" + parameters + ", scope, ...)",
                   "__scoped_atomic_" + name + "(" + parameters + ", scope)");
    text += define("__nv_atomic_" + name + "(...)",
                   "__xaas_nv_" + name + "(__VA_ARGS__, __MEMORY_SCOPE_SYSTEM, )");
  };
  for (const auto& [name, parameters] : functions)
    add(name, parameters);
  for (const std::string operation : {"add", "sub", "and", "or", "xor", "max", "min"}) {
    add("fetch_" + operation, "p, value, order");
    text += define("__nv_atomic_" + operation + "(...)",
                   "((void)__nv_atomic_fetch_" + operation + "(__VA_ARGS__))");
  }
  return text;
}

// Clang 22 compiles these built-in functions, to which atomicMax_block(), atomicMin_system() and the like of
// unsigned numbers lead (__clang_cuda_device_functions.h), as those of signed numbers. LLVM's own atomic
// instructions would lose the scope.
std::string unsigned_minima_and_maxima() {
  std::string text;
  for (const std::string scope : {"cta", "sys"})
    for (const std::string operation : {"min", "max"})
      for (const auto& [name, type, instruction, constraint] :
           {std::tuple("ui", "unsigned", "u32", "r"), {"ull", "unsigned long long", "u64", "l"}})
        text +=
            define("__nvvm_atom_" + scope + "_" + operation + "_gen_" + name + "(p, value)",
                   std::string("({ ") + type + " xaas_old; asm volatile(\"atom." + scope + "." + operation +
                       "." + instruction + " %0, [%1], %2;\" : \"=" + constraint +
                       "\"(xaas_old) : \"l\"(p), \"" + constraint + "\"(value) : \"memory\"); xaas_old; })");
  return text;
}

// Clang declares these functions for the device and does not define them.
std::string not_a_number() {
  std::string text;
  for (const auto& [type, name] : {std::pair("double", "nan"), {"float", "nanf"}})
    text += std::string("static inline __attribute__((device)) ") + type + " " + name +
            "(const char*) { return __builtin_" + name + "(\"\"); }\n";
  return text;
}

// min() and max(), which nvcc has without std:: on both sides, and Clang only on the device's
// (math_functions.hpp). Of a signed and an unsigned integer, the result is unsigned. A real number is
// preferred to NaN.
std::string host_minimum_and_maximum() {
  std::string text;
  for (const std::string name : {"min", "max"}) {
    const auto add = [&](const std::string& type, const std::string& first, const std::string& second,
                         const std::string& value) {
      text += "static inline __attribute__((host)) " + type + " " + name + "(" + first + " x, " + second +
              " y) { const " + type + " a = x, b = y; return " + value + "; }\n";
    };
    const std::string smaller_or_larger = name == "min" ? "a < b ? a : b" : "a > b ? a : b";
    for (const std::string size : {"int", "long", "long long"}) {
      const std::string natural = "unsigned " + size;
      add(size, size, size, smaller_or_larger);
      add(natural, natural, natural, smaller_or_larger);
      add(natural, size, natural, smaller_or_larger);
      add(natural, natural, size, smaller_or_larger);
    }
    add("float", "float", "float", "__builtin_f" + name + "f(a, b)");
    add("double", "double", "double", "__builtin_f" + name + "(a, b)");
    add("double", "float", "double", "__builtin_f" + name + "(a, b)");
    add("double", "double", "float", "__builtin_f" + name + "(a, b)");
  }
  return text;
}

} // namespace

// Clang includes "cuda.h" before the first line of a CUDA source, using the source's search path, and so may
// find a project's header of that name; nvcc never does. This header at the front of the path makes the first
// "cuda.h" the toolkit's, and does not affect later ones. The two headers of C are those that nvcc includes
// and Clang does not (crt/common_functions.h).
Result<void> write_first_headers(const fs::path& toolkit, const fs::path& directory) {
  XAAS_CHECK(make_directories(directory));
  const std::string header = (toolkit / "include" / "cuda.h").string();
  return write_file(directory / "cuda.h",
                    "#ifndef CUDA_VERSION\n#include \"" + header + "\"\n#if CUDA_VERSION >= 12080\n" +
                        atomic_functions() + "#endif\n" + unsigned_minima_and_maxima() +
                        "#include <string.h>\n#include <time.h>\n" + not_a_number() +
                        host_minimum_and_maximum() + "#else\n#include_next <cuda.h>\n#endif\n");
}

} // namespace xaas::frontdoor
