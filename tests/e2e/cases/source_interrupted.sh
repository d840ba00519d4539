#!/bin/bash
# Deploys of a source image that are killed at any moment, run at once, or read a damaged image.
source "$E2E/lib.sh"
needs jq bwrap gcc setsid
toolchain_image tools gcc gcc libc6-dev
tiny_project src
sed -i 's/^hello.o: hello.c$/&\n\tsleep 0.3/' src/Makefile
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:source -q >/dev/null
mkdir tmp
export TMPDIR=$PWD/tmp
deploy() { "$XAAS" deploy oci:app:source -o "oci:$1:x" --cpu x86-64-v2 --runtime bwrap -q "${@:2}"; }

# Two at once unpack the toolchain once, and give the same.
deploy one >one.out &
first=$!
deploy two >two.out
wait $first
want=$(image_digest one x)
expect_equal "two at once" "$(image_digest two x)" "$want"
expect_equal "trees" "$(find "$XAAS_CACHE_DIR/trees" -name '*.use' | wc -l)" 2

still_running() { # prints the builds, found by their mounts, without zombies
  local directory
  while read -r directory; do
    grep -qs '^State:.Z' "$directory/status" || tr '\0' ' ' <"$directory/cmdline" || true
  done < <(grep -lsF "$PWD/tmp/xaas-deploy-" /proc/[0-9]*/mountinfo | cut -d/ -f1-3) 2>/dev/null
}
gone() { # WHEN: nothing of a build runs soon
  local i
  for ((i = 0; i < 100; ++i)); do
    [ -n "$(still_running)" ] || return 0
    sleep 0.1
  done
  fail "after a kill $1 these run: $(still_running)"
}
begun() { # the build has visibly started
  local i
  for ((i = 0; i < 1000; ++i)); do
    case $(still_running) in *make*) return 0 ;; esac
    sleep 0.02
  done
  fail "the build is not seen"
}
start() { # in the background: `process`
  setsid env --default-signal=INT "$XAAS" deploy oci:app:source -o oci:killed:x --cpu x86-64-v2 --runtime bwrap -q >/dev/null 2>err &
  process=$!
}
stop() { # WHEN
  kill -KILL "$process" 2>/dev/null || true
  wait "$process" || true
  gone "$1"
}
# Killed while the toolchain is unpacked, then while it is used.
rm -rf "$XAAS_CACHE_DIR/trees"
for after in 0.05 0.4 0.2 0.8; do
  start
  sleep $after
  stop "after $after s"
done
for after in 0 0.1 0.25; do
  start
  begun
  sleep $after
  stop "$after s into the build"
done
"$XAAS" deploy oci:app:source -o oci:after:x --cpu x86-64-v2 --runtime bwrap -q >/dev/null
expect_equal "after kills" "$(image_digest after x)" "$want"
expect_equal "left in TMPDIR" "$(ls -A tmp | wc -l)" 0
expect_equal "trees" "$(find "$XAAS_CACHE_DIR/trees" -mindepth 1 -maxdepth 1 | wc -l)" 4

# After SIGTERM or SIGINT it cleans up.
for signal in INT:130 TERM:143; do
  start
  begun
  kill "-${signal%:*}" $process
  expect_exit "${signal#*:}" wait $process
  expect_equal "left in TMPDIR after ${signal%:*}" "$(ls -A tmp | wc -l)" 0
  gone "by ${signal%:*}"
done

# Damaged sources, toolchain or description.
"$XAAS" cache prune --max-size 0 -q >/dev/null
for role in source base metadata; do
  cp -r app "damaged-$role"
  path=$(blob "damaged-$role" "$("$XAAS" inspect oci:app:source --format json | jq -r ".layers[] | select(.role == \"$role\") | .digest")")
  chmod u+w "$path"
  printf 'X' | dd of="$path" bs=1 seek=$(($(stat -c %s "$path") / 2)) conv=notrunc status=none
  expect_error 7 "sha256:" "$XAAS" deploy "oci:damaged-$role:source" -o oci:bad:x --cpu x86-64-v2 --runtime bwrap -q
  rm -r "damaged-$role"
  expect_equal "left in TMPDIR after a damaged $role" "$(ls -A tmp | wc -l)" 0
done
[ ! -e bad ] || ! image_digest bad x 2>/dev/null || fail "there is an image all the same"
deploy good >/dev/null
expect_equal "afterwards" "$(image_digest good x)" "$want"
