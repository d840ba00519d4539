# shellcheck shell=bash
# Helpers of cases with pass plugins, whose image is oci:app:ir. To be sourced after lib.sh.

plugin() { # FILE SOURCE OPTION...
  # shellcheck disable=SC2046 # several words
  clang++-22 -shared -fPIC -std=c++20 -fno-rtti -O0 $(llvm-config-22 --cppflags) "$REPO/tests/plugins/$2.cpp" -o "$1" "${@:3}"
}
hostile() { clang-22 -shared -fPIC -O0 -w "$REPO/tests/plugins/hostile.c" -o "$1" "${@:2}"; } # FILE OPTION...
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/usr/lib/x86_64-linux-gnu" "$1/usr/local/bin/program"; }
deploy() { "$XAAS" deploy oci:app:ir -o "$@" -q; }
refused() { # CODE TEXT ARGUMENT...: of a deploy
  local code=0
  deploy oci:refused:x "${@:3}" >refused.out 2>refused.err || code=$?
  [ "$code" -eq "$1" ] || fail "exit code $code instead of $1 with ${*:3}: $(cat refused.err)"
  grep -q -e "$2" refused.err || fail "with ${*:3}: $(cat refused.err)"
}
