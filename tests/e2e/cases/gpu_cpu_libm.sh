#!/bin/bash
# A C compiler links a program with CUDA kernels, without -lm: on a GPU, the kernels' functions come from libdevice. Deployed for
# the CPU, it gets libm from the image; other deploys and the build itself do not.
source "$E2E/lib.sh"
needs jq make clang-22 clang++-22 llvm-readelf-22
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"

mkdir src
cat >src/kernels.cu <<'END'
#include <cuda_runtime.h>
__global__ void power(float *a) { a[threadIdx.x] = powf(a[threadIdx.x], 3) ; }
extern "C" float cube(float x) {
  float *a;
  cudaMallocManaged((void **)&a, sizeof *a);
  *a = x;
  power<<<1, 1>>>(a);
  cudaDeviceSynchronize();
  return *a;
}
END
cat >src/main.c <<'END'
#include <stdio.h>
float cube(float);
int main(void) { return printf("%g\n", cube(3)) < 0; }
END
cat >src/Makefile <<END
app: main.c kernels.cu
	\$(CXX) -fno-exceptions -O2 -c kernels.cu
	\$(CC) -O2 main.c kernels.o -o app -L$cuda/lib64 -L$cuda/lib \$(LIBRARIES)
END
spec() { # LIBRARIES
  echo '{"name": "app", "build": {"system": "make", "arguments": ["LIBRARIES='"$1"'"],
    "install": [{"from": "app", "to": "bin/app"}]}, "isa": [], "gpu": ["sm_80"]}' >src/xaas.json
}
needed() { llvm-readelf-22 -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' '; }
for kind in static shared; do
  case $kind in
  static) spec "-lcudart_static -ldl -lrt -lpthread" ;;
  shared) spec "-lcudart -Wl,-z,now" ;;
  esac
  "$XAAS" build src -o oci:$kind:ir -q >/dev/null
  "$XAAS" deploy oci:$kind:ir --gpu cpu -o rootfs:$kind-cpu -q >/dev/null
  expect_equal "a $kind run-time library" "$($kind-cpu/usr/local/bin/app)" 27
  [[ " $(needed $kind-cpu/usr/local/bin/app)" == *" libm.so.6 "* ]] || fail "no libm for the CPU"
  [ -e "$(find $kind-cpu -name libm.so.6)" ] || fail "the image brings no libm"
  "$XAAS" deploy oci:$kind:ir --gpu sm_80 --ptxas none -o rootfs:$kind-gpu -q >/dev/null
  [[ " $(needed $kind-gpu/usr/local/bin/app)" != *" libm."* ]] || fail "libm for a GPU"
done

# A link that finds no libm, as in images of earlier versions.
crt=$(dirname "$(clang-22 -print-file-name=crt1.o)")
cat >src/Makefile <<END
app: main.c kernels.cu
	\$(CXX) -fno-exceptions -O2 -c kernels.cu
	\$(CC) -O2 -c main.c
	\$(LD) -pie -dynamic-linker \$(LOADER) $crt/Scrt1.o $crt/crti.o main.o kernels.o -o app \$(LIBRARIES) $crt/crtn.o
END
libc=$(ldd "$XAAS" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p') loader=$(ldd "$XAAS" | sed -n 's/^\s*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p')
static=$(find "$cuda"/lib*/ -name libcudart_static.a | head -n 1)
echo '{"name": "app", "build": {"system": "make", "arguments": ["LOADER='"$loader"'", "LIBRARIES='"$static $libc $crt/libc_nonshared.a"'"],
  "install": [{"from": "app", "to": "bin/app"}]}, "isa": [], "gpu": ["sm_80"]}' >src/xaas.json
"$XAAS" build src -o oci:old:ir -q >/dev/null
expect_error 1 "no library of the link has these functions, which kernels on the CPU need: " \
  "$XAAS" deploy oci:old:ir --gpu cpu -o rootfs:out -q
grep -qw powf stderr || fail "the error does not name powf: $(cat stderr)"
