#!/bin/bash
# Counts the bytes between `xaas` and a registry on the loopback, with GROMACS from Debian's source package: five SIMD
# configurations in one IR image, pushed; `inspect` of it; one configuration deployed from registry to registry; once more; by a
# second user with `--reuse` and an empty cache; copied as a squashfs, and run. Exits with 1 if one of the counts is too large.
#
#   tools/bench/wire.sh [SIMD]       the configuration to deploy, default: the best for this machine
#
# About an hour on two cores. Needs root once, for source packages (deb-src) and build dependencies, and docker-registry, skopeo, perl.
# Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
open_bench
packages cmake ninja-build libfftw3-dev libomp-22-dev docker-registry skopeo perl squashfs-tools bubblewrap
set=()
[ $# -eq 0 ] || set=(--set "simd=$1")
source=$work/gromacs/source
here=$work/wire/$program
mkdir -p "$here/tmp"
export TMPDIR=$here/tmp
build() {
  "$xaas" build "$root/specs/applications/gromacs.json" --source "$source" -o "oci:$here/image:ir" \
    --config=simd={SSE4.1,AVX_256,AVX2_128,AVX2_256,AVX_512} --format json >"$here/built.json"
}
say "sources"
once "$source" debian_source gromacs
say "one IR image of five configurations"
timed "$here/build" build

cd "$here"
rm -rf data moved counter.port first second deployed.squashfs
cat >registry.yml <<END
version: 0.1
storage: {filesystem: {rootdirectory: $here/data}}
http: {addr: "127.0.0.1:0", secret: s}
log: {accesslog: {disabled: true}}
END
: >registry.log
docker-registry serve registry.yml >>registry.log 2>&1 &
registry=$!
trap 'kill $registry ${counter:-} 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  address=$(sed -n 's/.*msg="listening on \([^ ",]*\).*/\1/p' registry.log)
  [ -z "$address" ] || break
  sleep 0.1
done
perl "$root/tests/e2e/byte_counter.pl" "${address##*:}" &
counter=$!
for _ in $(seq 100); do [ -s counter.port ] && break; sleep 0.1; done
at=docker://127.0.0.1:$(cat counter.port)
bad=0
moved() { # sets `up` and `down`: the bytes since the last call
  sleep 0.5 # they are written when the connection has ended
  read -r up down < <(awk '{ up += $1; down += $2 } END { print up + 0, down + 0 }' moved)
  : >moved
}
at_most() { # WHAT BYTES LIMIT
  echo "$1: $2 bytes, at most $3"
  [ "$2" -le "$3" ] || { echo "TOO MANY"; bad=1; }
}
: >moved
seconds() { jq -r '.seconds.total' "$1"; }

"$xaas" copy "oci:$here/image:ir" "$at/gromacs:ir" -q >/dev/null
moved
size=$(du -sb image/blobs | cut -f1)
at_most "pushing an image of $size bytes" "$up" $((size + size / 100 + 100000))
"$xaas" inspect "$at/gromacs:ir" --format json -q >ir.json
moved
metadata=$(jq '[.layers[] | select(.role == "metadata") | .size] | add' ir.json)
at_most "inspect" "$down" $((metadata + 100000))

deploy() { # CACHE OUTPUT OPTION...
  XAAS_CACHE_DIR=$here/$1 "$xaas" deploy "$at/gromacs:ir" "${set[@]}" -o "$2" --format json -q "${@:3}" >"$1.json"
}
deploy first "$at/deployed:v1" --reuse "$at/deployed"
moved
chosen=$(jq -r '.configuration.simd' first.json)
layers=$(jq --arg simd "$chosen" '[.configurations[] | select(.values.simd == $simd) | .transfer.bytes] | add' ir.json)
echo "simd=$chosen: $(jq -r '.modules.lowered' first.json) modules, $(seconds first.json) s"
at_most "deploying it, down" "$down" $((layers + layers / 10))
echo "pushing it, with its closure: $up bytes"
deploy first "$at/deployed:v2"
moved
echo "again: $(seconds first.json) s, $down bytes down, $up up"
deploy second oci:second-image:v1 --reuse "$at/deployed"
moved
image=$(curl -fsS -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://127.0.0.1:${address##*:}/v2/deployed/manifests/v1" |
  jq '[.layers[].size] | add')
echo "a second user, reused: $(seconds second.json) s"
at_most "down" "$down" $((image + metadata + 200000))
[ "$(jq -r .digest second.json)" = "$(jq -r .digest first.json)" ] || { echo "ANOTHER DIGEST"; bad=1; }
"$xaas" copy "$at/deployed:v1" squashfs:deployed.squashfs -q >/dev/null
echo "as squashfs: $(stat -c %s deployed.squashfs) bytes"
"$xaas" run "$at/deployed:v1" -- --version 2>&1 | grep -E '^(GROMACS version|SIMD instructions)'
exit $bad
