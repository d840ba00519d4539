#!/bin/bash
# Running an image with Podman.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
needs jq make clang-22 podman runc pgrep
[ "$(id -u)" -eq 0 ] || skip "Podman has its own conditions for ordinary users"

probe_image app
layout=$PWD/app
make_elsewhere
cd "$elsewhere"
state=$(mktemp -d /tmp/xaas-run-XXXXXX) # podman accepts at most 50 characters
trap 'rm -rf "$state" "$elsewhere"' EXIT
mkdir bin
cat >bin/podman <<END
#!/bin/sh
[ -z "\$OPEN_FILES" ] || ls /proc/\$\$/fd >"\$OPEN_FILES"
exec $(command -v podman) --root "$PWD/podman" --runroot "$state" --storage-driver vfs "\$@"
END
chmod 755 bin/podman
PATH=$PWD/bin:$PATH
run=("$XAAS" run -q --runtime podman --runtime-option=--runtime=runc --runtime-option=--ulimit=nofile=1024:1024
  --runtime-option=--ulimit=nproc=1000:1000 "oci:$layout:here")
ignored_stays=no
check_probe "${run[@]}"
says "$(id -u) $(id -g)" "${run[@]}" -- uid
says no "${run[@]}" --bind "$PWD/seen:/ro:ro" -- write /ro/file
"$XAAS" run -q --runtime podman --runtime-option=--network=none "oci:$layout:here" --print >line
grep -q -e '--network=none' line || fail "the option is not there: $(cat line)"
! grep -q -e '--network=host' line || fail "the network is there twice: $(cat line)"

# What a launcher opened for a rank reaches the program. Podman 5 refuses gaps below it.
says '[a]' env OPEN_FILES="$PWD/open" PMI_RANK=0 PMI_SIZE=1 PMI_FD=9 "${run[@]}" -- a 9</dev/null
for file in 3 4 5 6 7 8 9; do grep -qx $file open || fail "file $file is not open: $(tr '\n' ' ' <open)"; done
