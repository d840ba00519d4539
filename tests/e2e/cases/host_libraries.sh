#!/bin/bash
# Libraries that the application prefers from the host: deploying reports them, works without the host, and `xaas run` takes
# them where they fit; otherwise it says why not.
source "$E2E/lib.sh"
mpicc=mpicc mpirun=mpirun
for name in mpicc mpirun; do # Debian's names of MPICH's wrappers; mpicc may belong to another library
  ! command -v "$name.mpich" >/dev/null || declare "$name=$name.mpich"
done
needs jq make clang-22 bwrap patchelf perl "$mpicc" "$mpirun"

# A small library, and other builds of it in the machine's directories.
tiny() { # DIR NAME CODE...: libtiny.so.1 there
  mkdir -p "$1"
  printf '%s\n' "const char *tiny_name(void) { return \"$2\"; }" "${@:3}" >"$1/tiny.c"
  clang-22 -shared -fPIC -O1 -Wl,-soname,libtiny.so.1 "$1/tiny.c" -o "$1/libtiny.so.1"
  ln -sf libtiny.so.1 "$1/libtiny.so"
}
tiny own image 'int tiny_count(void) { return 1; }' 'int tiny_other(void) { return 1; }'
tiny same host 'int tiny_count(void) { return 2; }'
tiny less host
mkdir src
cat >src/app.c <<'END'
#include <stdio.h>
const char *tiny_name(void);
int tiny_count(void);
int main(void) {
  printf("%s %d\n", tiny_name(), tiny_count());
  return 0;
}
END
printf 'app: app.c\n\t$(CC) -O1 -o $@ $^ -L%s -ltiny\ninstall: app\n\tinstall -D app $(DESTDIR)$(PREFIX)/bin/app\n' "$PWD/own" >src/Makefile
cat >src/xaas.json <<'END'
{"name": "app", "build": {"system": "make"}, "isa": [], "host": ["mpi", "tiny", "nosuch"],
 "image": {"entrypoint": ["/usr/local/bin/app"]}}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null
deploy=("$XAAS" deploy oci:app:ir -q)

# The report depends on the machine; the image does not.
with=(env LD_LIBRARY_PATH="$PWD/same")
"${with[@]}" "${deploy[@]}" --dry-run --explain >with.text
grep -qx "  tiny    from the host   the same soname: $PWD/same/libtiny.so.1" with.text || fail "not told: $(cat with.text)"
grep -qx "  nosuch  from the image  this configuration loads none; it is unused or linked statically" with.text || fail "not told: $(cat with.text)"
"${deploy[@]}" -o oci:app:here --format json >without.json
assert_json without.json '[.host[] | [.what, .from, .found]] == [["mpi", "image", null], ["tiny", "image", null], ["nosuch", "image", null]]
  and .host[1].reason == "the system has no libtiny.so.1"'
"${with[@]}" "${deploy[@]}" -o oci:app:again --format json >with.json
assert_json with.json '.host[1] == {what: "tiny", from: "host", found: "'"$PWD"'/same/libtiny.so.1", reason: "the same soname"}'
expect_equal "digest on a machine that has it" "$(image_digest app again)" "$(image_digest app here)"
expect_equal "annotation" "$(json "$(blob app "$(image_digest app here)")" '.annotations["dev.xaas.host"]')" '[{"what":"tiny","sonames":["libtiny.so.1"]}]'
"$XAAS" detect -o here.json -q
jq '.libraries = [{"name": "tiny", "version": null, "path": "/opt/tiny/lib/libtiny.so.1.5"}]' here.json >there.json
"${deploy[@]}" --dry-run --system there.json --format json >there.deploy
assert_json there.deploy '.host[1] | .from == "host" and .found == "/opt/tiny/lib/libtiny.so.1.5"'

# The machine's is used where it fits.
run=("$XAAS" run --runtime bwrap oci:app:here)
expect_equal "without one" "$("${run[@]}" -q)" "image 1"
expect_equal "the same soname" "$("${with[@]}" "${run[@]}" -q)" "host 2"
expect_equal "none" "$("${with[@]}" "${run[@]}" -q --host none)" "image 1"
expect_equal "by name" "$("${with[@]}" "${run[@]}" -q --host tiny)" "host 2"
"${with[@]}" "${run[@]}" --print --format json >plan.json
assert_json plan.json '.host == [{what: "tiny", from: "host", found: "'"$PWD"'/same/libtiny.so.1", reason: "it fits"}] and .mpi.from == null'
assert_json plan.json '.command | index("/.xaas/host/libtiny.so.1") and (index("/.xaas/host/libc.so.6") | not)'
"${with[@]}" "${run[@]}" --print --launcher srun -q 2>/dev/null >line
expect_equal "line for srun" "$(cat line)" "srun $XAAS run --host tiny --runtime bwrap oci:app:here"
# A symbol of the program is missing.
lacks="tiny of the image: the image's /usr/local/bin/app uses tiny_count of libtiny.so.1, which the host's $PWD/less/libtiny.so.1 does not have"
LD_LIBRARY_PATH=$PWD/less "${run[@]}" >out 2>err
expect_equal "with a symbol missing" "$(cat out)" "image 1"
grep -qxF "xaas: note: $lacks" err || fail "no reason: $(cat err)"
LD_LIBRARY_PATH=$PWD/less expect_error 3 "uses tiny_count of libtiny.so.1" "${run[@]}" --host tiny
expect_error 3 "this machine has no libtiny.so.1" "${run[@]}" --host tiny
expect_error 3 "loads no library fftw3" "${run[@]}" --host fftw3
expect_error 3 "belongs to the C library" "${run[@]}" --host libc.so.6
expect_error 2 "not the name of a library" "${run[@]}" --host tiny,../x
expect_error 2 "--host mpi contradicts --mpi image" "${run[@]}" --host mpi --mpi image
# A tree keeps the preferences of its image. For one of another tool, the command line names them.
"${deploy[@]}" -o rootfs:tree >/dev/null
expect_equal "a tree" "$("${with[@]}" "$XAAS" run -q --runtime bwrap rootfs:tree)" "host 2"
expect_equal "a tree, none" "$("${with[@]}" "$XAAS" run -q --runtime bwrap --host none rootfs:tree)" "image 1"
rm -r tree/.xaas
expect_equal "another tree" "$("${with[@]}" "$XAAS" run -q --runtime bwrap rootfs:tree -- /usr/local/bin/app)" "image 1"
expect_equal "another tree, by name" "$("${with[@]}" "$XAAS" run -q --runtime bwrap --host libtiny.so.1 rootfs:tree -- /usr/local/bin/app)" "host 2"
# Untrusted annotations.
jq '.annotations["dev.xaas.host"] = "[{\"what\":\"x\",\"sonames\":[\"../../etc/passwd\"]}]"' "$(blob app "$(image_digest app here)")" >bad.json
put_manifest app bad bad.json application/vnd.oci.image.manifest.v1+json
expect_error 7 "is not the name of a library" "$XAAS" run --runtime bwrap oci:app:bad

# An MPI that the spec prefers, with the machine's launcher and without. The host's library reports another version.
mkdir which
cat >which/which.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], *end;
  int length, rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Get_library_version(text, &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Finalize();
  if ((end = strchr(text, '\n'))) *end = 0;
  if (rank == 0) printf("%s, %d\n", text + strcspn(text, "0123456789"), ranks);
  return 0;
}
END
printf 'which: which.c\n\t$(CC) -O1 -o $@ $^\ninstall: which\n\tinstall -D which $(DESTDIR)$(PREFIX)/bin/which\n' >which/Makefile
cat >which/xaas.json <<END
{"name": "which", "build": {"system": "make", "arguments": ["CC=$mpicc"]}, "isa": [], "host": ["mpi"],
 "image": {"entrypoint": ["/usr/local/bin/which"]}}
END
"$XAAS" build which -o oci:app:mpi-ir -q >/dev/null
"$XAAS" deploy oci:app:mpi-ir -o oci:app:mpi -q --format json >mpi.json
assert_json mpi.json '.host | length == 1 and .[0].from == "host" and .[0].reason == "the same ABI, mpich-12"'
assert_json "$(blob app "$(image_digest app mpi)")" '.annotations["dev.xaas.host"] | fromjson | .[0].abi == "mpich-12"'
jq '.mpi = [.mpi[] | select(.abi != "mpich-12")]' here.json >other.json
"$XAAS" deploy oci:app:mpi-ir --dry-run --system other.json -q --format json >other.deploy
assert_json other.deploy '.host[0] | .from == "image" and (.reason | length > 0)'
"$XAAS" deploy oci:app:mpi-ir -o rootfs:mpi -q >/dev/null
library=$(find mpi -name "libmpich.so.12*" -o -name "libmpi.so.12*" | head -n 1)
[ -n "$library" ] || skip "the machine's MPICH has no library that we know"
version=$(strings -a "$library" | sed -n 's/^\([0-9]\+\.[0-9]\+\.[0-9]\+\)$/\1/p' | head -n 1)
[ -n "$version" ] || skip "the machine's MPICH does not say its version"
second=${version%?}Z
mkdir other
perl -pe "s/\\Q$version\\E\\0/$second\\0/g" "$library" >other/libmpi.so.12
patchelf --set-soname libmpi.so.12 other/libmpi.so.12
run=("$XAAS" run -q --runtime bwrap oci:app:mpi)
with=(env LD_LIBRARY_PATH="$PWD/other")
expect_equal "alone" "$("${with[@]}" "${run[@]}")" "$second, 1"
expect_equal "alone, none of the host's" "$("${with[@]}" "${run[@]}" --host none)" "$version, 1"
expect_equal "alone, the image's" "$("${with[@]}" "${run[@]}" --mpi image)" "$version, 1"
expect_equal "two ranks" "$("${with[@]}" "$mpirun" -n 2 "${run[@]}")" "$second, 2"
expect_equal "two ranks, by name" "$("${with[@]}" "$mpirun" -n 2 "${run[@]}" --host mpi)" "$second, 2"
expect_equal "two ranks, this machine's own" "$("$mpirun" -n 2 "${run[@]}")" "$version, 2"
"${run[@]}" --print --format json >plan.json
assert_json plan.json '.mpi == {abi: "mpich-12", from: "host"} and (.host | length == 1 and .[0].what == "mpi")'

# An interface: what the application calls libblas.so.3 is the machine's best implementation, under any name. `check` knows that
# there is one.
mkdir -p reference fast math
for name in reference:libblas.so.3 fast:libopenblas.so.0; do
  echo "const char *blas_name(void) { return \"${name%:*}\"; }" >${name%:*}/blas.c
  clang-22 -shared -fPIC -O1 -Wl,-soname,"${name#*:}" ${name%:*}/blas.c -o "${name%:*}/${name#*:}"
done
ln -s libblas.so.3 reference/libblas.so
printf '#include <stdio.h>\nconst char *blas_name(void);\nint main(void) { return puts(blas_name()) < 0; }\n' >math/math.c
printf 'math: math.c\n\t$(CC) -O1 -o $@ $^ -L%s -lblas\ninstall: math\n\tinstall -D math $(DESTDIR)$(PREFIX)/bin/math\n' "$PWD/reference" >math/Makefile
for host in '' '"host": ["blas"], '; do
  echo "{\"name\": \"math\", \"build\": {\"system\": \"make\"}, \"isa\": [], $host\"image\": {\"entrypoint\": [\"/usr/local/bin/math\"]}}" >math/xaas.json
  "$XAAS" build math -o "oci:interface:ir${host:+-host}" -q >/dev/null
  "$XAAS" deploy "oci:interface:ir${host:+-host}" -o "oci:interface:here${host:+-host}" -q >/dev/null
done
with=(env LD_LIBRARY_PATH="$PWD/fast")
run=("$XAAS" run -q --runtime bwrap)
expect_equal "preferred interface" "$("${with[@]}" "${run[@]}" oci:interface:here-host)" fast
expect_equal "asked interface" "$("${with[@]}" "${run[@]}" --host blas oci:interface:here)" fast
expect_equal "nothing asked" "$("${with[@]}" "${run[@]}" oci:interface:here)" reference
jq '.libraries = [{"name": "openblas", "version": null, "path": "/opt/fast/lib/libopenblas.so.0"}]' here.json >fast.json
"$XAAS" deploy oci:interface:ir-host --dry-run --system fast.json --format json >fast.deploy -q
assert_json fast.deploy '.host[0] == {what: "blas", from: "host", found: "/opt/fast/lib/libopenblas.so.0", reason: "the best implementation here"}'
"$XAAS" check oci:interface:here --system fast.json --format json >fast.check -q
assert_json fast.check '[.warnings[] | select(.kind == "host-library") | .message] | length == 1 and (.[0] | test("xaas run --host blas"))'
"$XAAS" check oci:interface:here-host --system fast.json --format json >fast.check -q
assert_json fast.check '.warnings == []'
