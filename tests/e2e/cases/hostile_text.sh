#!/bin/bash
# Text from images, arguments and tools never reaches a terminal as a command: escapes, C1 and bidirectional controls are
# quoted in output and errors. JSON has the text unchanged.
source "$E2E/lib.sh"
needs jq make clang-22 perl

evil=$'\e]0;title\a\e[2J\xc2\x9b31m\xe2\x80\xae\x7f'
# FILE...: must contain no control characters for terminals except newlines and tabs
plain() {
  perl -0777 -ne 'exit 1 if /[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c/' "$@" ||
    fail "not quoted: $(cat -v "$@")"
}
# COMMAND...: its output must be plain, whatever its exit code, and contain TITLE, the text of the escape
quotes() {
  local code=0
  "$@" >printed 2>errors </dev/null || code=$?
  [ $code -lt 128 ] || fail "exit code $code: $*"
  plain printed errors
  grep -qF 'title' printed errors || fail "the text is not there: $*: $(cat -v printed errors)"
}

tiny_project src
# A linker script with chosen text.
printf 'ASSERT(0, "%s")\n' "$evil" >src/bad.ld
jq --arg evil "$evil" '.image.entrypoint = ["/usr/local/bin/hello", $evil]' src/xaas.json >changed
mv changed src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null

# An image with hostile annotations.
manifest=$(image_digest app here)
jq -c --arg evil "$evil" '.annotations |= with_entries(if .key | test("version|format") then . else .value = $evil end)' "$(blob app "$manifest")" >bad.json
put_manifest app bad bad.json application/vnd.oci.image.manifest.v1+json
for tag in ir here bad; do
  for command in inspect check run "deploy -o oci:out:x" "inspect -v" "run --print"; do
    read -ra words <<<"$command"
    "$XAAS" "${words[@]}" "oci:app:$tag" >printed 2>errors </dev/null || [ $? -lt 128 ] || fail "$command $tag"
    plain printed errors
  done
done
quotes "$XAAS" run --print oci:app:here
quotes "$XAAS" inspect "oci:app:$evil"
quotes "$XAAS" inspect "$evil"
quotes "$XAAS" "$evil"
quotes "$XAAS" inspect "--$evil"
quotes "$XAAS" deploy oci:app:ir -o oci:out:x --set "$evil=1"
quotes "$XAAS" deploy oci:app:ir -o oci:out:x --cpu "$evil"
quotes "$XAAS" copy "oci:app:$evil" oci:out:x
quotes "$XAAS" merge "oci:$evil:x" oci:app:ir -o oci:out:x
quotes "$XAAS" check oci:app:here --cpu "$evil"
quotes "$XAAS" run "rootfs:$evil"
quotes "$XAAS" build src -v --config "$evil" -o oci:out:x
mkdir tree
printf '%s' "$evil" >"tree/$evil.json"
quotes "$XAAS" inspect "tree/$evil.json"
sed 's/-o \$@/-Wl,-T,bad.ld -o $@/' src/Makefile >changed
mv changed src/Makefile
quotes "$XAAS" build src -o oci:out:x

# JSON is for programs.
"$XAAS" run --print --format json oci:app:here >plan.json
jq -e --arg evil "$evil" '.command | index($evil)' plan.json >/dev/null || fail "JSON has another text: $(cat plan.json)"
