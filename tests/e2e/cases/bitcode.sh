#!/bin/bash
# `inspect --bitcode` writes the IR modules of an image, which stores them packed, as files that LLVM reads.
source "$E2E/lib.sh"
needs jq clang-22 zstd python3

mkdir src
printf '#include <stdio.h>\nint f(int);\nint main(void) { printf("%%d\\n", f(2)); }\n' >src/main.c
printf '#ifdef __AVX2__\nint f(int a) { return a * 3; }\n#else\nint f(int a) { return a * 5; }\n#endif\n' >src/f.c
printf 'program: main.o f.o\n\t$(CC) -o $@ main.o f.o\nmain.o f.o: CFLAGS = -O2\n' >src/Makefile
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "program", "to": "bin/program"}]},
  "isa": ["x86-64", "x86-64-v3"]}' >src/xaas.json
for form in raw prepared; do
  "$XAAS" build src --ir "$form" -o "oci:$form:ir" -q
  "$XAAS" inspect "oci:$form:ir" --bitcode "$form.modules/below" --format json >"$form.json"
  assert_json "$form.json" '.kind == "ir"'
  expect_equal "modules" "$(jq -c '[.[] | [.sources, .architectures, .form, .configurations]] | sort' "$form.modules/below/modules.json")" \
    "[[[\"f.c\"],[\"x86_64\"],\"$form\",[\"isa=x86-64\"]],[[\"f.c\"],[\"x86_64\"],\"$form\",[\"isa=x86-64-v3\"]],[[\"main.c\"],[\"x86_64\"],\"$form\",[\"isa=x86-64\",\"isa=x86-64-v3\"]]]"
  bytes=0
  while read -r file; do
    expect_equal "digest" "$(sha256sum <"$form.modules/below/$file" | cut -c1-64).bc" "$file"
    bytes=$((bytes + $(stat -c %s "$form.modules/below/$file")))
    clang-22 -w -x ir -c "$form.modules/below/$file" -o "$file.o"
  done < <(jq -r '.[].file' "$form.modules/below/modules.json")
  expect_equal "bytes" "$bytes" "$(json "$form.json" .sharing.module_bytes)"
done
# The image stores the packed form, which is smaller when it is compressed.
main=$(jq -r '.[] | select(.sources == ["main.c"]) | .file | rtrimstr(".bc")' raw.modules/below/modules.json)
layer=$(jq -r '.layers[] | select(.role == "ir" and (.configurations | length) == 2) | .digest | ltrimstr("sha256:")' raw.json)
zstd -dcq "raw/blobs/sha256/$layer" | tar -xO ".xaas/ir/sha256/$main" >stored
expect_equal "stored" "$(head -c 4 stored)" XBC1
[ "$(zstd -10 -cq stored | wc -c)" -lt "$(zstd -10 -cq "raw.modules/below/$main.bc" | wc -c)" ] || fail "packed is larger"

# A damaged module is the image's fault, and named.
cp -r raw damaged
mkdir -p layer && zstd -dcq "raw/blobs/sha256/$layer" | tar -x -C layer
printf x >>"layer/.xaas/ir/sha256/$main"
python3 - damaged "$layer" layer <<'END'
import hashlib, io, json, os, sys, tarfile
layout, old, directory = sys.argv[1:]
blob = lambda digest: os.path.join(layout, 'blobs/sha256', digest)
def store(data):
    digest = hashlib.sha256(data).hexdigest()
    open(blob(digest), 'wb').write(data)
    return digest
out = io.BytesIO()
with tarfile.open(fileobj=out, mode='w') as tar:
    tar.add(os.path.join(directory, '.xaas'), arcname='.xaas')
new = store(out.getvalue())
index = json.load(open(os.path.join(layout, 'index.json')))
manifest = json.load(open(blob(index['manifests'][0]['digest'][7:])))
config = json.load(open(blob(manifest['config']['digest'][7:])))
for i, layer in enumerate(manifest['layers']):
    if layer['digest'] == 'sha256:' + old:
        layer.update(digest='sha256:' + new, size=len(out.getvalue()), mediaType='application/vnd.oci.image.layer.v1.tar')
        config['rootfs']['diff_ids'][i] = 'sha256:' + new
data = json.dumps(config).encode()
manifest['config'].update(digest='sha256:' + store(data), size=len(data))
data = json.dumps(manifest).encode()
index['manifests'][0].update(digest='sha256:' + store(data), size=len(data))
json.dump(index, open(os.path.join(layout, 'index.json'), 'w'))
END
expect_error 7 "/.xaas/ir/sha256/$main: packed bitcode is damaged" "$XAAS" inspect oci:damaged:ir --bitcode out
expect_error 7 "packed bitcode is damaged" "$XAAS" deploy oci:damaged:ir -o oci:out:x --no-cache

expect_error 2 'bitcode needs an IR image' "$XAAS" inspect src --bitcode out
"$XAAS" deploy oci:raw:ir -o oci:deployed:x -q
expect_error 2 'bitcode needs an IR image' "$XAAS" inspect oci:deployed:x --bitcode out
expect_error 4 'nowhere' "$XAAS" inspect oci:raw:ir --bitcode src/main.c/nowhere
