#!/bin/bash
# No space and no permission: exit code 9, and existing files are intact.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_project src
"$XAAS" build src -o oci:app:ir -q
"$XAAS" deploy oci:app:ir -o oci:app:here --cpu x86-64-v2 -q
before=$(find app -type f -exec sha256sum {} + | sort)

# A limit on file sizes stands for a full disk, for outputs and for temporary files.
full() { # KIB COMMAND...
  local limit=$1
  shift
  (ulimit -f "$limit" && exec "$@")
}
expect_error 9 'File too large' full 4 "$XAAS" deploy oci:app:ir -o oci:app:here --cpu x86-64-v3 -q
grep -q '^hint: .*space' stderr || fail "no hint: $(cat stderr)"
expect_error 9 'File too large' full 64 "$XAAS" deploy oci:app:ir -o rootfs:tree --cpu x86-64-v3 -q
[ ! -e tree ] || [ -z "$(ls -A tree)" ] || fail "half a tree is left"
expect_error 9 'File too large' full 64 "$XAAS" deploy oci:app:ir -o oci-archive:half.tar --cpu x86-64-v3 -q
[ ! -e half.tar ] || fail "half an archive is left"
expect_exit 9 bash -c '"$XAAS" detect --format json >/dev/full'
expect_equal "the layout after full disks" "$(find app -type f -exec sha256sum {} + | sort)" "$before"

# A full disk, if we may mount one.
mkdir disk
if mount -t tmpfs -o size=600k none disk 2>/dev/null; then
  trap 'umount disk' EXIT
  # Detected in advance, with figures.
  expect_error 9 'disk/app: not enough space: about ' "$XAAS" deploy oci:app:ir -o oci:disk/app:here -q
  grep -Eq 'about [0-9.]+ [KM]iB needed \(the image [0-9.]+ [KM]iB\), [0-9.]+ KiB free$' stderr || fail "other figures: $(cat stderr)"
  expect_error 9 'disk: not enough space: about ' env TMPDIR="$PWD/disk" "$XAAS" deploy oci:app:ir -o oci:out:here -q
  grep -q 'needed (temporary files ' stderr || fail "other figures: $(cat stderr)"
  expect_error 9 'disk/app.tar: not enough space: about ' "$XAAS" deploy oci:app:ir -o oci-archive:disk/app.tar -q
  expect_error 9 'disk/out: not enough space: about ' "$XAAS" build src -o oci:disk/out:ir -q
  mkdir large
  tiny_project large
  head -c 1000000 /dev/zero >large/data
  expect_error 9 'disk: not enough space: about ' env TMPDIR="$PWD/disk" "$XAAS" build large -o oci:out:ir -q
  grep -q 'building hello: ' stderr || fail "it does not say what: $(cat stderr)"
  [ -z "$(ls -A disk)" ] || fail "something was written: $(ls -A disk)"
  # Not detected in advance: the estimate is too low.
  expect_error 9 'No space left' env TMPDIR="$PWD/disk" "$XAAS" build src -o oci:out:ir -q
  expect_equal "temporary files" "$(find disk -name '*.tar' -o -name 'xaas-*' -o -name '.xaas-tmp-*' | wc -l)" 0
else
  echo "no disk of its own could be mounted: full disks were not tried"
fi

# An ordinary user in directories of another user.
chmod -R a+rX app
mkdir -m 755 closed
cp "$XAAS" xaas
chmod 755 xaas
mkdir -m 1777 tmp
user() {
  as_nobody TMPDIR="$PWD/tmp" HOME="$PWD/tmp" "$PWD/xaas" "$@"
}
expect_error 9 closed user deploy oci:app:ir -o oci:closed/app:here -q
expect_error 9 closed user deploy oci:app:ir -o oci-archive:closed/app.tar -q
expect_error 9 closed user deploy oci:app:ir -o rootfs:closed/tree -q
expect_error 9 app user deploy oci:app:ir -o oci:app:mine -q
expect_error 9 closed user detect -o closed/node.json
chmod 700 src
expect_error 9 src user build src/xaas.json -o oci:tmp/app:ir -q
# Deploying from a read-only image works.
user deploy oci:app:ir -o oci:tmp/app:here -q
expect_equal "left behind, beside what is kept for later" "$(ls -A --ignore=.cache tmp)" app
expect_equal "the layout" "$(find app -type f -exec sha256sum {} + | sort)" "$before"
