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

# What the author says of a library's own calls holds with LTO, too (-fno-semantic-interposition, -Bsymbolic-non-weak-functions). A
# weak default that has an alias does not take the place of the strong definition. A program's definitions may come from a
# relocatable object, here in an archive.
mkdir calls
cat >calls/Makefile <<'END'
CFLAGS = -O2 -fPIC
all: prog strict
libown.so libnonweak.so libopen.so: %.so: %-f.o %-g.o
	$(CC) -shared -fuse-ld=lld $(LDFLAGS) $^ -o $@
libown.so: CFLAGS += -fno-semantic-interposition
libnonweak.so: LDFLAGS += -Wl,-Bsymbolic-non-weak-functions
libreport.so: default.o strong.o
	$(CC) -shared $^ -o $@
%-f.o: f.c
	$(CC) $(CFLAGS) -DNAME=$(patsubst lib%-f.o,%,$@) -c $< -o $@
%-g.o: g.c
	$(CC) $(CFLAGS) -DNAME=$(patsubst lib%-g.o,%,$@) -c $< -o $@
part.o: replaced.o
	$(LD) -r $^ -o $@
libpart.a: part.o
	$(AR) rc $@ $^
strict: main.o libown.so libnonweak.so libopen.so libreport.so
	$(CC) main.o -L. -lown -lnonweak -lopen -lreport -o $@
prog: main.o libpart.a strict
	$(CC) main.o -L. -Wl,--whole-archive -lpart -Wl,--no-whole-archive -lown -lnonweak -lopen -lreport -o $@
install: all
	install -D -t $(DESTDIR)/usr/local/bin prog strict
	install -D -t $(DESTDIR)/usr/local/lib libown.so libnonweak.so libopen.so libreport.so
END
cat >calls/f.c <<'END'
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
int JOIN(h, NAME)(int);
__attribute__((noinline)) int JOIN(g, NAME)(int a) { return a + 1; }
int JOIN(f, NAME)(int a) { return JOIN(g, NAME)(a) * 10 + JOIN(h, NAME)(a); }
END
cat >calls/g.c <<'END'
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
int JOIN(h, NAME)(int a) { return a + 5; }
END
cat >calls/default.c <<'END'
#include <stdio.h>
__attribute__((weak)) void report(int a) { printf("default %d\n", a); }
void report_default(int) __attribute__((alias("report")));
void call_report(int a) { report(a); }
END
printf '#include <stdio.h>\nvoid report(int a) { printf("strong %%d\\n", a); }\n' >calls/strong.c
cat >calls/replaced.c <<'END'
#include <stdio.h>
int g_own(int a) { return a + 100; }
int g_nonweak(int a) { return a + 100; }
int g_open(int a) { return a + 100; }
int h_own(int a) { return a + 2000; }
int h_nonweak(int a) { return a + 2000; }
int h_open(int a) { return a + 2000; }
void report(int a) { printf("program %d\n", a); }
END
cat >calls/main.c <<'END'
#include <stdio.h>
int f_own(int), f_nonweak(int), f_open(int);
void call_report(int), report(int);
int main(void) {
  printf("own %d nonweak %d open %d\n", f_own(1), f_nonweak(1), f_open(1));
  fflush(stdout);
  call_report(7);
  report(8);
}
END
echo '{"name": "calls", "build": {"system": "make"}, "isa": []}' >calls/xaas.json
cp -r calls native
make -s -C native CC=clang-22 LD=ld.lld-22 AR=llvm-ar-22
"$XAAS" build calls -o oci:app:calls -q >/dev/null
rm -rf tree
"$XAAS" deploy oci:app:calls -o rootfs:tree -q --lto --format json >calls.json
for program in prog strict; do
  expect_equal "$program with LTO" "$(run $program)" "$(LD_LIBRARY_PATH=$PWD/native native/$program)"
done
assert_json calls.json '.lto.without | to_entries | any(.key | startswith("a definition that another file of the image replaces"))'

# A program that has the library's files itself, or loads the library later, replaces only functions that it exports: all of them
# with -rdynamic, else those that a library among its inputs has. The C library has rand_r(), and a library that is loaded later gets
# the program's, or the C library's if the program has none.
mkdir apart
cat >apart/Makefile <<'END'
include programs.mk
all: libapart.so $(PROGRAMS)
libapart.so: f.c g.c r.c
	$(CC) -O2 -fPIC -shared $^ -o $@
plain: main.c f.c g.c
exporting: main.c other.c
exporting: LDFLAGS = -rdynamic
shadowing: main.c other.c r.c
shadowing: CFLAGS = -DRESULT=70
$(PROGRAMS):
	$(CC) -O2 $(CFLAGS) $(LDFLAGS) $^ -ldl -o $@
install: all
	install -D -t $(DESTDIR)/usr/local/bin $(PROGRAMS)
	install -D -t $(DESTDIR)/usr/local/lib libapart.so
END
printf 'int g(int), rand_r(unsigned *);\nint f(int a) { unsigned seed = 1; return g(a) * 1000 + rand_r(&seed) %% 1000; }\n' >apart/f.c
printf 'int g(int a) { return a + 1; }\n' >apart/g.c
printf '#ifndef RESULT\n#define RESULT 5\n#endif\nint rand_r(unsigned *seed) { return *seed + RESULT; }\n' >apart/r.c
printf 'int f(int a) { return -a; }\nint g(int a) { return a + 100; }\n' >apart/other.c
cat >apart/main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int f(int);
int main(int count, char **arguments) {
  void *library = dlopen(count > 1 ? arguments[1] : "libapart.so", RTLD_NOW);
  int (*theirs)(int) = library ? (int (*)(int))dlsym(library, "f") : 0;
  if (!theirs) {
    puts(dlerror());
    return 1;
  }
  printf("%d %d\n", f(1), theirs(1));
}
END
echo '{"name": "apart", "build": {"system": "make"}, "isa": []}' >apart/xaas.json
calls_of_f() { llvm-objdump-22 -dr --disassemble-symbols=f tree/usr/local/lib/libapart.so | grep -oE '(call|jmp).*<(g|rand_r)' | grep -oE '(g|rand_r)$' | sort -u | paste -sd, || true; }
while read -r programs calls; do
  echo "PROGRAMS = ${programs//,/ }" >apart/programs.mk
  rm -rf native tree
  cp -r apart native
  make -s -C native CC=clang-22
  "$XAAS" build apart -o oci:app:apart -q >/dev/null
  "$XAAS" deploy oci:app:apart -o rootfs:tree -q --lto --format json >apart.json
  for program in ${programs//,/ }; do
    expect_equal "$program of $programs" "$(run "$program")" "$(native/"$program" native/libapart.so)"
  done
  expect_equal "calls of f() in the library, with $programs" "$(calls_of_f)" "$calls"
done <<'END'
plain rand_r
plain,exporting g,rand_r
plain,shadowing rand_r
END
