#!/bin/bash
# The host's MPI in place of the image's: used where it fits, otherwise refused with the reason. The host's is a second
# MPICH, which reports another version.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
mpicc=mpicc mpirun=mpirun
for name in mpicc mpirun; do # Debian's names of MPICH's wrappers; mpicc may belong to another library
  ! command -v "$name.mpich" >/dev/null || declare "$name=$name.mpich"
done
needs jq make clang-22 bwrap ch-run setpriv patchelf perl readelf "$mpicc" "$mpirun"

mkdir which
cat >which/which.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], *end;
  static char sent[4 << 20], got[sizeof(sent)]; /* large enough for every way of sending */
  int length, rank, ranks, sum;
  MPI_Init(&argc, &argv);
  MPI_Get_library_version(text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&(int){rank + 1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (ranks == 2) {
    memset(sent, rank + 1, sizeof(sent));
    MPI_Sendrecv(sent, sizeof(sent), MPI_CHAR, 1 - rank, 0, got, sizeof(got), MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got[sizeof(got) - 1] != 2 - rank) sum = -1;
  }
  MPI_Finalize();
  if ((end = strchr(text, '\n'))) *end = 0;
  if (rank == 0) printf("%s, %d of %d\n", text + strcspn(text, "0123456789"), sum, ranks);
  return 0;
}
END
printf 'which: which.c\n\t$(CC) -O1 -o $@ $^\ninstall: which\n\tinstall -D which $(DESTDIR)$(PREFIX)/bin/which\n' >which/Makefile
cat >which/xaas.json <<END
{"name": "which", "build": {"system": "make", "arguments": ["CC=$mpicc"]}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/which"]}}
END
"$XAAS" build which -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:tree -q >/dev/null

# The version is one constant of the library; the second one has the sonames that other systems' MPICH have.
library=$(find tree -name "libmpich.so.12*" -o -name "libmpi.so.12*" | head -n 1)
[ -n "$library" ] || skip "the machine's MPICH has no library that we know"
version=$(strings -a "$library" | sed -n 's/^\([0-9]\+\.[0-9]\+\.[0-9]\+\)$/\1/p' | head -n 1)
[ -n "$version" ] || skip "the machine's MPICH does not say its version"
second=${version%?}Z
mkdir -p other/lib plain/lib
perl -pe "s/\\Q$version\\E\\0/$second\\0/g" "$library" >other/lib/libmpi.so.12
patchelf --set-soname libmpi.so.12 other/lib/libmpi.so.12
other=$PWD/other/lib
run=("$XAAS" run -q --runtime bwrap oci:app:here)

expect_equal alone "$("${run[@]}")" "$version, 1 of 1"
expect_equal "alone, host" "$(LD_LIBRARY_PATH=$other "${run[@]}" --mpi host)" "$second, 1 of 1"
retried() { # COMMAND...: MPICH over UCX waits forever in MPI_Finalize() now and then
  local try code
  for try in 1 2 3; do
    code=0
    timeout -k 5 60 "$@" >answer || code=$?
    [ $code -eq 124 ] || break
    echo "not run: $* did not end in 60 s (try $try)" >&2 # the runner shows it
  done
  cat answer
  return $code
}
expect_equal "two ranks, image" "$(LD_LIBRARY_PATH=$other retried "$mpirun" -n 2 "${run[@]}" --mpi image)" "$version, 3 of 2"
expect_equal "two ranks, host" "$(LD_LIBRARY_PATH=$other retried "$mpirun" -n 2 "${run[@]}" --mpi host)" "$second, 3 of 2"
expect_equal "two ranks" "$(LD_LIBRARY_PATH=$other retried "$mpirun" -n 2 "${run[@]}")" "$second, 3 of 2"
expect_equal "two ranks, this machine's own" "$(retried "$mpirun" -n 2 "${run[@]}" --mpi host)" "$version, 3 of 2"
# Each rank in its own user namespace.
make_user
chmod -R a+rX .
for runtime in bwrap charliecloud; do
  for whose in host image; do
    want=$second
    [ $whose = host ] || want=$version
    expect_equal "two ranks of a user, $runtime, $whose" \
      "$(LD_LIBRARY_PATH=$other retried "${as_user[@]}" "$mpirun" -n 2 "$XAAS" run -q --runtime $runtime --mpi $whose oci:app:here)" "$want, 3 of 2"
  done
done

# Installed: the decision is made once, and no container stands between the ranks.
for whose in host image; do
  want=$second
  [ $whose = host ] || want=$version
  LD_LIBRARY_PATH=$other "$XAAS" install oci:app:here --prefix "$PWD/apps/$whose" --mpi $whose --container never --format json -q >install.json
  assert_json install.json '.runtime == null and .mpi == {abi: "mpich-12", from: "'$whose'"}'
  expect_equal "two ranks, installed, $whose" "$(retried env -u LD_LIBRARY_PATH "$mpirun" -n 2 "apps/$whose/bin/which")" "$want, 3 of 2"
done

# The decision and its report.
LD_LIBRARY_PATH=$other "$XAAS" run --runtime bwrap oci:app:here --mpi host --print --format json -q >plan.json
assert_json plan.json '.mpi == {abi: "mpich-12", from: "host"} and (.notes[0] | contains("'"$other"'"))'
assert_json plan.json '.command | index(["--setenv", "LD_LIBRARY_PATH", "/.xaas/host"])'
assert_json plan.json '.command | index("/.xaas/host/libmpich.so.12") or index("/.xaas/host/libmpi.so.12")'
assert_json plan.json '.command | index("/.xaas/host/libc.so.6") | not'
"$XAAS" run --runtime bwrap oci:app:here --print --launcher srun --ranks 2 -q >line
expect_equal "line for srun" "$(cat line)" "srun --mpi=pmi2 -n 2 $XAAS run --mpi host --runtime bwrap oci:app:here"

# A C library of the image that is older than the host's MPI.
newest=$(readelf -V other/lib/libmpi.so.12 | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
cp -a tree old
{
  for name in $(readelf -V "$(find tree -name libc.so.6 | head -n 1)" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV); do
    [ "$name" = "$newest" ] || echo "$name {};"
  done
} >versions
echo 'int libc_has_something;' >libc.c
while read -r libc; do
  rm "$libc"
  clang-22 -shared -nostdlib -fPIC -fuse-ld=lld -Wl,-soname,libc.so.6 -Wl,--version-script,versions libc.c -o "$libc"
done < <(find "$PWD/old" -name libc.so.6)
refuses() { # TEXT TREE
  LD_LIBRARY_PATH=$other expect_error 3 "$1" "$XAAS" run --runtime bwrap --mpi host "rootfs:$2" --print -- /usr/local/bin/which
  # Otherwise the image's library is used, and reported.
  LD_LIBRARY_PATH=$other PMI_RANK=0 "$XAAS" run --runtime bwrap "rootfs:$2" --print --format json -- /usr/local/bin/which >plan.json
  assert_json plan.json ".mpi.from == \"image\" and (.notes | any(contains(\"$1\")))"
}
refuses "needs $newest of libc.so.6" old
# A program that finds its own MPI first; not one whose RPATH leads elsewhere.
own=$(dirname "${library#tree}")
cp -a tree fixed
patchelf --force-rpath --set-rpath "$own" fixed/usr/local/bin/which
refuses "by DT_RPATH" fixed
patchelf --force-rpath --set-rpath /usr/local/nowhere fixed/usr/local/bin/which
"$XAAS" run --runtime bwrap --mpi host rootfs:fixed --print --format json -- /usr/local/bin/which >plan.json
assert_json plan.json '.mpi.from == "host"'
# Another ABI, and none.
LD_LIBRARY_PATH=$other expect_error 3 "no MPI library" "$XAAS" run --runtime bwrap --mpi host rootfs:plain --print --bind "$PWD:/in" -- /in/tree/usr/local/bin/which
