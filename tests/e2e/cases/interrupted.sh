#!/bin/bash
# A run stopped at any moment: the exit code tells the signal, no temporary file stays behind, and the next run gives the
# result of an undisturbed one, even if the killed run could not clean up.
source "$E2E/lib.sh"
needs jq make clang-22 setsid

tiny_choices src
# A build that takes a while in each configuration.
sed -i 's/^hello.o: hello.c$/&\n\tsleep 0.3/' src/Makefile
mkdir tmp
export TMPDIR=$PWD/tmp

build() { "$XAAS" build src -o oci:app:ir -q; }
deploy() { "$XAAS" deploy oci:app:ir -o oci:app:here --cpu x86-64-v3 -q; }
build >out && deploy >out
want_ir=$(image_digest app ir)
want=$(image_digest app here)

# SIGNAL SECONDS COMMAND...: signals the process after that time; prints the exit code
stopped() {
  local signal=$1 after=$2 process code=0
  shift 2
  "$@" >/dev/null &
  process=$!
  sleep "$after"
  kill -"$signal" "$process" 2>/dev/null || true
  wait "$process" || code=$?
  echo "$code"
}
clean() {
  expect_equal "left in TMPDIR after $1" "$(ls -A tmp | wc -l)" 0
  expect_equal "left in the layout after $1" "$(find app -name '*tmp*' | wc -l)" 0
}
# Background jobs of a script ignore SIGINT; `env` restores the default.
plain=(env --default-signal=INT)
expect_equal "SIGINT in a build" "$(stopped INT 0.7 "${plain[@]}" "$XAAS" build src -o oci:app:other -q 2>err)" 130
grep -q '^xaas: error: .*interrupted' err || fail "not said: $(cat err)"
clean "SIGINT in a build"
expect_equal "SIGTERM in a build" "$(stopped TERM 0.7 "$XAAS" build src -o oci:app:other -q)" 143
clean "SIGTERM in a build"
for signal in INT TERM; do
  for after in 0.03 0.1 0.15; do
    code=$(stopped $signal $after "${plain[@]}" "$XAAS" deploy oci:app:ir -o oci:app:other --cpu x86-64-v2 -q)
    case $signal:$code in
    INT:130 | TERM:143 | *:0) ;; # 0: it ended before
    *) fail "SIG$signal after $after s: exit code $code" ;;
    esac
    clean "SIG$signal in deploy after $after s"
  done
done

# SIGKILL at random instants: no process of the build survives, not even one outside its process group.
still_running() { # the build's processes, zombies aside
  local directory
  while read -r directory; do
    grep -qs '^State:.Z' "$directory/status" || cat "$directory/cmdline" 2>/dev/null || true
  done < <(grep -lsaF "XAAS_SESSION=$PWD/tmp" /proc/[0-9]*/environ | cut -d/ -f1-3) | tr '\0' ' '
}
killed() { # TENTHS COMMAND...: after a random part of that time
  local after process
  after=$(awk -v part=$RANDOM -v tenths="$1" 'BEGIN { printf "%.3f", tenths / 10 * part / 32768 }')
  shift
  setsid "$@" >/dev/null &
  process=$!
  sleep "$after"
  kill -KILL -- -"$process" 2>/dev/null || true
  wait "$process" || true
  echo "killed after $after s: $*"
}
sed -i 's/sleep 0.3/setsid sleep 0.3/' src/Makefile
rm -r "$XAAS_CACHE_DIR"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  killed 20 "$XAAS" build src -o oci:app:killed -q
  for ((wait = 0; wait < 50; ++wait)); do
    [ -n "$(still_running)" ] || break
    sleep 0.1
  done
  expect_equal "processes of a killed build" "$(still_running | wc -c)" 0
done
# Once with an outcome in the cache, which is more than the mark of its key.
setsid "$XAAS" build src -o oci:app:killed -q >/dev/null &
process=$!
until kill -0 -- -"$process" 2>/dev/null; do sleep 0.01; done # the leader of its process group
while [ -z "$(find "$XAAS_CACHE_DIR" -type f -size +200c 2>/dev/null)" ]; do sleep 0.02; done
kill -KILL -- -"$process"
wait "$process" || true
"$XAAS" build src -o oci:app:ir -q --format json >after.json
"$XAAS" build src -o oci:fresh:ir -q --format json --no-cache >fresh.json
reused() { jq '[.configurations[].reused] | add' "$1.json"; }
[ "$(reused after)" -gt "$(reused fresh)" ] || fail "nothing of killed builds is used: $(cat after.json)"
expect_equal "digest after kills" "$(image_digest app ir)" "$want_ir"
expect_equal "digest without a cache" "$(image_digest fresh ir)" "$want_ir"

for _ in 1 2 3 4 5 6 7 8 9 10; do
  killed 3 "$XAAS" deploy oci:app:ir -o oci:app:killed --cpu x86-64-v2 -q
done
killed 3 "$XAAS" deploy oci:app:ir -o rootfs:killed --cpu x86-64-v2 -q

# The next run removes leftovers of killed runs, and no files of other users or running processes.
mkdir -p tmp/xaas-build-mine
"$XAAS" build src -o oci:beside:ir -q >beside.out &
beside=$!
while [ -z "$(ls -d tmp/xaas-build-*/build 2>/dev/null)" ]; do sleep 0.02; done
build >out && deploy >out
"$XAAS" deploy oci:app:ir -o rootfs:unpacked --cpu x86-64-v2 -q >out
wait $beside || fail "a build was disturbed by another's clearing"
expect_equal "left in TMPDIR" "$(ls -A tmp)" xaas-build-mine
expect_equal "left beside an unpacked image" "$(find . -maxdepth 1 -name '.xaas-tmp-*' | wc -l)" 0
sed -i 's/setsid sleep 0.3/sleep 0.3/' src/Makefile
build >out && deploy >out
expect_equal "digest of the IR image" "$(image_digest app ir)" "$want_ir"
expect_equal "digest of the deployed image" "$(image_digest app here)" "$want"
