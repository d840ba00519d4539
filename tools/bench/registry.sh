#!/bin/bash
# Speed and memory of pulls and pushes. Copies an image of random bytes (XAAS_BENCH_MIB, default: 1024, in four layers) between a
# registry on the loopback and a layout: `xaas copy` and `skopeo copy` in turn, XAAS_BENCH_RUNS (default: 5) times each, after one
# run that does not count. Prints the median seconds of each, the median of the ratios of the pairs, and the largest resident
# memory of each. Needs docker-registry, skopeo, umoci and perl (Debian packages of these names).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
xaas=$(realpath "${XAAS:-$root/build/release/bin/xaas}")
mib=${XAAS_BENCH_MIB:-1024} runs=${XAAS_BENCH_RUNS:-5}
[ -x "$xaas" ] || { echo "no program at $xaas: build it, or set XAAS" >&2; exit 4; }
for tool in docker-registry skopeo umoci perl; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/xaas-bench-registry-XXXXXX")
trap 'kill $registry 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
umoci init --layout image
umoci new --image image:v1
for layer in 1 2 3 4; do
  head -c $((mib * 262144)) /dev/urandom >"part$layer"
  umoci insert --image image:v1 "part$layer" "/part$layer"
  rm "part$layer"
done
cat >registry.yml <<END
version: 0.1
storage: {filesystem: {rootdirectory: $work/data}, delete: {enabled: true}}
http: {addr: "127.0.0.1:0", secret: s}
log: {level: info, accesslog: {disabled: true}}
END
docker-registry serve registry.yml >registry.log 2>&1 &
registry=$!
for _ in $(seq 100); do
  address=$(sed -n 's/.*msg="listening on \([^ ",]*\).*/\1/p' registry.log)
  [ -z "$address" ] || break
  sleep 0.1
done
at=docker://127.0.0.1:${address##*:}/app
skopeo copy -q --dest-tls-verify=false oci:image:v1 "$at:v1"

# NAME COMMAND...: seconds and KiB, to the file NAME
measured() {
  perl -MTime::HiRes=time -e '
    my ($file, @command) = @ARGV;
    my $start = time;
    system(@command) == 0 or die "@command: failed\n";
    my $seconds = time - $start;
    open my $out, ">>", $file or die $!;
    printf $out "%.3f\n", $seconds;' "$@"
}
peak() { /usr/bin/env perl -e '
    my $pid = fork // die $!;
    if (!$pid) { open STDOUT, ">", "/dev/null"; exec @ARGV or die $! }
    my $peak = 0;
    while (waitpid($pid, 1) == 0) {
      if (open my $in, "<", "/proc/$pid/status") { local $/; my $t = <$in> // ""; $peak = $1 if $t =~ /^VmHWM:\s+(\d+)/m && $1 > $peak }
      select undef, undef, undef, 0.02;
    }
    printf "%.0f MiB", $peak / 1024' "$@"; }

one() { # TOOL DIRECTION FILE
  case "$2" in
  pull) rm -rf "got"; from=$at:v1 to=oci:got:v1 ;;
  push) repository=$at-$RANDOM$RANDOM from=oci:image:v1 to=$repository:v1
        mv data data.kept; mkdir data ;; # a registry that has none of the blobs
  esac
  case "$1" in
  xaas) command=("$xaas" copy -q --tls-verify=false "$from" "$to") ;;
  skopeo) command=(skopeo copy -q --src-tls-verify=false --dest-tls-verify=false "$from" "$to") ;;
  esac
  if [ "$3" = peak ]; then echo "$1 $2: peak memory $(peak "${command[@]}")"
  else measured "$3" "${command[@]}" >/dev/null; fi
  if [ "$2" = push ]; then rm -rf data; mv data.kept data; fi
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

for direction in pull push; do
  for ((run = 0; run <= runs; ++run)); do
    for tool in xaas skopeo; do one $tool $direction "$direction.$tool"; done
  done
  for tool in xaas skopeo; do sed -i 1d "$direction.$tool"; done # the one to get warm
  echo "$direction of $mib MiB, median of $runs: xaas $(median <"$direction.xaas") s, skopeo $(median <"$direction.skopeo") s," \
    "xaas/skopeo $(paste "$direction.xaas" "$direction.skopeo" | awk '{ printf "%.3f\n", $1 / $2 }' | median)"
  for tool in xaas skopeo; do one $tool $direction peak; done
done
