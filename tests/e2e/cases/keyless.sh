#!/bin/bash
# Images that an identity must have signed: bundles with the certificate of an authority, and the signed entry of a log or a
# timestamp, all of our own. cosign 3 judges each of them the same way but where a comment says so (tools/bench/keyless.sh).
source "$E2E/lib.sh"
needs jq make clang-22 openssl docker-registry skopeo curl python3

start_registry log
tiny_project src
"$XAAS" build src -o oci:app:ir -q >/dev/null
ir=$(image_digest app ir)
python3 "$E2E/keyless.py" make root
id=https://example.org/app/.ci/release.yml@refs/tags/v1 issuer=https://issuer.example.org
trust=(--certificate-identity "$id" --certificate-oidc-issuer "$issuer" --trusted-root root/trusted_root.json)

repository=0
signed() { # OPTION...: sets `image` to an image in a repository of its own with a bundle that was made so
  repository=$((repository + 1))
  image=docker://$registry/app$repository:ir
  "$XAAS" copy oci:app:ir "$image" -q >/dev/null
  python3 "$E2E/keyless.py" sign root "$ir" "$id" "$issuer" "$@" >bundle.json
  python3 "$E2E/keyless.py" attach "$registry/app$repository" "$ir" bundle.json >/dev/null
}
accepts() { # OPTION...
  signed "$@"
  "$XAAS" deploy "$image" -o oci:out:x "${trust[@]}" --format json -q >deployed.json || fail "refused: $*"
  assert_json deployed.json ".signature == {image: \"$ir\", key: null, identity: \"$id\", issuer: \"$issuer\"}"
}
refuses() { # PATTERN OPTION...
  signed "${@:2}"
  expect_error 7 "$1" "$XAAS" deploy "$image" -o oci:refused:x "${trust[@]}"
  [ ! -e refused ] || fail "something was written: $*"
}

accepts
accepts --timestamp
accepts --no-tlog --timestamp # cosign asks for the log, too, unless told otherwise
accepts --no-proof            # so
accepts --rekor-v2 --timestamp
no_time='without a time that a trusted log or timestamp authority has signed'
for option in --no-tlog --no-set --other-log --other-entry --other-entry-payload --other-entry-certificate --bad-set; do
  refuses "$no_time" $option
done
for option in --other-tsa --bad-timestamp; do refuses "$no_time" --no-tlog --timestamp $option; done
for option in --expired --early; do refuses 'made when its certificate was not valid' $option; done
for option in --other-ca --bad-certificate; do refuses 'of an authority that is not trusted' $option; done
for option in --no-sct --other-ct-log --bad-sct; do refuses 'none of the trusted logs of certificates has' $option; done
for option in --no-eku --other-eku; do refuses 'not for signing' $option; done
refuses 'not by the key of its certificate' --bad-signature
refuses 'by this identity, but of another image' --other-digest
refuses 'by this identity, but an attestation' --other-predicate

# Another identity, provider or root, and a key.
signed
for other in "$id.x $issuer" "${id%1} $issuer" "$id $issuer/" "user@example.org $issuer"; do
  expect_error 7 "by $id of $issuer" "$XAAS" check "$image" --certificate-identity "${other% *}" --certificate-oidc-issuer "${other#* }" \
    --trusted-root root/trusted_root.json
done
python3 "$E2E/keyless.py" make other
expect_error 7 "$no_time" "$XAAS" deploy "$image" -o oci:refused:x "${trust[@]:0:4}" --trusted-root other/trusted_root.json
openssl ecparam -name prime256v1 -genkey -noout -out key 2>/dev/null
openssl pkey -in key -pubout -out key.pub
expect_error 7 'by an identity with a certificate, not by a key' "$XAAS" deploy "$image" -o oci:refused:x --verify-key key.pub
# A good one beside a bad one, a copy in a layout, and without a network.
python3 "$E2E/keyless.py" sign root "$ir" "$id" "$issuer" --expired >bundle.json
python3 "$E2E/keyless.py" attach "$registry/app$repository" "$ir" bundle.json >/dev/null
"$XAAS" copy "$image" oci:copied:ir -q >/dev/null
"$XAAS" deploy oci:copied:ir -o oci:out:copied "${trust[@]}" --offline -q >/dev/null

# Settings, and options that lack something.
jq -n --arg id "$id" --arg issuer "$issuer" --arg root "$PWD/root/trusted_root.json" \
  '{certificate_identity: $id, certificate_issuer: $issuer, trusted_root: $root}' >site.json
XAAS_SITE_CONFIG=$PWD/site.json "$XAAS" deploy oci:copied:ir -o oci:out:site -q >/dev/null
expect_error 7 'not signed' env XAAS_SITE_CONFIG="$PWD/site.json" "$XAAS" deploy oci:app:ir -o oci:refused:x
XAAS_SITE_CONFIG=$PWD/site.json XAAS_CERTIFICATE_IDENTITY='' "$XAAS" deploy oci:app:ir -o oci:out:unsigned -q >/dev/null
expect_error 7 'not signed' env XAAS_SITE_CONFIG="$PWD/site.json" "$XAAS" deploy oci:app:ir -o oci:refused:x --verify-key key.pub
expect_error 2 'needs --certificate-oidc-issuer' "$XAAS" deploy oci:app:ir -o oci:refused:x --certificate-identity a
expect_error 2 'needs --trusted-root' "$XAAS" deploy oci:app:ir -o oci:refused:x "${trust[@]:0:4}"
expect_error 2 'exclude each other' "$XAAS" deploy oci:app:ir -o oci:refused:x "${trust[@]}" --verify-key key.pub
expect_error 2 'need --certificate-identity' "$XAAS" check oci:app:ir --trusted-root root/trusted_root.json
expect_error 2 '' "$XAAS" deploy oci:app:ir -o oci:refused:x --certificate-identity '' # mostly a variable that is not set
expect_error 2 'need --certificate-identity' "$XAAS" deploy oci:app:ir -o oci:refused:x --verify-key key.pub --trusted-root root/trusted_root.json
# The certificate of an entry as PEM that is encrypted: nobody is asked for a password, and text of a bundle stays on its line.
signed
jq -c '.verificationMaterial.tlogEntries[0].canonicalizedBody |= (@base64d | fromjson | .spec.signatures[0].verifier =
  ("-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nQUJDREVGR0g=\n-----END CERTIFICATE-----\n" | @base64) | tojson | @base64)' \
  bundle.json >encrypted.json
"$XAAS" copy oci:app:ir "docker://$registry/encrypted:ir" -q >/dev/null
python3 "$E2E/keyless.py" attach "$registry/encrypted" "$ir" encrypted.json >/dev/null
expect_error 7 "$no_time" timeout 20 "$XAAS" deploy "docker://$registry/encrypted:ir" -o oci:refused:x "${trust[@]}"
printf '{"a": 1, "a\\nxaas: fine": 2, "a\\nxaas: fine": %s' "$(printf '%01000d' 0)" >text.json
"$XAAS" copy oci:app:ir "docker://$registry/text:ir" -q >/dev/null
python3 "$E2E/keyless.py" attach "$registry/text" "$ir" text.json >/dev/null
expect_error 7 'in a malformed bundle' "$XAAS" deploy "docker://$registry/text:ir" -o oci:refused:x "${trust[@]}"
! finds '^xaas: fine' <stderr || fail "a bundle writes lines: $(cat stderr)"
[ "$(wc -c <stderr)" -lt 2000 ] || fail "a bundle writes a long message"
# Keys of an unknown kind are passed over, without anything being asked less.
jq '.ctlogs += [{publicKey: {rawBytes: "QUJD", keyDetails: "OTHER"}}] | .tlogs = [{publicKey: {rawBytes: "QUJD"}}] + .tlogs' \
  root/trusted_root.json >unknown.json
"$XAAS" deploy "$image" -o oci:out:x "${trust[@]:0:4}" --trusted-root unknown.json -q >/dev/null
jq '.ctlogs = [{publicKey: {rawBytes: "QUJD"}}]' root/trusted_root.json >unknown.json
expect_error 7 'none of the trusted logs of certificates has' "$XAAS" deploy "$image" -o oci:refused:x "${trust[@]:0:4}" --trusted-root unknown.json
echo '{}' >empty.json
expect_error 2 'is not a trusted root' "$XAAS" deploy oci:app:ir -o oci:refused:x "${trust[@]:0:4}" --trusted-root empty.json
jq '.certificateAuthorities[0].certChain.certificates[0].rawBytes = "QUJD"' root/trusted_root.json >bad.json
expect_error 2 'expected a certificate in DER' "$XAAS" deploy oci:app:ir -o oci:refused:x "${trust[@]:0:4}" --trusted-root bad.json
expect_error 4 'none.json' "$XAAS" deploy oci:app:ir -o oci:refused:x "${trust[@]:0:4}" --trusted-root none.json
[ ! -e refused ] || fail "something was written"
