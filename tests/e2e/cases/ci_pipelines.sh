#!/bin/bash
# The pipelines in examples/ci: valid YAML, valid shell, and the jobs of both do their work here with a local registry.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry openssl perl python3
python3 -c 'import yaml' 2>/dev/null || skip "python3 has no module yaml"
"$XAAS" merge --help >/dev/null 2>&1 || fail "$XAAS has no command merge"

secret=t0ken-of-the-job
hash=$(perl -e 'print crypt($ARGV[0], "\$2y\$05\$abcdefghijklmnopqrstuu")' "$secret")
case $hash in '$2y$'*) ;; *) skip "perl's crypt knows no bcrypt" ;; esac
echo "robot:$hash" >htpasswd
start_registry log "" "auth: {htpasswd: {realm: test, path: $PWD/htpasswd}}"
mkdir bin home
ln -s "$XAAS" bin/xaas
export PATH=$PWD/bin:$PATH HOME=$PWD/home
unset XDG_RUNTIME_DIR XDG_CONFIG_HOME DOCKER_CONFIG REGISTRY_AUTH_FILE

for script in "$REPO"/examples/ci/*.sh "$REPO"/tools/release.sh; do
  bash -n "$script"
  [ -x "$script" ] || fail "$script is not executable"
done
expect_exit 2 "$REPO/examples/ci/prepare.sh" nothing

# The application. The packages that a job installs are already there.
mkdir -p project/ci
printf '#include <stdio.h>\nint main(void) { return printf("%%d\\n", THREADS) < 0; }\n' >project/app.c
printf 'app: app.c\n\t$(CC) -O2 -DTHREADS=$(THREADS) -o $@ $^\n' >project/Makefile
cat >project/xaas.json <<'END'
{"name": "app", "version": "1.0", "build": {"system": "make", "install": [{"from": "app", "to": "bin/app"}]},
 "specializations": [{"name": "threads", "category": "threading", "default": "openmp", "values": [
   {"value": "none", "arguments": ["THREADS=0"]}, {"value": "openmp", "arguments": ["THREADS=1"]}]}],
 "image": {"entrypoint": ["/usr/local/bin/app"]}}
END
cp "$REPO/examples/ci/log-in.sh" project/ci
cat >project/ci/prepare.sh <<'END_OF_SCRIPT'
#!/bin/bash
case $1 in build | deploy) xaas --version ;; *) exit 2 ;; esac
END_OF_SCRIPT
chmod +x project/ci/prepare.sh

run_pipeline() { # NAME FILE: with the stand-ins in NAME.json
  local job step
  mkdir -p "$1/tmp"
  python3 "$E2E/pipelines.py" "$2" "$1.json" "$1"
  for job in "$1"/[0-9]*; do
    for step in "$job"/*.sh; do
      bash -n "$step"
    done
    for step in "$job"/*.sh; do
      step=$PWD/$step
      # shellcheck source=/dev/null
      (cd project && source "$(dirname "$step")/environment" && bash -eo pipefail "$step") >>"$1.said" 2>&1 ||
        fail "$step: $(tail -n 20 "$1.said")"
    done
  done
  if grep -F -e "$secret" -e "$(printf 'robot:%s' "$secret" | base64 -w0)" "$1.said"; then fail "the token was told"; fi
}
commit=0123456789abcdef0123456789abcdef01234567
jq -n --arg commit $commit --arg token "$secret" --arg registry "$registry" '{"github.repository": "Team/GitHub-App",
  "github.sha": $commit, "github.actor": "robot", "github.ref_name": "v1.0", "secrets.GITHUB_TOKEN": $token,
  "vars.XAAS_ARCHIVE": "none", "vars.XAAS_SHA256": "none", "vars.LLVM_APT_SOURCE": "", "=REGISTRY": $registry}' >github.json
jq -n --arg commit $commit --arg token "$secret" --arg registry "$registry" --arg directory "$PWD/gitlab/tmp" '
  {CI_REGISTRY: $registry, CI_REGISTRY_USER: "robot", CI_REGISTRY_PASSWORD: $token, CI_REGISTRY_IMAGE: ($registry + "/team/gitlab-app"),
  CI_COMMIT_SHA: $commit, CI_COMMIT_TAG: "v1.0", CI_COMMIT_BRANCH: "main", CI_DEFAULT_BRANCH: "main", CI_PROJECT_DIR: $directory}' >gitlab.json

"$XAAS" build project --config threads=none --config threads=openmp -o oci:whole:ir -q >/dev/null
digest=$(image_digest whole ir)
for forge in github gitlab; do
  rm -f project/ir-image.tar*
  run_pipeline $forge "$(find "$REPO/examples/ci/$forge" -name '*.yml')"
  auth=$forge/tmp/registry-auth.json
  expect_equal "mode of the file with credentials" "$(stat -c %a $auth)" 600
  at=docker://$registry/team/$forge-app
  "$XAAS" inspect "$at:$commit" --authfile $auth --format json -q >inspected.json
  expect_equal "digest of the merged image" "$(json inspected.json .digest)" "$digest"
  expect_equal "digest of the release" "$("$XAAS" inspect "$at:v1.0" --authfile $auth --format json -q | jq -r .digest)" "$digest"
  for cpu in x86-64-v3 znver4; do
    "$XAAS" inspect "$at:$commit-$cpu" --authfile $auth --format json -q >deployed.json
    assert_json deployed.json ".target.cpu == \"$cpu\""
  done
  (cd project && sha256sum --check --quiet ir-image.tar.sha256)
  "$XAAS" copy oci-archive:project/ir-image.tar oci:artifact:$forge -q >/dev/null
  expect_equal "digest of the artifact" "$(image_digest artifact $forge)" "$digest"
  [ -n "$(find $forge/tmp -path '*xaas-cache/*' -type f | head -n 1)" ] || fail "nothing was kept for the next run"
done

# Our own release pipeline runs tools/release.sh, which needs a build and is left out.
mkdir release
python3 "$E2E/pipelines.py" "$REPO/.github/workflows/release.yml" github.json release
for step in release/*/*.sh; do bash -n "$step"; done
grep -q 'tools/release.sh "' release/*/*.sh || fail "the workflow does not call tools/release.sh"
expect_exit 1 "$REPO/tools/release.sh" 99.0 made
[ ! -e made ] || fail "something was made for a version that is not ours"

# Broken shell text fails, and so does an expression inside shell text.
sed 's/xaas build \./if &/' "$REPO/examples/ci/gitlab/.gitlab-ci.yml" >broken.yml
mkdir broken
python3 "$E2E/pipelines.py" broken.yml gitlab.json broken
if bash -n broken/00-build-none/0.sh 2>/dev/null; then fail "a broken shell text was not seen"; fi
sed 's/\$COMMIT/${{ github.sha }}/' "$REPO/examples/ci/github/xaas.yml" >broken.yml
mkdir injected
if python3 "$E2E/pipelines.py" broken.yml github.json injected 2>/dev/null; then fail "an expression in a shell text was not seen"; fi
