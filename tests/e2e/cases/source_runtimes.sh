#!/bin/bash
# The deployed image does not depend on the runtime that built it, nor on the user.
source "$E2E/lib.sh"
needs jq gcc bwrap
toolchain_image tools gcc gcc libc6-dev
tiny_project src
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:source -q >/dev/null

deploying_user
layout=$PWD/app
cd "$elsewhere"
made=0
for runtime in bwrap:bwrap namespaces:sh charliecloud:ch-run; do
  command -v "${runtime#*:}" >/dev/null || continue
  runtime=${runtime%:*}
  "${as_user[@]}" "$XAAS" deploy "oci:$layout:source" -o "oci:here:$runtime" --cpu x86-64-v3 --runtime "$runtime" --format json -q >"$runtime.json"
  assert_json "$runtime.json" ".build.runtime == \"$runtime\""
  want=${want:-$(json "$runtime.json" .digest)}
  expect_equal "digest with $runtime" "$(json "$runtime.json" .digest)" "$want"
  made=$((made + 1))
done
[ $made -gt 0 ] || skip "nothing to build in"
# The first available one of the requested runtimes.
"${as_user[@]}" "$XAAS" deploy "oci:$layout:source" -o oci:here:x --cpu x86-64-v3 --runtime apptainer,namespaces --format json -q >first.json
assert_json first.json '.build.runtime == "apptainer" or .build.runtime == "namespaces"'
expect_error 8 "podman: no podman on PATH" env PATH=/nonexistent "$XAAS" deploy "oci:$layout:source" -o oci:here:x --cpu x86-64-v3 --runtime podman

if [ "$(id -u)" -eq 0 ] && command -v podman runc >/dev/null; then
  state=$(mktemp -d /tmp/xaas-run-XXXXXX) # podman accepts at most 50 characters
  trap 'rm -rf "$state" "$elsewhere"' EXIT
  mkdir bin
  printf '#!/bin/sh\nexec %s --root "%s" --runroot "%s" --storage-driver vfs "$@"\n' "$(command -v podman)" "$PWD/podman" "$state" >bin/podman
  chmod 755 bin/podman
  PATH=$PWD/bin:$PATH "$XAAS" deploy "oci:$layout:source" -o oci:rooted:podman --cpu x86-64-v3 --runtime podman --runtime-option=--runtime=runc \
    --runtime-option=--ulimit=nofile=1024:1024 --runtime-option=--ulimit=nproc=1000:1000 --format json -q >podman.json
  expect_equal "digest with podman" "$(json podman.json .digest)" "$want"
  mv rooted "$OLDPWD/result" && cd "$OLDPWD"
  expect_equal "what runs" "$(run_image result podman)" "hello 7.484471"
fi

# With this machine's own tools: only on request, and reported.
cd "$elsewhere"
"${as_user[@]}" "$XAAS" deploy "oci:$layout:source" -o oci:here:host --cpu x86-64-v2 --runtime host --format json >host.json 2>host.log
assert_json host.json '.build.runtime == "host" and .build.flags == ["-march=x86-64-v2"]'
expect_equal "what runs" "$("${as_user[@]}" "$XAAS" run -q --runtime bwrap oci:here:host)" "hello 7.484471"
"$XAAS" check oci:here:host --cpu x86-64-v2 >/dev/null
