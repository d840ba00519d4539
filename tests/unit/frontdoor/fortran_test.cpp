// Fortran through the front door: units, what is carried, module files, and code equal to flang's own.
#include "frontdoor/testing.h"

#include <set>

namespace xaas::frontdoor {

namespace {

const char* const fortran_loops = R"(
module kernels
  implicit none
  integer, parameter :: dp = kind(1d0)
contains
  subroutine axpy(n, a, x, y)
    integer, intent(in) :: n
    real(dp), intent(in) :: a, x(n)
    real(dp), intent(inout) :: y(n)
    y = y + a * x
  end subroutine
  real function square(x)
    real, intent(in) :: x(:)
    integer :: i
    square = 0
    do i = 1, size(x)
      square = square + x(i) * x(i)
    end do
  end function
  subroutine waves(x)
    real(dp), intent(inout) :: x(:, :)
    integer :: i, j
    do j = 1, size(x, 2)
      do i = 1, size(x, 1)
        x(i, j) = sqrt(abs(x(i, j))) + sin(x(i, j)) ** 2 + exp(x(i, j))
      end do
    end do
  end subroutine
  complex function turned(z)
    complex, intent(in) :: z
    turned = z * (0.0, 1.0) / (z + 1)
  end function
end module
)";

const char* const fortran_parallel = R"(
subroutine scale(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  integer :: i
  !$omp parallel do simd
  do i = 1, n
    x(i) = x(i) * 2.5d0
  end do
end subroutine
real(8) function total(n, x)
  integer, intent(in) :: n
  real(8), intent(in) :: x(n)
  integer :: i
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, n
    total = total + x(i)
  end do
end function
)";

const char* const fixed_form = R"(
      subroutine dcopy(n, dx, dy)
      integer n, i, m
      double precision dx(*), dy(*)
      common /counts/ m
      m = m + 1
      do 10 i = 1, n
   10 dy(i) = dx(i)
      end
)";

class FortranTest : public FrontDoorTest {
protected:
  ir::Unit compiled_unit(const std::string& source, const std::string& flags = "-O2") {
    sh("$FC " + flags + " -c " + source + " -o ../build/unit.o");
    return unit_of("build/unit.o");
  }

  std::string reason_of(const std::string& object) {
    auto content = digest_of_file(path(object));
    EXPECT_TRUE(content);
    auto reason = read_file(session_.directory / "native" / content->hex());
    return reason ? *reason : "";
  }
};

struct FortranSource {
  const char* name;
  const char* flags;
  const char* text;
  const char* file = "unit.f90";
};

// Printed instead of the value's bytes, so that the test has the same name in every run.
void PrintTo(const FortranSource& source, std::ostream* stream) {
  *stream << source.name;
}

const FortranSource fortran_sources[] = {
    {"O0", "-O0", fortran_loops},
    {"O1", "-O1", fortran_loops},
    {"O2", "-O2", fortran_loops},
    {"O3", "-O3", fortran_loops},
    {"Plain", "", fortran_loops},
    {"FastMath", "-O3 -ffast-math", fortran_loops},
    {"NoContraction", "-O2 -ffp-contract=off", fortran_loops},
    {"Libmvec", "-O3 -ffast-math -fveclib=libmvec", fortran_loops},
    {"NoPic", "-O2 -fno-pic -fno-pie", fortran_loops},
    {"Pic", "-O2 -fPIC", fortran_loops},
    {"MediumModel", "-O2 -mcmodel=medium", fortran_loops},
    {"NoVectors", "-O3 -fno-vectorize -fno-slp-vectorize -fno-unroll-loops", fortran_loops},
    {"StackArrays", "-O3 -fstack-arrays -floop-interchange -fwrapv", fortran_loops},
    {"FramePointers", "-O2 -fno-omit-frame-pointer", fortran_loops},
    {"Estimates", "-O3 -ffast-math -mrecip=all", fortran_loops},
    {"WideReals", "-O2 -fdefault-real-8 -fdefault-double-8 -fdefault-integer-8", fortran_loops},
    {"FixedCpu", "-O2 -march=haswell", fortran_loops},
    {"FixedCpuAndTune", "-O2 -march=skylake-avx512 -mtune=znver3", fortran_loops},
    {"Tune", "-O2 -mtune=skylake", fortran_loops},
    {"Native", "-O2 -march=native", fortran_loops},
    {"Debug", "-O2 -g", fixed_form, "unit.f"},
    {"FixedForm", "-O3", fixed_form, "unit.f"},
    {"OpenMp", "-O2 -fopenmp", fortran_parallel},
    {"OpenMpIgnored", "-O2", fortran_parallel},
};

class FortranParity : public FortranTest, public ::testing::WithParamInterface<FortranSource> {};

// A unit lowered for a CPU is the object that flang makes with -march=<that CPU> before the source's own
// flags. (Without prefixes, because flang does not replace paths.)
TEST_P(FortranParity, Objects) {
  const FortranSource& source = GetParam();
  const std::string file = source.file;
  write("src/" + file, source.text);
  session_.prefixes.clear();
  session_.directory = path("session");
  ASSERT_TRUE(create_session(session_, XAAS_PROGRAM));
  const ir::Unit unit = compiled_unit(file, source.flags);
  for (const std::string cpu : {"haswell", "znver3", "x86-64-v4"}) {
    std::string flags = source.flags;
    if (const size_t at = flags.find("native"); at != std::string::npos)
      flags.replace(at, 6, cpu);
    sh("$FLANG -march=" + cpu + " " + flags + " -c " + file + " -o ../build/flang.o");
    expect_equal(lowered(unit, cpu), read("build/flang.o"), cpu);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FortranParity, ::testing::ValuesIn(fortran_sources),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(FortranTest, SharesModulesBetweenLevels) {
  write("src/kernels.f90", fortran_loops);
  const ir::Unit low = compiled_unit("kernels.f90");
  use_level("x86-64-v4");
  const ir::Unit high = compiled_unit("kernels.f90");
  EXPECT_EQ(low, high);
  EXPECT_EQ(low.source, "kernels.f90");
  use_level("x86-64-v3");
  EXPECT_NE(low.module, compiled_unit("kernels.f90", "-O3 -ffast-math").module);
}

TEST_F(FortranTest, ProgramsOfSeveralSourcesAndModulesWork) {
  write("src/one.F90",
        "module one\ncontains\nsubroutine say(n)\ninteger :: n\nprint '(a,i0)', TEXT, n\nend\nend\n");
  write("src/two.f90",
        "program two\nuse one\ninterface\ninteger function c_value() bind(c)\nend\nend interface\n"
        "call say(c_value())\nend\n");
  write("src/three.c", "int c_value(void) { return 42; }\n");
  sh("$FC -O2 -cpp -DTEXT='\"value \"' -J ../build -c one.F90 -o ../build/one.o");
  EXPECT_TRUE(fs::exists(path("build/one.mod")));
  sh("$CC -c three.c -o ../build/three.o");
  sh("$FC -I ../build two.f90 ../build/one.o ../build/three.o -o ../build/program");
  EXPECT_EQ(sh("../build/program"), "value 42\n");
  // Three objects and the link itself: only flang's run-time library is carried.
  EXPECT_EQ(notes_of("build/program").size(), 4u);
}

// flang writes the absolute path of each source into calls of its run-time library and into debug
// information, where it lists used modules in random order.
TEST_F(FortranTest, ModulesDoNotDependOnPlaceOrChance) {
  const std::string source = "module a\nend\nmodule b\nend\nmodule c\nend\nmodule d\nend\n"
                             "subroutine s(x)\nuse d\nuse b\nuse c\nuse a\nuse iso_c_binding\nreal :: x(:)\n"
                             "open(10, file='name')\nwrite(10, *) x\nx = x(size(x):1:-1)\nclose(10)\nend\n";
  std::set<Digest> modules;
  for (const std::string place : {"src", "build", "src/deeper/than/before"})
    for (int i = 0; i < 4; ++i) {
      write(place + "/s.f90", source);
      session_.prefixes = {{path(place), "."}};
      session_.directory = path("session-" + std::to_string(modules.size()) + place + std::to_string(i));
      ASSERT_TRUE(create_session(session_, XAAS_PROGRAM));
      sh("cd " + path(place).string() + " && $FC -O2 -g -c " + (i % 2 ? path(place).string() + "/" : "") +
         "s.f90 -o s.o");
      const std::string object = place + "/s.o";
      modules.insert(unit_of(object).module);
      EXPECT_EQ(unit_of(object).source, "s.f90");
    }
  // Debug information shows whether the source is named relative to the directory.
  EXPECT_EQ(modules.size(), 2u);
  EXPECT_NE(sh("strings -a deeper/than/before/s.o").find("./s.f90"), std::string::npos);
  EXPECT_EQ(sh("strings -a deeper/than/before/s.o").find(path("src").string()), std::string::npos);
}

// flang's order is random: with three arrays or more, it nearly always differs.
TEST_F(FortranTest, VersionedLoopsHaveOneOrder) {
  write("src/s.f90",
        "subroutine s(a, b, c, d, e, f)\nreal :: a(:), b(:), c(:, :), d(:), e(:), f(:, :, :)\n"
        "integer :: i\ndo i = 1, size(a)\na(i) = b(i) * c(i, 2) + d(i) / e(i) + f(i, 2, 3)\nend do\n"
        "do i = 1, size(a)\ne(i) = a(i) + b(i) * d(i)\nend do\nend\n");
  std::set<Digest> modules;
  for (const char* level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"})
    for (int i = 0; i < 3; ++i) {
      use_level(level);
      modules.insert(compiled_unit("s.f90", "-O3 -ffast-math").module);
    }
  EXPECT_EQ(modules.size(), 1u);
  const std::string code = sh("llvm-objdump-22 -d ../build/unit.o");
  EXPECT_NE(code.find("ret"), std::string::npos);
  sh("$FC -O3 -ffast-math -c s.f90 -o ../build/unit.o");
  write("src/p.f90",
        "program p\ninterface\nsubroutine s(a, b, c, d, e, f)\nreal :: a(:), b(:), c(:, :), d(:), e(:), "
        "f(:, :, :)\nend\nend interface\nreal :: x(200), y(200, 3), z(200, 2, 3)\nx = 1\ny = 2\nz = 3\n"
        "call s(x(1:100), x(101:200), y(::2, :), y(1:100, 1), y(101:200, 3), z(1:100, :, :))\n"
        "print '(2f8.2)', sum(x), sum(y)\nend\n");
  sh("$FC p.f90 ../build/unit.o -o ../build/p && $FLANG -O0 p.f90 s.f90 -o ../build/q");
  EXPECT_EQ(sh("../build/p"), sh("../build/q"));
}

// A string of the program that equals its own path stays as it is.
TEST_F(FortranTest, StringsOfTheProgramStay) {
  const std::string name = path("src/s.f90").string();
  write("src/s.f90", "program s\nopen(10, file='" + name + "'//achar(0))\nprint *, 'x'\nend\n");
  compiled_unit("s.f90");
  EXPECT_NE(sh("strings -a ../build/unit.o").find(name), std::string::npos);
  EXPECT_NE(sh("strings -a ../build/unit.o").find("./s.f90"), std::string::npos);
}

TEST_F(FortranTest, ErrorsAreFlangs) {
  write("src/bad.f90", "program p\nx = = 1\nend\n");
  const ProcessResult theirs = try_sh("$FLANG -c bad.f90 -o ../build/bad.o");
  const ProcessResult ours = try_sh("$FC -c bad.f90 -o ../build/bad.o");
  EXPECT_EQ(ours.exit_code, theirs.exit_code);
  EXPECT_EQ(ours.output, theirs.output);
  EXPECT_FALSE(fs::exists(path("build/bad.o")));
  write("src/warned.f90", "subroutine s\ninteger :: i\ni = 2147483647 + 1\nprint *, i\nend\n");
  const std::string warning = sh("$FLANG -c warned.f90 -o ../build/theirs.o");
  EXPECT_NE(warning.find("warning"), std::string::npos);
  EXPECT_EQ(sh("$FC -c warned.f90 -o ../build/ours.o"), warning);
}

TEST_F(FortranTest, OtherJobsAreFlangs) {
  write("src/unit.f90", fortran_loops);
  EXPECT_EQ(sh("$FC --version"), sh("$FLANG --version"));
  EXPECT_EQ(sh("$FC -E unit.f90"), sh("$FLANG -E unit.f90"));
  EXPECT_EQ(sh("$FC -fsyntax-only unit.f90"), "");
  EXPECT_EQ(sh("$FC -dumpmachine"), sh("$FLANG -dumpmachine"));
  EXPECT_NE(sh("$FC -v -c unit.f90 -o ../build/unit.o").find(" -fc1 "), std::string::npos);
  sh("$FC -S unit.f90 -o ../build/unit.s");
  EXPECT_NE(read("build/unit.s").find("_QMkernelsPaxpy"), std::string::npos);
}

TEST_F(FortranTest, WhatCannotBeIrIsCarriedWithAReason) {
  write("src/unit.f90", fixed_form);
  sh("$FC -ffixed-form -mllvm -unroll-threshold=10 -c unit.f90 -o ../build/unit.o");
  EXPECT_FALSE(is_captured("build/unit.o"));
  EXPECT_EQ(reason_of("build/unit.o"), "-mllvm options");
  sh("$FC -ffixed-form -finstrument-functions -c unit.f90 -o ../build/unit.o");
  EXPECT_FALSE(is_captured("build/unit.o"));
  EXPECT_EQ(reason_of("build/unit.o"), "flang's -finstrument-functions");
  sh("$FC -ffixed-form -flto -c unit.f90 -o ../build/unit.o");
  EXPECT_TRUE(is_captured("build/unit.o"));
}

// Meson up to 1.4 uses options of an older flang; MPI wrappers may use gfortran's.
TEST_F(FortranTest, WordsOfOtherCompilers) {
  write("src/unit.f90", fortran_loops);
  sh("$FC -Minform=inform -fallow-argument-mismatch -fallow-invalid-boz -fstack-protector-strong "
     "-ffile-prefix-map=/a=. -MD -MQ x -MF x.d -module ../build "
     "-c unit.f90 -o "
     "../build/unit.o");
  EXPECT_TRUE(fs::exists(path("build/kernels.mod")));
  EXPECT_TRUE(is_captured("build/unit.o"));
}

// MPI as in distributions: the module in gfortran's format, and mpif.h, which every compiler can read.
TEST_F(FortranTest, TheMpiModuleIsMadeOfMpif) {
  write("mpi/mpif.h",
        "      integer MPI_SUM\n      parameter (MPI_SUM=1476395011)\n      external MPI_INIT\n");
  write("mpi/mpi.mod", "\x1f\x8b\x08 module");
  write("src/p.f90", "program p\nuse mpi\nimplicit none\nprint '(i0)', MPI_SUM\nend\n");
  sh("$FC -I../mpi p.f90 -o ../build/p && $FC -I../mpi -fsyntax-only p.f90");
  EXPECT_EQ(sh("../build/p"), "1476395011\n");
  EXPECT_EQ(notes_of("build/p").size(), 2u);
  // A module of flang's own is used as it is.
  write("src/own.f90", "module mpi\ninteger, parameter :: MPI_SUM = 7\nend module\n");
  sh("mkdir ../own && $FC -J../own -c own.f90 -o ../build/own.o && $FC -I../own -I../mpi p.f90 -o "
     "../build/p");
  EXPECT_EQ(sh("../build/p"), "7\n");
}

TEST_F(FortranTest, ModuleFilesOfOthersAreNamed) {
  write("mpi/mpi_f08.mod", "\x1f\x8b\x08\x1f\x8b)?");
  write("src/p.f90", "program p\nuse mpi_f08\ninteger :: i\ni = 'a'\nend\n");
  const std::string messages = sh("$FC -I../mpi -c p.f90 -o ../build/p.o", 1);
  EXPECT_NE(messages.find("p.f90:2:5: error: the file of module 'mpi_f08' was written by another compiler"),
            std::string::npos)
      << messages;
  EXPECT_EQ(messages.find("bad character"), std::string::npos) << messages;
  EXPECT_NE(messages.find("p.f90:4:1: error: No intrinsic"), std::string::npos) << messages;
}

TEST_F(FortranTest, WithoutFlangTheCallSaysSo) {
  session_.directory = path("session-without");
  session_.flang.clear();
  ASSERT_TRUE(create_session(session_, XAAS_PROGRAM));
  EXPECT_FALSE(missed_flang(session_));
  EXPECT_NE(sh("$FC --version", 8).find("install flang-22"), std::string::npos);
  EXPECT_TRUE(missed_flang(session_));
}

} // namespace

} // namespace xaas::frontdoor
