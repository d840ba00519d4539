#!/bin/bash
# The standard ABI of MPI 5 under both of its names, and what launchers of Cray and Flux give to ranks: with stand-ins for the
# libraries and the launchers.
source "$E2E/lib.sh"
needs jq make clang-22 bwrap

# A library with nothing but what the program calls; which one it is shows in the text.
library() { # DIRECTORY SONAME TEXT
  mkdir -p "$1"
  printf 'int MPI_Init(int *c, char ***v) { return 0; }\nint MPI_Finalize(void) { return 0; }\nconst char *MPI_Which(void) { return "%s"; }\n' "$3" >mpi.c
  clang-22 -shared -fPIC -fuse-ld=lld -Wl,-soname,"$2" mpi.c -o "$1/$2"
}
library "$PWD/image" libmpi_abi.so.1 "the image's"
library "$PWD/new/lib" libmpi_abi.so.1 "the host's"
library "$PWD/old/lib" libmpi_abi.so.0 "the host's, of MPICH 5.0.0"
library "$PWD/other/lib" libmpi.so.40 "of another ABI"
mkdir src
cat >src/which.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
const char *MPI_Which(void);
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const char *spool = getenv("PALS_SPOOL_DIR");
  struct stat file;
  char name[4096];
  snprintf(name, sizeof(name), "%s/apinfo", spool ? spool : "");
  printf("%s%s\n", MPI_Which(), spool ? stat(name, &file) == 0 ? ", with its launcher's files" : ", without them" : "");
  return MPI_Finalize();
}
END
printf 'which: which.c\n\t$(CC) -O1 -o $@ $^ -L%s -l:libmpi_abi.so.1 -Wl,-rpath,/usr/local/lib\ninstall: which\n\tinstall -D which $(DESTDIR)$(PREFIX)/bin/which\n\tinstall -D %s/libmpi_abi.so.1 $(DESTDIR)$(PREFIX)/lib/libmpi_abi.so.1\n' "$PWD/image" "$PWD/image" >src/Makefile
echo '{"name": "which", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/which"]}}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
run=("$XAAS" run -q --runtime bwrap oci:app:here)

expect_equal "the image's" "$("${run[@]}")" "the image's"
expect_equal "the host's" "$(LD_LIBRARY_PATH=$PWD/new/lib "${run[@]}" --mpi host)" "the host's"
expect_equal "the host's, under its older name" "$(LD_LIBRARY_PATH=$PWD/old/lib "${run[@]}" --mpi host)" "the host's, of MPICH 5.0.0"
LD_LIBRARY_PATH=$PWD/other/lib expect_error 3 'ABI mpi-abi-1' "${run[@]}" --mpi host
LD_LIBRARY_PATH=$PWD/old/lib "$XAAS" detect --format json -q >system.json
assert_json system.json ".mpi | any(.abi == \"mpi-abi-1\" and .libdir == \"$PWD/old/lib\")"

# A rank of PALS, whose files are where no other bind leads; as the image's program sees them.
spool=$(mktemp -d /var/lib/xaas-spool-XXXXXX) || skip "cannot write below /var/lib"
trap 'rm -rf "$spool"' EXIT
touch "$spool/apinfo"
pals=(env PALS_RANKID=0 PALS_NODEID=0 PALS_APID=1 PALS_APINFO="$spool/apinfo" PALS_SPOOL_DIR="$spool" LD_LIBRARY_PATH="$PWD/new/lib")
expect_equal "a rank of PALS" "$("${pals[@]}" "${run[@]}")" "the host's, with its launcher's files"
expect_equal "a rank of PALS with the image's MPI" "$("${pals[@]}" "${run[@]}" --mpi image)" "the image's, with its launcher's files"
# A rank of Flux, which passes an open file.
expect_equal "a rank of Flux" \
  "$(FLUX_JOB_ID=1 FLUX_TASK_RANK=0 PMI_RANK=0 PMI_SIZE=1 PMI_FD=5 LD_LIBRARY_PATH=$PWD/new/lib "${run[@]}" 5</dev/null)" "the host's"
# The lines that start ranks.
expect_equal "line for flux" "$("$XAAS" run --runtime bwrap oci:app:here --print --launcher flux --ranks 2 --mpi image -q)" \
  "flux run -n 2 $XAAS run --mpi image --runtime bwrap oci:app:here"
expect_equal "line for PALS" "$("$XAAS" run --runtime bwrap oci:app:here --print --launcher pals --ranks 2 --mpi image -q)" \
  "mpiexec -n 2 $XAAS run --mpi image --runtime bwrap oci:app:here"
