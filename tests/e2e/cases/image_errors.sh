#!/bin/bash
# Images that a command cannot use: missing, not ours, of another kind, of a newer format or LLVM.
source "$E2E/lib.sh"
needs jq make clang-22 zstd umoci tar

tiny_project src
"$XAAS" build src -o oci:app:ir -q
"$XAAS" deploy oci:app:ir -o oci:app:here -q
expect_error 4 'nope' "$XAAS" deploy oci:app:nope -o oci:app:out
expect_error 4 'nope' "$XAAS" inspect oci:app:nope
expect_error 4 'latest' "$XAAS" inspect oci:app
expect_error 2 'deployed' "$XAAS" deploy oci:app:here -o oci:app:out
expect_error 2 'output' "$XAAS" deploy oci:app:ir

umoci init --layout other >/dev/null
umoci new --image other:one >/dev/null
expect_error 2 'not an image that xaas made' "$XAAS" deploy oci:other:one -o oci:app:out
"$XAAS" inspect oci:other:one --format json | jq -e '.kind == "other" and .layers == []' >/dev/null

# LAYOUT FILTER: copies the image app:ir into a new layout, with bundle.json changed by a jq filter
rewrite() {
  local manifest config index old layer diff
  cp -r app "$1"
  manifest=$(image_digest "$1" ir)
  index=$(jq '[.layers[].annotations["dev.xaas.role"]] | index("metadata")' "$(blob "$1" "$manifest")")
  old=$(jq -r ".layers[$index].digest" "$(blob "$1" "$manifest")")
  rm -rf unpacked && mkdir unpacked
  case $(jq -r ".layers[$index].mediaType" "$(blob "$1" "$manifest")") in
  *zstd) zstd -dcq <"$(blob "$1" "$old")" ;;
  *) gzip -dc <"$(blob "$1" "$old")" ;;
  esac | tar -x -C unpacked
  jq -c "$2" unpacked/.xaas/bundle.json >changed.json
  mv changed.json unpacked/.xaas/bundle.json
  tar -C unpacked --sort=name --owner=0 --group=0 -cf layer.tar .xaas
  diff=sha256:$(sha256sum <layer.tar | cut -c1-64)
  gzip -nf layer.tar
  layer=$(store "$1" layer.tar.gz)
  config=$(jq -r .config.digest "$(blob "$1" "$manifest")")
  jq -c ".rootfs.diff_ids[$index] = \"$diff\"" "$(blob "$1" "$config")" >config.json
  local config_size layer_size
  config_size=$(stat -c %s config.json)
  layer_size=$(stat -c %s layer.tar.gz)
  config=$(store "$1" config.json)
  jq -c ".config.digest = \"$config\" | .config.size = $config_size | .layers[$index].digest = \"$layer\"
    | .layers[$index].size = $layer_size
    | .layers[$index].mediaType = \"application/vnd.oci.image.layer.v1.tar+gzip\"" "$(blob "$1" "$manifest")" >manifest.json
  jq -c ".manifests = [.manifests[] | select(.digest == \"$manifest\") | .digest = \"$(store "$1" manifest.json)\"
    | .size = $(stat -c %s manifest.json)]" "$1/index.json" >index.json
  mv index.json "$1/index.json"
}
store() { # LAYOUT FILE: copies it there; prints its digest
  local hex
  hex=$(sha256sum <"$2" | cut -c1-64)
  cp "$2" "$1/blobs/sha256/$hex"
  echo "sha256:$hex"
}

rewrite same .
"$XAAS" deploy oci:same:ir -o oci:out:same -q
rewrite format '.version += 100'
expect_error 3 'oci:format:ir' "$XAAS" deploy oci:format:ir -o oci:out:x
expect_error 3 'oci:format:ir' "$XAAS" inspect oci:format:ir
rewrite llvm '.llvm = "99.1.0"'
expect_error 3 '99.1.0' "$XAAS" deploy oci:llvm:ir -o oci:out:x
rewrite broken '.modules = 3'
expect_error 7 '/modules' "$XAAS" deploy oci:broken:ir -o oci:out:x
rewrite missing '.configurations[0].installed[0].path = "../x"'
expect_error 7 '../x' "$XAAS" deploy oci:missing:ir -o oci:out:x
expect_equal "tags" "$(jq -r '.manifests[].annotations["org.opencontainers.image.ref.name"]' out/index.json)" same
