#!/bin/bash
# Fortran and C that call each other, with modules, preprocessing and OpenMP: shared between ISA levels, the same image from
# two directories, and the result of a native build.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22 flang-22 bwrap
source "$E2E/heat.sh"

# CMake: a static library, a Fortran program and a C program that needs Fortran's run-time library.
heat_sources cmake
cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(heat C Fortran)
option(THREADS "use OpenMP" OFF)
if(NOT CMAKE_Fortran_COMPILER_ID STREQUAL "LLVMFlang")
  message(FATAL_ERROR "Fortran is ${CMAKE_Fortran_COMPILER_ID}")
endif()
add_library(mesh STATIC mesh.F90 sums.f90 norm.c)
target_compile_definitions(mesh PRIVATE WEIGHT=2.0_dp)
set_target_properties(mesh PROPERTIES Fortran_MODULE_DIRECTORY ${CMAKE_BINARY_DIR}/modules)
target_include_directories(mesh PUBLIC ${CMAKE_BINARY_DIR}/modules)
if(THREADS)
  find_package(OpenMP REQUIRED COMPONENTS Fortran)
  target_link_libraries(mesh OpenMP::OpenMP_Fortran)
endif()
add_executable(heat main.f90)
target_link_libraries(heat mesh)
add_executable(heat-c main.c)
target_link_libraries(heat-c mesh)
install(TARGETS heat heat-c DESTINATION bin)
END
cat >cmake/xaas.json <<'END'
{"name": "heat", "build": {"system": "cmake"}, "isa": ["x86-64", "x86-64-v3"],
 "specializations": [{"name": "threads", "category": "threading", "default": "off",
   "values": [{"value": "off", "arguments": ["-DTHREADS=OFF"]}, {"value": "on", "arguments": ["-DTHREADS=ON"]}]}]}
END
"$XAAS" build cmake -o oci:heat:cmake -q --format json >build.json
valid_bundle heat cmake
"$XAAS" inspect oci:heat:cmake --format json >inspected.json
assert_json inspected.json '[.configurations[] | select(.units == 5 and .native_objects == 0 and .programs == 2)] | length == 4'
# CMake has no flags for flang before 3.27.4; without ours, nothing would be optimized.
assert_json build.json '[.warnings[] | select(.kind == "optimization")] == []'
assert_json inspected.json '.unoptimized_sources == []'
# Only the directive makes a difference: five modules, and a second one for the file with the directive.
assert_json inspected.json '.sharing.units == 20 and .sharing.modules <= 7'
for threads in off on; do
  "$XAAS" deploy oci:heat:cmake --set threads=$threads -o "rootfs:tree-$threads" -q
  for program in heat heat-c; do
    expect_equal "$program, threads $threads" "$(run_heat "$PWD/tree-$threads" $program)" "$want"
  done
done
"$XAAS" deploy oci:heat:cmake --cpu x86-64-v3 --format json -q -o oci:heat:v3 >deployed.json
assert_json deployed.json '.native_objects == 0'

# Modules as the front end made them give the same results.
assert_json build.json '.prepared.modules >= 5 and .prepared.without == []'
"$XAAS" build cmake --ir raw --config isa=x86-64,threads=on -o oci:heat:raw -q
"$XAAS" deploy oci:heat:raw --set threads=on -o rootfs:tree-raw -q
for program in heat heat-c; do
  expect_equal "$program, raw" "$(run_heat "$PWD/tree-raw" $program)" "$want"
done

mkdir -p deeper/down
cp -r cmake deeper/down/elsewhere
(cd deeper && XAAS_CACHE_DIR=$PWD/cache TMPDIR=$PWD "$XAAS" build down/elsewhere -o oci:heat:ir -q -j1 >/dev/null)
expect_equal "digest from another directory" "$(image_digest deeper/heat ir)" "$(image_digest heat cmake)"

heat_sources make
cat >make/Makefile <<'END'
FFLAGS = -O3 -g
heat: mesh.o sums.o main.o norm.o
	$(FC) $(FFLAGS) -o $@ $^
%.o: %.F90
	$(FC) $(FFLAGS) -DWEIGHT=2.0_dp -c $<
%.o: %.f90
	$(FC) $(FFLAGS) -c $<
%.o: %.c
	$(CC) -O2 -c $<
sums.o: mesh.o
main.o: sums.o
install: heat
	install -D heat $(DESTDIR)$(PREFIX)/bin/heat
END
echo '{"name": "heat", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v4"]}' >make/xaas.json
"$XAAS" build make -o oci:heat:make -q >/dev/null
"$XAAS" inspect oci:heat:make --format json >inspected.json
assert_json inspected.json '.sharing.units == 8 and .sharing.modules == 4 and .configurations[0].native_objects == 0'
"$XAAS" deploy oci:heat:make --set isa=x86-64 -o rootfs:tree-make -q
expect_equal make "$(run_heat "$PWD/tree-make" heat)" "$want"
cp -r make deeper/make
(cd deeper && XAAS_CACHE_DIR=$PWD/cache TMPDIR=$PWD "$XAAS" build make -o oci:heat:make -q -j1 >/dev/null)
expect_equal "digest from another directory, with debug information" "$(image_digest deeper/heat make)" "$(image_digest heat make)"
