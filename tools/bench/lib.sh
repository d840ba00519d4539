# shellcheck shell=bash
# Functions of the benchmarks in this directory; sourced by them.
#
# Every step of a benchmark keeps its figures and products in the benchmark's directory ($XAAS_BENCH_DIR, by default one below
# the temporary directory, which is kept). A finished step is not repeated; an interrupted one starts again. Figures of a
# measured program lie in a directory named after the program's digest, so that figures of two programs never mix. A directory
# serves one machine.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
xaas=${XAAS:-$root/build/release/bin/xaas}
source "$root/tools/debian_tree.sh"

die() { echo "$0: $*" >&2; exit 1; }
say() { printf '\n== %s\n' "$*"; }

packages() {
  if dpkg -s "$@" >/dev/null 2>&1; then return 0; fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >/dev/null
}

open_bench() { # sets work, program and machine
  [ -x "$xaas" ] || { echo "no program at $xaas: build it, or set XAAS" >&2; exit 4; }
  packages jq
  work=${XAAS_BENCH_DIR:-${TMPDIR:-/tmp}/xaas-bench}
  mkdir -p "$work"
  work=$(realpath "$work")
  # In the relocatable archive, `xaas` only starts the program.
  local started
  started=("$xaas" "$(dirname "$xaas")"/../libexec/xaas/xaas)
  [ -e "${started[1]}" ] || started=("$xaas")
  program=program-$(cat "${started[@]}" | sha256sum | cut -c1-12)
  machine="$("$xaas" detect --format json -q | jq -r '"\(.cpu.name), \(.cpu.model)"'), $(nproc) cores"
  [ -f "$work/machine" ] || { echo "$machine" >"$work/machine.new" && mv "$work/machine.new" "$work/machine"; }
  [ "$(cat "$work/machine")" = "$machine" ] ||
    die "the figures in $work are of another machine ($(cat "$work/machine")): set XAAS_BENCH_DIR to a new directory"
  echo "working in $work: $machine, $program"
}

find_cuda() { # FILE: sets cuda, a toolkit that has the file
  cuda=${CUDA_PATH:-/usr/local/cuda}
  [ -e "$cuda/$1" ] || { echo "$0: no CUDA toolkit with $1 in $cuda: set CUDA_PATH" >&2; exit 4; }
}

show_revision() { # DIRECTORY
  echo "$1: $(git -C "$1" describe --tags --always 2>/dev/null || echo "no revision")"
}

openmp_regions() { # makes $work/regions.so: regions.c
  packages libomp-22-dev clang-22
  [ "$work/regions.so" -nt "$root/tools/bench/regions.c" ] ||
    clang-22 -O2 -w -shared -fPIC -o "$work/regions.so" "$root/tools/bench/regions.c"
}

# sampled_memory PID FILE: a process of its own; until PID ends, it writes to FILE each second what was seen so far below PID: the largest sum of the
# anonymous memory of all processes at one time, and the largest peak of one process, both in KiB.
sampled_memory() {
  exec perl -e '
    my ($top, $file) = @ARGV;
    my ($sum_max, $one_max) = (0, 0);
    while (kill 0, $top) {
      my (%children, %anonymous, %peak);
      for my $status (glob "/proc/[0-9]*/status") {
        open my $in, "<", $status or next;
        local $/;
        my $text = <$in> // next;
        my ($pid) = $text =~ /^Pid:\s+(\d+)/m or next;
        push @{$children{$1}}, $pid if $text =~ /^PPid:\s+(\d+)/m;
        $anonymous{$pid} = $text =~ /^RssAnon:\s+(\d+)/m ? $1 : 0;
        $peak{$pid} = $text =~ /^VmHWM:\s+(\d+)/m ? $1 : 0;
      }
      my ($sum, @below) = (0, @{$children{$top} // []});
      while (defined(my $pid = shift @below)) {
        next if $pid == $$;
        $sum += $anonymous{$pid};
        $one_max = $peak{$pid} if $peak{$pid} > $one_max;
        push @below, @{$children{$pid} // []};
      }
      $sum_max = $sum if $sum > $sum_max;
      open my $out, ">", "$file.new" or die "$file.new: $!";
      print $out "$sum_max $one_max\n";
      close $out;
      rename "$file.new", $file;
      sleep 1;
    }' "$1" "$2"
}

# timed FIGURE COMMAND...: runs it in a subshell with its output in FIGURE.log, and keeps in the file FIGURE, once it has
# succeeded: seconds, CPU seconds of all its processes, KiB of sampled_memory (all processes, one process). What has a figure
# is not run again.
timed() {
  local figure=$1 sampler code; shift
  [ -s "$figure" ] && return 0
  mkdir -p "$(dirname "$figure")"
  rm -f "$figure.memory"
  sampled_memory $$ "$figure.memory" & sampler=$!
  while [ ! -s "$figure.memory" ]; do kill -0 "$sampler" && sleep 0.1; done # the first sample is there before it starts
  local TIMEFORMAT='%R %U %S'
  set +e
  { time { (set -e; "$@") >"$figure.log" 2>&1; }; } 2>"$figure.time"
  code=$?
  set -e
  kill "$sampler" 2>/dev/null; wait "$sampler" 2>/dev/null || true
  [ $code -eq 0 ] || { tail -n 30 "$figure.log" >&2; die "$(basename "$figure") failed ($code); its log: $figure.log"; }
  echo "$(awk '{printf "%.2f %.2f", $1, $2 + $3}' "$figure.time") $(cat "$figure.memory")" >"$figure.new"
  mv "$figure.new" "$figure"
  rm -f "$figure.time" "$figure.memory"
}
figure() { cut -d' ' -f"$2" "$1"; }
wall() { figure "$1" 1; }
cpu() { figure "$1" 2; }
memory_of_all() { figure "$1" 3 | numfmt --from-unit=1024 --to=iec; }
memory_of_one() { figure "$1" 4 | numfmt --from-unit=1024 --to=iec; }

# again PRODUCT COMMAND...: runs COMMAND PRODUCT, which makes that file or directory anew.
again() {
  mkdir -p "$(dirname "$1")"
  rm -rf "$1"
  "${@:2}" "$1"
}
# once PRODUCT COMMAND...: the same where PRODUCT is not there yet; it gets its name when it is complete.
once() {
  [ -e "$1" ] && return 0
  again "$1.new" "${@:2}"
  mv "$1.new" "$1"
}

debian_source() { # PACKAGE DIRECTORY: its patched sources; for `once`
  if ! apt-get --print-uris source "$1" >/dev/null 2>&1; then
    sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/*.sources
    apt-get update -qq
  fi
  packages dpkg-dev
  rm -rf "$2.fetch"; mkdir "$2.fetch"
  (cd "$2.fetch" && apt-get source -q "$1") >"$2.fetch/log" 2>&1 || { cat "$2.fetch/log" >&2; return 1; }
  mv "$2.fetch"/*/ "$2"
  rm -rf "$2.fetch"
}

# A new root of Debian with these packages (PACKAGE,...); for `once`.
debian_root() { # SUITE PACKAGES ROOT
  debian_tree "$1" "$3" --variant=minbase --include="$2"
}

# In a root, as an ordinary user with the home /bench/home there, or as root. What it starts ends with it. Apptainer needs a root
# that is a mount point.
in_root() { in_root_as 65534 /bench/home "$@"; } # ROOT COMMAND...
in_root_as_root() { in_root_as 0 /root "$@"; }   # ROOT COMMAND...
in_root_as() { # USER HOME ROOT COMMAND...
  unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    user=$1 home=$2 top=$3
    shift 3
    mount --bind "$top" "$top"
    mount -t proc proc "$top/proc"
    mount --rbind /sys "$top/sys"
    mount --rbind /dev "$top/dev"
    [ ! -e "$top/dev/fuse" ] || chmod 666 "$top/dev/fuse" # as udev makes it
    mkdir -p "$top/dev/mqueue" # which Podman needs for ordinary users
    mountpoint -q "$top/dev/mqueue" || mount -t mqueue none "$top/dev/mqueue"
    cp /etc/hosts "$top/etc/hosts"
    cd "$top"
    mkdir -p mnt/old
    pivot_root . mnt/old
    umount -l /mnt/old
    cd /
    name=$(id -nu "$user")
    exec setpriv --reuid="$user" --regid="$user" --clear-groups env -i HOME="$home" USER="$name" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' - "$@"
}

# Arguments for a native build, from a spec; its comments are whole lines.
spec_json() { sed '/^ *\/\//d' "$1"; } # SPEC
spec_arguments() { # SPEC K=V...: one on a line, those of the values last
  spec_json "$1" | jq -r '.build.arguments[]?'
  local choice
  for choice in "${@:2}"; do
    spec_json "$1" | jq -r --arg point "${choice%%=*}" --arg value "${choice#*=}" \
      '.specializations[] | select(.name == $point).values[] | select(.value == $value).arguments[]?'
  done
}

# runs_here IMAGE K=V...: whether this CPU can run these values of the image's points.
runs_here() {
  local code=0 choices
  mapfile -t choices < <(printf -- '--set\n%s\n' "${@:2}")
  "$xaas" deploy "$1" "${choices[@]}" --dry-run -q >/dev/null 2>&1 || code=$?
  [ $code -eq 0 ] || [ $code -eq 3 ] || die "xaas deploy $1 ${*:2} --dry-run: exit code $code"
  return $code
}
# killed_after SECONDS COMMAND...: runs COMMAND, with TMPDIR as its directory for temporary files, in a process group of its own,
# which is killed (SIGKILL) after that time. Fails if it had ended by itself. Dies unless all that it started ends with it.
killed_after() {
  local process wait code=0
  setsid "${@:2}" >/dev/null 2>&1 &
  process=$!
  sleep "$1"
  kill -KILL -- -$process 2>/dev/null || true
  wait $process 2>/dev/null || code=$?
  for ((wait = 0; wait < 100; ++wait)); do [ -n "$(started_processes)" ] || { [ $code -eq 137 ]; return; }; sleep 0.1; done
  die "still running after a kill: $(started_processes)"
}
started_processes() { # xaas and what a build of it runs, below TMPDIR; zombies aside
  local process
  while read -r process; do
    case $(readlink "$process/exe" 2>/dev/null) in
    "$(realpath "$xaas")" | "$TMPDIR"/*) ;;
    *) grep -qsaF "XAAS_SESSION=$TMPDIR" "$process/environ" || continue ;;
    esac
    grep -qs '^State:.Z' "$process/status" || echo "$process"
  done < <(grep -lsaF -e "XAAS_SESSION=$TMPDIR" -e "TMPDIR=$TMPDIR" /proc/[0-9]*/environ | cut -d/ -f1-3)
}
part_of() { # ALL FROM TO RANDOM: of a number, the part that $RANDOM says, between two shares of it
  awk -v all="$1" -v from="$2" -v to="$3" -v random="$4" 'BEGIN { printf "%.2f", all * (from + (to - from) * random / 32768) }'
}
image_bytes() { "$xaas" inspect "$1" --format json | jq '[.layers[].size] | add'; } # IMAGE
human() { numfmt --to=iec; }

# unpack LAYOUT TAG DIRECTORY: the root of a deployed image. It has base scratch, so no layer takes anything away.
unpack() {
  local digest
  mkdir "$3"
  for digest in $("$xaas" inspect "oci:$1:$2" --format json | jq -r '.layers[].digest'); do
    tar -xzf "$1/blobs/${digest/://}" -C "$3"
  done
}
# deploy_cold, deploy_warm IMAGE IMAGE OPTION...: `xaas deploy` with an empty cache of objects, and with the one that the last
# deploy_cold left.
# shellcheck disable=SC2154 # `here` is a variable of the benches
deploy_cold() {
  rm -rf "$here/objects-cache"
  deploy_warm "$@"
}
deploy_warm() { XAAS_CACHE_DIR=$here/objects-cache "$xaas" deploy "$1" -o "$2" "${@:3}"; }
# contained ROOT DIRECTORY PROGRAM ARGUMENT...: runs a program of an unpacked image as a container runtime does: with its own
# root and without network, and the DIRECTORY where it works. In a process space of its own its CPU time would not be seen.
contained() {
  bwrap --unshare-net --unshare-ipc --unshare-uts --die-with-parent --bind "$1" / --proc /proc --dev /dev --ro-bind /sys /sys --bind "$2" "$2" -- "${@:3}"
}
# script_of FILE 'COMMAND' FUNCTION...: a program that runs COMMAND with its arguments; it has these functions.
script_of() {
  { echo "#!/bin/bash"; declare -f "${@:3}"; echo "$2 \"\$@\""; } >"$1"
  chmod +x "$1"
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
sum() { awk '{ s += $1 } END { printf "%.2f", s }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# Reads a table with | between the cells; prints it with one column for each of its rows but the first.
print_columns() {
  awk -F'|' '
    { for (i = 1; i <= NF; i++) cell[NR, i] = $i; n = NF }
    END {
      for (i = 1; i <= n; i++) {
        printf "%-30s", cell[1, i]
        for (r = 2; r <= NR; r++) printf "%18s", cell[r, i]
        print ""
      }
    }'
}
