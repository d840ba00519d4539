#!/bin/bash
# A missing compiler, a wrong one, and options that it does not know.
source "$E2E/lib.sh"
needs make clang-22

tiny_project src
hint() { # TEXT
  grep '^hint: ' stderr | finds -F -- "$1" || fail "no hint '$1': $(cat stderr)"
}
for program in no-such-clang /no/such/clang "$PWD" "$PWD/src/Makefile" "$(command -v make)" /bin/sh; do
  expect_error 8 "XAAS_CLANG=$program" env XAAS_CLANG="$program" "$XAAS" build src -o oci:app:ir -q
  hint clang-22
done
printf '#!/bin/sh\necho "Debian clang version 14.0.6"\n' >other
chmod 755 other
expect_error 8 'is Clang 14.0.6' env XAAS_CLANG="$PWD/other" "$XAAS" build src -o oci:app:ir -q
XAAS_CLANG=clang-22 "$XAAS" build src -o oci:good:ir -q

# The compiler from the program's own build is missing, too.
if command -v bwrap >/dev/null && bwrap --dev-bind / / true 2>/dev/null; then
  expect_error 8 'clang-22 is needed' bwrap --dev-bind / / --tmpfs "$(dirname "$(realpath "$(command -v clang-22)")")" \
    "$XAAS" build src -o oci:app:ir -q
  hint clang-22
else
  echo "not tested without bubblewrap: no clang at all"
fi

sed -i 's/-O2/-O2 -std=c99x/' src/xaas.json
expect_error 1 'configuration default' "$XAAS" build src -o oci:app:ir -q
grep -q "^error: invalid value 'c99x' in '-std=c99x'" stderr || fail "not the compiler's words: $(cat stderr)"
sed -i 's/-std=c99x/-fno-such-option/' src/xaas.json
expect_error 1 'configuration default' "$XAAS" build src -o oci:app:ir -q
grep -q "unknown argument: '-fno-such-option'" stderr || fail "not the compiler's words: $(cat stderr)"
[ ! -e app ] || fail "a failed build wrote app"
