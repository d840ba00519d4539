#!/bin/bash
# Running an image with bwrap, as root and as an ordinary user: what the program sees, signals, exit codes, no leftovers.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
needs jq make clang-22 bwrap setpriv pgrep

probe_image app
layout=$PWD/app
run=("$XAAS" run -q --runtime bwrap "oci:$layout:here")
base=$PWD
make_elsewhere
cd "$elsewhere"
check_probe "${run[@]}"
check_killed "${run[@]}"
says "$(id -u) $(id -g)" "${run[@]}" -- uid
says yes "${run[@]}" --bind "$PWD/seen:/ro:ro" -- see /ro/file
says no "${run[@]}" --bind "$PWD/seen:/ro:ro" -- write /ro/file
cd "$base"
rm -rf "$elsewhere"

# The image is unpacked once and as a whole; the next run reuses the tree.
expect_equal "number of trees" "$(find "$XAAS_CACHE_DIR/trees" -name '*.use' | wc -l)" 1
"$XAAS" cache info --format json >info.json
assert_json info.json '.caches[] | select(.name == "trees") | .entries == 1 and .bytes > 0'
for ((i = 0; i < 6; ++i)); do
  XAAS_CACHE_DIR=$PWD/fresh "${run[@]}" -- env OF_IMAGE >"many.$i" &
done
wait
for ((i = 0; i < 6; ++i)); do expect_equal "run $i of several" "$(cat "many.$i")" image; done
# A tree in use stays, an unused one is removed.
"${run[@]}" -- wait >wait.log &
process=$!
until_said ready wait.log
"$XAAS" cache prune --max-size 0 -q >/dev/null
says yes "${run[@]}" -- see /usr/local/bin/probe
kill -TERM $process
expect_exit 7 wait $process
"$XAAS" cache prune --max-size 0 --format json >prune.json
assert_json prune.json '.removed_bytes > 0 and (.caches[] | select(.name == "trees") | .entries == 0)'

# A tree keeps the entry point and the environment of its image. One of another tool has neither.
"$XAAS" deploy oci:app:ir -o rootfs:tree -q >/dev/null
says image "$XAAS" run -q --runtime bwrap rootfs:tree -- env OF_IMAGE
says '[x]' "$XAAS" run -q --runtime bwrap rootfs:tree probe -- x
cp -r tree plain
rm -r plain/.xaas
expect_error 2 "names no program" "$XAAS" run --runtime bwrap rootfs:plain
says image "$XAAS" run -q --runtime bwrap rootfs:plain --env OF_IMAGE=image -- /usr/local/bin/probe env OF_IMAGE
says '(unset)' "$XAAS" run -q --runtime bwrap rootfs:plain --entrypoint /usr/local/bin/probe -- env OF_BOTH
expect_error 4 "no program nothing" "$XAAS" run -q --runtime bwrap rootfs:plain -- nothing

# Where the image has files of its own, the current directory does not hide them.
mkdir tree/data
touch tree/data/file
if [ "$(id -u)" -eq 0 ] && [ ! -e /data ]; then
  mkdir /data
  (cd /data && says / "$XAAS" run -q --runtime bwrap "rootfs:$OLDPWD/tree" -- cwd) || { rmdir /data; fail "/data"; }
  rmdir /data
fi

# What cannot run here is refused before it starts.
"$XAAS" deploy oci:app:ir -o oci:app:other --cpu sierraforest -q >/dev/null
if ! grep -qw avx_ne_convert /proc/cpuinfo; then
  expect_error 3 "the image was deployed for sierraforest: " "$XAAS" run --runtime bwrap oci:app:other -- x
  expect_error 3 "avxneconvert" "$XAAS" run -v --runtime bwrap oci:app:other -- x
  expect_exit 126 "$XAAS" run -q --runtime bwrap --no-check oci:app:other -- x # the program itself refuses
fi
"$XAAS" run --runtime bwrap oci:app:here --print -- a 'b c' >line
eval "$(cat line)" >said
expect_equal "the printed line" "$(cat said)" '[a][b c]'
expect_error 8 "no bwrap on PATH" env PATH=/nonexistent "$XAAS" run --runtime bwrap oci:app:here
expect_error 8 "charliecloud: no ch-run on PATH" env PATH=/nonexistent "$XAAS" run oci:app:here
expect_error 2 "known: " "$XAAS" run --runtime nothing oci:app:here

make_user
cd "$elsewhere/work"
run=("${as_user[@]}" "$XAAS" run -q --runtime bwrap "oci:$layout:here")
check_probe "${run[@]}"
check_killed "${run[@]}"
says "$("${as_user[@]}" id -u) $("${as_user[@]}" id -g)" "${run[@]}" -- uid
says no "${run[@]}" -- see "$elsewhere/home"
if [ "$(id -u)" -eq 0 ]; then # a tree of another user
  "$XAAS" copy -q "oci:$layout:here" "rootfs:$base/theirs" >/dev/null
  chmod 755 "$base"
  tree=("${as_user[@]}" "$XAAS" run -q --runtime bwrap "rootfs:$base/theirs" --entrypoint /usr/local/bin/probe)
  (cd /tmp && says /tmp "${tree[@]}" -- cwd)
  expect_error 9 'making /var' "${tree[@]}" -- cwd
fi
says "/" "${run[@]}" -- env HOME
says "$elsewhere/home" "${run[@]}" --bind "$elsewhere/home" -- env HOME
