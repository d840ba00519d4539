#!/bin/bash
# Continuous integration on a fresh machine: a new root of Debian 12 with only the packages of tools/install-dependencies.sh,
# and in it .ci/run in a clean clone of HEAD.
#
#   tools/bench/fresh-machine.sh [--root DIRECTORY] [--ccache DIRECTORY] [CTEST-ARGUMENT...]
#
# --root     keeps the root there; a root from an earlier run is reused, with a new clone
# --ccache   lends the build this directory of compiled objects, with this machine's ccache
# CTEST-ARGUMENT: for ctest, such as -R e2e.gpu_hip; then only these tests run
#
# Needs root and apt's package sources of this machine, which must be a Debian 12. The packages of a new root take five minutes, and
# .ci/run takes what it takes in a clean clone. The root has its own mount and process namespaces, and this machine's kernel, /dev,
# /sys and network: tests that the kernel or a surrounding container prevents are skipped there, too.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage="usage: $0 [--root DIRECTORY] [--ccache DIRECTORY] [CTEST-ARGUMENT...]"
kept='' cache='' arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
  --root) kept=${2:?$usage}; shift 2 ;;
  --ccache) cache=$(realpath "${2:?$usage}"); shift 2 ;;
  *) arguments=("$@"); break ;;
  esac
done
[ "$(id -u)" -eq 0 ] || die "needs root"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ "$suite" = bookworm ] || die "the package sources of this machine are for ${suite:-an unknown system}, not for Debian 12 (bookworm)"

# The root installs more packages, with this machine's keys.
make_root() { # DIRECTORY
  debian_tree bookworm "$1" --variant=minbase
  # shellcheck disable=SC2046 # names without spaces
  cp -n --parents /etc/apt/trusted.gpg.d/* $(cat "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* 2>/dev/null | grep -ohE '/[^] ,]+\.(gpg|asc|pgp)' | sort -u) "$1"
}
# This machine's ccache with its own libraries, where no build looks for a program.
lend_ccache() { # DIRECTORY, below which the root has the tree
  local program library
  program=$(command -v ccache) || die "ccache is not installed"
  mkdir -p "$top"/lent/{bin,lib,cache}
  ldd "$program" | grep -oE '/[^ ]+' | while read -r library; do cp -L "$library" "$top/lent/lib"; done
  cp -L "$program" "$top/lent/bin/ccache" # by another name it takes itself for a compiler
  cat >"$top/lent/launcher" <<END_OF_SCRIPT
#!/bin/sh
export CCACHE_DIR=/lent/cache CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_ctime,include_file_mtime
exec /lent/lib/ld-linux-*.so.* --library-path /lent/lib /lent/bin/ccache "\$@"
END_OF_SCRIPT
  chmod 755 "$top/lent/launcher"
}
# As the first process of the root: with its mounts, this machine's directory of the compiler cache among them.
inside() { # COMMAND...
  unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    top=$1 cache=$2
    shift 2
    mount --bind "$top" "$top"
    mount -t proc proc "$top/proc"
    mount --rbind /sys "$top/sys"
    mount --rbind /dev "$top/dev"
    mount -t tmpfs -o mode=1777 shm "$top/dev/shm"
    mount -t tmpfs -o mode=755 run "$top/run"
    [ -z "$cache" ] || mount --bind "$cache" "$top/lent/cache"
    cd "$top"
    mkdir -p mnt/old
    pivot_root . mnt/old
    umount -l /mnt/old
    rmdir /mnt/old
    cd /
    exec "$@"' - "$top" "$cache" \
    /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} "$@"
}
network() { # what a machine has, and no package
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost\n' "$(uname -n)" >"$top/etc/hosts"
  uname -n >"$top/etc/hostname"
  cp -L /etc/resolv.conf "$top/etc/resolv.conf"
}
step() { # NAME COMMAND...: keeps its seconds in `took`
  local start=$SECONDS
  say "$1"
  "${@:2}"
  took=$((SECONDS - start))
}
clone() {
  rm -rf "$top/srv"
  mkdir -p "$top/srv"
  git clone --quiet --no-hardlinks "$root" "$top/srv/xaas"
  git -C "$top/srv/xaas" -c advice.detachedHead=false checkout --quiet "$(git -C "$root" rev-parse HEAD)"
}

packages mmdebstrap git util-linux
top=$kept
[ -n "$top" ] || { top=$(mktemp -d "${TMPDIR:-/tmp}/xaas-fresh-XXXXXX")/root; trap 'rm -rf "${top%/root}"' EXIT; }
top=$(realpath -m "$top")
step "a new root" once "$top" make_root
root_seconds=$took
network
clone
[ -z "$cache" ] || lend_ccache /srv
step "tools/install-dependencies.sh" inside /srv/xaas/tools/install-dependencies.sh
install_seconds=$took
if [ -n "$cache" ]; then
  launchers=(-DCMAKE_C_COMPILER_LAUNCHER=/lent/launcher -DCMAKE_CXX_COMPILER_LAUNCHER=/lent/launcher)
  inside sh -c 'cd /srv/xaas && cmake --preset ci "$@" >/dev/null' - "${launchers[@]}"
fi
run=(.ci/run)
[ ${#arguments[@]} -eq 0 ] || run=(tools/test.sh --no-install "${arguments[@]}")
code=0
step "${run[*]}" inside "/srv/xaas/${run[0]}" "${run[@]:1}" | tee "$top.log" || code=$?
say "a fresh machine: Debian $(cat "$top/etc/debian_version"), $(inside dpkg-query -f '.\n' -W | wc -l) packages, $(inside clang-22 --version | head -n 1)," \
  "commit $(git -C "$top/srv/xaas" rev-parse --short=12 HEAD)$(git -C "$root" diff --quiet HEAD || echo ', without what is not committed')"
echo "root       $root_seconds s"
echo "packages   $install_seconds s"
sed -n 's/^== seconds: /seconds    /p' "$top.log"
sed -n 's/^== tests: /tests      /p' "$top.log"
sed -nE 's/^== ([a-z]+: (ok|FAILED).*)/\1/p' "$top.log"
[ -n "$kept" ] || rm -f "$top.log"
exit $code
