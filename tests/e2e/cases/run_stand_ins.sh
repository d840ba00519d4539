#!/bin/bash
# The command lines for Apptainer and enroot, recorded by programs with their names; the choice of the runtime; the command
# lines for launchers.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
needs jq make clang-22

probe_image app
layout=$PWD/app
mkdir work bin
stand_in() { # NAME
  printf '#!/bin/sh\nfor word; do printf "[%%s]" "$word"; done; echo\nenv >"%s/environment"\nexit 9\n' "$PWD" >"bin/$1"
  chmod 755 "bin/$1"
}
for name in apptainer enroot singularity; do stand_in $name; done
base=$PWD
export PATH=$PWD/bin:$PATH
cd work
tree=$XAAS_CACHE_DIR/trees/$(image_digest "$layout" here | cut -d: -f2)

expect_exit 9 env LD_LIBRARY_PATH=/of/host OF_BOTH=host "$XAAS" run -q --runtime apptainer --bind /opt:/in:ro "oci:$layout:here" -- a 'b c' >line
expect_equal apptainer "$(cat line)" "[exec][--cleanenv][--no-mount][home,cwd,tmp][--bind][/tmp:/tmp][--bind][/opt:/in:ro][--pwd][$PWD][$tree][/usr/local/bin/probe][a][b c]"
grep -q '^APPTAINERENV_OF_BOTH=image$' ../environment || fail "the image's variable is not there"
grep -q '^APPTAINERENV_PATH=/usr/local/bin' ../environment || fail "no PATH of the image: $(cat ../environment)"
! grep -q '^APPTAINERENV_LD_LIBRARY_PATH=' ../environment || fail "the host's libraries are there"
rm ../bin/apptainer
expect_exit 9 "$XAAS" run -q --runtime apptainer "oci:$layout:here" >line # its former name
grep -q '^SINGULARITYENV_PATH=/usr/local/bin' ../environment || fail "no PATH of the image for Singularity"

# enroot enters a directory by a shell, which this image does not have.
expect_error 8 "enroot: enters a directory only by /bin/sh" "$XAAS" run --runtime enroot "oci:$layout:here" -- a
expect_exit 9 env OF_HOST=1 "$XAAS" run -q --runtime enroot --workdir / --bind "$PWD:/in:ro" "oci:$layout:here" -- a >line
grep -qF "[start][--mount][/tmp:/tmp:none:rbind,rw]" line || fail "enroot: $(cat line)"
grep -qF "[--mount][$PWD:/in:none:rbind,ro]" line || fail "enroot: $(cat line)"
grep -qF "[--env][OF_HOST][--env][OF_IMAGE=image]" line || grep -qF "[--env][OF_IMAGE=image]" line || fail "enroot: $(cat line)"
grep -qE "\[$(basename "$tree")\]\[/usr/local/bin/probe\]\[a\]$" line || fail "enroot: $(cat line)"
grep -qx "ENROOT_DATA_PATH=$(dirname "$tree")" ../environment || fail "enroot does not find the tree"

# The first usable one, in the requested order.
for order in enroot,apptainer apptainer,enroot; do
  "$XAAS" run --print --format json --runtime "$order" "oci:$layout:here" -q >plan.json
  expect_equal "the first that serves of $order" "$(json plan.json .runtime)" apptainer
done
"$XAAS" run --print --launcher srun --ranks 8 --runtime apptainer "oci:$layout:here" -q -- a 'b c' >line
expect_equal "line for srun" "$(cat line)" "srun -n 8 $XAAS run --runtime apptainer oci:$layout:here -- a 'b c'"
expect_error 2 "need --print" "$XAAS" run --launcher srun "oci:$layout:here"
expect_error 2 "SRC[:DST[:ro|rw]]" "$XAAS" run --bind :x "oci:$layout:here"
expect_error 4 "there is no" "$XAAS" run --bind "$base/nothing" "oci:$layout:here"
