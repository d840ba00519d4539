#!/bin/bash
# Kernels that a program loads from files: compiled for the requested GPU under the same name and in the same format. Files
# that the build made without the front door, and SPIR-V, which fits every GPU, stay as they are.
source "$E2E/lib.sh"
needs jq make clang-22 clang++-22 od
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"
[ -x "$cuda/bin/nvcc" ] && [ -x "$cuda/bin/fatbinary" ] || skip "the CUDA toolkit has no nvcc"

target_of() { sed -n 's/^\.target \(sm_[0-9a-z]*\).*/\1/p' "$1"; } # FILE: of PTX
flags_of() { od -An -tx1 -j48 -N4 "$1" | tr -d ' '; }               # FILE: e_flags of an ELF file, which has the architecture
deploy() { # GPUS DIRECTORY OPTION...
  "$XAAS" deploy oci:image:ir --gpu "$1" -o "rootfs:$2" --format json "${@:3}" >"$2.json"
}
same() { cmp <(sed -e '/^$/d' "$1") <(sed -e '/^$/d' "$2") || fail "$1 is not $2"; }

mkdir src
cat >src/kernel.cu <<'END'
extern "C" __global__ void scale(float *x, float a) {
#ifdef ONLY
  x[threadIdx.x] = a;
#else
  x[threadIdx.x] = sqrtf(x[threadIdx.x]) * a + sinf(a);
#endif
}
END
cat >src/kernel.cl <<'END'
// No library of built-in functions comes with Clang, so none is called.
kernel void scale(global float *x, float a, local float *part) {
  part[3] = x[1] * a + x[2] / a;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 8; ++i) x[i] = part[i] * a + 1.0f;
}
END
cat >src/bare.c <<'END'
__attribute__((device_kernel)) void set(float *x, float a) { *x = a; }
END
cat >src/main.c <<'END'
int main(void) { return 0; }
END
# A file from another build, and files that this build's own commands make. They are called .NAME, so that only their contents
# tell their type.
"$cuda/bin/nvcc" -ptx -arch=sm_86 src/kernel.cu -o src/another.ptx
"$cuda/bin/nvcc" -cubin -arch=sm_86 src/kernel.cu -o src/another.cubin
cat >src/Makefile <<'END'
D = $(DESTDIR)$(PREFIX)
CL = -cl-fast-relaxed-math
files = nvcc.ptx nvcc.cubin nvcc.fatbin clang.ptx clang.cubin only.ptx bare.ptx opencl.ptx kernel.ptx changed.ptx plain.spv link.spv
all: main $(files)
main: main.c
	$(CC) main.c -o main
nvcc.ptx: kernel.cu
	nvcc -ptx -arch=sm_80 -O3 kernel.cu -o nvcc.ptx
nvcc.cubin: kernel.cu
	nvcc --cubin -gencode arch=compute_80,code=sm_80 kernel.cu --output-file nvcc.cubin
nvcc.fatbin: kernel.cu
	nvcc -fatbin -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] kernel.cu -o nvcc.fatbin
clang.ptx: kernel.cu
	$(CXX) -O2 --cuda-device-only --cuda-gpu-arch=sm_80 -S kernel.cu -o clang.ptx
clang.cubin: kernel.cu
	$(CXX) -O2 --cuda-device-only --cuda-gpu-arch=sm_80 -c kernel.cu -o clang.cubin
only.ptx: kernel.cu
	$(CXX) -O2 -DONLY --cuda-device-only --cuda-gpu-arch=sm_90 -S kernel.cu -o only.ptx
kernel.ptx: kernel.cu
	nvcc -ptx -arch=sm_80 -DONLY kernel.cu -odir .
bare.ptx: bare.c
	$(CC) -O2 --target=nvptx64-nvidia-cuda -march=sm_80 -S bare.c -o bare.ptx
opencl.ptx: kernel.cl
	$(CC) -O2 --target=nvptx64-nvidia-cuda -march=sm_80 $(CL) -x cl -S kernel.cl -o opencl.ptx
changed.ptx: clang.ptx
	sed -e 's/scale/renamed/' clang.ptx >changed.ptx
plain.spv: kernel.cl
	$(CC) --target=spirv64 -O2 -cl-std=CL3.0 -x cl kernel.cl -c -o plain.spv
link.spv: kernel.cl
	$(CC) -target spirv64-unknown-unknown -x cl -c kernel.cl -o link.spv
amd.s: kernel.cl
	$(CC) --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -x cl -S kernel.cl -o amd.s
install: all amd.s
	mkdir -p $(D)/bin $(D)/share
	cp main $(D)/bin
	cp $(files) kernel.cl another.ptx another.cubin $(D)/share
END
echo '{"name": "files", "build": {"system": "make"}, "isa": []}' >src/xaas.json
"$XAAS" build src -o oci:image:ir --format json >build.json
"$XAAS" inspect oci:image:ir --format json >image.json
archs() { jq -r --arg path "/usr/local/share/$1" '.device_files[] | select(.path == $path) | .architectures | join(",")' image.json; }
for file in nvcc.ptx nvcc.cubin clang.ptx clang.cubin kernel.ptx opencl.ptx bare.ptx; do expect_equal "architectures of $file" "$(archs $file)" sm_80; done
expect_equal "architectures of nvcc.fatbin" "$(archs nvcc.fatbin)" sm_80,sm_90
expect_equal "architectures of only.ptx" "$(archs only.ptx)" sm_90
assert_json image.json '[.device_files[] | select(.architectures == []) | .path | split("/")[-1]] ==
  ["another.cubin", "another.ptx", "changed.ptx", "link.spv", "plain.spv"]'
# SPIR-V fits every GPU and is complete.
assert_json image.json '[.native_objects[].name | split("/")[-1]] == ["another.cubin", "another.ptx", "changed.ptx"]'
assert_json image.json '.configurations[0].units == 11 and .configurations[0].native_objects == 3'
assert_json build.json '[.native_objects[].reason | select(contains("device code (ptx)"))] | length == 2'
"$XAAS" inspect oci:image:ir | finds '^device files .*14, 9 of them made again' || fail "not said: $("$XAAS" inspect oci:image:ir)"

deploy sm_90 sm_90
share=sm_90/usr/local/share
for file in nvcc.ptx clang.ptx only.ptx bare.ptx; do expect_equal "$file" "$(target_of $share/$file)" sm_90; done
for file in nvcc.cubin clang.cubin; do
  grep -q scale $share/$file || fail "no kernel in $file"
  expect_equal "machine code in $file" "$(flags_of $share/$file)" "$("$cuda/bin/ptxas" -arch=sm_90 $share/nvcc.ptx -o want.cubin && flags_of want.cubin)"
done
expect_equal "magic number of nvcc.fatbin" "$(od -An -tx4 -N4 $share/nvcc.fatbin | tr -d ' ')" ba55ed50
# The result is Clang's; carried files are the same byte for byte.
clang++-22 -O2 --cuda-path="$cuda" --cuda-device-only --cuda-gpu-arch=sm_90 -DONLY -S src/kernel.cu -o want.ptx 2>/dev/null
same $share/only.ptx want.ptx
clang-22 -O2 --target=nvptx64-nvidia-cuda -march=sm_80 -S src/bare.c -o want.ptx 2>/dev/null
deploy sm_80 sm_80 --ptxas "$cuda/bin/ptxas"
same sm_80/usr/local/share/bare.ptx want.ptx
clang-22 -O2 --target=nvptx64-nvidia-cuda -march=sm_80 -cl-fast-relaxed-math -x cl -S src/kernel.cl -o want.ptx 2>/dev/null
same sm_80/usr/local/share/opencl.ptx want.ptx
for file in another.ptx another.cubin kernel.cl; do cmp src/$file $share/$file || fail "$file was changed"; done
grep -q renamed $share/changed.ptx && expect_equal "changed.ptx" "$(target_of $share/changed.ptx)" sm_80
expect_equal "SPIR-V" "$(od -An -tx4 -N4 $share/plain.spv | tr -d ' ')" 07230203
assert_json sm_90.json '[.gpu_code[] | select(.file)] | length == 2'

# A file stays as it is if its IR cannot serve the GPU, or if no device code is requested.
expect_equal "only.ptx for sm_80" "$(target_of sm_80/usr/local/share/only.ptx)" sm_90
deploy none none
expect_equal "nvcc.ptx for no GPU" "$(target_of none/usr/local/share/nvcc.ptx)" sm_80
expect_equal "digest" "$(deploy sm_90 again && json again.json .digest)" "$(json sm_90.json .digest)"
assert_json again.json '.modules.lowered == 0'

# Several GPUs: PTX for the lower one, a fat binary for both. A cubin serves one GPU, and machine code needs an assembler.
expect_error 3 'clang.cubin: one cubin is for one GPU' "$XAAS" deploy oci:image:ir --gpu sm_80,sm_90 -o rootfs:two
expect_error 3 'clang.cubin: it is machine code, and there is no ptxas' "$XAAS" deploy oci:image:ir --gpu sm_90 --ptxas none -o rootfs:text
expect_error 3 'no device code of the image serves sm_75' "$XAAS" deploy oci:image:ir --gpu sm_75 -o rootfs:older
sed -i -e 's/nvcc.cubin nvcc.fatbin/nvcc.fatbin/' -e 's/clang.ptx clang.cubin/clang.ptx/' src/Makefile
# The architectures of --gpu replace those of the build.
"$XAAS" build src --gpu sm_75,sm_90 -o oci:image:ir -q >/dev/null
"$XAAS" inspect oci:image:ir --format json >image.json
for file in nvcc.ptx nvcc.fatbin clang.ptx only.ptx bare.ptx; do expect_equal "architectures of $file" "$(archs $file)" sm_75,sm_90; done
deploy sm_100,sm_80 two
expect_equal "nvcc.ptx for two GPUs" "$(target_of two/usr/local/share/nvcc.ptx)" sm_80

# CMake's way to ask for PTX; --gpu has it name several architectures for one file.
if command -v cmake >/dev/null; then
  mkdir by_cmake
  cp src/kernel.cu src/main.c by_cmake
  cat >by_cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(files C CUDA)
add_library(kernels OBJECT kernel.cu)
set_target_properties(kernels PROPERTIES CUDA_PTX_COMPILATION ON)
add_executable(main main.c)
install(TARGETS main)
install(FILES $<TARGET_OBJECTS:kernels> DESTINATION share)
END
  echo '{"name": "files", "build": {"system": "cmake"}, "isa": []}' >by_cmake/xaas.json
  "$XAAS" build by_cmake --gpu sm_75,sm_90 -o oci:cmake:ir -q >/dev/null
  "$XAAS" deploy oci:cmake:ir --gpu sm_86 -o rootfs:cmake-86 -q >/dev/null
  expect_equal "CMake's PTX" "$(target_of cmake-86/usr/local/share/kernel.ptx)" sm_86
fi

# Whether it runs there.
"$XAAS" deploy oci:image:ir --gpu sm_90 -o oci:image:sm_90 -q >/dev/null
system() { "$XAAS" detect --format json | jq --arg arch "$1" '.gpus = [{vendor: "nvidia", model: "a GPU", arch: $arch,
  memory_bytes: 0, driver: "580", runtime: "", evidence: "test"}]' >system.json; }
system sm_100
"$XAAS" check oci:image:sm_90 --system system.json && fail "machine code for sm_90 in the fat binary runs nowhere else"
system sm_80
expect_error 3 'problem' "$XAAS" check oci:image:sm_90 --system system.json
system sm_90
"$XAAS" check oci:image:sm_90 --system system.json
system ''
"$XAAS" check oci:image:sm_90 --system system.json >verified
grep -q '^not known: whether the image has code for the GPU a GPU' verified || fail "not said: $(cat verified)"

# Errors that only the assembler finds: when deploying, or on request when building.
mkdir -p wrong/src
cat >wrong/src/kernel.cu <<'END'
extern "C" __global__ void scale(float *x) {
#ifdef SHARED
  __shared__ float part[20000];
  part[threadIdx.x] = x[1];
  __syncthreads();
  x[0] = part[3];
#else
  asm("bogus.f32 %0;" ::"f"(x[0]));
#endif
}
int main() { return 0; }
END
printf 'main: kernel.cu\n\t$(CXX) $(D) --cuda-gpu-arch=sm_80 -c kernel.cu -o main.o\n\t$(CXX) main.o -o main -L%s/lib64 -lcudart_static -ldl -lrt -lpthread\ninstall:\n\tinstall -D main $(DESTDIR)$(PREFIX)/bin/main\n' "$cuda" >wrong/src/Makefile
for define in -DSHARED -DWORD; do
  echo '{"name": "wrong", "build": {"system": "make", "arguments": ["D='$define'"]}, "isa": []}' >wrong/src/xaas.json
  "$XAAS" build wrong/src -o oci:refused:ir -q >/dev/null
  expect_error 1 'kernel.cu: assembling for sm_80' "$XAAS" build wrong/src --check-device-code -o oci:refused:ir
  grep -q 'too much shared data\|bogus' stderr || fail "not the assembler's words: $(cat stderr)"
done
"$XAAS" build src --check-device-code -o oci:checked:ir -q >/dev/null
