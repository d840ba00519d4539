#include "cuda/first_headers.h"

#include <xaas/base/file.h>

#include <string>
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

// min() and max(), which nvcc has without std:: on both sides, and Clang on the device's
// (math_functions.hpp).
std::string host_minimum_and_maximum() {
  // Results, and operands that need not be of their type.
  struct Overload {
    const char *result, *first, *second;
  };
  static const Overload overloads[] = {
      {"int", "int", "int"},
      {"unsigned", "unsigned", "unsigned"},
      {"unsigned", "int", "unsigned"},
      {"unsigned", "unsigned", "int"},
      {"long", "long", "long"},
      {"unsigned long", "unsigned long", "unsigned long"},
      {"unsigned long", "long", "unsigned long"},
      {"unsigned long", "unsigned long", "long"},
      {"long long", "long long", "long long"},
      {"unsigned long long", "unsigned long long", "unsigned long long"},
      {"unsigned long long", "long long", "unsigned long long"},
      {"unsigned long long", "unsigned long long", "long long"},
      {"float", "float", "float"},
      {"double", "double", "double"},
      {"double", "float", "double"},
      {"double", "double", "float"},
  };
  std::string text;
  for (const bool is_minimum : {true, false})
    for (const auto& [result, first, second] : overloads) {
      const std::string type = result;
      const std::string a = "(" + type + ")a", b = "(" + type + ")b";
      const std::string real = is_minimum ? "__builtin_fmin" : "__builtin_fmax"; // another operand than NaN
      text += "static inline __attribute__((host)) " + type + (is_minimum ? " min(" : " max(") + first +
              " a, " + second + " b) { return ";
      if (type == "float" || type == "double")
        text += real + (type == "float" ? "f(" : "(") + a + ", " + b + ")";
      else
        text += a + (is_minimum ? " < " : " > ") + b + " ? " + a + " : " + b;
      text += "; }\n";
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
                        atomic_functions() + "#endif\n#include <string.h>\n#include <time.h>\n" +
                        host_minimum_and_maximum() + "#else\n#include_next <cuda.h>\n#endif\n");
}

} // namespace xaas::frontdoor
