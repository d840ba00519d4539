#!/bin/bash
# Fortran with Autotools, with Meson, with shell commands, and without a Fortran compiler.
source "$E2E/lib.sh"
needs jq make meson ninja clang-22 flang-22 bwrap autoreconf libtoolize
source "$E2E/heat.sh"

# Autotools: configure asks for Fortran's libraries to link from C, and libtool makes a shared library.
heat_sources autotools
cat >autotools/configure.ac <<'END'
AC_INIT([heat], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_PROG_FC
AC_FC_SRCEXT([f90])
AC_FC_LIBRARY_LDFLAGS
LT_INIT([disable-static])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
cat >autotools/Makefile.am <<'END'
lib_LTLIBRARIES = libheat.la
libheat_la_SOURCES = mesh.F90 sums.f90 norm.c
AM_FCFLAGS = -DWEIGHT=2.0_dp
bin_PROGRAMS = heat-c
heat_c_SOURCES = main.c
heat_c_LDADD = libheat.la
sums.lo: mesh.lo
END
echo '{"name": "heat", "build": {"system": "autotools"}, "isa": []}' >autotools/xaas.json
"$XAAS" build autotools -o oci:heat:autotools -q --format json >build.json
assert_json build.json '.configurations[0].units == 4 and .native_objects == []'
"$XAAS" deploy oci:heat:autotools -o rootfs:tree-autotools -q
expect_equal autotools "$(run_heat "$PWD/tree-autotools" heat-c)" "$want"

heat_sources meson
cat >meson/meson.build <<'END'
project('heat', 'c', 'fortran')
executable('heat', 'mesh.F90', 'sums.f90', 'main.f90', 'norm.c', fortran_args: '-DWEIGHT=2.0_dp',
  link_language: 'fortran', install: true)
END
echo '{"name": "heat", "build": {"system": "meson"}, "isa": []}' >meson/xaas.json
"$XAAS" build meson -o oci:heat:meson -q --format json >build.json
assert_json build.json '.configurations[0].units == 4 and .native_objects == []'
"$XAAS" deploy oci:heat:meson -o rootfs:tree-meson -q
expect_equal meson "$(run_heat "$PWD/tree-meson" heat)" "$want"

# Shell commands that compile and link at once.
heat_sources commands
cat >commands/xaas.json <<'END'
{"name": "heat", "isa": [],
 "build": {"system": "commands",
  "build": "$CC -O2 -c norm.c && $FC -O2 -cpp -DWEIGHT=2.0_dp mesh.F90 sums.f90 main.f90 norm.o -o heat",
  "install": [{"from": "heat", "to": "bin/heat"}]}}
END
"$XAAS" build commands -o oci:heat:commands -q --format json >build.json
assert_json build.json '.configurations[0].units == 4 and .native_objects == []'
"$XAAS" deploy oci:heat:commands -o rootfs:tree-commands -q
expect_equal commands "$(run_heat "$PWD/tree-commands" heat)" "$want"

# Without flang, a build that needs Fortran reports what is missing; a build that only checks for Fortran continues.
no_flang() { # a root without its files stands for such a machine
  bwrap --dev-bind / / --tmpfs /usr/lib/llvm-22/include/flang --ro-bind /dev/null /usr/lib/llvm-22/bin/flang \
    --ro-bind /dev/null /usr/lib/llvm-22/bin/flang-22 -- "$@"
}
expect_error 8 "flang-22 is needed to compile Fortran" no_flang "$XAAS" build commands -o oci:none:ir -q
grep -q 'install flang-22' stderr || fail "no hint: $(cat stderr)"

mkdir optional-cmake && echo "int main(void) { return 0; }" >optional-cmake/hello.c
cat >optional-cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(hello C)
include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER)
  message(FATAL_ERROR "there is a Fortran compiler: ${CMAKE_Fortran_COMPILER}")
endif()
add_executable(hello hello.c)
install(TARGETS hello DESTINATION bin)
END
echo '{"name": "hello", "build": {"system": "cmake"}, "isa": []}' >optional-cmake/xaas.json
no_flang "$XAAS" build optional-cmake -o oci:no-fortran:ir -q >/dev/null
sed -i 's/CheckLanguage/CMakeParseArguments/; s/check_language(Fortran)/enable_language(Fortran)/' optional-cmake/CMakeLists.txt
expect_error 8 "flang-22 is needed to compile Fortran" no_flang "$XAAS" build optional-cmake -o oci:none:ir -q
XAAS_FLANG=/nonexistent/flang expect_error 8 "XAAS_FLANG=/nonexistent/flang: there is no such program" "$XAAS" build optional-cmake -o oci:none:ir -q
