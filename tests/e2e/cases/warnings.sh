#!/bin/bash
# A build ends with warnings about everything of the build machine that may be in the image, and names the file that brought it.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22 autoreconf automake meson

warnings() { # the warnings of build.json as lines
  jq -r '.warnings[] | "\(.kind) \(.file // "-"):\(.line // "-")"' build.json
}
build() { # SRC
  "$XAAS" build "$1" -o oci:app:ir --format json >build.json 2>stderr || fail "building $1: $(cat stderr)"
}

mkdir -p cmake/probes
cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(tool C)
include(TestBigEndian)
include(CheckTypeSize)
include(CheckCSourceRuns)
test_big_endian(BIG)
check_type_size(long LONG)
check_c_source_runs("#include <cpuid.h>
int main(void) { unsigned a, b, c, d; return !__get_cpuid(1, &a, &b, &c, &d); }" HAS_CPUID)
try_run(PAGES PAGES_COMPILED ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/probes/pages.c)
file(STRINGS /proc/cpuinfo flags REGEX "^flags")
add_executable(tool main.c other.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64)")
  target_compile_options(tool PRIVATE -march=native)
else()
  target_compile_options(tool PRIVATE -mcpu=native)
endif()
install(TARGETS tool DESTINATION bin)
file(WRITE ${CMAKE_BINARY_DIR}/tool.pc "prefix=${CMAKE_INSTALL_PREFIX}\nbuilt_in=${CMAKE_BINARY_DIR}\nmade_of=${CMAKE_SOURCE_DIR}/main.c\n")
install(FILES ${CMAKE_BINARY_DIR}/tool.pc DESTINATION lib/pkgconfig)
file(WRITE ${CMAKE_BINARY_DIR}/fine.pc "prefix=${CMAKE_INSTALL_PREFIX}\nnear=${CMAKE_SOURCE_DIR}-other\n")
install(FILES ${CMAKE_BINARY_DIR}/fine.pc DESTINATION lib/pkgconfig)
install(CODE "execute_process(COMMAND ln -s ${CMAKE_BINARY_DIR}/tool.pc \$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/link.pc)")
END
echo 'int main(void) { return 4; }' >cmake/probes/pages.c
printf 'int other(void);\nint main(void) { return other(); }\n' >cmake/main.c
echo 'int other(void) { return 0; }' >cmake/other.c
echo '{"name": "tool", "build": {"system": "cmake"}, "isa": ["x86-64", "x86-64-v2"]}' >cmake/xaas.json
build cmake
cat >want <<'END'
machine CMakeLists.txt:11
native CMakeLists.txt:14
path /usr/local/lib/link.pc:-
path /usr/local/lib/pkgconfig/tool.pc:2
path /usr/local/lib/pkgconfig/tool.pc:3
probe CMakeLists.txt:8
probe CMakeLists.txt:10
END
expect_equal "warnings of CMake" "$(warnings)" "$(cat want)"
assert_json build.json '.warnings[] | select(.line == 8) | .message | test("asks this machine.s CPU .HAS_CPUID.")'
assert_json build.json '.warnings[] | select(.kind == "native") | .message | test("^-march=native for 2 sources .main.c, other.c.")'
grep -q '^xaas: warning: CMakeLists.txt:11: .*/proc/cpuinfo' stderr || fail "standard error: $(cat stderr)"
grep -q '^xaas: warning: /usr/local/lib/pkgconfig/tool.pc:2: has the path of the build directory$' stderr || fail "paths: $(cat stderr)"
"$XAAS" build cmake -o oci:app:ir -q >table 2>stderr
[ ! -s stderr ] || fail "-q is not quiet: $(cat stderr)"
"$XAAS" inspect oci:app:ir --format json >inspected.json
assert_json inspected.json '.machine_flags.units.native == 4'
# The Makefile generator records paths of files that it read.
echo '{"name": "tool", "build": {"system": "cmake", "arguments": ["-GUnix Makefiles"]}, "isa": []}' >cmake/xaas.json
build cmake
expect_equal "warnings with makefiles" "$(warnings)" "$(cat want)"

mkdir autotools
cat >autotools/configure.ac <<'END'
AC_INIT([tool], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_CHECK_SIZEOF([long])
AC_C_BIGENDIAN
AC_MSG_CHECKING([how many answers there are])
AC_RUN_IFELSE([AC_LANG_PROGRAM([], [return 0;])], [AC_MSG_RESULT([42])], [AC_MSG_RESULT([none])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
printf 'bin_PROGRAMS = tool\ntool_SOURCES = main.c\n' >autotools/Makefile.am
echo 'int main(void) { return 0; }' >autotools/main.c
echo '{"name": "tool", "build": {"system": "autotools"}, "isa": []}' >autotools/xaas.json
build autotools
expect_equal "warnings of Autotools" "$(warnings)" "probe configure.ac:6"

mkdir meson
cat >meson/meson.build <<'END'
project('tool', 'c')
size = meson.get_compiler('c').sizeof('long')
answer = meson.get_compiler('c').run('int main(void) { return 0; }', name: 'answers')
executable('tool', 'main.c', install: true)
END
cp autotools/main.c meson/
echo '{"name": "tool", "build": {"system": "meson"}, "isa": []}' >meson/xaas.json
build meson
expect_equal "warnings of Meson" "$(warnings)" "optimization -:-
probe meson.build:3"

# Only some of many equal warnings are shown, and they hide no others; flags of the spec; a path in a program and in its RPATH.
mkdir make
for i in $(seq 9); do echo "CPU$i := \$(shell lscpu | head -n $i)"; done >make/Makefile
cat >>make/Makefile <<'END'
tool: main.c
	$(CC) $(CFLAGS) -DWHERE='"$(CURDIR)/data"' -Wl,-rpath,$(CURDIR)/lib -o tool main.c
install: tool
	install -D tool $(DESTDIR)$(PREFIX)/bin/tool
	install -D main.c $(DESTDIR)$(PREFIX)/share/main.c
END
printf '#include <stdio.h>\nint main(void) { puts(WHERE); }\n' >make/main.c
echo '{"name": "tool", "build": {"system": "make", "arguments": ["CFLAGS=-mtune=native"]}, "isa": []}' >make/xaas.json
build make
expect_equal "warnings of make" "$(warnings | tail -n 4)" "$(printf 'native -:-\noptimization -:-\npath /usr/local/bin/tool:-\npath main.c:-')"
expect_equal "lines about lscpu" "$(grep -c 'lscpu' stderr)" 4
grep -q '^xaas: warning: and 5 more; -v lists all$' stderr || fail "no rest: $(cat stderr)"
grep -q '^xaas: warning: /usr/local/bin/tool: ' stderr || fail "the path is hidden: $(cat stderr)"
"$XAAS" build make -o oci:app:ir -v >table 2>stderr
expect_equal "lines with -v" "$(grep -c 'lscpu' stderr)" 9
sed -i 's/-DWHERE=[^ ]*/-DWHERE=__FILE__/' make/Makefile
build make
expect_equal "a path that only the RUNPATH had" "$(warnings | grep -c path || true)" 0

# Sources without an -O option, but not with -O0 and not in a debug build; inspect and deploy name them, too.
mkdir slow
cat >slow/Makefile <<'END'
tool: main.c one.c two.c
	$(CC) -O2 -c one.c
	$(CC) -O0 -c two.c
	$(CC) $(CFLAGS) -c main.c
	$(CC) -o tool main.o one.o two.o
install: tool
	install -D tool $(DESTDIR)$(PREFIX)/bin/tool
END
printf 'int one(void);\nint two(void);\nint main(void) { return one() + two(); }\n' >slow/main.c
echo 'int one(void) { return 1; }' >slow/one.c
echo 'int two(void) { return -1; }' >slow/two.c
cat >slow/xaas.json <<'END'
{"name": "tool", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/tool"]},
 "specializations": [{"name": "kind", "category": "other", "default": "plain",
   "values": [{"value": "plain", "arguments": []}, {"value": "fast", "arguments": ["CFLAGS=-O1"]},
              {"value": "debug", "arguments": ["CFLAGS=-g", "DEBUG=1"]}]}]}
END
build slow
slow='1 source (main.c) is compiled without an -O option'
expect_equal "warnings of unoptimized sources" "$(warnings)" "optimization -:-"
grep -qF "xaas: warning: $slow" stderr || fail "no warning: $(cat stderr)"
"$XAAS" inspect oci:app:ir --format json >inspected.json 2>stderr
assert_json inspected.json '.unoptimized_sources == ["main.c"] and [.warnings[].kind] == ["optimization"]'
grep -qF "xaas: warning: $slow" stderr || fail "inspect does not warn: $(cat stderr)"
"$XAAS" deploy oci:app:ir -o oci:app:here --format json >deployed.json 2>stderr
assert_json deployed.json "[${own_warnings}[] | [.kind, .file, .line]] == [[\"optimization\", null, null]]"
grep -qF "xaas: warning: $slow" stderr || fail "deploy does not warn: $(cat stderr)"
for kind in fast debug; do
  "$XAAS" deploy oci:app:ir -o oci:app:here --set kind=$kind --format json >deployed.json 2>stderr
  assert_json deployed.json "$own_warnings == []"
done

# A point whose values all give the same programs.
mkdir same
cat >same/Makefile <<'END'
tool: main.c
	$(CC) -O2 -DLEVEL=$(or $(LEVEL),1) main.c -o tool
install: tool
	install -D tool $(DESTDIR)$(PREFIX)/bin/tool
END
echo 'int main(void) { return LEVEL - 1; }' >same/main.c
cat >same/xaas.json <<'END'
{"name": "tool", "build": {"system": "make", "copy": true}, "isa": ["x86-64", "x86-64-v3"], "image": {"entrypoint": ["/usr/local/bin/tool"]},
 "specializations": [
   {"name": "level", "category": "other", "default": "low",
    "values": [{"value": "low", "arguments": ["LEVEL=1"]}, {"value": "high", "arguments": ["LEVEL=2"]}]},
   {"name": "mpi", "category": "communication", "default": "off",
    "values": [{"value": "off", "arguments": []}, {"value": "on", "arguments": ["USE_MPI=1"]}]}]}
END
build same
expect_equal "warnings of a point without effect" "$(warnings)" "point -:-"
grep -qF "xaas: warning: \`mpi\` chooses nothing: all of its values give the same programs and files; does the build use their arguments?" stderr ||
  fail "no warning: $(cat stderr)"
