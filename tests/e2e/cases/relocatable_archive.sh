#!/bin/bash
# The relocatable archive runs in an empty root without libc, /proc and /dev, from any place and through links, whatever the
# host's libraries and loader settings are. Making it twice gives the same bytes.
source "$E2E/lib.sh"
needs clang-22 readelf strip chroot unshare tar jq make

export GZIP_LEVEL=1
"$REPO/tools/make-archive.sh" - one.tar.gz "$XAAS"
mkdir elsewhere
TMPDIR=$PWD/elsewhere "$REPO/tools/make-archive.sh" - two.tar.gz "$XAAS"
cmp one.tar.gz two.tar.gz || fail "two archives of one program differ"

in_root() { # COMMAND...
  if [ "$(id -u)" -eq 0 ]; then
    "$(command -v chroot)" root "$@"
  else
    unshare --map-root-user "$(command -v chroot)" root "$@"
  fi
}
mkdir -p root/opt/place root/tools
tar -xf one.tar.gz -C root/opt/place
name=$(basename root/opt/place/*)
ln -s "../opt/place/$name/bin/xaas" root/tools/relative
ln -s /tools/relative root/tools/absolute
ln -s opt/place root/linked
want=$("$XAAS" --version)
for program in "/opt/place/$name/bin/xaas" /tools/relative /tools/absolute "/linked/$name/bin/xaas"; do
  expect_equal "$program --version" "$(in_root "$program" --version)" "$want"
done

# Broken libraries, which the program must not load.
mkdir -p root/lib/x86_64-linux-gnu root/usr/lib root/etc
for library in libc.so.6 libm.so.6 libstdc++.so.6 libcrypto.so.3; do
  for place in root/lib root/lib/x86_64-linux-gnu root/usr/lib; do
    echo broken >"$place/$library"
  done
done
echo /lib/libm.so.6 >root/etc/ld.so.preload
expect_equal "among broken libraries" "$(in_root /tools/relative --version 2>&1)" "$want"

# Deploying in that root, which has only the archive and the image.
printf 'int main(void) { return 0; }\n' >main.c
printf 'p: main.c\n\t$(CC) -O2 main.c -o p\n' >Makefile
printf '{"name": "tiny", "isa": [], "build": {"system": "make", "install": [{"from": "p", "to": "bin/p"}]}}' >xaas.json
mkdir source && mv main.c Makefile xaas.json source/
cp -R source root/source
"$XAAS" build source -o oci:root/image:ir -q >/dev/null
mkdir -p root/tmp
in_root /tools/relative deploy oci:/image:ir -o oci:/image:haswell --cpu haswell -q >/dev/null
"$XAAS" deploy oci:root/image:ir -o oci:outside:haswell --cpu haswell -q >/dev/null
expect_equal "deployed in an empty root" "$("$XAAS" inspect oci:root/image:haswell --format json | jq -r .digest)" \
  "$("$XAAS" inspect oci:outside:haswell --format json | jq -r .digest)"

# libcurl, which is loaded by name, is there, too: the request is sent and refused.
expect_error 6 "http://127.0.0.1:9/" in_root /tools/relative inspect /source --llm http://127.0.0.1:9 --model none

# A GPU driver's library of the machine, which needs parts of the C library that the program does not.
echo 'int nvmlInit_v2(void) { return 9; }' >driver.c
mkdir -p root/usr/lib/x86_64-linux-gnu root/dev
clang-22 -shared -fPIC driver.c -o root/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 \
  -Wl,--no-as-needed -lm -l:libdl.so.2 -l:libpthread.so.0 -l:librt.so.1
touch root/dev/nvidiactl
in_root /tools/relative detect --format json -q >detected.json
assert_json detected.json '.notes | any(test("libnvidia-ml.so.1: nvmlInit_v2 failed with error 9"))'

mv "root/opt/place/$name/libexec" root/opt/gone
expect_exit 1 in_root /tools/relative --version
