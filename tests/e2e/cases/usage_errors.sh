#!/bin/bash
# Mistakes on the command line and in specs: the exit code, the place, and a suggestion.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_choices src
spec() { # TEXT
  printf '%s' "$1" >bad.json
}
hint() { # TEXT
  grep '^hint: ' stderr | finds -F -- "$1" || fail "no hint '$1': $(cat stderr)"
}
build() {
  "$XAAS" build "$@" -o oci:app:ir -q
}

spec '{"name": "a", "build": {"system": "make"}, "isaa": []}'
expect_error 2 '/isaa' build bad.json
hint isa
spec '{"name": "a", "build": {"system": "make", "targets": [1]}}'
expect_error 2 '/build/targets/0' build bad.json
spec '{"name": "a", "build": {"system": "mak"}}'
expect_error 2 '/build/system' build bad.json
spec '{"name": "a", "build": {"system": "make"}'
expect_error 2 bad.json build bad.json
expect_error 2 bad.json "$XAAS" inspect bad.json
expect_error 4 missing.json build missing.json
expect_error 4 missing.json "$XAAS" inspect missing.json
mkdir empty
expect_error 4 empty build empty
expect_error 4 nowhere build src/xaas.json --source nowhere
expect_error 2 sped build src --config sped=fast
hint speed
expect_error 2 fats build src --config speed=fats
hint fast
expect_error 2 x86-64-v9 build src --isa x86-64-v9
expect_error 2 nonsense build src --config nonsense

expect_error 2 bulid "$XAAS" bulid src
hint build
expect_error 2 --ouput "$XAAS" build src --ouput oci:app:ir
hint --output
expect_error 2 SPEC "$XAAS" build -o oci:app:ir
expect_error 2 --output "$XAAS" build src
expect_error 2 --jobs "$XAAS" build src -o oci:app:ir -j 0
expect_error 2 yaml "$XAAS" detect --format yaml
expect_error 2 SOURCE_DATE_EPOCH env SOURCE_DATE_EPOCH=today "$XAAS" build src -o oci:app:ir

expect_error 2 '--platform windows/amd64: the operating system is not linux' build src --platform windows/amd64
hint linux/arm64
expect_error 2 '--platform linux/arm64/v9: unknown variant of arm64' build src --platform linux/arm64/v9
expect_error 2 '--platform linux: no architecture' "$XAAS" copy oci:app:ir oci:b:ir --platform linux
expect_error 2 '--arch' build src --platform linux/arm64 --arch aarch64
expect_error 2 'ppc64le' build src --platform linux/ppc64le

expect_error 2 'ocii' "$XAAS" build src -o ocii:app:ir
hint oci-archive:
expect_error 2 'a b' "$XAAS" build src -o 'oci:app:a b'
expect_error 2 'a b' "$XAAS" deploy 'oci:app:a b' -o oci:app:here
expect_error 4 nowhere "$XAAS" deploy oci:nowhere:ir -o oci:app:here
expect_error 4 nowhere.tar "$XAAS" deploy nowhere.tar -o oci:app:here
expect_error 4 nowhere "$XAAS" inspect oci:nowhere:ir
expect_error 2 hasswell "$XAAS" detect --cpu hasswell
hint haswell
expect_error 4 node.json "$XAAS" deploy oci:nowhere:ir --system node.json --dry-run

# Combinations are counted without being enumerated; an absurd limit is refused.
jq -n '{name: "a", isa: [], build: {system: "make"},
        specializations: [range(40) | {name: "p\(.)", values: [{value: "a"}, {value: "b"}]}]}' >many.json
expect_error 2 '1099511627776 configurations are more than the limit of 64' timeout 20 "$XAAS" build many.json --source src -o oci:app:ir
hint --max-configurations
expect_error 2 'more than the limit of 1000' timeout 20 "$XAAS" build many.json --source src -o oci:app:ir --max-configurations 1000
for limit in 0 -1 many 1000000000; do
  expect_error 2 "$limit" build src --max-configurations "$limit"
done
# An argument list that is too long.
jq -n '{name: "a", isa: [], build: {system: "make", arguments: [range(25000) | "A\(.)=" + ("x" * 100)]}}' >long.json
expect_error 1 'Argument list too long: 25' build long.json --source src
jq -n '{name: "a", isa: [], build: {system: "make", arguments: [range(25000) | "A\(.)=" + ("x" * 200)]}}' >long.json
expect_error 2 'long.json' build long.json --source src
# Two files with one name, in the spec and on disk.
spec '{"name": "a", "isa": [], "build": {"system": "make", "install": [{"from": "hello", "to": "bin/a"}, {"from": "hello.c", "to": "bin/./a"}]}}'
expect_error 2 '/build/install/1/to: "bin/./a" is installed twice' build bad.json --source src
spec '{"name": "a", "isa": [], "build": {"system": "make", "install": [{"from": "hello", "to": "bin/a"}, {"from": "hello.c", "to": "bin/a/b"}]}}'
expect_error 2 '`bin/a/b`: usr/local/bin/a is installed as a file' build bad.json --source src
# Files of another type than expected.
expect_error 4 'src/' build src/xaas.json/
mkdir -p tree/xaas.json
expect_error 4 'tree/xaas.json: it is a directory' build tree
expect_error 4 hello.c build src/xaas.json --source src/hello.c
expect_error 2 hello.c build src/hello.c
cp src/Makefile Makefile.before
expect_error 2 'src/Makefile exists and is not an archive' "$XAAS" build src -o oci-archive:src/Makefile
cmp src/Makefile Makefile.before
mkfifo pipe
expect_error 2 'pipe exists and is not an archive' "$XAAS" build src -o oci-archive:pipe
[ -p pipe ] || fail "a file lies where a pipe was"
timeout 60 cat pipe >description.json &
"$XAAS" detect -q -o pipe
wait $!
[ -p pipe ] && jq -e '.version == 1' description.json >/dev/null || fail "a description was not written into a pipe"

[ ! -e app ] || fail "a refused command wrote app"
