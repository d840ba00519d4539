#!/bin/bash
# LTO of a shared library whose functions and variables a program of the image defines anew: the library calls the program's, and
# the code behind a call of a function that does not return in the library is still there. A weak definition in the library does
# not take the place of its strong one. Libraries that nothing replaces are optimized across their files.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 llvm-objdump-22
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(handlers C)
set(CMAKE_BUILD_TYPE Release)
add_library(work SHARED default.c work.c stop.c level.c helper.c)
add_executable(strict strict.c)
add_executable(lenient lenient.c error.c)
target_link_libraries(strict work)
target_link_libraries(lenient work)
install(TARGETS strict lenient work)
END
cat >src/work.c <<'END'
void report(int);
int helper(int);
extern int level;
int work(int a) {
  if (a < 0) {
    report(a);
    return -1;
  }
  return helper(a) + level;
}
END
cat >src/stop.c <<'END'
#include <stdio.h>
#include <stdlib.h>
void report_(int a) { printf("library %d\n", a); exit(3); }
#ifdef ALIAS
void report(int a) __attribute__((alias("report_")));
#else
void report(int a) { report_(a); }
#endif
END
# A weak definition in front of the library's strong one, as of a function that its users may leave out.
echo '__attribute__((weak)) void report(int a) { (void)a; }' >src/default.c
echo 'int level = 1;' >src/level.c
echo 'int helper(int a) { return a * 3; }' >src/helper.c
printf '#include <stdio.h>\nint work(int);\nint main(void) { printf("%%d\\n", work(2)); work(-2); puts("not reached"); return 0; }\n' >src/strict.c
printf '#include <stdio.h>\nint work(int);\nint main(void) { printf("%%d\\n", work(2)); printf("%%d\\n", work(-2)); return 0; }\n' >src/lenient.c
printf '#include <stdio.h>\nint level = 100;\nvoid report(int a) { printf("program %%d\\n", a); }\n' >src/error.c
cat >src/xaas.json <<'END'
{"name": "handlers", "build": {"system": "cmake"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/strict"]}}
END
for form in raw prepared; do
  [ $form = raw ] || sed -i '1i #define ALIAS' src/stop.c
  "$XAAS" build src --ir $form -o oci:app:$form -q >/dev/null
  for options in "" "--lto" "--lto --no-cache"; do
    rm -rf tree
    # shellcheck disable=SC2086 # several words
    "$XAAS" deploy oci:app:$form -o rootfs:tree -q $options >/dev/null
    run() { "tree/lib64/ld-linux-x86-64.so.2" --library-path "tree/usr/lib/x86_64-linux-gnu:tree/usr/local/lib" "tree/usr/local/bin/$1"; }
    expect_equal "lenient, $form, $options" "$(run lenient)" "106
program -2
-1"
    expect_equal "strict, $form, $options" "$(run strict || echo "exit $?")" "7
library -2
exit 3"
  done
  # helper() is the library's alone, and became a part of work().
  llvm-objdump-22 -d --disassemble-symbols=work tree/usr/local/lib/libwork.so >code
  grep -q '<work>' code || fail "no code of work()"
  if grep -q 'helper' code; then fail "helper() is called: $(cat code)"; fi
done
