#!/bin/bash
# Installs what a job needs on Debian 12, as root: xaas and, for builds, Clang 22 and the packages of the application.
#
#   ci/prepare.sh build|deploy
#
# XAAS_ARCHIVE     URL or path of the relocatable archive of xaas
# XAAS_SHA256      its checksum
# LLVM_APT_SOURCE  only if the image's package sources have no clang-22: paragraphs as in sources.list(5), deb822 style, with the
#                  key in Signed-By
# PACKAGES         Debian packages that the application needs for its build, besides make and cmake
set -euo pipefail

case "${1:-}" in
build) packages=(clang-22 lld-22 make cmake libc6-dev libstdc++-12-dev) ;;
deploy) packages=() ;;
*)
  echo "usage: $0 build|deploy" >&2
  exit 2
  ;;
esac
: "${XAAS_ARCHIVE:?is not set}" "${XAAS_SHA256:?is not set}"

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends ca-certificates curl
if [ "$1" = build ]; then
  if [ -n "${LLVM_APT_SOURCE:-}" ]; then
    printf '%s\n' "$LLVM_APT_SOURCE" >/etc/apt/sources.list.d/llvm.sources
    apt-get update -q
  fi
  read -r -a more <<<"${PACKAGES:-}"
  apt-get install -q -y --no-install-recommends "${packages[@]}" "${more[@]}"
fi

case $XAAS_ARCHIVE in
*://*) curl -fsSL -o /tmp/xaas.tar.gz "$XAAS_ARCHIVE" ;;
*) cp "$XAAS_ARCHIVE" /tmp/xaas.tar.gz ;;
esac
echo "$XAAS_SHA256  /tmp/xaas.tar.gz" | sha256sum --check --quiet
mkdir -p /opt/xaas
tar -xzf /tmp/xaas.tar.gz -C /opt/xaas --strip-components=1
ln -sf /opt/xaas/bin/xaas /usr/local/bin/xaas
xaas --version
