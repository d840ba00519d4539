#!/bin/bash
# xaas on AArch64, from a machine that is none: the cross-compiled program and unit tests under qemu-aarch64, and the relocatable
# archive on an emulated machine with Debian's kernel, whose Landlock and seccomp qemu-aarch64 lacks. Images that are deployed for
# x86-64 and for AArch64 must have the same digests from this machine, under qemu-aarch64 and on the emulated machine; there, what
# was installed from them must print the same as under qemu-aarch64. With Debian's compilers, the emulated machine also builds an IR
# image, which must be the one that this machine builds with the same sysroot.
#
#   tools/bench/aarch64.sh
#
# Needs root, mmdebstrap, and this machine's package sources for Debian 12. Half an hour on two cores, most of it for compiling.
# Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/machine.sh"
[ "$(id -u)" -eq 0 ] || die "needs root"
[ "$(uname -m)" = x86_64 ] || die "this machine is $(uname -m), not x86-64"
open_bench
packages "${machine_packages[@]}" skopeo cmake ninja-build libc6-dev-arm64-cross libstdc++-12-dev-arm64-cross
modules=(base target ir lower link select)

say "cross-compiling"
build=$root/build/aarch64
aarch64_program "${modules[@]/#/test_}"

emulated() { qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu "$@"; } # with Debian's C and C++ libraries for cross-compiling
emulated "$build/bin/xaas" --version

say "unit tests under qemu-aarch64"
mkdir -p "$work/tests"
for module in "${modules[@]}"; do
  [ "$module" = base ] && continue # of system calls
  tests=$build/tests/unit/test_$module
  log=$work/tests/$module-$(sha256sum "$tests" | cut -c1-12)
  [ -s "$log" ] || { emulated "$tests" >"$log.new" 2>&1 || die "tests of $module failed: $log.new"; mv "$log.new" "$log"; }
  echo "$module: $(grep -c '^\[       OK' "$log") passed, $(grep -c '^\[  SKIPPED .*ms' "$log" || true) skipped"
done

say "images"
here=$work/$program
mkdir -p "$here"
export XAAS_CACHE_DIR=$work/cache
zstd_source() { debian_source libzstd "$1"; }
once "$work/zstd" zstd_source
images() { # LAYOUT
  local arch
  for arch in x86_64 aarch64; do
    "$xaas" build "$root/examples/soft-spheres" --arch "$arch" --config threads=none -o "oci:$1:soft-spheres-$arch" -q >/dev/null
    "$xaas" build "$root/specs/applications/zstd.json" --source "$work/zstd" --arch "$arch" -o "oci:$1:zstd-$arch" -q >/dev/null
  done
}
once "$here/images" images
applications=(soft-spheres zstd)
targets=(soft-spheres:x86_64:znver4 soft-spheres:x86_64:haswell soft-spheres:aarch64:cortex-a72 soft-spheres:aarch64:a64fx
  soft-spheres:aarch64:neoverse-v2 zstd:x86_64:znver4 zstd:aarch64:a64fx) # emulated, zstd takes minutes
digests() { # WHO COMMAND...: deploys all images into a layout of this name
  local application arch cpu
  for target in "${targets[@]}"; do
    IFS=: read -r application arch cpu <<<"$target"
    "${@:2}" deploy "oci:images:$application-$arch" -o "oci:$1:$application-$cpu" --cpu "$cpu" --no-cache -q >/dev/null 2>"$1.log" ||
      { cat "$1.log" >&2; return 1; }
  done
  tr ',' '\n' <"$1/index.json" | grep -oE '"(digest|org.opencontainers.image.ref.name)": *"[^"]*"' | cut -d'"' -f4 | paste -d' ' - - | sort
}
(
  cd "$here"
  [ -s native.digests ] || { digests native "$xaas" >native.new && mv native.new native.digests; }
  [ -s emulated.digests ] || { digests emulated emulated "$build/bin/xaas" >emulated.new && mv emulated.new emulated.digests; }
  diff native.digests emulated.digests || die "other digests under qemu-aarch64"
)
echo "$(wc -l <"$here/native.digests") digests of $xaas and under qemu-aarch64 are the same"

say "an emulated machine"
once "$work/kernel" aarch64_kernel
top=$here/machine
rm -rf "$top"
mkdir -p "$top"/{bin,proc,sys,dev,tmp,root,etc,lib,work,tests,apps}
cp "$work/kernel/bin/busybox" "$top/bin"
cp -L "$sysroot/lib/ld-linux-aarch64.so.1" "$top/lib"
cp -L "$sysroot"/{,usr/}lib/aarch64-linux-gnu/{libc.so.6,libm.so.6,libgcc_s.so.1,libstdc++.so.6} "$top/tests" 2>/dev/null || true
cp "$build/tests/unit/test_base" "$top/tests"
mkdir "$top/xaas"
tar -xzf "$work/aarch64.tar.gz" -C "$top/xaas" --strip-components=1
cp -r "$here/images" "$top/work"
cat "$root"/src/*/*.cpp >"$top/work/text"
{
  echo '#!/bin/busybox sh'
  declare -p applications targets | sed 's/^declare -a //' | tr -d '()"' | sed -E 's/\[[0-9]+\]=//g; s/=(.*)/="\1"/'
  cat <<'END'
/bin/busybox --install -s /bin
export PATH=/xaas/bin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t securityfs none /sys/kernel/security
echo root:x:0:0:root:/root:/bin/sh >/etc/passwd
cd /work
echo "machine: $(uname -srm), $(cat /sys/kernel/security/lsm)"
xaas --version
xaas detect 2>/dev/null | head -n 6
LD_LIBRARY_PATH=/tests /tests/test_base --gtest_filter='Confine*' | tail -n 3
for target in $targets; do
  application=${target%%:*} cpu=${target##*:} arch=${target#*:}
  xaas deploy oci:images:$application-${arch%:*} -o oci:machine:$application-$cpu --cpu $cpu --no-cache -q >/dev/null || echo "FAILED $target"
done
for application in $applications; do
  xaas deploy oci:images:$application-aarch64 -o oci:machine:$application-here -q >/dev/null && xaas check -q oci:machine:$application-here >/dev/null || echo FAILED check
  xaas install oci:machine:$application-here --prefix /apps/$application --container never -q >/dev/null || echo FAILED install
done
xaas deploy oci:images:soft-spheres-aarch64 --cpu cortex-a72,a64fx -o rootfs:tree -q >/dev/null || echo FAILED tree
tr ',' '\n' <machine/index.json | grep -oE '"(digest|org.opencontainers.image.ref.name)": *"[^"]*"' | cut -d'"' -f4 | paste -d' ' - - | grep -v -- -here | sort | sed 's/^/DIGEST /'
small='--bodies 200 --grid 20 --steps 3'
echo "OUTPUT $(/apps/soft-spheres/bin/soft-spheres $small | grep ^checksum)"
echo "OUTPUT $(/apps/zstd/bin/zstd -c text | sha256sum)"
mkdir -p tree/proc
mount -t proc proc tree/proc
echo "OUTPUT $(chroot tree /usr/local/bin/soft-spheres $small | grep ^checksum)"
echo "CHOSEN $(XAAS_TARGET=print tree/usr/local/bin/soft-spheres 2>&1 | cut -d' ' -f1)"
poweroff -f
END
} >"$top/init"
chmod 755 "$top/init"
run_machine "$here/machine.log" "$top"
grep -v '^DIGEST\|^OUTPUT' "$here/machine.log"
! grep FAILED "$here/machine.log" || die "a command failed"
grep -q 'PASSED.* 11 tests' "$here/machine.log" || die "tests of confinement failed"
sed -n 's/^DIGEST //p' "$here/machine.log" | diff "$here/native.digests" - || die "other digests on the emulated machine"
rm -rf "${applications[@]/#/$here/}"
for application in "${applications[@]}"; do
  "$xaas" deploy "oci:$here/images:$application-aarch64" -o "rootfs:$here/$application" --cpu a64fx -q >/dev/null
done
runs() { qemu-aarch64 -cpu max -L "$here/$1" -E LD_LIBRARY_PATH=/usr/local/lib "$here/$1/usr/local/bin/$1" "${@:2}"; }
small=(--bodies 200 --grid 20 --steps 3)
{
  runs soft-spheres "${small[@]}" | grep ^checksum
  runs zstd -c "$top/work/text" | sha256sum
  runs soft-spheres "${small[@]}" | grep ^checksum
} >"$here/outputs"
sed -n 's/^OUTPUT //p' "$here/machine.log" | diff "$here/outputs" - || die "other outputs on the emulated machine"
echo "the digests and $(wc -l <"$here/outputs") outputs on the emulated machine are those of here"

say "an IR image from both machines"
once "$work/system" aarch64_system
rm -rf "$here/system" "$here/built"
cp -r "$work/system" "$here/system"
mkdir -p "$here/system/bench/xaas" "$here/system/bench/out"
tar -xzf "$work/aarch64.tar.gz" -C "$here/system/bench/xaas" --strip-components=1
cp -r "$root/examples/soft-spheres" "$here/system/bench/"
cat >"$here/system/bench/start" <<'END'
cd /bench
for sysroot in "" "--sysroot /"; do
  xaas/bin/xaas build soft-spheres $sysroot --config threads=none --no-cache -q -o "oci:out:${sysroot:+sysroot-}there" || echo FAILED
done
END
run_system "$here/builds.log" "$here/system"
cat "$here/builds.log"
! grep FAILED "$here/builds.log" || die "a build failed"
"$xaas" build "$here/system/bench/soft-spheres" --arch aarch64 --sysroot "$work/system" --config threads=none --no-cache -q -o "oci:$here/builds.log.out:here" >/dev/null
digest_of() { skopeo inspect --raw "oci:$here/builds.log.out:$1" | sha256sum | cut -c1-64; }
modules_of() { # named by their digests
  local layer
  for layer in $(skopeo inspect --raw "oci:$here/builds.log.out:$1" | jq -r '.layers[].digest'); do tar -tf "$here/builds.log.out/blobs/${layer/://}"; done |
    grep '^.xaas/ir/sha256/.' | sort
}
[ "$(digest_of here)" = "$(digest_of sysroot-there)" ] || die "with one sysroot, the images differ"
diff <(modules_of here) <(modules_of there) || die "the modules differ"
echo "the image of both machines with one sysroot is $(digest_of here); without one, its modules are the same"
