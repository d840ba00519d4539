#!/bin/bash
# Building on the target with CMake, Autotools and Meson; C++ with its own library and a plugin; Fortran; downloads of CMake's
# FetchContent.
source "$E2E/lib.sh"
needs jq bwrap autoconf automake cmake meson
toolchain_image tools all gcc g++ gfortran cmake ninja-build meson autoconf automake pkg-config perl-base
"$XAAS" --version >/dev/null
check() { # NAME WANT: built, verified and run
  "$XAAS" build "$1" --kind source --base oci:tools:all -o "oci:app:$1" -q >/dev/null
  "$XAAS" deploy "oci:app:$1" -o "oci:here:$1" --cpu x86-64-v2 --runtime bwrap -q >/dev/null
  "$XAAS" check "oci:here:$1" --cpu x86-64-v2 >/dev/null
  expect_equal "$1" "$("$XAAS" run -q --runtime bwrap "oci:here:$1")" "$2"
}
spec() { # DIRECTORY SYSTEM [MORE]
  jq -n --arg name "$1" --arg system "$2" --argjson more "${3:-"{}"}" '{name: $name, build: {system: $system},
    image: {entrypoint: ["/usr/local/bin/solver"]}} + $more' >"$1/xaas.json"
}

# C++ with a shared library found by RPATH, and a plugin of the toolchain loaded by name.
mkdir cxx
cat >cxx/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(solver CXX)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/solver")
add_library(parts SHARED parts.cpp)
add_executable(solver main.cpp)
target_link_libraries(solver PRIVATE parts ${CMAKE_DL_LIBS})
install(TARGETS solver RUNTIME DESTINATION bin)
install(TARGETS parts LIBRARY DESTINATION lib/solver)
END
cat >cxx/parts.cpp <<'END'
#include <string>
#include <vector>
std::string parts(int count) {
  std::string all;
  for (const std::string &part : std::vector<std::string>(count, "part")) all += part;
  return all;
}
END
cat >cxx/main.cpp <<'END'
#include <dlfcn.h>
#include <iostream>
#include <string>
std::string parts(int count);
int main() {
  void *plugin = dlopen("/usr/lib/x86_64-linux-gnu/libjansson.so.4", RTLD_NOW);
  std::cout << parts(2) << (plugin && dlsym(plugin, "json_object") ? " plugin" : dlerror()) << "\n";
}
END
spec cxx cmake '{"runtime": ["/usr/lib/x86_64-linux-gnu/libjansson.so.4"]}'
if [ "$(uname -m)" = x86_64 ]; then
  check cxx "partpart plugin"
  "$XAAS" inspect oci:here:cxx --format json >cxx.json
  "$XAAS" copy -q oci:here:cxx rootfs:cxx.root >/dev/null
  [ -f cxx.root/usr/local/lib/solver/libparts.so ] || fail "its library is not installed"
  [ -f cxx.root/usr/lib/x86_64-linux-gnu/libstdc++.so.6 ] || fail "the C++ library is not there"
  [ ! -e cxx.root/usr/bin/cmake ] && [ ! -e cxx.root/usr/bin/g++ ] || fail "the toolchain is there"
fi

# Fortran, with its run-time library in the closure.
mkdir fortran
cat >fortran/main.f90 <<'END'
program main
  implicit none
  integer :: i
  print '(a,f8.4)', 'sum', sum([(1.0 / i, i = 1, 100)])
end program
END
printf 'solver: main.f90\n\t$(FC) -O2 -o $@ main.f90\ninstall: solver\n\tinstall -D solver $(DESTDIR)$(PREFIX)/bin/solver\n' >fortran/Makefile
spec fortran make
check fortran "sum  5.1874"
"$XAAS" copy -q oci:here:fortran rootfs:fortran.root >/dev/null
find fortran.root -name 'libgfortran.so.5' | finds . || fail "the Fortran library is not there"

mkdir auto
printf 'AC_INIT([solver], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_RUN_IFELSE([AC_LANG_PROGRAM()], [], [AC_MSG_ERROR([no])])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >auto/configure.ac
printf 'bin_PROGRAMS = solver\nsolver_SOURCES = main.c\n' >auto/Makefile.am
printf '#include <stdio.h>\nint main(void) { puts("auto"); return 0; }\n' >auto/main.c
(cd auto && autoreconf -i >log 2>&1) || fail "autoreconf: $(cat auto/log)"
rm -rf auto/log auto/autom4te.cache
spec auto autotools
check auto auto

mkdir meson
printf "project('solver', 'c')\nexecutable('solver', 'main.c', install: true)\n" >meson/meson.build
sed 's/auto/meson/' auto/main.c >meson/main.c
spec meson meson
check meson meson

# FetchContent finds its downloads among the sources, where building the image put them.
needs python3
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY
mkdir -p web parts-2/include content
echo '#define PARTS "parts of another project"' >parts-2/include/parts.h
printf 'add_library(parts INTERFACE)\ntarget_include_directories(parts INTERFACE include)\n' >parts-2/CMakeLists.txt
tar -czf web/parts.tar.gz parts-2
serve_files web
sum=$(sha256sum <web/parts.tar.gz | cut -c1-64)
cat >content/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(solver C)
include(FetchContent)
FetchContent_Declare(parts URL http://127.0.0.1:$port/parts.tar.gz URL_HASH SHA256=$sum)
FetchContent_MakeAvailable(parts)
add_executable(solver main.c)
target_link_libraries(solver PRIVATE parts)
install(TARGETS solver RUNTIME DESTINATION bin)
END
printf '#include <parts.h>\n#include <stdio.h>\nint main(void) { puts(PARTS); return 0; }\n' >content/main.c
spec content cmake "$(jq -nc --arg url "http://127.0.0.1:$port/parts.tar.gz" --arg sum "$sum" '{
  fetch: [{url: $url, sha256: $sum, to: "third_party/parts", unpack: true}],
  build: {system: "cmake", arguments: ["-DFETCHCONTENT_SOURCE_DIR_PARTS=/.xaas/source/third_party/parts"]}}')"
check content "parts of another project"
