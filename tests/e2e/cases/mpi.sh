#!/bin/bash
# MPI through compiler wrappers (make, CC=mpicc) and through CMake's FindMPI, in C and Fortran: captured, shared between MPI on
# and off, and run by two ranks, each in the deployed image.
source "$E2E/lib.sh"
mpicc=mpicc mpifort=mpifort mpirun=mpirun
for name in mpicc mpifort mpirun; do # Debian's names of MPICH's wrappers; mpicc may belong to another library
  ! command -v "$name.mpich" >/dev/null || declare "$name=$name.mpich"
done
needs jq make cmake ninja clang-22 flang-22 bwrap "$mpicc" "$mpifort" "$mpirun"

# As on a cluster: the machine's mpirun starts a process per rank, and each enters the image.
run_ranks() { # TREE PROGRAM
  "$mpirun" -n 2 bwrap --bind "$1" / --proc /proc --dev-bind /dev /dev --ro-bind /sys /sys -- "/usr/local/bin/$2"
}

mkdir make
cat >make/work.c <<'END'
double work(int first, int step) {
  double sum = 0;
  for (int i = first; i <= 1000000; i += step) sum += 1.0 / ((double)i * i);
  return sum;
}
END
cat >make/main.c <<'END'
#include <stdio.h>
#ifdef USE_MPI
#include <mpi.h>
#endif
double work(int first, int step);
int main(int argc, char **argv) {
  int rank = 0, ranks = 1;
#ifdef USE_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#else
  (void)argc, (void)argv;
#endif
  double sum = work(rank + 1, ranks);
  int workers = 1;
#ifdef USE_MPI
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce(rank ? &workers : MPI_IN_PLACE, &workers, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  if (rank == 0) printf("sum %.9f by %d of %d\n", sum, workers, ranks);
  return 0;
}
END
cat >make/Makefile <<'END'
sum: work.o main.o
	$(CC) -o $@ $^
%.o: %.c
	$(CC) -O2 $(CPPFLAGS) -c $<
install: sum
	install -D sum $(DESTDIR)$(PREFIX)/bin/sum
END
cat >make/xaas.json <<END
{"name": "sum", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"],
 "specializations": [{"name": "mpi", "category": "communication", "default": "off",
   "values": [{"value": "off", "arguments": []},
              {"value": "on", "arguments": ["CC=$mpicc", "CPPFLAGS=-DUSE_MPI"]}]}]}
END
"$XAAS" build make -o oci:sum:ir -q >/dev/null
"$XAAS" inspect oci:sum:ir --format json >inspected.json
assert_json inspected.json '[.configurations[] | select(.units == 2 and .native_objects == 0)] | length == 4'
# work.c is one module, main.c one with MPI and one without.
assert_json inspected.json '.sharing.units == 8 and .sharing.modules == 3'
"$XAAS" deploy oci:sum:ir -o rootfs:serial -q
expect_equal serial "$(bwrap --bind serial / --proc /proc --dev /dev -- /usr/local/bin/sum)" "sum 1.644933067 by 1 of 1"
"$XAAS" deploy oci:sum:ir --set mpi=on -o rootfs:parallel -q
expect_equal parallel "$(run_ranks "$PWD/parallel" sum)" "sum 1.644933067 by 2 of 2"
[ -z "$(find serial -name 'libmpi*')" ] || fail "the configuration without MPI carries an MPI library"

# FindMPI asks the wrappers; in Fortran the module `mpi`, which Debian has for gfortran only.
mkdir cmake
cat >cmake/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(sum C Fortran)
find_package(MPI REQUIRED COMPONENTS C Fortran)
add_executable(sum main.f90 work.c)
target_link_libraries(sum MPI::MPI_C MPI::MPI_Fortran)
install(TARGETS sum DESTINATION bin)
END
cat >cmake/work.c <<'END'
#include <mpi.h>
int c_ranks(void) { int ranks; MPI_Comm_size(MPI_COMM_WORLD, &ranks); return ranks; }
END
cat >cmake/main.f90 <<'END'
program main
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  interface
    integer(c_int) function c_ranks() bind(c)
      import c_int
    end function
  end interface
  integer :: rank, code, total(1), status(MPI_STATUS_SIZE)
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 1) call MPI_Send(total, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, code)
  if (rank == 0) then
    total = 0
    call MPI_Recv(total, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, status, code)
    print '(a,i0,a,i0,a,i0)', 'total ', total(1), ' of ', c_ranks(), ' from ', status(MPI_SOURCE)
  end if
  call MPI_Finalize(code)
end program
END
cat >cmake/xaas.json <<END
{"name": "sum", "isa": [],
 "build": {"system": "cmake", "arguments": ["-DMPI_C_COMPILER=$mpicc", "-DMPI_Fortran_COMPILER=$mpifort"]}}
END
"$XAAS" build cmake -o oci:fortran:ir -q --format json >build.json
assert_json build.json '.configurations[0].units == 2 and .native_objects == []'
"$XAAS" deploy oci:fortran:ir -o rootfs:fortran-tree -q
expect_equal Fortran "$(run_ranks "$PWD/fortran-tree" sum)" "total 3 of 2 from 1"

# Debian's MPICH adds options of gfortran to its Fortran wrapper.
mkdir commands && cp cmake/main.f90 cmake/work.c commands/
cat >commands/xaas.json <<END
{"name": "sum", "isa": [], "build": {"system": "commands",
  "build": "$mpicc -c work.c && $mpifort -O2 main.f90 work.o -o sum", "install": [{"from": "sum", "to": "bin/sum"}]}}
END
"$XAAS" build commands -o oci:wrapper:ir -q --format json >build.json
assert_json build.json '.configurations[0].units == 2 and .native_objects == []'
"$XAAS" deploy oci:wrapper:ir -o rootfs:wrapper-tree -q
expect_equal "mpifort" "$(run_ranks "$PWD/wrapper-tree" sum)" "total 3 of 2 from 1"
