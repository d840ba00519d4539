#!/bin/bash
# Running an image with Charliecloud, as an ordinary user.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
needs jq make clang-22 ch-run setpriv pgrep

probe_image app
layout=$PWD/app
make_user
cd "$elsewhere/work"
run=("${as_user[@]}" "$XAAS" run -q --runtime charliecloud "oci:$layout:here")
check_probe "${run[@]}"
check_killed "${run[@]}"
says "$("${as_user[@]}" id -u) $("${as_user[@]}" id -g)" "${run[@]}" -- uid
says no "${run[@]}" -- see "$elsewhere/home"
expect_error 8 "no binds that are read-only" "${run[@]}" --bind "$PWD/seen:/ro:ro" -- see /ro/file
# It becomes the program: one process, ours.
"${run[@]}" -- wait >wait.log &
process=$!
until_said ready wait.log
expect_equal "the process that we started" "$(tr '\0' ' ' <"/proc/$process/cmdline")" "/usr/local/bin/probe wait "
kill -TERM $process
expect_exit 7 wait $process
