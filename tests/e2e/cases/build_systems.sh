#!/bin/bash
# Make, commands, Autotools and CMake with makefiles: a program with a library, built, deployed and run.
source "$E2E/lib.sh"
needs jq make clang-22 cmake autoreconf automake

sources() { # DIR
  mkdir -p "$1"
  echo 'int answer(void);' >"$1/answer.h"
  printf '#include "answer.h"\nint answer(void) { return BASE + 2; }\n' >"$1/answer.c"
  printf '#include "answer.h"\n#include <stdio.h>\nint main(void) { printf("answer %%d\\n", answer()); }\n' >"$1/main.c"
}
check() { # DIR
  local before
  before=$(find "$1" -printf '%p %T@ %s\n' | sort)
  "$XAAS" build "$1" -o "oci:app:$1" -q
  expect_equal "the sources after building" "$(find "$1" -printf '%p %T@ %s\n' | sort)" "$before"
  "$XAAS" inspect "oci:app:$1" --format json >inspected.json
  assert_json inspected.json '.configurations[0].units == 2 and .configurations[0].native_objects == 0'
  "$XAAS" deploy "oci:app:$1" -o "rootfs:$1-tree" -q
  local libc
  libc=$(dirname "$(find "$PWD/$1-tree" -name libc.so.6)")
  expect_equal "$1" "$("$1-tree/lib64/ld-linux-x86-64.so.2" --library-path "$libc:$PWD/$1-tree/usr/local/lib" "$1-tree/usr/local/bin/tool")" "answer 42"
}

sources make
cat >make/Makefile <<'END'
tool: main.o libanswer.a
	$(CC) -o $@ main.o -L. -lanswer
libanswer.a: answer.o
	$(AR) rcs $@ $^
%.o: %.c answer.h
	$(CC) -DBASE=$(BASE) -c $<
install: tool
	mkdir -p $(DESTDIR)$(prefix)/bin && cp tool $(DESTDIR)$(prefix)/bin/
END
echo '{"name": "make", "build": {"system": "make", "arguments": ["BASE=40"], "targets": ["tool"]}, "isa": []}' >make/xaas.json
check make

sources commands
cat >commands/xaas.json <<'END'
{"name": "commands", "isa": [],
 "build": {"system": "commands", "arguments": ["BASE=40"],
  "build": "$CC -O2 -DBASE=$BASE -o tool $SRC/main.c $SRC/answer.c && mkdir -p share && echo data > share/data",
  "install": [{"from": "tool", "to": "bin/tool"}, {"from": "share", "to": "share/tool"}]}}
END
check commands
expect_equal "an installed directory" "$(cat commands-tree/usr/local/share/tool/data)" data

sources autotools
cat >autotools/configure.ac <<'END'
AC_INIT([tool], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AC_PROG_RANLIB
AM_PROG_AR
AC_CHECK_SIZEOF([long])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
cat >autotools/Makefile.am <<'END'
AM_CPPFLAGS = -DBASE=40
bin_PROGRAMS = tool
noinst_LIBRARIES = libanswer.a
libanswer_a_SOURCES = answer.c answer.h
tool_SOURCES = main.c
tool_LDADD = libanswer.a
END
echo '{"name": "autotools", "build": {"system": "autotools"}, "isa": []}' >autotools/xaas.json
check autotools

sources cmake
cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(tool C)
add_library(answer STATIC answer.c)
target_compile_definitions(answer PRIVATE BASE=${BASE})
add_executable(tool main.c)
target_link_libraries(tool answer)
install(TARGETS tool DESTINATION bin)
END
echo '{"name": "cmake", "build": {"system": "cmake", "arguments": ["-DBASE=40", "-G", "Unix Makefiles"]}, "isa": []}' >cmake/xaas.json
check cmake
