#!/bin/bash
# An installed library can be used where it was deployed: its pkg-config file, CMake package and archive, from the
# unpacked tree, without a trace of the build directory.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 pkg-config readelf

mkdir -p library/include
cat >library/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(answer VERSION 2.5.1 LANGUAGES C)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
add_library(answer SHARED answer.c)
set_target_properties(answer PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 2)
add_library(question STATIC question.c)
target_link_libraries(question PUBLIC answer m)
foreach(target answer question)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS answer question EXPORT answerTargets)
install(FILES include/answer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT answerTargets NAMESPACE answer:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/answer)
configure_package_config_file(answerConfig.cmake.in answerConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/answer)
write_basic_package_version_file(answerConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/answerConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/answerConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/answer)
configure_file(answer.pc.in answer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/answer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
END
printf '@PACKAGE_INIT@\ninclude("${CMAKE_CURRENT_LIST_DIR}/answerTargets.cmake")\n' >library/answerConfig.cmake.in
cat >library/answer.pc.in <<'END'
prefix=@CMAKE_INSTALL_PREFIX@
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: answer
Description: the answer
Version: @PROJECT_VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -lquestion -lanswer
Libs.private: -lm
END
printf 'int answer(void);\ndouble question(double x);\n' >library/include/answer.h
printf '#include "answer.h"\nint answer(void) { return 42; }\n' >library/answer.c
printf '#include "answer.h"\n#include <math.h>\ndouble question(double x) { return sqrt(x) * answer(); }\n' >library/question.c
echo '{"name": "answer", "build": {"system": "cmake", "arguments": ["-DCMAKE_INSTALL_LIBDIR=lib"]}, "isa": []}' >library/xaas.json

"$XAAS" build library -o oci:app:ir -q --format json >build.json
assert_json build.json '.warnings == []'
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
! grep -rqaF -e xaas-build -e "$PWD/library" tree || fail "the build is named in $(grep -rlaF -e xaas-build -e "$PWD/library" tree)"

mkdir consumer
cat >consumer/main.c <<'END'
#include <answer.h>
#include <stdio.h>
int main(int argc, char **argv) { (void)argv; printf("%d %.0f\n", answer(), question(argc)); }
END
cat >consumer/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(answer 2.1 REQUIRED CONFIG)
add_executable(consumer main.c)
target_link_libraries(consumer answer::question)
END
prefix=$PWD/tree/usr/local
CC=clang-22 cmake -S consumer -B by-cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 || fail "configuring: $(cat log)"
cmake --build by-cmake >log 2>&1 || fail "building: $(cat log)"
expect_equal "by its CMake package" "$(by-cmake/consumer)" "42 42"
readelf -d by-cmake/consumer >dynamic
grep -q 'NEEDED.*\[libanswer.so.2\]' dynamic || fail "another library: $(cat dynamic)"

export PKG_CONFIG_SYSROOT_DIR=$PWD/tree PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
expect_equal "version by pkg-config" "$(pkg-config --modversion answer)" 2.5.1
expect_equal "its prefix" "$(pkg-config --variable=prefix answer | sed "s#^$PWD/tree##")" /usr/local
read -ra flags < <(pkg-config --cflags --libs --static answer)
clang-22 consumer/main.c -o by-pkg-config "${flags[@]}"
expect_equal "by pkg-config" "$(LD_LIBRARY_PATH=$prefix/lib ./by-pkg-config)" "42 42"
