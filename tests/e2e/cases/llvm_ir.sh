#!/bin/bash
# LLVM IR as a source: MLIR's kernels are shipped as IR and get each target's vectors, with equal results.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 mlir-opt-22 mlir-translate-22 llvm-objdump-22
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

cp -r "$REPO/examples/tensor" sources
"$XAAS" build sources -o oci:app:ir -q --format json >build.json
assert_json build.json '.native_objects == [] and .configurations[0].units == 3'
registers() { llvm-objdump-22 -d "$1/usr/local/bin/tensor" --disassemble-symbols=gemm,convolution | grep -c "%$2" || true; }
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/usr/lib/x86_64-linux-gnu" "$1/usr/local/bin/tensor"; }
for cpu in x86-64 haswell sapphirerapids; do
  "$XAAS" deploy oci:app:ir -o rootfs:$cpu --cpu $cpu -q >/dev/null
done
"$XAAS" deploy oci:app:ir -o rootfs:here -q >/dev/null
expect_equal "YMM registers at x86-64" "$(registers x86-64 ymm)" 0
[ "$(registers haswell ymm)" -gt 20 ] || fail "no vectors of AVX"
expect_equal "ZMM registers for haswell" "$(registers haswell zmm)" 0
[ "$(registers sapphirerapids zmm)" -gt 20 ] || fail "no vectors of AVX-512"
for tree in x86-64 here; do
  run $tree >$tree.out || fail "$tree: $(cat $tree.out)" # it compares the results
  expect_equal "kernels in both forms" "$(grep -c GFLOP $tree.out)" 4
done

# From standard input, in a makefile; the linked program has the IR, and not native code.
mkdir made
cat >made/twice.mlir <<'EOF'
func.func @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  return %b : i32
}
EOF
echo 'int twice(int); int main(void) { return twice(21) != 42; }' >made/main.c
cat >made/Makefile <<'EOF'
made: main.c twice.mlir
	mlir-opt-22 --convert-func-to-llvm --convert-arith-to-llvm twice.mlir | mlir-translate-22 --mlir-to-llvmir | $(CC) -O2 -x ir -c - -o twice.o
	$(CC) -O2 -o $@ main.c twice.o
install: made
	install -D made $(DESTDIR)$(PREFIX)/bin/made
EOF
echo '{"name": "made", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"]}' >made/xaas.json
"$XAAS" build made -o oci:pipe:ir -q --format json >build.json
assert_json build.json '.native_objects == [] and .sharing.units == 4 and .sharing.modules == 2'
"$XAAS" deploy oci:pipe:ir -o rootfs:made-here -q --lto >/dev/null
made-here/lib64/ld-linux-x86-64.so.2 --library-path made-here/usr/lib/x86_64-linux-gnu made-here/usr/local/bin/made

# IR for another system stays native, with the reason.
sed -i 's#| mlir-translate-22 --mlir-to-llvmir |#& sed "1i target triple = \\"x86_64-unknown-freebsd\\"" |#' made/Makefile
"$XAAS" build made -o oci:pipe:native -q --format json >build.json
assert_json build.json '[.native_objects[].reason] | length > 0 and all(contains("IR for x86_64-unknown-freebsd"))'
