#!/bin/bash
# What a person can get wrong on the command line or in a spec: the exit code, the place, and what was meant.
source "$E2E/lib.sh"

tiny_choices src
spec() { # TEXT
  printf '%s' "$1" >bad.json
}
hint() { # TEXT
  grep '^hint: ' stderr | grep -qF -- "$1" || fail "no hint '$1': $(cat stderr)"
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
[ ! -e app ] || fail "a refused command wrote app"
