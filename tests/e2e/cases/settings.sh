#!/bin/bash
# Settings of the site, the user, the project, the environment and the command line.
source "$E2E/lib.sh"
needs jq

unset XDG_CONFIG_HOME REGISTRY_AUTH_FILE
export XAAS_SITE_CONFIG=$PWD/site/config.json HOME=$PWD/home
mkdir -p site home/.config/xaas work
user=home/.config/xaas/config.json
setting() { # KEY: value, origin and source
  "$XAAS" config show --format json "${@:2}" | jq -cer --arg key "$1" '.settings[] | select(.key == $key) | [.value, .origin, .from]'
}

expect_equal "built in" "$(setting jobs)" '[null,"built-in",null]'
expect_equal "environment" "$(setting cache_directory)" "[\"$XAAS_CACHE_DIR\",\"environment\",\"XAAS_CACHE_DIR\"]"
# Comments are allowed.
echo '{ /* of the site */ "jobs": 5, "nice": 7, "temporary_directory": "~/tmp", "runtimes": ["bwrap", "podman"] }' >site/config.json
expect_equal "site" "$(setting jobs)" "[5,\"site\",\"$XAAS_SITE_CONFIG\"]"
expect_equal "a list" "$(setting runtimes)" "[[\"bwrap\",\"podman\"],\"site\",\"$XAAS_SITE_CONFIG\"]"
echo '{"jobs": 4}' >$user
expect_equal "user" "$(setting jobs)" "[4,\"user\",\"$PWD/$user\"]"
cd work
echo '{"jobs": 3}' >xaas-config.json
expect_equal "project" "$(setting jobs)" '[3,"project","xaas-config.json"]'
expect_equal "environment" "$(XAAS_JOBS=2 setting jobs)" '[2,"environment","XAAS_JOBS"]'
expect_equal "command line" "$(XAAS_JOBS=2 setting jobs -j 1)" '[1,"command-line","--jobs"]'
expect_equal "a flag" "$(setting offline --offline)" '[true,"command-line","--offline"]'
expect_equal "a flag that is off" "$(XAAS_OFFLINE=1 setting offline --offline=false)" '[false,"command-line","--offline"]'
"$XAAS" config show | finds '^jobs  *3  *project: xaas-config.json$' || fail "no such line: $("$XAAS" config show)"

# A project may set fewer keys.
echo '{"cache_directory": "/tmp/x"}' >xaas-config.json
expect_error 2 "xaas-config.json: /cache_directory: the file of a project cannot set this" "$XAAS" detect -q
echo '{"jobs": 3}' >xaas-config.json
chmod 666 xaas-config.json
"$XAAS" config show --format json >shown.json 2>note
assert_json shown.json '.files[2].trouble | contains("users other than its owner can write to it")'
grep -q "^xaas: note: xaas-config.json: .*not read" note || fail "no note: $(cat note)"
assert_json shown.json '.settings[] | select(.key == "jobs") | .value == 4'
cd ..

# An invalid setting is an error, except for --help.
echo '{"jbos": 4, "nice": 3, "registries": {"r.example": {"tls_verfy": false, "cert_dir": "/c"}}}' >$user
"$XAAS" config show --format json >shown.json 2>warnings
expect_equal "warnings" "$(cat warnings)" "xaas: warning: $PWD/$user: /jbos: unknown key \"jbos\"; did you mean \`jobs\`?
xaas: warning: $PWD/$user: /registries/r.example/tls_verfy: unknown key \"tls_verfy\"; did you mean \`tls_verify\`?"
assert_json shown.json '.files[1] | .used and (.warnings | length) == 2'
assert_json shown.json '[.settings[] | select(.origin == "user") | [.key, .value]] == [["nice", 3], ["registries.r.example.cert_dir", "/c"]]'
"$XAAS" detect --format json >detected.json 2>warnings
assert_json detected.json '.version == 1'
expect_equal "warnings of detect" "$(grep -c '^xaas: warning: ' warnings)" 2
"$XAAS" detect -q >/dev/null 2>warnings
[ ! -s warnings ] || fail "-q is not quiet: $(cat warnings)"
# Wrong values are errors, but help does not read the file.
echo '{"jbos": 4, "jobs": "4"}' >$user
expect_error 2 "$PWD/$user: /jobs: expected an integer" "$XAAS" config show
"$XAAS" config --help >/dev/null
echo '{"jobs": 4}' >$user
chmod 662 $user
expect_error 9 "$user" "$XAAS" config show
chmod 644 $user
if [ "$(id -u)" -eq 0 ]; then
  chown 65534 $user
  expect_error 9 "belongs to user 65534" "$XAAS" config show
  chown 0 $user
fi
expect_exit 2 "$XAAS" config
expect_exit 2 "$XAAS" config edit

# Settings take effect: temporary files, the network, a registry's certificates, niceness.
echo "{\"temporary_directory\": \"$PWD/nowhere\"}" >site/config.json
echo '{}' >$user
printf '{"name": "x", "build": {"system": "commands", "install": "install -D /bin/true $DESTDIR/x; nice >%s/niceness; echo $JOBS >%s/jobs"}, "isa": []}' "$PWD" "$PWD" >work/xaas.json
unset TMPDIR
[ ! -e nowhere ]
"$XAAS" build work -o oci:app:ir -q >/dev/null
[ -d nowhere ] || fail "temporary files went elsewhere"
echo "{\"temporary_directory\": \"$PWD/home\", \"offline\": true, \"nice\": 6, \"login_jobs\": 1}" >site/config.json
expect_error 6 "offline" "$XAAS" inspect docker://localhost:1/x:y
expect_error 6 "localhost:1" "$XAAS" inspect docker://localhost:1/x:y --offline=false
# An environment of a batch job is not ours here.
unset SLURM_JOB_ID PBS_JOBID LSB_JOBID
"$XAAS" build work -o oci:app:ir -q >/dev/null
expect_equal "niceness" "$(cat niceness)" "$(($(nice) > 6 ? $(nice) : 6))"
expect_equal "jobs" "$(cat jobs)" 1
XAAS_NICE=0 "$XAAS" build work -o oci:app:ir -q >/dev/null
expect_equal "niceness" "$(cat niceness)" "$(nice)"
SLURM_JOB_ID=1 "$XAAS" build work -o oci:app:ir -q -j 3 >/dev/null
expect_equal "niceness in a batch job" "$(cat niceness)" "$(nice)"
expect_equal "jobs" "$(cat jobs)" 3

# `run`: what every container gets.
if command -v bwrap >/dev/null; then
  mkdir -p data tree/bin tree/lib64 tree/data
  echo content >data/file
  "$XAAS" build work -o oci:app:ir -q >/dev/null
  "$XAAS" deploy oci:app:ir -o rootfs:program -q >/dev/null
  echo "{\"binds\": [\"$PWD/data:/data:ro\", \"/nonexistent/of/another/node\"], \"environment\": [\"SITE=1\", \"BOTH=site\"]}" >site/config.json
  "$XAAS" run --runtime bwrap --env BOTH=user --print --format json rootfs:program -- /x >plan.json
  assert_json plan.json ".command | index([\"--ro-bind\", \"$PWD/data\", \"/data\"])"
  assert_json plan.json '.command | index(["--setenv", "SITE", "1"]) and index(["--setenv", "BOTH", "user"])'
  assert_json plan.json '.command | any(contains("/nonexistent")) | not'
else
  echo "not run: binds and environment of the settings (needs bwrap)"
fi
