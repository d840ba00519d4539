#!/bin/bash
# Libtool: objects compiled twice, a convenience library, a library that needs another one (linked again at install time),
# `.la` and pkg-config files, several programs, and users of the deployed tree.
source "$E2E/lib.sh"
needs jq make clang-22 autoreconf automake libtoolize pkg-config readelf ar

mkdir src
cat >src/configure.ac <<'END'
AC_INIT([parts], [1.4])
AM_INIT_AUTOMAKE([foreign subdir-objects])
AC_CONFIG_MACRO_DIRS([m4])
AC_PROG_CC
AM_PROG_AR
LT_INIT
AC_CONFIG_FILES([Makefile parts.pc])
AC_OUTPUT
END
cat >src/Makefile.am <<'END'
ACLOCAL_AMFLAGS = -I m4
noinst_LTLIBRARIES = libinner.la
libinner_la_SOURCES = inner.c
lib_LTLIBRARIES = libbase.la libparts.la
libbase_la_SOURCES = base.c
libbase_la_LDFLAGS = -version-info 5:1:2
libparts_la_SOURCES = parts.c
libparts_la_LIBADD = libinner.la libbase.la
libparts_la_LDFLAGS = -version-info 1:0:0
bin_PROGRAMS = one two
one_SOURCES = one.c
one_LDADD = libparts.la
two_SOURCES = two.c
two_LDADD = libparts.la
two_LDFLAGS = -static
include_HEADERS = parts.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = parts.pc
END
cat >src/parts.pc.in <<'END'
prefix=@prefix@
exec_prefix=@exec_prefix@
libdir=@libdir@
includedir=@includedir@

Name: parts
Description: parts
Version: @PACKAGE_VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -lparts
Libs.private: -lbase
END
printf 'int base(int); int inner(int); int parts(int);\n' >src/parts.h
printf '#include "parts.h"\nint base(int x) { return x + 1; }\n' >src/base.c
printf '#include "parts.h"\nint inner(int x) { return 2 * x; }\n' >src/inner.c
printf '#include "parts.h"\nint parts(int x) { return inner(base(x)); }\n' >src/parts.c
for program in one two; do
  printf '#include "parts.h"\n#include <stdio.h>\nint main(void) { printf("%s %%d\\n", parts(20)); }\n' $program >src/$program.c
done
echo '{"name": "parts", "build": {"system": "autotools"}, "isa": []}' >src/xaas.json

"$XAAS" build src -o oci:app:ir -q --format json >build.json
assert_json build.json '.configurations[0].native_objects == 0 and .configurations[0].programs == 4 and .warnings == []'
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
lib=tree/usr/local/lib
expect_equal "links to the libraries" "$(readlink $lib/libbase.so $lib/libbase.so.3 $lib/libparts.so | tr '\n' ' ')" \
  "libbase.so.3.2.1 libbase.so.3.2.1 libparts.so.1.0.0 "
readelf -d $lib/libparts.so.1.0.0 >dynamic
grep -q 'soname: \[libparts.so.1\]' dynamic || fail "another soname: $(cat dynamic)"
grep -q 'NEEDED.*\[libbase.so.3\]' dynamic || fail "another library: $(cat dynamic)"
expect_equal "members of the archive" "$(ar t $lib/libparts.a | sort | tr '\n' ' ')" "inner.o parts.o "
! grep -rqaF xaas-build tree || fail "the build's directory is in $(grep -rlaF xaas-build tree)"
expect_equal "where libparts.la says that it is" "$(sed -n "s/^libdir='\(.*\)'/\1/p" $lib/libparts.la)" /usr/local/lib
grep -q "^dependency_libs='.* */usr/local/lib/libbase.la'" $lib/libparts.la || fail "libparts.la: $(cat $lib/libparts.la)"
readelf -d tree/usr/local/bin/two >dynamic
! grep -q 'NEEDED.*parts' dynamic || fail "two is not static: $(cat dynamic)"

loader=tree/lib64/ld-linux-x86-64.so.2
libc=$(dirname "$(find "$PWD/tree" -name libc.so.6)")
for program in one two; do
  expect_equal $program "$($loader --library-path "$libc:$PWD/$lib" tree/usr/local/bin/$program)" "$program 42"
done
export PKG_CONFIG_SYSROOT_DIR=$PWD/tree PKG_CONFIG_LIBDIR=$PWD/$lib/pkgconfig
printf '#include <parts.h>\nint main(void) { return parts(20) != 42; }\n' >user.c
read -ra shared < <(pkg-config --cflags --libs parts)
clang-22 user.c -o shared "${shared[@]}" -Wl,-rpath-link,$lib && LD_LIBRARY_PATH=$lib ./shared
read -ra static < <(pkg-config --cflags --libs --static parts)
clang-22 user.c -o static -Wl,-Bstatic "${static[@]}" -Wl,-Bdynamic && ./static
