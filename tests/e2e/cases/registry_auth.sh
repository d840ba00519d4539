#!/bin/bash
# A registry with passwords and its own certificates: who may do what, where the credentials come from, and that no
# message contains a secret.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry skopeo openssl perl

secret=s3cret-of-the-test
hash=$(perl -e 'print crypt($ARGV[0], "\$2y\$05\$abcdefghijklmnopqrstuu")' "$secret")
case $hash in '$2y$'*) ;; *) skip "perl's crypt knows no bcrypt" ;; esac
echo "me:$hash" >htpasswd
mkdir certs home
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca \
  -keyout ca.key -out certs/ca.crt 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr \
  2>/dev/null
openssl x509 -req -in server.csr -CA certs/ca.crt -CAkey ca.key -CAcreateserial -days 2 -out server.crt \
  -extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1') 2>/dev/null
start_registry log "tls: {certificate: $PWD/server.crt, key: $PWD/server.key}" \
  "auth: {htpasswd: {realm: test, path: $PWD/htpasswd}}"
at=docker://$registry/team/app
export HOME=$PWD/home
unset XDG_RUNTIME_DIR XDG_CONFIG_HOME DOCKER_CONFIG REGISTRY_AUTH_FILE SSL_CERT_FILE CURL_CA_BUNDLE

tiny_project src
"$XAAS" build src -o oci:app:ir -q >/dev/null
expect_hint() { # TEXT
  grep '^hint: ' stderr | finds -F -- "$1" || fail "no hint '$1': $(cat stderr)"
}

# An untrusted certificate is refused, even on the loopback.
expect_error 6 "$registry" "$XAAS" inspect "$at:ir"
expect_hint "certs.d/$registry"
# Access without credentials is denied, before anything is built.
expect_error 5 "$registry/team/app denied" "$XAAS" build src -o "$at:ir" --cert-dir certs -vv
expect_hint "podman login $registry"
expect_error 5 denied "$XAAS" inspect "$at:ir" --tls-verify=false
# The same with settings, for this registry only; the command line takes precedence.
mkdir -p home/.config/xaas
echo "{\"registries\": {\"$registry\": {\"cert_dir\": \"$PWD/certs\"}}}" >home/.config/xaas/config.json
expect_error 5 denied "$XAAS" inspect "$at:ir"
mkdir none
expect_error 6 "$registry" "$XAAS" inspect "$at:ir" --cert-dir none
echo "{\"registries\": {\"$registry\": {\"tls_verify\": false}}}" >home/.config/xaas/config.json
expect_error 5 denied "$XAAS" inspect "$at:ir"
expect_error 6 "$registry" "$XAAS" inspect "$at:ir" --tls-verify=true
echo '{"registries": {"other.example": {"tls_verify": false}}}' >home/.config/xaas/config.json
expect_error 6 "$registry" "$XAAS" inspect "$at:ir"
rm home/.config/xaas/config.json
mkdir -p "home/.config/containers/certs.d/$registry"
cp certs/ca.crt "home/.config/containers/certs.d/$registry"
expect_error 5 denied "$XAAS" inspect "$at:ir"

# The file that `skopeo login` writes.
skopeo login --authfile auth.json --cert-dir certs -u me --password-stdin "$registry" <<<"$secret" >/dev/null
grep -q auth auth.json || fail "skopeo kept nothing: $(cat auth.json)"
"$XAAS" build src -o "$at:ir" --authfile auth.json -vv >told 2>&1
"$XAAS" inspect "$at:ir" --authfile auth.json -vv >>told 2>&1
echo "{\"authfile\": \"$PWD/auth.json\"}" >home/.config/xaas/config.json
"$XAAS" inspect "$at:ir" -vv >>told 2>&1
rm home/.config/xaas/config.json
REGISTRY_AUTH_FILE=$PWD/auth.json "$XAAS" deploy "$at:ir" -o "$at:here" -vv >>told 2>&1
SSL_CERT_FILE=$PWD/certs/ca.crt HOME=/nonexistent "$XAAS" check "$at:here" --authfile auth.json >>told 2>&1
skopeo copy -q --src-authfile auth.json --src-cert-dir certs "$at:here" oci:copied:here
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
expect_equal "digest" "$(image_digest copied here)" "$(image_digest app here)"
expect_error 4 auth.nowhere "$XAAS" inspect "$at:ir" --authfile auth.nowhere

# Docker's file, with a helper.
mkdir -p home/.docker bin
jq -n --arg host "$registry" '{credHelpers: {($host): "test"}}' >home/.docker/config.json
cat >bin/docker-credential-test <<END
#!/bin/sh
read server
[ "\$1 \$server" = "get $registry" ] || exit 1
echo "$secret" >&2
echo '{"ServerURL": "$registry", "Username": "me", "Secret": "$secret"}'
END
chmod +x bin/docker-credential-test
PATH=$PWD/bin:$PATH "$XAAS" inspect "$at:ir" -vv >>told 2>&1
expect_error 8 docker-credential-test "$XAAS" inspect "$at:ir"
cat stderr >>told

# A wrong password; no password is in the cache of blobs.
jq --arg host "$registry" --arg auth "$(printf 'me:%s-wrong' "$secret" | base64)" \
  -n '{auths: {($host): {auth: $auth}}}' >wrong.json
expect_error 5 denied "$XAAS" inspect "$at:ir" --authfile wrong.json -vv
cat stderr >>told
encoded=$(printf 'me:%s' "$secret" | base64)
if grep -rqF -e "$secret" -e "$encoded" told "$XAAS_CACHE_DIR"; then fail "a secret was told: $(grep -rF "$secret" told)"; fi
