#!/bin/bash
# The umask applies to the user's files and not to those in an image.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_project src
(
  umask 077
  "$XAAS" build src -o oci:app:ir -q >/dev/null
  "$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
  "$XAAS" deploy oci:app:ir -o rootfs:tree --sbom sbom.json -q >/dev/null
  "$XAAS" copy oci:app:here oci:copied:here -q >/dev/null
  "$XAAS" copy oci:app:here oci-archive:image.tar:here -q >/dev/null
)
open=$(find app copied image.tar sbom.json tree -maxdepth 0 -perm /077; find app copied -perm /077)
[ -z "$open" ] || fail "others may read: $open"
(
  umask 022
  "$XAAS" build src -o oci:app:again -q >/dev/null
  "$XAAS" deploy oci:app:ir -o oci-archive:open.tar -q >/dev/null
  "$XAAS" deploy oci:app:ir -o rootfs:opened -q >/dev/null
)
expect_equal "modes" "$(stat -c %a open.tar opened)" "644"$'\n'"755"
expect_equal "the image" "$(image_digest app again)" "$(image_digest app ir)"
expect_equal "modes inside" "$(cd tree && find . -mindepth 1 -not -type l -printf '%P %m\n' | sort | sha256sum)" \
  "$(cd opened && find . -mindepth 1 -not -type l -printf '%P %m\n' | sort | sha256sum)"
