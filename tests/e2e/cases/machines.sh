#!/bin/bash
# Machines that have a name: saved by the site and by users, listed, used by deploy and check; what deploy says on a login node.
source "$E2E/lib.sh"
needs jq make clang-22

export HOME=$PWD/home XDG_CONFIG_HOME='' XAAS_SITE_CONFIG=$PWD/site/config.json
unset SLURM_JOB_ID PBS_JOBID LSB_JOBID FLUX_JOB_ID FLUX_ENCLOSING_ID
mkdir home
tiny_choices src
"$XAAS" build src -o oci:app:ir -q >out.txt

"$XAAS" detect --cpu haswell --save old --site >out.txt 2>messages
finds "saved as $PWD/site/machines/old.json" <messages || fail "no word of the file: $(cat messages)"
"$XAAS" detect --cpu znver4 --save old --site -q --format json >zen4.json
"$XAAS" detect --cpu haswell --save haswell -q --format json >haswell.json
expect_equal "the saved description" "$(jq -S . home/.config/xaas/machines/haswell.json)" "$(jq -S . haswell.json)"
echo '{' >site/machines/damaged.json
"$XAAS" config machines --format json >list.json
assert_json list.json '[.machines[] | [.name, .origin, .cpu, .level]] ==
  [["damaged", "site", null, null], ["haswell", "user", "haswell", "x86-64-v3"], ["old", "site", "znver4", "x86-64-v4"]]'
assert_json list.json '[.machines[].trouble != null] == [true, false, false]'
"$XAAS" config machines >table
finds -E '^haswell +haswell +x86-64-v3 ' <table || fail "the table: $(cat table)"
rm site/machines/damaged.json

# The same images as for the files.
for name in old haswell; do
  file=home/.config/xaas/machines/haswell.json
  [ $name = haswell ] || file=site/machines/old.json
  "$XAAS" deploy oci:app:ir --system $name -o oci:out:$name -q >out.txt
  "$XAAS" deploy oci:app:ir --system $file -o oci:out:$name-file -q >out.txt
  expect_equal "digest for $name" "$(image_digest out $name)" "$(image_digest out $name-file)"
done
"$XAAS" check oci:out:haswell --system old >out.txt
expect_exit 3 "$XAAS" check oci:out:old --system haswell

expect_error 4 'no machine is named haswel' "$XAAS" deploy oci:app:ir --system haswel -o oci:out:x -q
finds 'did you mean `haswell`' <stderr || fail "no hint: $(cat stderr)"
cp haswell.json plain
expect_error 4 'no machine is named plain' "$XAAS" deploy oci:app:ir --system plain -o oci:out:x -q
finds 'write ./plain' <stderr || fail "no hint: $(cat stderr)"
"$XAAS" deploy oci:app:ir --system ./plain -o oci:out:plain -q >out.txt
expect_error 2 'not a valid machine name' "$XAAS" detect --save ../x -q
expect_error 2 '--save' "$XAAS" detect --site -q
chmod 666 site/machines/old.json
expect_error 9 'users other than its owner can write to it' "$XAAS" deploy oci:app:ir --system old -o oci:out:x -q
chmod 644 site/machines/old.json

# A login node is where a batch system is, and no job. `sinfo` stands for Slurm.
mkdir bin
printf '#!/bin/sh\n' >bin/sinfo
chmod 755 bin/sinfo
login() { # ARGUMENT...
  PATH=$PWD/bin:$PATH "$XAAS" deploy oci:app:ir "$@" --format json -q >deploy.json
}
login -o oci:out:login
assert_json deploy.json '[.warnings[] | select(.kind == "login-node") | .message | test("--system MACHINE, one of haswell, old$")] == [true]'
login -o oci:out:named --system haswell
assert_json deploy.json '[.warnings[] | select(.kind == "login-node")] == []'
login -o oci:out:cpu --cpu haswell
assert_json deploy.json '[.warnings[] | select(.kind == "login-node")] == []'
SLURM_JOB_ID=1 login -o oci:out:job
assert_json deploy.json '[.warnings[] | select(.kind == "login-node")] == []'
