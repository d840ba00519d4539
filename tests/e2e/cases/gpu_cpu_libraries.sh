#!/bin/bash
# Programs that are linked with libraries that need a GPU, on the CPU: refused by name, or deployed with --force.
# shellcheck disable=SC2086 # names of libraries have no spaces
source "$E2E/lib.sh"
needs jq make clang-22 clang++-22 llvm-ar-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

# Libraries as NVIDIA's: shared ones with versions of symbols, and a static one. Real ones would call a driver.
mkdir prebuilt
for library in cufft:12 curand:10; do
  name=${library%:*}
  cat >prebuilt/$name.c <<END
int ${name}Create(int *p) { *p = 5; return 0; }
int ${name}Destroy(int p) { return p - p; }
int ${name}Unused(void) { return 0; }
END
  echo "lib$name.so.${library#*:} { global: ${name}*; local: *; };" >prebuilt/map
  clang-22 -O2 -fPIC -shared prebuilt/$name.c -o prebuilt/lib$name.so.${library#*:} -Wl,-soname,lib$name.so.${library#*:} -Wl,--version-script=prebuilt/map
  ln -s lib$name.so.${library#*:} prebuilt/lib$name.so
done
echo 'const char *nvrtcGetErrorString(int e) { return e ? "error" : "fine"; } int nvrtcVersion(int *a, int *b) { return 0; }' >prebuilt/nvrtc.c
clang-22 -c prebuilt/nvrtc.c -o prebuilt/nvrtc.o && llvm-ar-22 rcs prebuilt/libnvrtc_static.a prebuilt/nvrtc.o
echo 'int cuInit(unsigned f) { return 0; } int cuModuleLoad(void **m, const char *f) { return 0; } int cuGetNothing(void) { return 0; }' >prebuilt/cuda.c
clang-22 -fPIC -shared prebuilt/cuda.c -o prebuilt/libcuda.so -Wl,-soname,libcuda.so.1
# An object that the build did not compile also calls one of them.
echo 'int cufftDestroy(int); int native(int p) { return cufftDestroy(p); }' >prebuilt/native.c

mkdir src
cat >src/app.cu <<'END'
#include <cstdio>
#include <curand_kernel.h>
extern "C" { int cufftCreate(int *); int curandCreate(int *); int nvrtcVersion(int *, int *); const char *nvrtcGetErrorString(int); int native(int); int cufftOwn(int); }
__global__ void draw(float *out, unsigned long long seed) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  out[threadIdx.x] = curand_uniform(&state);
}
int main() {
  float *out, sum = 0;
  cudaMallocManaged(&out, 256 * sizeof *out);
  draw<<<1, 256>>>(out, 1234);
  cudaDeviceSynchronize();
  for (int i = 0; i < 256; ++i) sum += out[i];
  int plan = 3, generator = 4, first = cufftCreate(&plan), again = cufftCreate(&plan);
  std::printf("%d %d %d %d %d\n", sum > 100 && sum < 156, plan, first, again, curandCreate(&generator));
  std::printf("%d %s %d %d\n", nvrtcVersion(&plan, &plan), nvrtcGetErrorString(3), native(plan), cufftOwn(1));
}
END
# A name like theirs, which is the program's own, in a library of its own.
echo 'int cufftOwn(int a) { return a + 1; }' >src/own.c
printf '#include <stdio.h>\nint cuInit(unsigned); int cuModuleLoad(void **, const char *);\nint main(void) { void *m; printf("%%d %%d\\n", cuInit(0), cuModuleLoad(&m, "k.ptx")); return 0; }\n' >src/driver.c
echo 'extern "C" __global__ void scale(float *x) { x[threadIdx.x] *= 2; }' >src/k.cu
cat >src/Makefile <<END
P = $PWD/prebuilt
D = \$(DESTDIR)\$(PREFIX)
all: app driver k.ptx
libown.so: own.c
	\$(CC) -O2 -fPIC -shared own.c -o libown.so
native.o: \$(P)/native.o
	cp \$(P)/native.o native.o
app: app.cu native.o libown.so
	\$(CXX) -O2 app.cu native.o -o app -L. -lown -L\$(P) -lcufft -lcurand -lnvrtc_static -Wl,-rpath,\$(P) -Wl,-rpath,'\$\$ORIGIN/../lib' -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
driver: driver.c
	\$(CC) -O2 driver.c -o driver -L\$(P) -lcuda
k.ptx: k.cu
	\$(CXX) -O2 --cuda-device-only --cuda-gpu-arch=sm_80 -S k.cu -o k.ptx
install: all
	mkdir -p \$(D)/bin \$(D)/lib \$(D)/share
	cp \$(PROGRAM) \$(D)/bin
	cp libown.so \$(D)/lib
	cp k.ptx \$(D)/share
END
clang-22 -O2 -c prebuilt/native.c -o prebuilt/native.o
spec() { echo '{"name": "app", "build": {"system": "make", "arguments": ["PROGRAM='"$1"'"]}, "isa": [], "gpu": ["sm_80"]}' >src/xaas.json; }

spec app
"$XAAS" build src -o oci:app:ir -q >/dev/null
expect_error 3 '(cuFFT), which needs a GPU' "$XAAS" deploy oci:app:ir --gpu cpu -o rootfs:refused
grep -q -e '--force' stderr || fail "no word of --force: $(cat stderr)"
"$XAAS" deploy oci:app:ir --gpu cpu --force -o rootfs:app-cpu --format json >app.json 2>app.err
assert_json app.json '[.kernels[].form] == ["loops"]'
assert_json app.json '[.replaced_libraries[] | "\(.library | split(".")[0]) \(.programs | join(",")) \(.functions | join(","))"] | sort ==
  ["libcufft app cufftCreate,cufftDestroy", "libcurand app curandCreate", "libnvrtc_static app nvrtcGetErrorString,nvrtcVersion"]'
assert_json app.json '[.warnings[] | select(.kind == "gpu-library")] | length == 3'
assert_json app.json '[.warnings[] | select(.kind == "gpu-file").file] == ["/usr/local/share/k.ptx"]'
grep -q 'libcurand.so.* needs a GPU; .*: curandCreate' app.err || fail "not said: $(cat app.err)"
app-cpu/usr/local/bin/app >out 2>err || fail "the program failed: $(cat err)"
expect_equal "output" "$(cat out)" "1 3 16 16 203
11 not supported: there is no GPU 16 2"
expect_equal "what it says" "$(sort err)" "$(printf 'xaas: %s needs a GPU; the program was deployed for the CPU\n' \
  'cufftCreate() of cuFFT' 'cufftDestroy() of cuFFT' 'curandCreate() of cuRAND' 'nvrtcGetErrorString() of NVRTC' 'nvrtcVersion() of NVRTC')"
readelf -dW app-cpu/usr/local/bin/app >dynamic
! grep -qE 'NEEDED.*lib(cufft|curand)' dynamic || fail "still linked: $(cat dynamic)"
"$XAAS" deploy oci:app:ir --gpu cpu --force -o rootfs:again --format json >again.json 2>/dev/null
expect_equal "digest" "$(json again.json .digest)" "$(json app.json .digest)"
"$XAAS" deploy oci:app:ir --gpu cpu --force --lto -o rootfs:lto -q >/dev/null 2>&1
expect_equal "output with LTO" "$(lto/usr/local/bin/app 2>/dev/null)" "$(cat out)"

# The driver, and files that are loaded with it.
spec driver
"$XAAS" build src -o oci:driver:ir -q >/dev/null
expect_error 3 '(the CUDA driver), which needs a GPU; with it, programs load kernels from files, such as /usr/local/share/k.ptx (PTX)' \
  "$XAAS" deploy oci:driver:ir --gpu cpu -o rootfs:refused
"$XAAS" deploy oci:driver:ir --gpu cpu --force -o rootfs:driver-cpu -q >/dev/null 2>&1
expect_equal "output" "$(driver-cpu/usr/local/bin/driver 2>err)" "801 801"
grep -qx 'xaas: cuModuleLoad() of the CUDA driver needs a GPU; the program was deployed for the CPU' err || fail "not said: $(cat err)"

# For a GPU, and without one, nothing is replaced.
"$XAAS" deploy oci:app:ir --gpu none --force -o rootfs:none --format json >none.json
assert_json none.json '.replaced_libraries == []'
readelf -dW none/usr/local/bin/app | finds 'NEEDED.*libcufft' || fail "libcufft was replaced"
