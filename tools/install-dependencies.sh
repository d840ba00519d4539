#!/bin/bash
# Installs the packages for building and testing xaas, on Debian 12 as root. The package sources must offer LLVM 22. Installs
# nothing if all packages are there. With --build-only, those of the build alone, and with --unit, those of unit tests, too: both
# also on Debian 13. --print-libraries installs nothing, and prints the packages that a sysroot for another architecture needs
# (tools/make-sysroot.sh).
set -euo pipefail

programs=(cmake ninja-build make pkg-config git ca-certificates clang-22 lld-22)
# Of the architecture that the build is for. clang-22 has the list of Clang's libraries for CMake.
libraries=(
  clang-22 llvm-22-dev libclang-22-dev liblld-22-dev libpolly-22-dev libomp-22-dev g++
  nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libvalijson-dev libgtest-dev libgmock-dev
  libarchive-dev nettle-dev liblzma-dev liblz4-dev libbz2-dev libacl1-dev
  libseccomp-dev libssl-dev zlib1g-dev libzstd-dev libxml2-dev libcurl4-openssl-dev
)
# Of unit tests: Fortran, and other machines' libraries and emulators. Debian 13 has GCC 14.
gcc=12
! grep -qx 'VERSION_CODENAME=trixie' /etc/os-release || gcc=14
unit=(flang-22 patchelf nasm qemu-user libc6-dev-arm64-cross "libstdc++-$gcc-dev-arm64-cross" libclang-rt-22-dev liboffload-22-dev meson autoconf automake libtool procps)
# Runtimes and other readers of our images, build systems, libraries of the applications that tests build, MPI, and the tools of
# tools/lint.sh. Of Debian 12.
tests=(
  skopeo docker-registry umoci podman buildah runc squashfs-tools bubblewrap charliecloud curl openssl perl python3-yaml jq xxd binutils gdb xz-utils zstd util-linux
  mmdebstrap dpkg-dev
  clang-format-22 clang-tidy-22 shellcheck python3-jsonschema libsimde-dev libdivsufsort-dev mlir-22-tools
  gfortran mpich libmpich-dev zsh fish mandoc clang-tools-22 lmod rocm-device-libs libamdhip64-dev
)

packages=("${programs[@]}" "${libraries[@]}")
case "${1:-}" in
"") packages+=("${unit[@]}" "${tests[@]}") ;;
--unit) packages+=("${unit[@]}") ;;
--build-only) ;;
--print-libraries)
  printf '%s\n' "${libraries[@]}"
  exit 0
  ;;
*)
  echo "usage: $0 [--build-only | --unit | --print-libraries]" >&2
  exit 2
  ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are installed"
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "$0: not root, and not installed: ${missing[*]}" >&2
  exit 9
fi

echo "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}"
