# shellcheck shell=bash
# A small application of Fortran and C that call each other; sourced by the cases that build it.

heat_sources() { # DIR
  mkdir -p "$1"
  cat >"$1/mesh.F90" <<'END'
module mesh
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: dp = kind(1d0)
  type :: field
    real(dp), allocatable :: v(:), w(:)
  end type
contains
  subroutine relax(f, sweeps)
    type(field), intent(inout) :: f
    integer, intent(in) :: sweeps
    integer :: i, k
    do k = 1, sweeps
      !$omp parallel do
      do i = 2, size(f%v) - 1
        f%w(i) = (f%v(i-1) + f%v(i) * WEIGHT + f%v(i+1)) / (WEIGHT + 2)
      end do
      call swap(f%v, f%w)
    end do
  end subroutine
  subroutine swap(a, b)
    real(dp), intent(inout) :: a(:), b(:)
    integer :: i
    do i = 2, size(a) - 1
      a(i) = b(i)
    end do
  end subroutine
end module
END
  cat >"$1/sums.f90" <<'END'
module sums
  use mesh
  implicit none
  interface
    function c_norm(x, n) bind(c) result(r)
      import c_double, c_int
      real(c_double), intent(in) :: x(*)
      integer(c_int), value :: n
      real(c_double) :: r
    end function
  end interface
contains
  subroutine total(n, r) bind(c)
    integer(c_int), value :: n
    real(c_double), intent(out) :: r
    type(field) :: f
    integer :: i
    f%v = [(sin(real(i, dp)), i = 1, n)]
    f%w = f%v
    call relax(f, 200)
    r = sum(f%v) + c_norm(f%v, n)
  end subroutine
end module
END
  cat >"$1/norm.c" <<'END'
double c_norm(const double *x, int n) { double s = 0; for (int i = 0; i < n; ++i) s += x[i] * x[i]; return s / n; }
END
  cat >"$1/main.f90" <<'END'
program heat
  use sums
  implicit none
  real(c_double) :: r
  call total(1000_c_int, r)
  write(*, '(a, f14.10)') 'total ', r
end program
END
  cat >"$1/main.c" <<'END'
#include <stdio.h>
void total(int n, double *r);
int main(void) { double r; total(1000, &r); printf("total %14.10f\n", r); return 0; }
END
}

run_heat() { # TREE PROGRAM: in a root of its own, the image's libraries and nothing else
  bwrap --bind "$1" / --proc /proc --dev /dev --setenv LD_LIBRARY_PATH /usr/local/lib --setenv OMP_NUM_THREADS 2 -- "/usr/local/bin/$2"
}

heat_sources native
(cd native && clang-22 -O2 -c norm.c && flang-22 -O2 -cpp -DWEIGHT=2.0_dp mesh.F90 sums.f90 main.f90 norm.o -o heat)
want=$(native/heat)
[[ $want == total* ]] || fail "the native build says '$want'"
