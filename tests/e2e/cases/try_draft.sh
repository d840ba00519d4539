#!/bin/bash
# `xaas init --try` turns trees whose drafts do not build into specs that do, and says what it learned. The user's sources
# stay as they are.
source "$E2E/lib.sh"
needs jq make cmake ninja clang-22

program() { # FILE WORD: prints WORD
  mkdir -p "$(dirname "$1")"
  printf '#include <stdio.h>\nint main(void) { puts("%s"); return 0; }\n' "$2" >"$1"
}
state_of() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); } # TREE
tried() { # TREE [DEPLOY OPTION...]: into TREE.json and TREE.report; then the spec builds and deploys
  local before
  before=$(state_of "$1")
  "$XAAS" init --try "$1" -o "$1.json" --format json >"$1.report" 2>"$1.err" || fail "$1: $(cat "$1.err" "$1.report")"
  expect_equal "sources of $1" "$(state_of "$1")" "$before"
  assert_json "$1.report" '.try.built and ([.try.attempts[] | select(has("changed") | not)] | last.built) and (.try | has("error") | not)'
  "$XAAS" build "$1.json" --source "$1" -o "oci:$1.ir:ir" --isa x86-64 -q >/dev/null
  "$XAAS" deploy "oci:$1.ir:ir" -o "rootfs:$1.tree" -q "${@:2}" >/dev/null
}
learned() { # TREE PATTERN
  jq -r '.try.attempts[].learned // empty' "$1.report" | finds -E "$2" || fail "$1 did not learn '$2': $(cat "$1.report")"
}
prints() { # TREE PROGRAM TEXT
  expect_equal "output of $2" "$("$1.tree/usr/local/bin/$2")" "$3"
}

# A build that writes into its sources. It is ended at that write, so that the second step is never reached.
program writes/main.c writes
cat >writes/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(writes VERSION 2.5 LANGUAGES C)
file(WRITE ${CMAKE_SOURCE_DIR}/generated.h "#define GENERATED 1\n")
add_executable(writes main.c)
install(TARGETS writes)
END
tried writes
learned writes '^build\.copy'
assert_json writes.report '.try.attempts[0].built == false and .try.attempts[1].built'
[ ! -e writes/generated.h ] || fail "the trial wrote into the sources"
prints writes writes writes

# No install step: the programs that the build makes, but not those of its tests.
program none/src/one.c one
program none/src/two.c two
program none/tests/check.c check
cat >none/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(none LANGUAGES C)
add_executable(one src/one.c)
add_executable(two src/two.c)
add_subdirectory(tests)
END
echo 'add_executable(check check.c)' >none/tests/CMakeLists.txt
tried none
learned none '^build\.install: 2 files'
prints none one one
prints none two two
[ ! -e none.tree/usr/local/bin/check ] || fail "a program of the tests is installed"
grep -q 'Programs: one, two' none.json || fail "the draft does not list the programs: $(cat none.json)"

# A makefile below the top: files to install are relative to the copy of the whole tree.
program below/code/main.c below
printf 'below: main.c\n\t$(CC) -O2 -o below main.c\n' >below/code/Makefile
tried below
prints below below below

# Functions without a declaration, which old C allows.
mkdir old
printf 'main() { puts("old"); return 0; }\n' >old/main.c
printf 'old: main.o\n\t$(CC) -O2 $(CFLAGS) -o old main.o\n' >old/Makefile
tried old
learned old 'Wno-error=implicit-int'
prints old old old

# A configure script for another shell, which refuses Autoconf's options and works only in its own directory.
program bash/main.c bash
cat >bash/configure <<'END'
#!/bin/bash
words=(only bash knows arrays)
for option; do
  case $option in
  --verbose) ;;
  *) echo "configure: error: invalid option '$option'"; exit 1 ;;
  esac
done
test -f main.c
printf 'bash:\n\t$(CC) -O2 -o bash main.c\ninstall:\n\tinstall -D bash $(DESTDIR)$(PREFIX)/bin/%s\n' "${words[1]}" >Makefile
END
tried bash
learned bash '^build\.system: commands'
prints bash bash bash

# A required variable without a default.
program required/main.c required
cat >required/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(required LANGUAGES C)
set(MODEL "" CACHE STRING "The programming model; one of serial, threads")
set_property(CACHE MODEL PROPERTY STRINGS serial threads)
if(NOT MODEL)
  message(FATAL_ERROR "MODEL is not set; choose one of serial, threads")
endif()
add_executable(required main.c)
install(TARGETS required)
END
tried required
prints required required required
grep -q 'MODEL=serial' required.json || fail "the draft sets no MODEL: $(cat required.json)"

# A makefile that names its compilers itself.
program compiler/main.c compiler
cat >compiler/Makefile <<'END'
COMPILER = gcc -O2
compiler: main.c
	$(COMPILER) -o compiler main.c
END
tried compiler
learned compiler 'COMPILER=\$\(CC\) -O2'
prints compiler compiler compiler
assert_json <("$XAAS" inspect oci:compiler.ir:ir --format json) '.configurations[0].units == 1'

# A makefile whose flags do not optimize.
program slow/main.c slow
printf 'CFLAGS += -Wall\nslow: main.o\n\t$(CC) -o slow main.o\n' >slow/Makefile
tried slow
learned slow '^build\.environment: -O3'
"$XAAS" inspect oci:slow.ir:ir --format json >slow.inspect
assert_json slow.inspect '.warnings | length == 0'

# Makefiles ask for the compiler's name before they ask for anything else. A value that changes nothing is told.
mkdir named
cat >named/main.c <<'END'
#include <stdio.h>
int main(void) { puts(WORD); return 0; }
END
cat >named/Makefile <<'END'
ifeq ($(CC),)
CC = gcc
endif
OPENMP = yes
MPI = no
WORD = plain
ifneq (,$(findstring clang,$(CC)))
  ifeq ($(OPENMP),yes)
    WORD = parallel
  endif
endif
ifneq (,$(findstring crayftn,$(CC)))
  ifeq ($(MPI),yes)
    WORD = distributed
  endif
endif
named: main.o
	$(CC) -o named main.o
%.o: %.c
	$(CC) -O2 -DWORD='"$(WORD)"' -c $<
END
tried named
prints named named parallel
learned named '^mpi=on gives the same programs and files as off$'
grep -q '// Here on gives the same programs and files as off\.' named.json || fail "no comment: $(cat named.json)"
[ "$(grep -c 'Here on' named.json)" = 1 ] || fail "not only mpi is told: $(cat named.json)"
"$XAAS" build named.json --source named --config openmp=off --isa x86-64 -o oci:named.off:ir -q >/dev/null
"$XAAS" deploy oci:named.off:ir -o rootfs:named.off.tree -q >/dev/null
expect_equal "without OpenMP" "$(named.off.tree/usr/local/bin/named)" plain

# An option whose value does not build is left out, with the compiler's message.
mkdir choice
cat >choice/main.c <<'END'
#include <stdio.h>
#ifdef USE_THREADS
#error no threads here
#endif
int main(void) { puts("choice"); return 0; }
END
cat >choice/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(choice LANGUAGES C)
option(USE_OPENMP "Use OpenMP" OFF)
add_executable(choice main.c)
if(USE_OPENMP)
  target_compile_definitions(choice PRIVATE USE_THREADS)
endif()
install(TARGETS choice)
END
tried choice
prints choice choice choice
assert_json choice.report '[.try.attempts[] | select(.changed == "openmp=on")][0] | .built == false and .error == "main.c:3:2: error: no threads here" and (.log | length > 0)'
grep -q 'no threads here' choice.json || fail "the draft does not say why a value was left out: $(cat choice.json)"

# What cannot be built: the draft is written, and the report says what is missing.
mkdir broken
printf 'cmake_minimum_required(VERSION 3.16)\nproject(broken LANGUAGES C)\nfind_package(NoSuchPackage REQUIRED)\n' >broken/CMakeLists.txt
expect_exit 1 "$XAAS" init --try broken -o broken.json --format json >broken.report 2>broken.err
assert_json broken.report '.try.built == false and (.try.error | length > 0) and (.try.attempts[0].step == "configure")'
grep -q NoSuchPackage broken.err || fail "the error does not name the package: $(cat broken.err)"
[ -s broken.json ] || fail "no draft"

# The limit of time.
expect_exit 2 "$XAAS" init slow -o limit.json --try-time 1 2>slow.err
grep -q -- '--try-time is only for --try' slow.err || fail "$(cat slow.err)"

# `build` does the same where a draft as it is does not build.
"$XAAS" build --try writes -o oci:direct:ir --isa x86-64 >/dev/null 2>direct.err || fail "$(cat direct.err)"
grep -q 'build.copy' direct.err || fail "it does not say what it learned: $(cat direct.err)"
expect_error 1 'were changed during the build' "$XAAS" build writes -o oci:direct2:ir --isa x86-64 -q
expect_error 1 'hint: --try learns from what fails' "$XAAS" build old -o oci:direct3:ir --isa x86-64 -q

# Wrappers in place of compilers.
if command -v mpicc >/dev/null && mpicc -show 2>/dev/null | finds mpi; then
  mkdir mpi
  printf '#include <mpi.h>\n#include <stdio.h>\nint main(int c, char **v) { MPI_Init(&c, &v); puts("mpi"); return MPI_Finalize(); }\n' >mpi/main.c
  printf 'CC = mpicc\nmpi: main.o\n\t$(CC) -o mpi main.o\n' >mpi/Makefile
  tried mpi
  learned mpi 'mpicc'
  assert_json <("$XAAS" inspect oci:mpi.ir:ir --format json) '.configurations[0].units == 1'
else
  echo "NOT TESTED: mpicc is not installed"
fi
if cuda=$(cuda_toolkit) && [ -x "$cuda/bin/nvcc" ]; then
  mkdir cuda
  printf '__global__ void work() {}\nint main() { work<<<1, 1>>>(); }\n' >cuda/main.cu
  printf 'CC = nvcc\ncuda: main.cu\n\t$(CC) -o cuda main.cu\n' >cuda/Makefile
  tried cuda --gpu sm_90
  learned cuda 'CC=nvcc'
else
  echo "NOT TESTED: there is no CUDA toolkit with nvcc"
fi
