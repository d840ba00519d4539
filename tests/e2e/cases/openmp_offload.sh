#!/bin/bash
# Target regions of OpenMP: they run here with the CPU as the device; for an NVIDIA GPU the case inspects the code.
source "$E2E/lib.sh"
needs jq make clang-22
[ -e /usr/lib/llvm-22/lib/libomptarget.so ] || skip "LLVM's run-time library of OpenMP offloading (liboffload-22-dev) is not installed"

mkdir project
cat >project/sum.c <<'END'
#include "part.h"
#include <omp.h>
#include <stdio.h>
double other(const double *values, int count);
int main(void) {
  enum { count = 1000 };
  static double values[count];
  for (int i = 0; i < count; ++i) values[i] = i;
  double sum = 0;
  int initial = 1;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values) map(from : initial)
  for (int i = 0; i < count; ++i) {
    sum += part(values[i]);
    initial = omp_is_initial_device();
  }
  int plain = 1;
#pragma omp target map(tofrom : plain)
  plain += 5;
  printf("sum %g other %g plain %d on the %s\n", sum, other(values, count), plain, initial ? "host" : "device");
  return 0;
}
END
cat >project/part.h <<'END'
#pragma omp declare target
extern double factor;
double part(double value);
#pragma omp end declare target
END
cat >project/part.c <<'END'
#include "part.h"
#pragma omp declare target
double factor = 2;
double part(double value) { return factor * value; }
#pragma omp end declare target
END
cat >project/other.c <<'END'
#include "part.h"
double other(const double *values, int count) {
  double sum = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : values[0 : count])
  for (int i = 0; i < count; ++i) sum += part(values[i]) / factor;
  return sum;
}
END
cat >project/Makefile <<'END'
DEVICE = -fopenmp-targets=x86_64-pc-linux-gnu
OPTIONS = -O2 -fopenmp $(DEVICE)
sum: sum.o part.o libother.a
	$(CC) $(OPTIONS) -Wl,--gc-sections sum.o part.o libother.a -o sum
libother.a: other.o
	$(AR) rcs $@ other.o
%.o: %.c part.h
	$(CC) $(OPTIONS) -c $< -o $@
install: sum
	install -D sum $(DESTDIR)$(PREFIX)/bin/sum
END
echo '{"name": "sum", "version": "1", "revision": "1", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"]}' >project/xaas.json
on_device="sum 999000 other 499500 plain 6 on the device"

"$XAAS" build project -o oci:image:ir --format json >build.json
valid_bundle image ir
"$XAAS" inspect oci:image:ir --format json >image.json
assert_json image.json 'all(.configurations[]; .units == 6 and .native_objects == 0)'
assert_json image.json 'all(.specializations[]; .name != "gpu")' # the CPU is not one
"$XAAS" deploy oci:image:ir -o oci:deployed:here --format json >here.json
assert_json here.json '.target.gpu == []'
expect_equal "in a container" "$("$XAAS" run oci:deployed:here --runtime bwrap --env OMP_TARGET_OFFLOAD=MANDATORY -- /usr/local/bin/sum)" "$on_device"
"$XAAS" deploy oci:image:ir --cpu haswell --lto -o rootfs:lto -q >/dev/null
expect_equal "with LTO" "$("$XAAS" run rootfs:lto --runtime bwrap --env OMP_TARGET_OFFLOAD=MANDATORY -- /usr/local/bin/sum)" "$on_device"
"$XAAS" deploy oci:image:ir --gpu none -o rootfs:none -q >/dev/null # of GPUs: there are no others
expect_equal "without a GPU" "$("$XAAS" run rootfs:none --runtime bwrap --env OMP_TARGET_OFFLOAD=MANDATORY -- /usr/local/bin/sum)" "$on_device"
# Clang names regions by device and inode of their file; the image of a copy is the same.
cp -r project copy
"$XAAS" build copy -o oci:copied:ir --format json >copy.json
expect_equal "digest of a copy's image" "$(json copy.json .digest)" "$(json build.json .digest)"

# For a GPU: with Debian's device run-time library of LLVM 19, plus the one function that is new in LLVM 22, as bitcode.
cuda=$(cuda_toolkit) || { echo "NOT TESTED: regions for GPUs: no CUDA toolkit"; exit 0; }
export CUDA_PATH=$cuda
mkdir runtime
(cd runtime && apt-get download libomp-19-dev && dpkg -x libomp-19-dev_*.deb .) >download.log 2>&1 ||
  { echo "NOT TESTED: regions for GPUs: libomp-19-dev cannot be fetched: $(tail -1 download.log)"; exit 0; }
cat >runtime/parallel.c <<'END'
void __kmpc_parallel_51(void *, int, int, int, int, void *, void *, void **, long);
void __kmpc_parallel_60(void *location, int thread, int condition, int threads, int binding, void *function, void *wrapper,
                        void **arguments, long count, int strict) {
  __kmpc_parallel_51(location, thread, condition, threads, binding, function, wrapper, arguments, count);
}
END
runtime_for() { # NAME OF LLVM 19'S FILE, OPTION...
  local file=$1
  shift
  clang-22 "$@" -nogpulib -O1 -emit-llvm -c runtime/parallel.c -o runtime/parallel.bc 2>/dev/null
  llvm-link-22 --suppress-warnings "runtime/usr/lib/llvm-19/lib/$file" runtime/parallel.bc -o "runtime/$file"
}
runtime_for libomptarget-nvptx-sm_80.bc --target=nvptx64-nvidia-cuda -march=sm_80
mv runtime/libomptarget-nvptx-sm_80.bc runtime/libomptarget-nvptx.bc
jq --arg device "DEVICE=--offload-arch=sm_80 --libomptarget-nvptx-bc-path=$PWD/runtime/libomptarget-nvptx.bc" \
  '.build.arguments = [$device] | .gpu = ["sm_80", "sm_90"] | .isa = ["x86-64-v3"]' project/xaas.json >spec.new
mv spec.new project/xaas.json
"$XAAS" build project -o oci:gpu:ir -q >/dev/null
"$XAAS" inspect oci:gpu:ir --format json >gpu.json
assert_json gpu.json '.configurations[0].native_objects == 0 and .configurations[0].units == 9'
offload_image() { # PROGRAM: its first; llvm/Object/OffloadBinary.h: a header with the offset of an entry, which has the image's place
  perl -0777 -ne '$at = index($_, "\x10\xff\x10\xad"); die "no image" if $at < 0;
    ($size, $entry) = unpack("x8 Q< Q<", substr($_, $at)); $blob = substr($_, $at, $size);
    ($offset, $length) = unpack("x24 Q< Q<", substr($blob, $entry)); print substr($blob, $offset, $length)' "$1"
}
for gpu in sm_80 sm_90 sm_100; do
  "$XAAS" deploy oci:gpu:ir --gpu $gpu -o rootfs:$gpu --format json >$gpu.json
  assert_json $gpu.json ".target.gpu == [\"$gpu\"] and .gpu_code[0].arch == \"$gpu\""
  offload_image $gpu/usr/local/bin/sum >$gpu.image
  expect_equal "machine of the code for $gpu" "$(od -An -tu2 -j18 -N2 $gpu.image | tr -d ' ')" 190 # EM_CUDA
  readelf -sW $gpu.image >$gpu.elf 2>/dev/null
  for region in main other; do
    grep -q "FUNC.*__omp_offloading_.*_${region}_l" $gpu.elf || fail "no region of $region for $gpu"
  done
  expect_equal "on a machine without that GPU" "$("$XAAS" run rootfs:$gpu --runtime bwrap -- /usr/local/bin/sum)" "${on_device/device/host}"
done
expect_error 3 "only machine code" "$XAAS" deploy oci:gpu:ir --gpu sm_80 --ptxas none -o rootfs:never
"$XAAS" deploy oci:gpu:ir --gpu none -o rootfs:gpu-none -q >/dev/null
expect_equal "without code for GPUs" "$("$XAAS" run rootfs:gpu-none --runtime bwrap -- /usr/local/bin/sum)" "${on_device/device/host}"

# For an AMD GPU: its device libraries are linked with LLVM's.
[ -e /usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc ] ||
  { echo "NOT TESTED: regions for AMD's GPUs: rocm-device-libs is not installed"; exit 0; }
runtime_for libomptarget-amdgpu-gfx90a.bc --target=amdgcn-amd-amdhsa -mcpu=gfx90a -mcode-object-version=5
device="DEVICE=--offload-arch=gfx90a --libomptarget-amdgpu-bc-path=$PWD/runtime/libomptarget-amdgpu-gfx90a.bc"
jq --arg device "$device" '.build.arguments = [$device] | del(.gpu)' project/xaas.json >spec.new
mv spec.new project/xaas.json
"$XAAS" build project -o oci:amd:ir -q >/dev/null
"$XAAS" deploy oci:amd:ir --gpu gfx90a -o rootfs:gfx90a --format json >gfx90a.json
assert_json gfx90a.json '.gpu_code[0].code_object == "5"'
offload_image gfx90a/usr/local/bin/sum >gfx90a.image
llvm-readelf-22 -h --dyn-syms gfx90a.image >gfx90a.elf
grep -q 'Flags:.*gfx90a' gfx90a.elf || fail "no code object for gfx90a: $(cat gfx90a.elf)"
for region in main other; do
  grep -q "OBJECT.*__omp_offloading_.*_${region}_l.*\.kd" gfx90a.elf || fail "no kernel descriptor of $region"
done
expect_equal "on a machine without that GPU" "$("$XAAS" run rootfs:gfx90a --runtime bwrap -- /usr/local/bin/sum)" "${on_device/device/host}"
# Compiling reports a missing device run-time library.
jq '.build.arguments = ["DEVICE=--offload-arch=gfx90a"]' project/xaas.json >spec.new && mv spec.new project/xaas.json
expect_exit 1 "$XAAS" build project -o oci:amdless:ir >output 2>&1 && grep -q 'libompdevice.a' output ||
  fail "the library that is missing is not named: $(cat output)"
