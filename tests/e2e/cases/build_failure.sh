#!/bin/bash
# A failed build shows the compiler's messages first, then names the configuration, and keeps the log.
source "$E2E/lib.sh"
needs make clang-22

tiny_choices src
sed -i 's/puts/undeclared/; s/double sum = 0/double sum = no_such_thing/' src/hello.c
expect_error 1 'configuration isa=x86-64,speed=safe' "$XAAS" build src -o oci:app:ir -q
first=$(head -n 1 stderr)
[[ $first == *hello.c:*"error: use of undeclared identifier 'no_such_thing'"* ]] || fail "the first line is: $first"
log=$(sed -n 's/^xaas: error: .*; the log is \(.*\)$/\1/p' stderr)
[ -f "$log" ] || fail "no log '$log': $(cat stderr)"
grep -q no_such_thing "$log" || fail "the log does not have the compiler's message"
[[ $log == "$XAAS_CACHE_DIR"/* ]] || fail "the log is outside the cache: $log"
[ ! -e app/index.json ] || fail "a failed build wrote an image"

# A configure step that fails, and a build that installs nothing.
cat >src/xaas.json <<'END'
{"name": "hello", "build": {"system": "commands", "configure": "echo 'error: no answer'; exit 4", "install": "true"}, "isa": []}
END
expect_error 1 'the configure step failed with exit code 4' "$XAAS" build src -o oci:app:ir -q
expect_equal "first line" "$(head -n 1 stderr)" 'error: no answer'
echo '{"name": "hello", "build": {"system": "commands", "build": "true", "install": "true"}, "isa": []}' >src/xaas.json
expect_error 1 'installed nothing' "$XAAS" build src -o oci:app:ir -q
grep -q '^hint: ' stderr || fail "no hint: $(cat stderr)"
