#!/bin/bash
# Loops that LLVM 22 vectorizes wrongly unless cmake/llvm/wrap_predicate.cpp takes the place of its function: an
# index that may wrap beside its own low bits.
source "$E2E/lib.sh"
needs make clang-22 qemu-x86_64 objdump

mkdir src
cat >src/loops.c <<'END'
void masks(int *restrict out, const int *restrict table, unsigned row, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[row + i] = table[i & 7];
}
void bytes(int *restrict out, const int *restrict table, unsigned row, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[row + i] = table[(unsigned char)i];
}
void remainders(int *restrict out, const int *restrict table, unsigned row, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[row + i] = table[i % 16];
}
END
cat >src/main.c <<'END'
#include <stdio.h>
typedef void loop(int *restrict, const int *restrict, unsigned, unsigned);
loop masks, bytes, remainders;
static int out[1000], table[1000];
static int wrong(loop *loop, int period) {
  int count = 0;
  loop(out, table, 0, 1000);
  for (int i = 0; i < 1000; ++i)
    count += out[i] != i % period;
  return count;
}
int main(void) {
  for (int i = 0; i < 1000; ++i)
    table[i] = i;
  printf("%d %d %d\n", wrong(masks, 8), wrong(bytes, 256), wrong(remainders, 16));
}
END
printf 'loops: main.c loops.c\n\t$(CC) -O3 -o $@ main.c loops.c\ninstall:\n\tinstall -D loops $(DESTDIR)/usr/local/bin/loops\n' \
  >src/Makefile
printf '{"name": "loops", "build": {"system": "make"}, "isa": []}\n' >src/xaas.json
for form in raw prepared; do
  "$XAAS" build src -o "oci:app:$form" --ir "$form" -q >/dev/null
  for option in -q --lto; do
    "$XAAS" deploy "oci:app:$form" -o "rootfs:$form$option" --cpu haswell -q $option >/dev/null
    expect_equal "wrong elements, $form $option" \
      "$(qemu-x86_64 -cpu Haswell -L "$PWD/$form$option" "$form$option/usr/local/bin/loops")" "0 0 0"
    objdump -d "$form$option/usr/local/bin/loops" >code
    grep -q ymm code || fail "not vectorized: $form $option"
  done
done
