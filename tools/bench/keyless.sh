#!/bin/bash
# Signatures by identities, as cosign 3 and xaas judge them: for each kind of bundle that tests/e2e/keyless.py makes, `cosign verify
# --trusted-root` in a root of Debian sid and `xaas check`, on the same image in a registry on the loopback. Prints a table, and
# fails where the two differ in another way than the table here says.
#
#   tools/bench/keyless.sh
#
# Needs root, mmdebstrap, an archive of Debian sid, docker-registry and skopeo. Resumes after an interruption: lib.sh.
# shellcheck disable=SC2154 # start_registry sets variables
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "$(id -u)" -eq 0 ] || die "needs root"
open_bench
packages mmdebstrap docker-registry skopeo openssl python3

once "$work/roots/cosign" debian_root sid cosign
top=$work/roots/cosign here=$work/keyless/$program
rm -rf "$here"
mkdir -p "$here"
cd "$here"
export E2E=$root/tests/e2e XAAS=$xaas XAAS_CACHE_DIR=$here/cache
source "$E2E/lib.sh"
start_registry log
trap 'kill $registry_pids' EXIT
tiny_project src
"$xaas" build src -o oci:app:ir -q >/dev/null
"$xaas" deploy oci:app:ir -o oci:app:here -q >/dev/null
digest=$(image_digest app here)
python3 "$E2E/keyless.py" make root
cp root/trusted_root.json "$top/trusted_root.json"
id=user@example.org issuer=https://issuer.example.org
cosign=(chroot "$top" env HOME=/root cosign)
say "$("${cosign[@]}" version 2>/dev/null | sed -n 's/^GitVersion: */cosign /p')"

number=0 wrong=0
# OPTION...: what both say; `cosign` or `xaas`, if only that accepts it.
while read -r who options; do
  number=$((number + 1))
  image=$registry/app$number
  "$xaas" copy oci:app:here "docker://$image:here" -q >/dev/null
  # shellcheck disable=SC2086 # several words
  python3 "$E2E/keyless.py" sign root "$digest" $id $issuer $options >bundle.json
  python3 "$E2E/keyless.py" attach "$image" "$digest" bundle.json >/dev/null
  theirs=refused ours=refused
  "${cosign[@]}" verify --trusted-root /trusted_root.json --certificate-identity $id --certificate-oidc-issuer $issuer \
    --allow-http-registry "$image@$digest" >cosign.out 2>&1 && theirs=accepted
  "$xaas" check "docker://$image:here" --certificate-identity $id --certificate-oidc-issuer $issuer --trusted-root root/trusted_root.json \
    -q >xaas.out 2>&1 && ours=accepted
  case $who in
  both) wanted="accepted accepted" ;;
  none) wanted="refused refused" ;;
  cosign) wanted="accepted refused" ;;
  xaas) wanted="refused accepted" ;;
  esac
  mark=''
  [ "$theirs $ours" = "$wanted" ] || mark=' WRONG' wrong=$((wrong + 1))
  printf 'cosign %-8s  xaas %-8s  %s%s\n' $theirs $ours "${options:-a good bundle}" "$mark"
done <<'END'
both
both --timestamp
both --rekor-v2 --timestamp
xaas --no-tlog --timestamp
xaas --no-proof
xaas --bad-proof
xaas --bad-checkpoint
cosign --no-eku
cosign --other-predicate
none --no-tlog
none --no-set
none --no-sct
none --expired
none --early
none --other-ca
none --other-log
none --other-ct-log
none --other-entry
none --other-entry-payload
none --other-entry-certificate
none --other-digest
none --other-eku
none --bad-signature
none --bad-certificate
none --bad-set
none --bad-sct
none --rekor-v2
END
[ $wrong -eq 0 ] || die "$wrong of $number differ from the table"
