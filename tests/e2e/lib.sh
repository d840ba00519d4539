# shellcheck shell=bash
# Helpers for the cases; sourced by each. A case runs with `set -euo pipefail` in its own empty directory. XAAS is the program,
# REPO this repository and XAAS_CACHE_DIR a cache of the case.

set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() { # the runner prints the reason
  echo "SKIPPED: $*"
  exit 77
}

finds() { # GREP-ARGUMENT...: whether a line of the input matches. Reads all of it: with `grep -q`, a program that still writes fails
  grep "$@" | cat >/dev/null
}

needs() { # TOOL...: skips the case if one is missing
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
}

cuda_toolkit() { # prints the directory of a toolkit that Clang can compile with; fails if there is none
  local directory
  for directory in "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -x "$directory/bin/ptxas" ] && [ -e "$directory/include/cuda_runtime.h" ] &&
      [ -e "$directory/nvvm/libdevice/libdevice.10.bc" ]; then
      echo "$directory"
      return
    fi
  done
  return 1
}

fat_binary() { # PROGRAM: prints "KIND ARCH" of each image, from the headers that device/fat_binary.h describes
  local at=16 size kind header payload arch
  objcopy -O binary --only-section=.nv_fatbin "$1" fat
  size=$(stat -c %s fat)
  expect_equal "magic number of $1" "$(od -An -tx4 -N4 fat | tr -d ' ')" ba55ed50
  while [ $at -lt "$size" ]; do
    read -r kind header payload arch < <(perl -e 'open(my $f, "<:raw", "fat"); seek($f, $ARGV[0], 0); read($f, my $h, 64);
      print join(" ", unpack("v x2 V Q< x12 V", $h)), "\n"' $at)
    case $kind in 1) kind=ptx ;; 2) kind=elf ;; esac
    echo "$kind $arch"
    at=$((at + header + payload))
  done
}

starts() { # PROGRAM: must start, and either find no GPU or work on it
  local code=0
  "$1" >output 2>&1 || code=$?
  [ $code -eq 77 ] || [ $code -eq 0 ] || fail "$1 ends with $code: $(cat output)"
}

expect_exit() { # CODE COMMAND...: the output stays visible
  local want=$1 got=0
  shift
  "$@" || got=$?
  [ "$got" -eq "$want" ] || fail "exit code $got instead of $want: $*"
}

expect_equal() { # WHAT GOT WANT; an empty WANT is an error of the case
  [ -n "$3" ] || fail "$1: nothing to compare '$2' with"
  [ "$2" = "$3" ] || fail "$1: got '$2', want '$3'"
}

json() { # FILE FILTER: prints one value; fails if it is null or absent
  jq -er "$2" "$1" || fail "$1 has no $2"
}

assert_json() { # FILE FILTER: the filter must be true
  jq -e "$2" "$1" >/dev/null || fail "$1: not true: $2; it is: $(cat "$1")"
}

# A filter: the warnings of a report that do not depend on whether the machine that runs the test has a batch system.
# shellcheck disable=SC2034 # the cases use it
own_warnings='[.warnings[] | select(.kind != "login-node")]'

image_digest() { # LAYOUT TAG: of the manifest
  jq -er --arg tag "$2" \
    '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest' "$1/index.json"
}

# LAYOUT TAG ARG...: runs an image with podman and a temporary store (driver vfs, because overlay leaves mounts). LAYOUT is
# relative and in lower case, because podman derives the image's name from it.
run_image() {
  local image=oci:$1:$2 code=0 state
  shift 2
  state=$(mktemp -d /tmp/xaas-run-XXXXXX) # podman accepts at most 50 characters
  podman --root "$PWD/podman" --runroot "$state" --storage-driver vfs run --runtime runc --rm \
    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network=none "$image" "$@" || code=$?
  rm -rf "$state" 2>/dev/null || { # the container's monitor may still be writing
    sleep 1
    rm -rf "$state"
  }
  return $code
}

hip_device_libraries() { # prints their directory; fails without a HIP that Clang can compile with
  local directory
  [ -e /usr/include/hip/hip_runtime.h ] || return 1
  for directory in /usr/lib/*/amdgcn/bitcode; do
    if [ -e "$directory/ocml.bc" ]; then
      echo "$directory"
      return
    fi
  done
  return 1
}

as_nobody() { # COMMAND...: runs it with an empty environment and PATH, and as an ordinary user if we are root
  local become=()
  if [ "$(id -u)" -eq 0 ]; then
    become=("$(command -v setpriv)" --reuid=65534 --regid=65534 --clear-groups)
  fi
  "${become[@]}" "$(command -v env)" -i PATH=/nonexistent "$@"
}

result_of() { # FILE: prints the line of the example's output that is the same on every machine
  grep '^checksum ' "$1" || fail "no checksum in $1: $(cat "$1")"
}

# CODE TEXT COMMAND...: must fail with that exit code and an error in our format that contains TEXT. Standard error is
# afterwards in the file `stderr`.
expect_error() {
  local want=$1 text=$2 got=0
  shift 2
  "$@" 2>stderr || got=$?
  [ "$got" -eq "$want" ] || fail "exit code $got instead of $want: $*: $(cat stderr)"
  grep -q '^xaas: error: ' stderr || fail "no line 'xaas: error: ...': $*: $(cat stderr)"
  grep -qF -- "$text" stderr || fail "the error does not say '$text': $*: $(cat stderr)"
  ! grep -E '^xaas: error: (.*[ :])?([a-z-]+:[^ ]+): ([a-z]+ing )?\2: ' stderr || fail "the error names the image twice: $*"
}

# DIR: a program of one C file, built by make, without specialization points.
tiny_project() {
  mkdir -p "$1"
  cat >"$1/hello.c" <<'END'
#include <stdio.h>
int main(int argc, char **argv) {
  (void)argv;
  double sum = 0;
  for (int i = 1; i < 1000 * argc; ++i) sum += 1.0 / i;
  printf("hello %.6f\n", sum);
  return 0;
}
END
  cat >"$1/Makefile" <<'END'
hello: hello.o
	$(CC) -o $@ $^
hello.o: hello.c
	$(CC) $(CFLAGS) -c $<
install: hello
	install -D hello $(DESTDIR)$(PREFIX)/bin/hello
END
  cat >"$1/xaas.json" <<'END'
{"name": "hello", "build": {"system": "make", "arguments": ["CFLAGS=-O2"]}, "isa": [],
 "image": {"entrypoint": ["/usr/local/bin/hello"]}}
END
}

# DIR: the same with two specialization points, one of them the ISA level.
tiny_choices() {
  tiny_project "$1"
  cat >"$1/xaas.json" <<'END'
{"name": "hello", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"],
 "specializations": [{"name": "speed", "category": "other", "default": "safe",
   "values": [{"value": "safe", "arguments": ["CFLAGS=-O2"]},
              {"value": "fast", "arguments": ["CFLAGS=-O3 -ffast-math"], "requires": {"cpu": ["avx512f"]}}]}]}
END
}

# LAYOUT TAG: prints the digests of all blobs of an image: manifest, config, layers.
image_blobs() {
  local manifest
  manifest=$(image_digest "$1" "$2")
  echo "$manifest"
  jq -r '.config.digest, .layers[].digest' "$(blob "$1" "$manifest")"
}

blob() { # LAYOUT DIGEST: the path
  echo "$1/blobs/${2/://}"
}

# FILE [HTTP [CONFIG]]: starts a registry on the loopback with FILE as its log. HTTP is added to the `http` section of its
# configuration (YAML in one line), CONFIG to the top level. Sets `registry` to HOST:PORT and `registry_pid` to the process,
# which ends with the case.
start_registry() {
  local log=$1 i
  cat >"$log.yml" <<END
version: 0.1
storage: {filesystem: {rootdirectory: $PWD/$log.data}, delete: {enabled: true}}
http: {addr: "${registry_address:-127.0.0.1}:0", secret: s${2:+, $2}}
log: {accesslog: {disabled: false}}
${3:-}
END
  : >"$log"
  docker-registry serve "$log.yml" >>"$log" 2>&1 &
  registry_pid=$!
  registry_pids="${registry_pids:-} $registry_pid"
  trap 'kill $registry_pids 2>/dev/null || true' EXIT
  for ((i = 0; i < 600; ++i)); do
    registry=$(sed -n 's/.*msg="listening on \([^ ",]*\).*/\1/p' "$log")
    registry=127.0.0.1:${registry##*:}
    [ "$registry" = 127.0.0.1: ] || return 0
    sleep 0.1
  done
  fail "the registry does not start: $(cat "$log")"
}

# DIR: serves its files over HTTP on the loopback. Sets `port`, and `server` to the process, which ends with the case.
serve_files() {
  local i
  : >server.log
  (cd "$1" && exec python3 -u -m http.server --bind 127.0.0.1 0) >>server.log 2>&1 &
  server=$!
  trap 'kill $server 2>/dev/null || true' EXIT
  for ((i = 0; i < 600; ++i)); do
    port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' server.log)
    [ -z "$port" ] || return 0
    sleep 0.1
  done
  fail "no server for the files in $1: $(cat server.log)"
}

# FILE: prints the requests in a registry's log since the last call, "METHOD PATH STATUS BYTES" each.
new_requests() {
  local seen=${requests_seen:-0} size=
  until [ "$size" = "$(stat -c %s "$1")" ]; do # the registry writes it after its answer
    size=$(stat -c %s "$1")
    sleep 0.5
  done
  requests_seen=$(grep -c 'HTTP/1.1" ' "$1" || true)
  grep 'HTTP/1.1" ' "$1" | tail -n +$((seen + 1)) | sed 's/.*"\([A-Z]*\) \([^ ]*\) HTTP\/1.1" \([0-9]*\) \([0-9]*\).*/\1 \2 \3 \4/'
}

# LAYOUT FILE: adds a file to the blobs and prints its digest.
put_blob() {
  local digest
  digest=sha256:$(sha256sum <"$2" | cut -c1-64)
  cp "$2" "$1/blobs/${digest/://}"
  echo "$digest"
}

# LAYOUT TAG FILE TYPE: adds an entry for a manifest or an index to index.json; replaces one with the same tag.
put_manifest() {
  local digest
  digest=$(put_blob "$1" "$3")
  jq -c --arg tag "$2" --arg digest "$digest" --arg type "$4" --argjson size "$(stat -c %s "$3")" \
    '.manifests = [.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] != $tag)] +
      [{mediaType: $type, digest: $digest, size: $size, annotations: {"org.opencontainers.image.ref.name": $tag}}]' \
    "$1/index.json" >index.new
  mv index.new "$1/index.json"
}

# LAYOUT DIGEST KEY [SIGNED]: adds a signature of the image DIGEST as `cosign sign --key` writes it (its SIGNATURE_SPEC.md),
# made with the private key in the file KEY. SIGNED replaces the digest in the signed payload.
cosign_sign() {
  local tag=${2/:/-}.sig manifest layers='[]' payload config
  jq -jnc --arg digest "${4:-$2}" '{critical: {identity: {"docker-reference": "registry.example/app"},
    image: {"docker-manifest-digest": $digest}, type: "cosign container image signature"}, optional: null}' >payload
  if openssl pkey -in "$3" -noout -text 2>/dev/null | finds -i ed25519; then
    openssl pkeyutl -sign -rawin -inkey "$3" -in payload -out signature
  else
    openssl dgst -sha256 -sign "$3" -out signature payload
  fi
  payload=$(put_blob "$1" payload)
  if manifest=$(image_digest "$1" "$tag"); then
    layers=$(jq -c .layers "$(blob "$1" "$manifest")")
  fi
  jq -nc --argjson layers "$layers" --arg digest "$payload" --argjson size "$(stat -c %s payload)" \
    --arg signature "$(base64 -w0 signature)" '$layers + [{mediaType: "application/vnd.dev.cosign.simplesigning.v1+json",
      digest: $digest, size: $size, annotations: {"dev.cosignproject.cosign/signature": $signature}}]' >layers
  jq -c '{architecture: "", created: "0001-01-01T00:00:00Z", history: [.[] | {created: "0001-01-01T00:00:00Z"}], os: "",
    rootfs: {type: "layers", diff_ids: [.[].digest]}, config: {}}' layers >config
  config=$(put_blob "$1" config)
  jq -c --arg config "$config" --argjson size "$(stat -c %s config)" '{schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $config, size: $size}, layers: .}' layers >manifest
  put_manifest "$1" "$tag" manifest application/vnd.oci.image.manifest.v1+json
}

# LAYOUT TAG TAR [PATH]: makes an image of one layer, uncompressed to save time, with PATH as its search path.
image_of_tar() {
  local layer config
  if [ ! -e "$1/oci-layout" ]; then
    mkdir -p "$1/blobs/sha256"
    echo '{"imageLayoutVersion": "1.0.0"}' >"$1/oci-layout"
    echo '{"schemaVersion": 2, "manifests": []}' >"$1/index.json"
  fi
  layer=$(put_blob "$1" "$3")
  jq -nc --arg layer "$layer" --arg path "${4:-/usr/bin:/bin}" --arg arch "$(dpkg --print-architecture)" '{architecture: $arch,
    os: "linux", config: {Env: ["PATH=" + $path]}, rootfs: {type: "layers", diff_ids: [$layer]}}' >config.new
  config=$(put_blob "$1" config.new)
  jq -nc --arg layer "$layer" --argjson layer_size "$(stat -c %s "$3")" --arg config "$config" \
    --argjson config_size "$(stat -c %s config.new)" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $config, size: $config_size},
      layers: [{mediaType: "application/vnd.oci.image.layer.v1.tar", digest: $layer, size: $layer_size}]}' >manifest.new
  put_manifest "$1" "$2" manifest.new application/vnd.oci.image.manifest.v1+json
  rm config.new manifest.new
}

# PACKAGE...: prints these Debian packages, those that shell scripts and make need, and all their installed dependencies.
with_dependencies() {
  dpkg-query -W -f '${db:Status-Abbrev}|${Package}|${Pre-Depends}, ${Depends}\n' |
    awk -F'|' -v wanted="dash coreutils sed grep mawk make $*" '
      $1 ~ /^ii/ { needs[$2] = $3 }
      function visit(name,   i, count, parts, j, choices, choice, one) {
        if (name in seen || !(name in needs)) return
        seen[name] = 1
        print name
        count = split(needs[name], parts, ",")
        for (i = 1; i <= count; ++i) {
          choices = split(parts[i], choice, "\\|")
          for (j = 1; j <= choices; ++j) {
            one = choice[j]
            sub(/^ +/, "", one)
            sub(/[ (:].*$/, "", one)
            if (one in needs) { visit(one); break }
          }
        }
      }
      END { count = split(wanted, first, " "); for (i = 1; i <= count; ++i) visit(first[i]) }'
}

# LAYOUT TAG PACKAGE...: makes an image from the files of these packages on this machine, without files that no build reads.
# `toolchain_path`, if set, is PATH in it. Skips the case if a package is missing.
toolchain_image() {
  local layout=$1 tag=$2 package packages link
  shift 2
  needs dpkg-query tar perl jq awk
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | finds '^ii' || skip "$package of Debian is not installed"
  done
  mapfile -t packages < <(with_dependencies "$@")
  for package in "${packages[@]}"; do
    dpkg -L "$package"
    printf '%s\n' "/var/lib/dpkg/info/$package.list" "/var/lib/dpkg/info/$package:$(dpkg --print-architecture).list"
  done >owned.new
  echo /var/lib/dpkg/status >>owned.new
  find /etc/alternatives -type l -printf '%p %l %f\n' | # links such as awk and c++ belong to no package
    awk 'NR == FNR { owned[$1]; next } $2 in owned { print $1; print "/usr/bin/" $3 }' owned.new - >>owned.new
  grep -vE -e '^/usr/(share/(doc|man|locale|info|lintian|bug|zoneinfo)|lib/(locale|valgrind)|lib/[^/]*/gconv)/' \
    -e '^/(s?bin|lib(32|64|x32)?)$' -e '/lto1$' -e '/lib(asan|tsan|lsan|ubsan|hwasan)[^/]*$' owned.new |
    if [ -L /bin ]; then sed -E 's,^/(bin|sbin|lib|lib32|lib64|libx32)/,/usr/\1/,'; else cat; fi |
    LC_ALL=C sort -u | perl -ne 'chomp; print substr($_, 1), "\0" if $_ =~ /./ && (-l $_ || -f $_)' >files.new
  tar -C / --owner=0 --group=0 --numeric-owner --no-recursion --null -T files.new -cf toolchain.new
  for link in bin sbin lib lib32 lib64 libx32; do
    [ ! -L "/$link" ] || tar -C / --owner=0 --group=0 --numeric-owner -rf toolchain.new "$link"
  done
  image_of_tar "$layout" "$tag" toolchain.new "${toolchain_path:-}"
  rm owned.new files.new toolchain.new
}

# Sets `as_user`, the prefix of commands that deploy (as another user if we are root), and `elsewhere`, that user's directory.
deploying_user() {
  elsewhere=$(mktemp -d /tmp/xaas-user-XXXXXX)
  as_user=(env "HOME=$elsewhere" "XAAS_CACHE_DIR=$elsewhere/cache" "TMPDIR=$elsewhere/tmp")
  mkdir "$elsewhere/tmp"
  chmod 755 .
  if [ "$(id -u)" -eq 0 ]; then
    needs setpriv
    chown -R 65534:65534 "$elsewhere"
    as_user=("$(command -v setpriv)" --reuid=65534 --regid=65534 --clear-groups "${as_user[@]}")
  fi
  trap 'rm -rf "$elsewhere"' EXIT
}

# The bundle of an image follows its schema.
valid_bundle() { # LAYOUT TAG
  local manifest layer
  rm -f bundle.json
  manifest=$(jq -r --arg tag "$2" '.manifests[] | select(.annotations["org.opencontainers.image.ref.name"] == $tag) | .digest | ltrimstr("sha256:")' "$1/index.json")
  for layer in $(jq -r '.layers[].digest | ltrimstr("sha256:")' "$1/blobs/sha256/$manifest"); do
    ! tar -tf "$1/blobs/sha256/$layer" | grep -x .xaas/bundle.json >/dev/null || tar -xOf "$1/blobs/sha256/$layer" .xaas/bundle.json >bundle.json
  done
  python3 - bundle.json "$REPO/specs/schema/bundle.schema.json" <<'PYTHON' || fail "the bundle of $1:$2 does not follow its schema"
import json, jsonschema, sys
bundle, schema = (json.load(open(name)) for name in sys.argv[1:])
faults = list(jsonschema.Draft7Validator(schema).iter_errors(bundle))
for fault in faults:
    print(list(fault.absolute_path), fault.message[:300])
sys.exit(bool(faults))
PYTHON
}
