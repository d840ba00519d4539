#!/bin/bash
# Stopped at any moment: the exit code says by what, nothing temporary stays behind, and the next run gives what an
# undisturbed one gives. Also when it had no time to clean up.
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
# Background jobs of a script ignore SIGINT; `env` puts that back.
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
    INT:130 | TERM:143 | *:0) ;; # 0: it was faster
    *) fail "SIG$signal after $after s: exit code $code" ;;
    esac
    clean "SIG$signal in deploy after $after s"
  done
done

# Killed with all its children.
for after in 0.1 0.5 1.2; do
  setsid "$XAAS" build src -o oci:app:killed -q &
  process=$!
  sleep "$after"
  pkill -KILL -s "$process" || true
  wait "$process" || true
done
for after in 0.02 0.05 0.1 0.15 0.2; do
  setsid "$XAAS" deploy oci:app:ir -o oci:app:killed --cpu x86-64-v2 -q &
  process=$!
  sleep "$after"
  pkill -KILL -s "$process" || true
  wait "$process" || true
done
rm -rf tmp && mkdir tmp
build >out && deploy >out
expect_equal "digest of the IR image" "$(image_digest app ir)" "$want_ir"
expect_equal "digest of the deployed image" "$(image_digest app here)" "$want"
"$XAAS" build src -o oci:fresh:ir -q >out
expect_equal "digest in a new layout" "$(image_digest fresh ir)" "$want_ir"
