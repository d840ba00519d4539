# shellcheck shell=bash
# An AArch64 machine that qemu-system-aarch64 emulates, with Debian 12 and its kernel; sourced by the benchmarks that start one, after
# lib.sh. Their users need root.
# shellcheck disable=SC2034,SC2154 # variables of lib.sh, and for those who source this

machine_packages=(mmdebstrap qemu-user qemu-system-arm cpio kmod e2fsprogs)
sysroot=$root/build/sysroot-aarch64

# aarch64_program [TARGET...]: xaas and other targets, cross-compiled in build/aarch64, and $work/aarch64.tar.gz, its archive.
# shellcheck disable=SC2120 # in one of them
aarch64_program() {
  local build=$root/build/aarch64
  [ -d "$sysroot" ] || "$root/tools/make-sysroot.sh" aarch64
  cmake -S "$root" --preset aarch64 >"$work/configure.log" || die "configuring failed: $work/configure.log"
  cmake --build "$build" --target xaas "$@" >"$work/build.log" || die "building failed: $work/build.log"
  [ "$work/aarch64.tar.gz" -nt "$build/bin/xaas" ] ||
    GZIP_LEVEL=1 "$root/tools/make-archive.sh" "$build" "$work/aarch64.tar.gz"
}

aarch64_kernel() { # DIRECTORY: the kernel, its modules and a static busybox; for `once`
  debian_tree bookworm "$1" --variant=extract --architectures=arm64 --include=linux-image-arm64,busybox-static
  depmod -b "$1" "$(ls "$1/lib/modules")"
}

# A system with shells, compilers, MPI and container runtimes; for `once`. No maintainer script has run in it.
aarch64_system() { # DIRECTORY
  debian_tree bookworm "$1" --variant=extract --architectures=arm64 --include="$(paste -sd, <<<"bash
dash
coreutils
diffutils
findutils
grep
gzip
mawk
mount
procps
sed
tar
util-linux
clang-22
cmake
libc6-dev
libmpich-dev
libstdc++-12-dev
make
mpich
ninja-build
pkg-config
bubblewrap
charliecloud
squashfs-tools")"
  relative_links "$1" # it is a sysroot, too
  ln -s mawk "$1/usr/bin/awk"
  ln -s mpirun.mpich "$1/usr/bin/mpirun"
  printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/bench/home:/bin/bash\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
  echo "127.0.0.1 localhost" >"$1/etc/hosts"
}

# run_machine LOG INITRD-TREE [DISK]: until it powers itself off; what it prints goes to LOG.
run_machine() {
  local disk=()
  [ $# -lt 3 ] || disk=(-drive "file=$3,format=raw,if=virtio")
  (cd "$2" && find . | cpio -o -H newc --quiet | gzip -1) >"$2.initrd"
  timeout "${machine_limit:-1800}" qemu-system-aarch64 -M virt -cpu max -smp 2 -m 4G -nographic -no-reboot -nic none -kernel "$work"/kernel/boot/vmlinuz-* \
    -initrd "$2.initrd" "${disk[@]}" -append "console=ttyAMA0 quiet panic=-1" </dev/null | stdbuf -oL tr -d '\r' >"$1" || die "the machine did not end by itself: $1"
}

# run_system LOG SYSTEM-TREE: a machine with this tree as its disk, where /bench/start, a script of bash, runs as root. What it leaves in
# /bench/out is in LOG.out then.
run_system() {
  local top=$1.boot module
  rm -rf "$top" "$1.out" "$1.disk"
  mkdir -p "$top"/{bin,dev,proc,sys,system,modules} "$2/bench/out"
  cp "$work/kernel/bin/busybox" "$top/bin"
  {
    echo '#!/bin/busybox sh'
    for module in virtio_pci virtio_blk ext4 overlay fuse loop squashfs; do
      modprobe -d "$work/kernel" -S "$(ls "$work/kernel/lib/modules")" --show-depends $module
    done | grep ^insmod | awk '!seen[$2]++ { print $2 }' | while read -r module; do
      cp "$module" "$top/modules/"
      echo "/bin/busybox insmod /modules/${module##*/}"
    done
    cat <<'END2'
/bin/busybox mount -t devtmpfs dev /dev
for i in 0 1 2 3 4 5 6 7 8 9; do [ -b /dev/vda ] || /bin/busybox sleep 1; done
/bin/busybox mount -t ext4 /dev/vda /system
for place in proc sys dev; do /bin/busybox mkdir -p /system/$place; done
exec /bin/busybox switch_root /system /bench/init
END2
  } >"$top/init"
  cat >"$2/bench/init" <<'END2'
#!/bin/bash
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /root /tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts pts /dev/pts
chmod 1777 /tmp
chmod 666 /dev/fuse
ln -s /proc/self/fd /dev/fd
bash /bench/start </dev/null
sync
umount -a -r 2>/dev/null
echo o >/proc/sysrq-trigger
sleep 60
END2
  chmod 755 "$top/init" "$2/bench/init"
  mkfs.ext4 -q -d "$2" "$1.disk" "$((2 * $(du -sm "$2" | cut -f1) + 512))M"
  run_machine "$1" "$top" "$1.disk"
  mkdir "$1.out"
  debugfs -R "rdump /bench/out $1.out" "$1.disk" 2>"$1.debugfs" || die "reading $1.disk failed: $1.debugfs"
  mv "$1.out/out"/* "$1.out/" 2>/dev/null || true
  rm -rf "$1.disk" "$top" "$top.initrd"
}
