#!/bin/bash
# One image with several programs: choosing one, an image without an entry point, trees and squashfs files.
source "$E2E/lib.sh"
needs jq make clang-22 bwrap mksquashfs unsquashfs

mkdir src
for name in mesh solve; do
  printf '#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {\n  printf("%s%%d %%s\\n", argc - 1, getenv("OF_IMAGE") ? getenv("OF_IMAGE") : "-");\n  return argc > 9 ? argv[0][0] : 0;\n}\n' $name >src/$name.c
done
cat >src/Makefile <<'END'
all: mesh solve
%: %.c
	$(CC) -O1 -o $@ $<
install: all
	install -D mesh $(DESTDIR)$(PREFIX)/bin/mesh
	install -D solve $(DESTDIR)$(PREFIX)/bin/solve
	install -D solve $(DESTDIR)$(PREFIX)/libexec/worker
END
echo '{"name": "tools", "build": {"system": "make"}, "isa": [], "image": {"env": {"OF_IMAGE": "image"}}}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here --format json >deployed.json 2>stderr
assert_json deployed.json "[${own_warnings}[].kind] == [\"entrypoint\"]"
programs='/usr/local/libexec/worker, mesh, solve'
grep -q "^xaas: warning: the image has no entry point .*: $programs\$" stderr || fail "deploy does not warn: $(cat stderr)"
run=("$XAAS" run -q --runtime bwrap)
programs='its programs: mesh, solve, /usr/local/libexec/worker'

check() { # REFERENCE: of an image without an entry point
  expect_equal "$1" "$("${run[@]}" "$1" mesh)" "mesh0 image"
  expect_equal "$1, with arguments" "$("${run[@]}" "$1" solve -- --steps 3)" "solve2 image"
  expect_equal "$1, as an option" "$("${run[@]}" --entrypoint solve "$1" -- --steps 3)" "solve2 image"
  expect_equal "$1, by path" "$("${run[@]}" "$1" /usr/local/libexec/worker)" "solve0 image"
  expect_equal "$1, after --" "$("${run[@]}" "$1" -- mesh x)" "mesh1 image"
  expect_error 2 "names no program to run; $programs" "${run[@]}" "$1"
  expect_error 4 "the image has no entry point, and the image has no program --steps on its PATH" "${run[@]}" "$1" -- --steps 3
  grep -qF "$programs" stderr || fail "no list: $(cat stderr)"
  grep -qF "\`xaas run $1 PROGRAM -- ARG...\`" stderr || fail "no hint: $(cat stderr)"
  expect_error 4 "the image has no program slove" "${run[@]}" "$1" slove
  expect_error 2 "exclude each other" "${run[@]}" --entrypoint mesh "$1" solve
}
check oci:app:here
"$XAAS" copy oci:app:here rootfs:tree -q >/dev/null
check rootfs:tree
"$XAAS" copy oci:app:here squashfs:app.sqfs -q >/dev/null
check squashfs:app.sqfs
expect_equal "trees of the image and the squashfs file" "$(find "$XAAS_CACHE_DIR/trees" -name '*.use' | wc -l)" 2

# With an entry point, trees start it, with its environment and its needs.
echo '{"name": "tools", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/mesh", "-v"]}}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o squashfs:mesh.sqfs --format json 2>stderr >deployed.json
assert_json deployed.json "$own_warnings == []"
expect_equal "an entry point in a squashfs file" "$("${run[@]}" squashfs:mesh.sqfs -- x)" "mesh2 -"
expect_equal "another program of it" "$("${run[@]}" squashfs:mesh.sqfs solve)" "solve0 -"
"$XAAS" run --print --format json --runtime bwrap squashfs:mesh.sqfs solve -q -- x >plan.json
assert_json plan.json '.command[-2:] == ["solve", "x"]'
"$XAAS" run --print --launcher mpirun --ranks 2 --runtime bwrap squashfs:mesh.sqfs solve -q -- x >line
expect_equal "a line for a launcher" "$(cat line)" "mpirun -n 2 $XAAS run --runtime bwrap --entrypoint solve squashfs:mesh.sqfs -- x"
"$XAAS" deploy oci:app:ir -o rootfs:other --cpu sierraforest -q >/dev/null
if ! grep -qw avx_ne_convert /proc/cpuinfo; then
  expect_error 3 "the image was deployed for sierraforest: " "$XAAS" run --runtime bwrap rootfs:other
  expect_equal "lines of the error" "$(grep -c '' stderr)" 2
  ! "$XAAS" run -v --runtime bwrap rootfs:other 2>stderr || fail "it runs on another CPU"
  grep -q 'lacks .*avxneconvert' stderr || fail "-v does not list the features: $(cat stderr)"
fi

# What is no squashfs file, a missing tool, a damaged description.
echo precious >text
expect_error 2 "running squashfs:text: text: not a squashfs file" "${run[@]}" squashfs:text
expect_error 4 "No such file" "${run[@]}" squashfs:nothing
mkdir tools
for tool in env bwrap; do ln -s "$(command -v $tool)" tools/; done
expect_error 8 "squashfs-tools" env PATH="$PWD/tools" XAAS_CACHE_DIR="$PWD/fresh" "${run[@]}" squashfs:app.sqfs mesh
echo '{"version": 2}' >tree/.xaas/image.json
expect_error 3 "image format 2 is newer" "${run[@]}" rootfs:tree mesh
echo '{' >tree/.xaas/image.json
expect_error 7 "/.xaas/image.json" "${run[@]}" rootfs:tree mesh

expect_error 4 'the image has no shell' "${run[@]}" oci:app:here --shell
expect_error 2 'starts no program' "${run[@]}" oci:app:here solve --shell

# enroot and pyxis start squashfs files by files in them; so does what starts /etc/rc in the tree, with a shell.
cp -r src shell-src
jq '.runtime = ["/bin/sh"] | .image.env = {"OF_IMAGE": "image"}' src/xaas.json >shell-src/xaas.json
"$XAAS" build shell-src -o oci:shell:ir -q >/dev/null
"$XAAS" deploy oci:shell:ir -o squashfs:shell.sqfs --edf shell.toml -q >/dev/null
unsquashfs -q -n -d shell-tree shell.sqfs >/dev/null
"$XAAS" run --print --format json --runtime bwrap squashfs:shell.sqfs -q >plan.json
expect_equal "/etc/environment" "$(cat shell-tree/etc/environment)" \
  "$(jq -r '.config.Env[]' shell-tree/.xaas/image.json)"
expect_equal "a shell" "$("${run[@]}" squashfs:shell.sqfs --shell -- -c 'echo "$0 $OF_IMAGE"; mesh x')" "$(printf '/bin/sh image\nmesh1 image')"
started() { # ARGUMENT...
  # shellcheck disable=SC2046 # no value has blanks
  env -i $(cat shell-tree/etc/environment) bwrap --bind shell-tree / --proc /proc --dev /dev -- /bin/sh /etc/rc "$@"
}
expect_equal "/etc/rc" "$(started)" "mesh1 image"
expect_equal "/etc/rc with arguments" "$(started a b)" "mesh3 image"
expect_equal "the environment definition file" "$(cat shell.toml)" "$(printf 'image = "%s"\nentrypoint = false' "$PWD/shell.sqfs")"
python3 -c 'import sys, tomllib; assert tomllib.load(open(sys.argv[1], "rb"))["image"].endswith("shell.sqfs")' shell.toml
expect_error 2 'the container engine does not read oci:' "$XAAS" copy oci:app:here oci:refused:here --edf refused.toml
[ ! -e refused ] || fail "a refused copy wrote something"
