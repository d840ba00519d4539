#!/bin/bash
# Applications on base images: a distribution with the libraries that they need, one without a C library, and bases that are refused.
source "$E2E/lib.sh"
needs jq make clang-22 bwrap tar

# A base as distributions make them: merged /usr as on this machine, the package database, directories with modes of their own.
toolchain_image base made bash libstdc++6 libgcc-s1
layer_of() { # LAYOUT TAG [N]: the blob of a layer
  blob "$1" "$(jq -r ".layers[${3:-0}].digest" "$(blob "$1" "$(image_digest "$1" "$2")")")"
}
mkdir -p more/tmp more/usr/local/bin more/usr/local/share
tar -C more --owner=0 --group=0 --mode=1777 --no-recursion -cf more.tar tmp
tar -C more --owner=0 --group=50 --numeric-owner --mode=2775 --no-recursion -rf more.tar usr/local usr/local/share usr/local/bin
cp "$(layer_of base made)" base.tar
tar -Af base.tar more.tar
image_of_tar base one base.tar /usr/local/sbin:/usr/local/bin:/usr/bin:/bin

mkdir src
cat >src/solve.cpp <<'END'
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
int main(int argc, char **) {
  std::string word;
  std::ifstream("/usr/lib/solve/word") >> word;
  std::cout << word << ' ' << std::exp(argc) << std::endl;
  return std::system("echo shell $OF_SPEC");
}
END
echo word >src/word
cat >src/Makefile <<'END'
solve: solve.cpp
	$(CXX) -O2 -o $@ $<
install: solve
	install -D solve $(DESTDIR)/usr/local/bin/solve
	install -D -m 644 word $(DESTDIR)/lib/solve/word
	ln -s ../../etc/passwd $(DESTDIR)/lib/solve/passwd
END
cat >src/xaas.json <<'END'
{"name": "solve", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"],
 "image": {"base": "oci:base:one", "entrypoint": ["/usr/local/bin/solve"], "env": {"OF_SPEC": "spec"}}}
END
build=("$XAAS" build src -q)
"${build[@]}" -o oci:app:ir --format json >built.json
base=$(image_digest base one)
assert_json built.json ".base.name == \"$base\" and (.base.libraries | contains([\"libc.so.6\", \"libm.so.6\", \"libstdc++.so.6\"])) and .base.replaced == []"
"$XAAS" inspect oci:app:ir --format json >inspected.json
assert_json inspected.json ".base.digest == \"$base\" and .base.reference == null and .layers[0].role == \"image-base\" and all(.layers[]; .role != \"runtime\")"

# The deployed image: the base byte for byte, then the application's layer alone.
"$XAAS" deploy oci:app:ir -o oci:app:here --cpu haswell --sbom sbom.json -q >/dev/null
cmp "$(layer_of app here)" "$(layer_of base one)"
manifest=$(blob app "$(image_digest app here)")
assert_json "$manifest" "[.layers[].annotations[\"dev.xaas.role\"]] == [\"image-base\", \"application\"] and .annotations[\"org.opencontainers.image.base.digest\"] == \"$base\""
assert_json sbom.json "any(.packages[]; .SPDXID == \"SPDXRef-Base-Image\" and .checksums[0].checksumValue == \"${base#*:}\") and
  any(.relationships[]; .relationshipType == \"DESCENDANT_OF\" and .relatedSpdxElement == \"SPDXRef-Base-Image\") and all(.files[]; .fileName != \"./usr/bin/bash\")"
config=$(blob app "$(jq -r .config.digest "$manifest")")
assert_json "$config" '.config.Env == ["OF_SPEC=spec", "PATH=/usr/local/sbin:/usr/local/bin:/usr/bin:/bin"] and .config.Entrypoint == ["/usr/local/bin/solve"]'
tar --numeric-owner -tvzf "$(layer_of app here 1)" >entries
library_directory=lib
[ ! -L /lib ] || library_directory=usr/lib
for entry in 'drwxrwsr-x 0/50 .* usr/local/$' 'drwxrwsr-x 0/50 .* usr/local/bin/$' "-rw-r--r-- 0/0 .* $library_directory/solve/word$"; do
  grep -qE -e "$entry" entries || fail "no entry $entry: $(cat entries)"
done
! grep -qE ' lib/$' entries || [ "$library_directory" = lib ] || fail "the layer replaces the link /lib"
run=("$XAAS" run -q --runtime bwrap)
wanted=$'word 2.71828\nshell spec'
expect_equal "on the base" "$("${run[@]}" oci:app:here)" "$wanted"
expect_equal "a program of the base" "$("${run[@]}" --entrypoint /bin/bash oci:app:here -- -c 'stat -c %a /usr/local; test -e /usr/lib/solve/passwd; echo $?')" $'775\n0'
"$XAAS" check oci:app:here --cpu haswell -q >/dev/null
"$XAAS" copy oci:app:here rootfs:tree -q >/dev/null
expect_equal "as a tree" "$("${run[@]}" rootfs:tree)" "$wanted"
expect_equal "an installation" "$("$XAAS" install oci:app:here --prefix "$PWD/installed" --container never -q --format json | jq -r '.programs | join(" ")')" solve
expect_equal "an installed program, without its data" "$(installed/bin/solve)" $' 2.71828\nshell spec'
! grep -q "rootfs/usr/bin" installed/bin/solve || fail "programs of the base are on PATH: $(cat installed/bin/solve)"

# The same again; several targets; a second use of what was deployed.
"${build[@]}" -o oci:app:again >/dev/null
expect_equal "built again" "$(image_digest app again)" "$(image_digest app ir)"
"$XAAS" deploy oci:app:ir --cpu nehalem,haswell -o oci:app:both -q >/dev/null
"$XAAS" deploy oci:app:ir --cpu nehalem,haswell -o rootfs:both -q >/dev/null
expect_equal "for several targets" "$(XAAS_TARGET=nehalem "${run[@]}" rootfs:both)" "$wanted"
"$XAAS" deploy oci:app:ir --cpu haswell --reuse oci:pool -o oci:pool:here -q >/dev/null
"$XAAS" deploy oci:app:ir --cpu haswell --reuse oci:pool -o oci:app:pool -q --format json >reused.json
assert_json reused.json '.reused != null'
expect_equal "reused" "$(image_digest app pool)" "$(image_digest app here)"

# A build for each level, united.
for level in x86-64 x86-64-v3; do "${build[@]}" --isa $level -o "oci:part:$level" >/dev/null; done
"$XAAS" merge oci:part:x86-64-v3 oci:part:x86-64 -o oci:merged:ir -q >/dev/null
expect_equal "united" "$(image_digest merged ir)" "$(image_digest app ir)"
"${build[@]}" --isa x86-64 --image-base scratch -o oci:part:scratch >/dev/null
expect_error 2 "the images are of different settings of the deployed image" "$XAAS" merge oci:part:x86-64-v3 oci:part:scratch -o oci:merged:no

# On a base without a C library, its own comes along.
printf 'int main(void) { return 7; }\n' >seven.c
clang-22 -static -O1 -o seven seven.c
mkdir -p small/bin small/lib64
cp seven small/bin/
tar -C small --owner=0 --group=0 -cf small.tar .
image_of_tar base small small.tar
"${build[@]}" --isa x86-64 --image-base oci:base:small -o oci:tiny:ir --format json >built.json
assert_json built.json '.base.libraries == [] and .base.replaced == []'
"$XAAS" deploy oci:tiny:ir -o oci:tiny:here -q >/dev/null
# There is no shell for the program to start.
"${run[@]}" oci:tiny:here >output || true
expect_equal "on a base without a C library, and without a link /lib" "$(cat output)" " 2.71828"
expect_exit 7 "${run[@]}" --entrypoint /bin/seven oci:tiny:here
# On one with an older C library, which only the C library of this machine can replace: its loader finds it where the base has it.
mkdir -p older/usr/lib64 older/lib64 older/bin
printf 'int puts(const char *text) { return !text; }\n' >puts.c
printf 'GLIBC_2.2.5 { global: puts; };\n' >versions
clang-22 -shared -nostdlib -fPIC -fno-builtin -Wl,-soname,libc.so.6,--version-script,versions -o older/libc.so.6 puts.c
cp seven older/bin/
directory=/usr/lib/$(clang-22 -print-multiarch 2>/dev/null || dpkg-architecture -qDEB_HOST_MULTIARCH)
mkdir -p "older$directory"
mv older/libc.so.6 "older$directory/"
cp "older$directory/libc.so.6" older/lib64/ld-linux-x86-64.so.2
tar -C older --owner=0 --group=0 -cf older.tar .
image_of_tar base older older.tar
tiny_project hello
"$XAAS" build hello -q --image-base oci:base:older -o oci:on-older:ir --format json >built.json
assert_json built.json '.base.libraries == [] and (.base.replaced | contains(["libc.so.6"]))'
"$XAAS" deploy oci:on-older:ir -o oci:on-older:here -q >/dev/null
"$XAAS" check oci:on-older:here -q >/dev/null
"${run[@]}" oci:on-older:here | finds '^hello ' || fail "the program does not run with the C library that it brings"

# A deployed image is a base, too.
"${build[@]}" --isa x86-64 --image-base oci:app:here -o oci:upon:ir --format json >built.json
"$XAAS" deploy oci:upon:ir -o oci:upon:here -q >/dev/null
assert_json "$(blob upon "$(image_digest upon here)")" '[.layers[].annotations["dev.xaas.role"]] == ["image-base", "image-base", "application"]'

# Built from source: on the toolchain's own image, and on one without a C library.
toolchain_image tools gcc gcc g++ libc6-dev
jq '.isa = []' src/xaas.json >src/sources.json
for on in one small; do
  "$XAAS" build src/sources.json -q --kind source --base oci:tools:gcc --image-base "oci:base:$on" -o "oci:source-$on:ir" >/dev/null
  "$XAAS" deploy "oci:source-$on:ir" -o "oci:source-$on:here" -q >/dev/null
  jq -r '[.layers[].annotations["dev.xaas.role"]] | join(" ")' "$(blob "source-$on" "$(image_digest "source-$on" here)")" >"roles-$on"
done
expect_equal "layers of one from source" "$(cat roles-one)" "image-base application"
expect_equal "from source, on the base" "$("${run[@]}" oci:source-one:here)" "$wanted"
expect_equal "layers on a base without a C library" "$(cat roles-small)" "image-base runtime application"
"${run[@]}" oci:source-small:here >output || true
expect_equal "from source, on a base without a C library" "$(cat output)" " 2.71828"

# One configuration that takes a library from the base, and one that brings its own.
mkdir -p two/lib
for n in 1 2; do
  printf 'int f1(void) { return 1; }\n%s' "$([ $n = 1 ] || echo 'int f2(void) { return 2; }')" >two/lib$n.c
  printf 'V1 { global: f1; };\n%s' "$([ $n = 1 ] || echo 'V2 { global: f2; } V1;')" >two/versions$n
  mkdir -p two/$n
  clang-22 -shared -fPIC -Wl,-soname,libtwo.so.1,--version-script,two/versions$n -o two/$n/libtwo.so.1 two/lib$n.c
done
mkdir -p "two/root$directory"
cp two/1/libtwo.so.1 "two/root$directory/"
cp "$(layer_of base one)" two.tar
tar -C two/root --owner=0 --group=0 -rf two.tar ".$directory/libtwo.so.1"
image_of_tar base two two.tar
mkdir two/src
printf 'int f1(void);\nint f2(void);\n#include <stdio.h>\nint main(void) {\n#ifdef TWO\n  return printf("%%d\\n", f2()) < 0;\n#else\n  return printf("%%d\\n", f1()) < 0;\n#endif\n}\n' >two/src/main.c
printf 'main: main.c\n\t$(CC) $(CFLAGS) -o $@ $< %s\ninstall: main\n\tinstall -D main $(DESTDIR)$(PREFIX)/bin/main\n' "$PWD/two/2/libtwo.so.1" >two/src/Makefile
cat >two/src/xaas.json <<'END'
{"name": "two", "build": {"system": "make"}, "isa": [], "image": {"base": "oci:base:two", "entrypoint": ["/usr/local/bin/main"]},
 "specializations": [{"name": "two", "category": "other", "default": "off",
   "values": [{"value": "off", "arguments": ["CFLAGS=-O2"], "requires": {"library": [{"name": "two", "from": "image"}]}},
              {"value": "on", "arguments": ["CFLAGS=-O2 -DTWO"]}]}]}
END
"$XAAS" build two/src -q -o oci:two-app:ir --format json >built.json
assert_json built.json '(.base.libraries | contains(["libtwo.so.1"])) and .base.replaced == ["libtwo.so.1"]'
for value in off on; do
  "$XAAS" deploy oci:two-app:ir --set two=$value -o oci:two-app:$value -q >/dev/null
  expect_equal "two=$value" "$("${run[@]}" oci:two-app:$value)" "$([ $value = off ] && echo 1 || echo 2)"
done

# In a registry, the layers of the base stay where they are, and the image has its name.
if command -v docker-registry >/dev/null && command -v skopeo >/dev/null; then
  start_registry log
  skopeo copy -q --dest-tls-verify=false oci:base:one "docker://$registry/bases/debian:13"
  "${build[@]}" --image-base "docker://$registry/bases/debian:13" -o "docker://$registry/app:ir" --format json >built.json
  assert_json built.json ".base.name == \"docker://$registry/bases/debian@$(skopeo inspect --tls-verify=false "docker://$registry/bases/debian:13" | jq -r .Digest)\""
  new_requests log >requests
  grep -qE "^POST /v2/app/blobs/uploads/\?(from=bases%2Fdebian&mount=|mount=.*from=bases)" requests ||
    fail "the layer of the base is not mounted: $(cat requests)"
  "$XAAS" deploy "docker://$registry/app:ir" -o "docker://$registry/app:here" --cpu haswell -q >/dev/null
  expect_equal "the base's name" "$(skopeo inspect --raw --tls-verify=false "docker://$registry/app:here" | jq -r '.annotations["org.opencontainers.image.base.name"]')" \
    "$registry/bases/debian:13"
  expect_equal "from a registry" "$("${run[@]}" "docker://$registry/app:here")" "$wanted"
fi

# Without network or the base, the image is enough; through a registry, the base's blobs stay where they are.
mv base elsewhere
"$XAAS" deploy oci:app:ir -o oci:app:alone --cpu haswell --offline -q >/dev/null
expect_equal "deployed without the base" "$(image_digest app alone)" "$(image_digest app here)"
expect_error 4 "base image: oci:base:one: base: no such file or directory" "${build[@]}" -o oci:app:no
mv elsewhere base
expect_error 2 "an IR image cannot be the base of an application" "${build[@]}" --image-base oci:app:ir -o oci:app:no
jq '.image.prefix = "/opt" | .build.install = [{"from": "solve", "to": "bin/solve"}]' src/xaas.json >src/opt.json
mkdir -p small/opt && touch small/opt/bin
tar -C small --owner=0 --group=0 -cf small.tar .
image_of_tar base small small.tar
expect_error 1 "/opt/bin: the base image has a file there" "$XAAS" build src/opt.json -q --isa x86-64 --image-base oci:base:small -o oci:app:no
echo damage >>"$(layer_of base one)"
expect_error 7 "base image: " "${build[@]}" -o oci:app:no
