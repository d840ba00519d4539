#!/bin/bash
# Installed applications on machines that have neither xaas nor a container runtime: new roots of other distributions, one with
# Lmod and one with Environment Modules. For each application: build, deploy for two targets, `xaas install`; then, in each root as
# an ordinary user, `module load` and a run whose output must be that of the same image under `xaas run`.
#
#   tools/bench/installed.sh [soft-spheres|hmmer]...     all, if none is named
#
# Needs root, mmdebstrap and this machine's package sources for Debian 12. Resumes after an interruption: lib.sh.
# shellcheck disable=SC2034 # specs and runs of applications are used by their names
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=("$@")
[ ${#applications[@]} -gt 0 ] || applications=(soft-spheres hmmer)
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages mmdebstrap

for system in lmod environment-modules; do once "$work/roots/$system" debian_root bookworm "$system"; done

# In a root, as an ordinary user, with the installations and data under their own paths, and nothing else of this machine.
inside() { # ROOT SCRIPT
  unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    top=$1 work=$2 script=$3
    mkdir -p "$top/$work/apps" "$top/$work/data"
    mount --bind "$work/apps" "$top/$work/apps"
    mount --bind "$work/data" "$top/$work/data"
    mount -t proc proc "$top/proc"
    mount --rbind /dev "$top/dev"
    exec chroot --userspec=65534:65534 "$top" /usr/bin/env -i HOME=/tmp PATH=/usr/bin:/bin bash -c "cd /tmp; $script"' \
    - "$1" "$work" "$2"
}
init_of() { # ROOT
  find "$1/usr/share/lmod" "$1/usr/share/modules" -path '*/init/bash' 2>/dev/null | head -n 1 | sed "s|^$1||"
}

soft_spheres_source() { cp -r "$root/examples/soft-spheres" "$1"; }
soft_spheres_spec=$root/examples/soft-spheres/xaas.json
soft_spheres_data() { mkdir "$1"; }
soft_spheres_run=(soft-spheres)
soft_spheres_filter() { grep '^checksum'; }

hmmer_source() {
  packages libdivsufsort-dev libsimde-dev autoconf automake libtool
  debian_source hmmer "$1"
}
hmmer_spec=$root/specs/applications/hmmer.json
hmmer_data() {
  mkdir "$1"
  cp "$work/hmmer/source/tutorial/globins4.hmm" "$work/hmmer/source/tutorial/globins45.fa" "$1/"
}
hmmer_run=(hmmsearch --cpu 0 "$work/data/hmmer/globins4.hmm" "$work/data/hmmer/globins45.fa")
hmmer_filter() { grep -v '^#'; }

mkdir -p "$work/apps" "$work/data"
chmod 755 "$work" "$work/apps" "$work/data"
for application in "${applications[@]}"; do
  name=${application//-/_}
  declare -n spec=${name}_spec run=${name}_run
  declare -F "${name}_source" >/dev/null || die "$application: unknown application"
  here=$work/$application/$program
  mkdir -p "$here"
  once "$work/$application/source" "${name}_source"
  once "$work/data/$application" "${name}_data"
  say "$application"
  build() { "$xaas" build "$spec" --source "$work/$application/source" -o "oci:$1:ir"; }
  deploy() { "$xaas" deploy "oci:$here/ir:ir" --cpu "x86-64,$("$xaas" detect --format json -q | jq -r .cpu.name)" -o "oci:$1:here"; }
  once "$here/ir" build >"$here/build.log" 2>&1 || die "the build failed: $here/build.log"
  once "$here/image" deploy >"$here/deploy.log" 2>&1 || die "the deploy failed: $here/deploy.log"
  prefix=$work/apps/$application/1
  [ ! -e "$prefix" ] || "$xaas" uninstall "$prefix" -q >/dev/null
  rm -rf "$work/apps/modules/$application"
  TIMEFORMAT='%R s, %U s of the user, %S s of the system'
  time "$xaas" install "oci:$here/image:here" --prefix "$prefix" --module "$application/1" --modules "$work/apps/modules" -q
  "$xaas" run -q "oci:$here/image:here" "${run[0]}" --bind "$work/data" -- "${run[@]:1}" | "${name}_filter" >"$here/wanted"
  [ -s "$here/wanted" ] || die "$application prints nothing under xaas run"
  for system in lmod environment-modules; do
    top=$work/roots/$system
    inside "$top" ". $(init_of "$top"); module use $work/apps/modules; module load $application; ${run[*]}" 2>"$here/$system.err" |
      "${name}_filter" >"$here/$system.out" || { cat "$here/$system.err" >&2; die "$application fails with $system"; }
    cmp "$here/wanted" "$here/$system.out" || { cat "$here/$system.err" >&2; die "$application prints something else with $system"; }
    chosen=$(inside "$top" "XAAS_TARGET=print $prefix/bin/${run[0]}" | cut -d' ' -f1)
    echo "$system: same output, target $chosen"
  done
done
