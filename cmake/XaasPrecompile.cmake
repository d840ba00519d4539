# xaas_precompile(TARGET xaas_precompiled|xaas_precompiled_clang|xaas_precompiled_tests)
#
# Compiles the sources of TARGET with precompiled headers, because most of the compile time of an average source
# went into the standard library, nlohmann/json, Clang's headers and, in tests, GoogleTest. All targets share
# three sets of them. A source still includes what it uses; a build without them shows whether it does.
option(XAAS_PRECOMPILE_HEADERS "Precompile the headers that most sources include" ON)

# A precompiled header belongs to a target with a source.
function(xaas_add_precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  set(source "${PROJECT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE xaas_warnings ${arg_LIBRARIES})
  # Times of headers differ in each clone, and would keep compiler caches from recognizing a compilation.
  target_compile_options(${name} PRIVATE ${arg_OPTIONS} "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

function(xaas_precompile target precompiled)
  if(XAAS_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

# Not <iostream> and <CLI/CLI.hpp>: each source that includes them has static constructors, which run in every process.
if(XAAS_PRECOMPILE_HEADERS)
  set(headers <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <filesystem> <fstream> <functional> <map>
    <memory> <mutex> <optional> <regex> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant>
    <vector> <nlohmann/json.hpp>)
  xaas_add_precompiled(xaas_precompiled HEADERS ${headers} LIBRARIES nlohmann_json::nlohmann_json)
  xaas_add_precompiled(xaas_precompiled_clang HEADERS ${headers}
    <llvm/Bitcode/BitcodeReader.h> <llvm/IR/Constants.h> <llvm/IR/Instructions.h> <llvm/IR/LLVMContext.h>
    <llvm/IR/Module.h> <llvm/Support/MemoryBuffer.h> <llvm/Support/VirtualFileSystem.h> <llvm/Support/raw_ostream.h>
    <clang/Frontend/CompilerInstance.h> <clang/Frontend/CompilerInvocation.h>
    LIBRARIES nlohmann_json::nlohmann_json xaas_clang)
  if(XAAS_BUILD_TESTS)
    xaas_add_precompiled(xaas_precompiled_tests HEADERS ${headers} <gmock/gmock.h> <gtest/gtest.h>
      LIBRARIES nlohmann_json::nlohmann_json GTest::gmock OPTIONS ${XAAS_TEST_OPTIONS})
  endif()
endif()
