#!/bin/bash
# Applications on base images, under the runtimes: BusyBox without a C library, and Debian 11 (whose C library is older than that of
# Debian 12, on which this runs), 12 and 13. For each base and application: build, deploy, and a run under Podman, Docker,
# Charliecloud, Apptainer and bubblewrap, whose output must be that of the image on `scratch`. Then `podman build` with FROM a deployed
# image, a package installed on top, and the application run there.
#
#   tools/bench/bases.sh [soft-spheres|hmmer|minimap2|zstd]...     all, if none is named
#
# Needs root, mmdebstrap, archives of Debian 11, 12, 13 and sid, and a kernel that gives users namespaces. Resumes after an
# interruption: lib.sh.
# shellcheck disable=SC2034 # runs of applications are used by their names
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
applications=("$@")
[ ${#applications[@]} -gt 0 ] || applications=(soft-spheres hmmer minimap2 zstd)
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages mmdebstrap skopeo umoci podman runc docker.io charliecloud bubblewrap busybox-static

# Bases: layouts with the tag `base`.
layout_of() { # DIRECTORY LAYOUT
  umoci init --layout "$2"
  umoci new --image "$2:base"
  umoci insert --rootless=false --image "$2:base" "$1" /
  umoci config --image "$2:base" --config.env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --config.cmd sh
}
busybox_tree() { # DIRECTORY
  local applet
  mkdir -p "$1/bin" "$1/etc" "$1/tmp"
  chmod 1777 "$1/tmp"
  cp "$(command -v busybox)" "$1/bin/busybox"
  for applet in sh cat ls sed env; do ln -s busybox "$1/bin/$applet"; done
}
bases=(busybox bullseye bookworm trixie)
once "$work/bases/busybox" busybox_tree
for suite in bullseye bookworm trixie; do once "$work/bases/$suite" debian_root "$suite" hostname; done
for base in "${bases[@]}"; do once "$work/bases/$base.layout" layout_of "$work/bases/$base"; done

# Applications: their sources, data, and the command whose output is compared.
soft_spheres_source() { cp -r "$root/examples/soft-spheres" "$1"; }
soft_spheres_spec=$root/examples/soft-spheres/xaas.json
soft_spheres_data() { mkdir "$1"; }
soft_spheres_run=(/usr/local/bin/soft-spheres)
soft_spheres_filter() { grep '^checksum'; }

hmmer_source() {
  packages libdivsufsort-dev libsimde-dev autoconf automake libtool
  debian_source hmmer "$1"
}
hmmer_data() { mkdir "$1" && cp "$work/hmmer/source/tutorial/globins4.hmm" "$work/hmmer/source/tutorial/globins45.fa" "$1/"; }
hmmer_run=(/usr/local/bin/hmmsearch --cpu 0 /data/globins4.hmm /data/globins45.fa)
hmmer_filter() { grep -v '^#'; }

minimap2_source() {
  packages zlib1g-dev libsimde-dev
  debian_source minimap2 "$1"
}
minimap2_data() { mkdir "$1" && cp "$work"/minimap2/source/test/MT-*.fa "$1/"; }
minimap2_run=(/usr/local/bin/minimap2 -x asm20 /data/MT-human.fa /data/MT-orang.fa)
minimap2_filter() { cat; }

zstd_source() {
  packages zlib1g-dev liblzma-dev liblz4-dev
  debian_source libzstd "$1"
}
zstd_spec=$root/specs/applications/zstd.json
zstd_data() { mkdir "$1" && cat "$work"/zstd/source/lib/*/*.c >"$1/text"; }
zstd_run=(/usr/local/bin/zstd -19 -c /data/text)
zstd_filter() { sha256sum; }

# Runtimes: FUNCTION IMAGE DATA COMMAND... writes the output of the program.
state=$(mktemp -d /tmp/xaas-bases-XXXXXX) # Podman accepts at most 50 characters
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$state"' EXIT
with_podman() { podman --root "$state/storage" --runroot "$state/podman" --storage-driver vfs --runtime runc "$@"; }
limits=(--ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
in_podman() { with_podman run --quiet --rm --network=none "${limits[@]}" -v "$2:/data:ro" --entrypoint "$3" "oci:$1" "${@:4}"; }
dockerd --iptables=false --ip6tables=false --bridge=none --storage-driver=vfs --data-root "$state/docker.data" --exec-root "$state/docker" \
  --pidfile "$state/docker.pid" -H "unix://$state/docker.sock" >"$work/dockerd.log" 2>&1 &
with_docker() { docker -H "unix://$state/docker.sock" "$@"; }
for ((i = 0; i < 300; ++i)); do with_docker version >/dev/null 2>&1 && break || sleep 0.2; done
in_docker() {
  rm -f "$state/image.tar"
  skopeo copy -q "oci:$1" "docker-archive:$state/image.tar:bench:image"
  with_docker load -q -i "$state/image.tar" >/dev/null
  with_docker run --rm --network=none -v "$2:/data:ro" --entrypoint "$3" bench:image "${@:4}"
  with_docker rmi -f bench:image >/dev/null
}
under_xaas() { XAAS_CACHE_DIR=$work/cache "$xaas" run -q --runtime "$1" --bind "$3:/data" --entrypoint "$4" "oci:$2" -- "${@:5}"; }
in_charliecloud() { under_xaas charliecloud "$@"; }
in_bubblewrap() { under_xaas bwrap "$@"; }
once "$work/roots/apptainer" debian_root sid apptainer,procps
in_apptainer() {
  local top=$work/roots/apptainer
  rm -rf "$top/bench"
  mkdir -p "$top/bench/home" "$top/bench/data"
  skopeo copy -q "oci:$1" "oci-archive:$top/bench/image.tar"
  cp -r "$2/." "$top/bench/data"
  chmod -R a+rX "$top/bench"
  chown 65534:65534 "$top/bench/home"
  in_root "$top" apptainer --quiet exec --no-mount home,cwd,tmp --bind /bench/data:/data oci-archive:/bench/image.tar "${@:3}"
}
runtimes=(podman docker charliecloud apptainer bubblewrap)

result=$work/bases.table.$program
echo "application base libraries-of-base replaced layers-of-application ${runtimes[*]}" >"$result"
for application in "${applications[@]}"; do
  name=${application//-/_}
  declare -n run=${name}_run
  spec_variable=${name}_spec
  spec=${!spec_variable:-$root/specs/applications/$application.json}
  here=$work/$application/$program
  mkdir -p "$here"
  once "$work/$application/source" "${name}_source"
  once "$work/$application/data" "${name}_data"
  data=$work/$application/data
  for base in scratch "${bases[@]}"; do
    say "$application on $base"
    reference=scratch
    [ "$base" = scratch ] || reference=oci:$work/bases/$base.layout:base
    image=$here/$base
    rm -rf "$image"
    XAAS_CACHE_DIR=$work/cache "$xaas" build "$spec" --source "$work/$application/source" --image-base "$reference" --isa x86-64,x86-64-v3 \
      -o "oci:$image:ir" -q --format json >"$image.json"
    XAAS_CACHE_DIR=$work/cache "$xaas" deploy "oci:$image:ir" -o "oci:$image:here" -q >/dev/null
    XAAS_CACHE_DIR=$work/cache "$xaas" check "oci:$image:here" -q >/dev/null
    if [ "$base" = scratch ]; then
      in_bubblewrap "$image:here" "$data" "${run[@]}" | "${name}_filter" >"$here/expected"
      [ -s "$here/expected" ] || die "$application has no output"
      continue
    fi
    [ "$(skopeo inspect --raw "oci:$image:here" | jq -r '.layers[0].digest')" = "$(skopeo inspect --raw "oci:$work/bases/$base.layout:base" | jq -r '.layers[0].digest')" ] ||
      die "$application: the layer of $base is another one"
    cells=("$application" "$base" "$(jq '.base.libraries | length' "$image.json")" "$(jq '.base.replaced | length' "$image.json")"
      "$(skopeo inspect --raw "oci:$image:here" | jq '[.layers[] | select(.annotations["dev.xaas.role"] != "image-base").size] | add')")
    for runtime in "${runtimes[@]}"; do
      "in_$runtime" "$image:here" "$data" "${run[@]}" 2>"$here/$base.$runtime.stderr" | "${name}_filter" >"$here/$base.$runtime" || true
      cmp -s "$here/$base.$runtime" "$here/expected" || die "$application on $base under $runtime: another output: $here/$base.$runtime, $here/$base.$runtime.stderr"
      cells+=(same)
    done
    with_podman rmi -af >/dev/null
    echo "${cells[*]}" >>"$result"
  done
done
column -t "$result"

say "images on top of deployed ones"
package=$work/package
mkdir -p "$package"
ls "$package"/hello_*.deb >/dev/null 2>&1 || (cd "$package" && apt-get download -qq hello)
name=${applications[0]//-/_}
declare -n first=${name}_run
for base in "${bases[@]}"; do
  step='ls / && test -x '"${first[0]}"
  # Debian 11 has its own C library in its database, which is too old for this package.
  [ "$base" = busybox ] || [ "$base" = bullseye ] || step='dpkg -i /hello_*.deb && hello && apt-get check'
  printf 'FROM oci:%s\nCOPY hello_*.deb /\nRUN %s && ls -ld /tmp\n' "$work/${applications[0]}/$program/$base:here" "$step" >"$package/Containerfile"
  with_podman build "${limits[@]}" --network=none -q -t "on-$base" "$package" >"$package/$base.log" 2>&1 || die "podman build on $base: $package/$base.log"
  with_podman run --rm --network=none "${limits[@]}" -v "$work/${applications[0]}/data:/data:ro" --entrypoint "${first[0]}" "localhost/on-$base" "${first[@]:1}" |
    "${name}_filter" | cmp - "$work/${applications[0]}/$program/expected" || die "podman build on $base: another output"
  echo "$base: built upon, and the application runs"
done
