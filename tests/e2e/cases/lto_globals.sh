#!/bin/bash
# Globals that LLVM treats specially survive LTO: `used` and `retain`, inline variables and static members with dynamic
# initializers, priorities of constructors, tables that a program walks, ifuncs, target_clones, aliases, weak and common
# symbols, comdats, thread-local variables, annotations. The output is that of a native build.
source "$E2E/lib.sh"
needs jq make clang-22 clang++-22

mkdir src
cat >src/main.cpp <<'END'
#include "shared.h"
#include <cstdio>
int Table::walk() {
  int sum = 0;
  for (const Entry *e = __start_entries; e != __stop_entries; ++e) sum = sum * 3 + e->value;
  return sum;
}
int main(int argc, char **argv) {
  (void)argv;
  std::printf("table %d retained %d\n", Table::walk(), retained_count());
  std::printf("inline %d %d static %d\n", inline_variable.value, other_inline(), Holder<int>::made.value);
  std::printf("order %s\n", order);
  std::printf("ifunc %d clones %d\n", chosen(argc), cloned(argc));
  std::printf("alias %d %d weak %d missing %d\n", alias_of(argc), alias_variable, weak_function(argc), missing ? 1 : 0);
  std::printf("common %d comdat %d %d tls %d %d\n", common_variable, counter(), other_counter(), tls.value, other_tls());
  std::printf("virtual %d annotated %d used %d\n", make(argc)->get(), annotated(argc), used_count());
  return 0;
}
END
cat >src/shared.h <<'END'
struct Entry { int value; };
extern "C" const Entry __start_entries[], __stop_entries[];
struct Table { static int walk(); };
struct Value { int value; explicit Value(int v); };
inline Value inline_variable(7);
template <typename T> struct Holder { static Value made; };
template <typename T> Value Holder<T>::made(static_cast<int>(sizeof(T)) * 10);
extern template struct Holder<int>;
struct Base { virtual ~Base() = default; virtual int get() const { return 1; } };
inline int counter() { static int count = 0; return ++count; }
extern thread_local Value tls;
Base *make(int);
int other_inline(), other_counter(), other_tls(), retained_count(), used_count();
extern "C" {
extern char order[16];
int chosen(int), cloned(int), alias_of(int), weak_function(int), annotated(int);
__attribute__((weak)) int missing(int);
extern int alias_variable, common_variable;
}
END
cat >src/other.cpp <<'END'
#include "shared.h"
Value::Value(int v) : value(v + 1) {}
template struct Holder<int>;
template struct Holder<long>;
thread_local Value tls(30);
struct Derived : Base { int get() const override { return 2; } };
Base *make(int a) { static Base base; static Derived derived; return a > 1 ? &base : &derived; }
int other_inline() { return inline_variable.value * 2; }
int other_counter() { return counter(); }
int other_tls() { return ++tls.value; }
END
cat >src/tables.c <<'END'
#define ENTRY(name, value) __attribute__((used, retain, section("entries"))) static const int name = value
ENTRY(first, 1);
ENTRY(second, 2);
__attribute__((retain, section("entries"))) const int third = 5;
__attribute__((retain, used, section("kept_part"))) static int kept = 4;
int retained_in_c(void) { return kept; }
char order[16] = "";
static int at;
static void note(char c) { order[at++] = c; }
__attribute__((constructor(300))) static void late(void) { note('c'); }
__attribute__((constructor(101))) static void early(void) { note('a'); }
__attribute__((constructor(200))) static void middle(void) { note('b'); }
__attribute__((constructor)) static void last(void) { note('d'); }
__attribute__((annotate("marked"))) int annotated(int a) { return a + 40; }
static int used_calls = 6;
__attribute__((used)) static void from_nowhere(void) { ++used_calls; }
int used_in_c(void) { return used_calls; }
END
cat >src/special.c <<'END'
#include <stdio.h>
static int plain(int a) { return a + 60; }
static int (*resolve(void))(int) { return plain; }
int chosen(int) __attribute__((ifunc("resolve")));
__attribute__((target_clones("avx2", "default"))) int cloned(int a) { return a * 70; }
int aliased(int a) { return a + 80; }
int alias_of(int) __attribute__((alias("aliased")));
static int variable = 81;
extern int alias_variable __attribute__((alias("variable")));
__attribute__((weak)) int weak_function(int a) { return a + 90; }
int common_variable;
__attribute__((destructor)) static void bye(void) { puts("bye"); }
END
cat >src/strong.c <<'END'
int weak_function(int a) { return a + 91; }
int common_variable;
int retained_in_c(void), used_in_c(void);
int retained_cxx(void) __asm__("_Z14retained_countv");
int retained_cxx(void) { return retained_in_c(); }
int used_cxx(void) __asm__("_Z10used_countv");
int used_cxx(void) { return used_in_c(); }
END
cat >src/Makefile <<'END'
objects = main.o other.o tables.o special.o strong.o
globals: $(objects)
	$(CXX) -Wl,--gc-sections -o $@ $(objects)
%.o: %.c
	$(CC) -O2 -fcommon -ffunction-sections -fdata-sections -c $<
%.o: %.cpp shared.h
	$(CXX) -O2 -std=c++17 -ffunction-sections -fdata-sections -c $<
install: globals
	install -D globals $(DESTDIR)$(PREFIX)/bin/globals
END
cat >src/xaas.json <<'END'
{"name": "globals", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/globals"]}}
END
cp -r src native
make -C native CC=clang-22 CXX=clang++-22 >make.log 2>&1 || fail "$(cat make.log)"
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:plain -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:lto --lto -q --format json >lto.json
# LLVM's whole-program analysis crashes on visible ifuncs: a unit with one stays an object.
assert_json lto.json '.lto == {units: 4, without: {"inline assembly with more than instructions, an ifunc, or -fshort-wchar": 1}}'
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/lib/x86_64-linux-gnu:$1/usr/lib/x86_64-linux-gnu:$1/usr/local/lib" "$1/usr/local/bin/globals"; }
native/globals >native.out
grep -q '^order abcd$' native.out || fail "the native build's order: $(cat native.out)"
for root in plain lto; do
  run "$root" >"$root.out"
  cmp "$root.out" native.out || fail "$root: $(diff "$root.out" native.out)"
done
