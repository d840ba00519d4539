#!/bin/bash
# Deploying needs no network: in an empty network namespace, without --offline, IR and source images deploy to the same digests.
source "$E2E/lib.sh"
needs jq make clang-22 unshare bwrap gcc python3 curl
isolated=(unshare --net)
[ "$(id -u)" -eq 0 ] || isolated=(unshare --map-root-user --net)
"${isolated[@]}" true || skip "no network namespace can be made here"
toolchain_image tools gcc gcc libc6-dev
tiny_choices src
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:source -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:outside:ir --cpu x86-64-v3 -q >/dev/null
"$XAAS" deploy oci:app:source -o oci:outside:source --cpu x86-64-v3 --runtime bwrap -q >/dev/null

# The namespace is empty: not even a service of this machine is reached from it.
mkdir files
serve_files files
curl -fsS -o /dev/null "http://127.0.0.1:$port/"
expect_error 6 "127.0.0.1:$port" "${isolated[@]}" "$XAAS" inspect "docker://127.0.0.1:$port/app:ir" --tls-verify=false

cat >inside.sh <<'END_INSIDE'
set -euo pipefail
[ "$(sed -n 's/^ *\([^ ]*\):.*/\1/p' /proc/net/dev)" = lo ]
export XAAS_CACHE_DIR=$PWD/empty-cache
"$XAAS" detect -q >/dev/null
"$XAAS" inspect oci:app:ir >/dev/null
"$XAAS" deploy oci:app:ir -o oci:inside:ir --cpu x86-64-v3 -q >/dev/null
"$XAAS" deploy oci:app:source -o oci:inside:source --cpu x86-64-v3 --runtime bwrap -q >/dev/null
"$XAAS" check oci:inside:ir --cpu x86-64-v3 >/dev/null
"$XAAS" copy oci:inside:ir rootfs:tree -q >/dev/null
END_INSIDE
"${isolated[@]}" bash inside.sh
for form in ir source; do
  expect_equal "digest of the image deployed from the $form image" "$(image_digest inside $form)" "$(image_digest outside $form)"
done
