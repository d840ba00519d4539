#!/bin/bash
# Builds find nvcc and its toolkit in many ways; all end up at the front door, which captures what they compile. Code that
# only nvcc compiles is carried and counted.
source "$E2E/lib.sh"
needs jq make cmake clang++-22 objcopy
cuda=$(cuda_toolkit) || skip "no CUDA toolkit (ptxas, headers, libdevice) below \$CUDA_PATH or /usr/local/cuda"
[ -x "$cuda/bin/nvcc" ] && [ -x "$cuda/nvvm/bin/cicc" ] || skip "the CUDA toolkit in $cuda has no nvcc that compiles"

build() { # DIRECTORY: into the image DIRECTORY.image:ir, what `inspect` says of it into DIRECTORY.json
  "$XAAS" build "$1" -o "oci:$1.image:ir" --gpu sm_80,sm_90 -q >"$1.out" 2>"$1.err" || fail "$1 is not built: $(cat "$1.err")"
  "$XAAS" inspect "oci:$1.image:ir" --format json >"$1.json"
}
captured() { # DIRECTORY UNITS: that many, and nothing native
  assert_json "$1.json" ".configurations[0].units == $2 and .configurations[0].native_objects == 0"
}
program() { # DIRECTORY: a source, in a directory with a header of the name of one of the toolkit's
  mkdir "$1"
  echo '#define FACTOR 3' >"$1/cuda.h"
  cat >"$1/program.cu" <<'END'
#include "cuda.h"
__global__ void scale(float *values) { values[threadIdx.x] *= FACTOR; }
int main() { scale<<<1, 1>>>(nullptr); }
END
}
spec() { # DIRECTORY SYSTEM ARGUMENT...
  jq -n --arg name "$1" --arg system "$2" '{name: $name, build: {system: $system, arguments: $ARGS.positional,
    install: [{from: "program", to: "bin/program"}]}, isa: []}' --args -- "${@:3}" >"$1/xaas.json"
}

# nvcc reports the location of its toolkit: one with the front door in place of nvcc.
program says
cat >says/Makefile <<'END'
TOP := $(shell nvcc --dryrun program.cu 2>&1 | sed -n 's/^#. TOP=//p')
program: program.cu
	test -n "$(TOP)"
	$(TOP)/bin/nvcc -I. -O2 $< -o $@
END
spec says make
build says
captured says 3

# OpenMP for the CPU alone: the image has no library for target regions, which would bring all of LLVM.
if [ -e /usr/lib/llvm-22/lib/libomp.so ]; then
  program parallel
  sed -i 's/^int main() {/&\n#pragma omp parallel\n/' parallel/program.cu
  cat >parallel/Makefile <<'END'
FLAGS = -arch=sm_80 -Xcompiler -fopenmp
program: program.o
	nvcc $(FLAGS) program.o -o $@
program.o: program.cu
	nvcc $(FLAGS) -I. -c $< -o $@
END
  spec parallel make
  build parallel
  captured parallel 3
  "$XAAS" deploy oci:parallel.image:ir --gpu sm_90 -o rootfs:parallel-root -q >/dev/null
  [ -n "$(find parallel-root -name 'libomp.so*')" ] || fail "the image has no OpenMP"
  [ -z "$(find parallel-root -name 'libomptarget*')" ] || fail "the image has OpenMP's library for target regions"
else
  echo "not run: OpenMP for the CPU: libomp-22-dev is not installed"
fi

# CMake's old module asks nvcc or uses its settings.
if cmake --help-module FindCUDA >/dev/null 2>&1; then
  program old
  echo '#include <cuda_runtime.h>' >old/plain.cpp
  cat >old/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.5...3.25)
project(old CXX)
find_package(CUDA REQUIRED)
set(CUDA_NVCC_FLAGS -I${CMAKE_CURRENT_SOURCE_DIR})
set_source_files_properties(plain.cpp PROPERTIES CUDA_SOURCE_PROPERTY_FORMAT OBJ)
cuda_add_executable(program program.cu plain.cpp)
END
  for told in "" "-DCUDA_TOOLKIT_ROOT_DIR=$cuda"; do
    spec old cmake ${told:+"$told"}
    build old
    captured old 4
  done
fi

# CMake's CUDA language with nvcc as its compiler.
program language
cat >language/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.18)
project(language CXX CUDA)
if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
  message(FATAL_ERROR "the compiler is ${CMAKE_CUDA_COMPILER_ID}'s")
endif()
add_executable(program program.cu)
target_include_directories(program PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
END
spec language cmake -DCMAKE_CUDA_COMPILER=nvcc
build language
captured language 3
"$XAAS" deploy oci:language.image:ir --gpu sm_90 -o rootfs:root -q >/dev/null
objcopy -O binary --only-section=.nv_fatbin root/usr/local/bin/program fat
[ -s fat ] || fail "the deployed program has no device code"
first=$(image_digest language.image ir)
build language
expect_equal "digest of the second image" "$(image_digest language.image ir)" "$first"

# A source that chooses by nvcc's version is captured, like one that does not; and one with spaces in its launches. Both
# where it is compiled and where it is compiled and linked in one step.
program versions
sed -i 's/scale<<<1, 1>>>/scale << <1, 1 >> >/' versions/program.cu
cat >>versions/program.cu <<'END'
#if __CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10 != CUDART_VERSION
#error nvcc is as old as the toolkit
#endif
END
cat >versions/Makefile <<'END'
program: program.cu
	nvcc -I. $< -c -o program.o
	nvcc program.o -o $@
END
spec versions make
build versions
captured versions 3
printf 'program: program.cu\n\tnvcc -I. $< -o $@\n' >versions/Makefile
build versions
captured versions 3

# Code that nvcc compiles and Clang does not.
program own
cat >>own/program.cu <<'END'
#ifndef __NVCC__
#error only nvcc
#endif
END
cat >own/Makefile <<'END'
program: program.o
	nvcc $< -o $@
program.o: program.cu
	nvcc -I. -c $< -o $@
END
spec own make
build own
assert_json own.json '.configurations[0].units == 0 and ([.native_objects[] | select(.reason | contains("nvcc compiles and Clang does not"))] | length == 1)'
# The kernels of such an object do not run on the CPU. Inspecting, deploying and checking say so.
program mixed
cat >mixed/other.cu <<'END'
#ifndef __NVCC__
#error only nvcc
#endif
__global__ void native(int *value) { *value = 1; }
void start(int *value) {
#if CUDART_VERSION >= 11080
  cudaLaunchConfig_t config = {1, 1};
  cudaLaunchKernelEx(&config, native, value);
#else
  native<<<1, 1>>>(value);
#endif
}
END
sed -i 's/int main.*/void start(int *); int main() { scale<<<1, 1>>>(nullptr); start(nullptr); }/' mixed/program.cu
cat >mixed/Makefile <<'END'
program: program.o other.o
	nvcc program.o other.o -o $@
%.o: %.cu
	nvcc -I. -c $< -o $@
END
spec mixed make
build mixed
kernels='[.kernels[] | "\(.source) \(.demangled) \(.form)"] == ["other.o native(int*) refused", "program.cu scale(float*) loops"]'
"$XAAS" inspect oci:mixed.image:ir --kernels --format json >kernels.json
assert_json kernels.json "$kernels and (.kernels[0].reason | contains(\"no IR: source that nvcc compiles and Clang does not\"))"
"$XAAS" deploy oci:mixed.image:ir --gpu cpu -o oci:mixed.image:cpu --format json >cpu.json 2>cpu.err
assert_json cpu.json "$kernels"
finds 'other.o: kernel native(int\*) cannot run on the CPU: its object has no IR' <cpu.err || fail "deploying does not say it: $(cat cpu.err)"
"$XAAS" deploy oci:mixed.image:ir --gpu cpu --dry-run --explain --format json >explain.json
assert_json explain.json "$kernels"
expect_exit 3 "$XAAS" check oci:mixed.image:cpu --all-kernels --format json >check.json 2>/dev/null
assert_json check.json '[.problems[] | .file] == ["other.o"]'

# Code that neither compiles is an error.
echo '#error nobody' >>own/program.cu
expect_error 1 'own' "$XAAS" build own -o oci:own.image:none

# An nvcc called by its own path is not captured, even with the front door as its host compiler; its objects are counted.
program apart
cat >apart/Makefile <<END
program: program.o
	\$(CXX) program.o -o program -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
program.o: program.cu
	$cuda/bin/nvcc -allow-unsupported-compiler -ccbin \$(CXX) -I. -c program.cu -o program.o
END
spec apart make
build apart
assert_json apart.json '.configurations[0].units == 0 and ([.native_objects[] | select(.reason | contains("nvcc made"))] | length == 1)'

# Host and device code in one assembly file, as Clang writes it.
program text
rm text/cuda.h
sed -i '/include "cuda.h"/d; s/FACTOR/3/' text/program.cu
cat >text/Makefile <<END
program: program.s
	\$(CXX) program.s -o program -L$cuda/lib64 -L$cuda/lib -lcudart_static -ldl -lrt -lpthread
program.s: program.cu
	\$(CXX) -O2 -S --offload-arch=sm_80 program.cu -o program.s
END
spec text make
build text
assert_json text.json '.configurations[0].units == 0 and (.native_objects | length == 1)'
