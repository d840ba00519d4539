#!/bin/bash
# xaas on other systems: the relocatable archive in roots of Debian 11, 12, 13 and sid, in an empty root, and without Landlock or
# user namespaces; the Debian package in roots of Debian 12 and 13. Everywhere an ordinary user deploys the example, and the image
# has the digest of the one that was deployed here.
#
#   tools/bench/distributions.sh [--unit] [BUILD-DIRECTORY]     of the program; build/release, if none is named
#
# --unit   also `tools/test.sh --unit` and tools/demo.sh in a clean clone of HEAD in fresh roots of Debian 12 and 13; an hour more
#
# Needs root, mmdebstrap, cpack, bubblewrap, and archives of these suites. Roots are kept: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
unit=no
[ "${1:-}" != --unit ] || { unit=yes; shift; }
build=$(realpath "${1:-$root/build/release}")
xaas=$build/bin/xaas
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages mmdebstrap bubblewrap dpkg-dev libseccomp-dev

here=$work/distributions/$program
mkdir -p "$here"
once "$here/xaas.tar.gz" "$root/tools/make-archive.sh" "$build" >"$here/archive.log" 2>&1 || die "no archive: $here/archive.log"
package() { mkdir "$1" && (cd "$build" && cpack -B "$1") >"$1/log"; }
once "$here/package" package
image() { XAAS_CACHE_DIR=$work/cache "$xaas" build "$root/examples/soft-spheres" -o "oci:$1:ir" -q >/dev/null; }
once "$here/image" image
XAAS_CACHE_DIR=$work/cache "$xaas" deploy "oci:$here/image:ir" -o "oci:$here/deployed:here" --cpu haswell -q >/dev/null
want=$("$xaas" inspect "oci:$here/deployed:here" --format json | jq -r .digest)
echo "archive $(stat -c %s "$here/xaas.tar.gz"), package $(stat -c %s "$here"/package/*.deb), program in it $(dpkg-deb -c "$here"/package/*.deb | awk '$6 == "./usr/bin/xaas" {print $3}') bytes"

for suite in bullseye bookworm trixie sid; do once "$work/roots/plain-$suite" debian_root "$suite" ca-certificates; done
deploys() { # WHO PROGRAM COMMAND...: COMMAND runs the program, which sees /bench; deploys there, and compares the digest
  local out
  out=$("${@:3}" "$2" deploy oci:/bench/image:ir -o oci:/bench/home/deployed:here --cpu haswell --no-cache --format json -q 2>"$here/log") ||
    { cat "$here/log"; die "$1: deploying failed"; }
  [ "$(jq -r .digest <<<"$out")" = "$want" ] || die "$1: $(jq -r .digest <<<"$out") in place of $want"
  echo "$1: $("${@:3}" "$2" --version | head -n 1), $("${@:3}" "$2" detect --format json -q | jq -r '"\(.os), C library \(.glibc)"'): same digest"
}
fill() { # ROOT
  rm -rf "$1/bench"
  mkdir -p "$1/bench/home"
  cp -r "$here/image" "$1/bench/"
  chmod -R a+rX "$1/bench"
  chown -R 65534:65534 "$1/bench/home"
}
with_archive() { fill "$1"; tar -xzf "$here/xaas.tar.gz" -C "$1/bench" --strip-components=1; }
archived=/bench/bin/xaas

say "the archive"
for suite in bullseye bookworm trixie sid; do
  with_archive "$work/roots/plain-$suite"
  deploys "archive on $suite" $archived in_root "$work/roots/plain-$suite"
done
empty=$here/empty
rm -rf "$empty"
mkdir -p "$empty/tmp"
chmod 1777 "$empty/tmp"
with_archive "$empty"
# Without /proc and /dev, too.
out=$(env -i HOME=/bench/home XAAS_CACHE_DIR=/bench/home/cache "$(command -v chroot)" --userspec=65534:65534 "$empty" $archived deploy oci:/bench/image:ir -o oci:/bench/home/deployed:here --cpu haswell --no-cache --format json -q)
[ "$(jq -r .digest <<<"$out")" = "$want" ] || die "empty root: another digest"
echo "archive in an empty root: same digest"

# As a kernel without Landlock: a filter under which its system calls do not exist.
cat >"$here/without.c" <<'END'
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>
int main(int count, char **arguments) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (count < 2 || !filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0) ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_add_rule), 0) ||
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_restrict_self), 0) || seccomp_load(filter))
    return 99;
  execv(arguments[1], arguments + 1);
  return 98;
}
END
clang-22 -O1 "$here/without.c" -static -lseccomp -o "$work/roots/plain-bookworm/bench/without"
in_bookworm() { in_root "$work/roots/plain-bookworm" "$@"; }
deploys "without Landlock" $archived in_bookworm /bench/without
# Where no user may make a namespace.
no_namespaces() { in_bookworm /bin/sh -c 'exec "$@"' - "$@"; }
limit=/proc/sys/user/max_user_namespaces before=$(cat /proc/sys/user/max_user_namespaces)
if (echo 0 >$limit) 2>/dev/null; then
  trap 'echo "$before" >$limit' EXIT
  deploys "without user namespaces" $archived no_namespaces
  echo "$before" >$limit
  trap - EXIT
else
  echo "SKIPPED: without user namespaces: $limit cannot be written here"
fi

say "the package"
for suite in bookworm trixie; do
  top=$work/roots/package-$suite
  rm -rf "$top"
  cp -a "$work/roots/plain-$suite" "$top"
  fill "$top"
  cp "$here"/package/*.deb "$top/bench/xaas.deb"
  find "$top" -xdev -path "$top/bench" -prune -o -print | sort >"$here/before"
  in_root_as_root "$top" dpkg -i /bench/xaas.deb >"$here/dpkg.log" 2>&1 || { cat "$here/dpkg.log"; die "$suite: the package does not install"; }
  deploys "package on $suite" /usr/bin/xaas in_root "$top"
  [ -s "$top/usr/share/man/man1/xaas-deploy.1" ] || die "$suite: the package has no manual pages"
  in_root_as_root "$top" dpkg --purge xaas >"$here/dpkg.log" 2>&1 || { cat "$here/dpkg.log"; die "$suite: the package cannot be removed"; }
  find "$top" -xdev -path "$top/bench" -prune -o -print | sort | diff "$here/before" - | grep '^>' | grep -v '/var/\|/mnt/old' && die "$suite: files are left"
  echo "package on $suite: removed without a trace"
done

[ $unit = yes ] || exit 0
for suite in bookworm trixie; do
  say "tests and demo on $suite"
  top=$work/roots/unit-$suite
  rm -rf "$top"
  cp -a "$work/roots/plain-$suite" "$top"
  cp -n /etc/apt/apt.conf.d/* "$top/etc/apt/apt.conf.d/"
  cp /etc/resolv.conf "$top/etc/"
  git clone -q "$root" "$top/xaas"
  in_root_as_root "$top" bash -euc 'cd /xaas; tools/test.sh --unit; tools/demo.sh' >"$here/unit-$suite.log" 2>&1 || die "failed: $here/unit-$suite.log"
  grep '^== tests' "$here/unit-$suite.log"
  tail -n 5 "$here/unit-$suite.log"
done
