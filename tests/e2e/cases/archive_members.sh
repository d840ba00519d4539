#!/bin/bash
# Members of archives that no link takes are not lowered, and programs are those of links that have all members.
source "$E2E/lib.sh"
needs jq

project() { # DIRECTORY [MORE-TO-INSTALL]
  mkdir -p "$1"
  cat >"$1/main.c" <<'END'
#include <stdio.h>
int used(int);
void from_assembly(void);
extern int filled;
char buffer[100];
static void clear(char* p, int n) { for (int i = 0; i < n; ++i) p[i] = 0; }
int main(int argc, char** argv) {
  buffer[5] = 1;
  clear(buffer, argc * 100);
  from_assembly();
  printf("%d %d %d\n", used(argc), buffer[5], filled);
}
END
  echo 'int helper(int); int used(int a) { return helper(a) + 1; }' >"$1/used.c"
  echo 'int helper(int a) { return 10 * a; }' >"$1/helper.c"
  echo 'int helper(int); int unused(int a) { return helper(a) + 2; }' >"$1/unused.c"
  # No source names memset: the optimizer makes calls of it from loops.
  cat >"$1/memset.c" <<'END'
#include <stddef.h>
extern int filled;
void* memset(void* p, int c, size_t n) {
  for (volatile char* b = p; n--;) *b++ = c;
  filled = 1;
  return p;
}
END
  echo 'int filled;' >"$1/filled.c"
  # Assembly in a function may define names.
  echo 'void label(void) { __asm__(".globl from_assembly; from_assembly:"); }' >"$1/label.c"
  cat >"$1/Makefile" <<'END'
CFLAGS = -O2
program: main.o libutil.a
	$(CC) -o $@ main.o libutil.a
libutil.a: used.o helper.o unused.o memset.o filled.o label.o
	$(AR) rc $@ $^
END
  echo "{\"name\": \"app\", \"build\": {\"system\": \"make\", \"install\": [{\"from\": \"program\", \"to\": \"bin/program\"}${2:-}]}}" \
    >"$1/xaas.json"
}
want="11 0 1"
deploy() { # NAME ARGUMENT...: a tree and a report
  "$XAAS" deploy oci:app:ir -o "rootfs:$1" -q --format json "${@:2}" >"$1.json"
  expect_equal "output of $1" "$("$1/usr/local/bin/program")" "$want"
}
project src
"$XAAS" build src -o oci:app:ir -q
deploy cold
expect_equal "members" "$(jq -c .modules cold.json)" '{"lowered":6,"cached":0,"unneeded":1}'
deploy warm
expect_equal "members, from the cache" "$(jq -c .modules warm.json)" '{"lowered":0,"cached":6,"unneeded":1}'
want="11 0 0" deploy lto --lto # as with clang -flto=thin, where the loop calls the C library's memset
expect_equal "members with --lto" "$(jq -c .modules.unneeded lto.json)" 1
deploy fresh --no-cache
deploy another --cpu nehalem # symbols are known, objects are not
expect_equal "members for another CPU" "$(jq -c .modules another.json)" '{"lowered":6,"cached":0,"unneeded":1}'
for name in warm fresh; do
  expect_equal "digest of $name" "$(json $name.json .digest)" "$(json cold.json .digest)"
done

# An installed archive has all its members.
project other ', {"from": "libutil.a", "to": "lib/libutil.a"}'
"$XAAS" build other -o oci:app:ir -q
deploy installed
expect_equal "members of an installed archive" "$(jq -c .modules.unneeded installed.json)" 0
expect_equal "members of libutil.a" "$(ar t installed/usr/local/lib/libutil.a | tr '\n' ' ')" \
  "used.o helper.o unused.o memset.o filled.o label.o "
want="11 0 0" deploy installed-lto --lto
expect_equal "members of libutil.a" "$(ar t installed-lto/usr/local/lib/libutil.a | wc -l)" 6
