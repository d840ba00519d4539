#!/bin/bash
# A registry with a token server: who may do what, tokens that expire half-way, mounted blobs, and that only the token server
# gets the password.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry openssl perl

secret=s3cret-of-the-test
identity='1dentity+of/the=test'
key() { # NAME
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
}
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=root -keyout root.key -out root.pem 2>/dev/null
key between
openssl x509 -req -in between.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -out between.pem \
  -extfile <(echo basicConstraints=critical,CA:TRUE) 2>/dev/null
key signer
openssl x509 -req -in signer.csr -CA between.pem -CAkey between.key -CAcreateserial -days 2 -out signer.pem 2>/dev/null
cat signer.pem between.pem >chain.pem
jq -n --arg secret "$secret" --arg identity "$identity" '{
  me: {password: $secret, identity: $identity, may: {"": "pull,push"}},
  reader: {password: ($secret + "-r"), may: {"team/": "pull"}},
  keeper: {password: ($secret + "-k"), may: {"private/": "pull,push"}},
  strict: {password: ($secret + "-k"), all_or_nothing: true, may: {"private/": "pull,push"}},
  "": {may: {"public/": "pull"}}}' >users.json
: >asked
perl "$E2E/token_server.pl" &
registry_pids=$!
trap 'kill $registry_pids 2>/dev/null || true' EXIT

cat >forwarder.pl <<'END_OF_PERL'
# PORT: forwards to PORT of the loopback; what goes there is also appended to the file `sent`. Each piece of it waits for as
# many seconds as the file `delay` says.
use strict;
use IO::Select;
use IO::Socket::INET;
my ($port) = @ARGV;
$SIG{CHLD} = $SIG{PIPE} = 'IGNORE';
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die;
open(my $out, '>', 'forwarder.port.new') or die;
print $out $listener->sockport;
close $out;
rename 'forwarder.port.new', 'forwarder.port';
while (my $client = $listener->accept) {
  my $child = fork;
  warn "forwarder: $!" unless defined $child;
  next unless defined $child && $child == 0;
  my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or exit;
  my %other = ($client => $server, $server => $client);
  open(my $sent, '>>', 'sent') or die;
  my $select = IO::Select->new($client, $server);
  while (my @ready = $select->can_read) {
    for my $from (@ready) {
      sysread($from, my $data, 1 << 20) or exit;
      if ($from == $client) {
        syswrite($sent, $data);
        if (open(my $file, '<', 'delay')) { select(undef, undef, undef, <$file> + 0); }
      }
      for (my $at = 0; $at < length $data;) {
        $at += syswrite($other{$from}, $data, length($data) - $at, $at) // exit;
      }
    }
  }
}
END_OF_PERL
port_of() { # NAME: of a server that says it in a file
  local i
  for ((i = 0; i < 600; ++i)); do
    [ ! -s "$1.port" ] || { cat "$1.port"; return; }
    sleep 0.1
  done
  fail "$1 does not start"
}
start_registry log "" "auth: {token: {realm: 'http://127.0.0.1:$(port_of token)/token', service: the-registry,
  issuer: the-issuer, rootcertbundle: $PWD/root.pem}}"
perl forwarder.pl "${registry##*:}" &
registry_pids="$registry_pids $!"
direct=$registry
registry=127.0.0.1:$(port_of forwarder)
at=docker://$registry
mkdir home
export HOME=$PWD/home
unset XDG_RUNTIME_DIR XDG_CONFIG_HOME DOCKER_CONFIG REGISTRY_AUTH_FILE

login() { # FILE KEY USER PASSWORD: adds an entry
  [ -e "$1" ] || echo '{}' >"$1"
  jq --arg key "$2" --arg auth "$(printf '%s:%s' "$3" "$4" | base64 -w0)" '.auths[$key].auth = $auth' "$1" >"$1.new"
  mv "$1.new" "$1"
}
login me.json "$registry" me "$secret"
login reader.json "$registry" reader "$secret-r"
login wrong.json "$registry" me "$secret-wrong"
login two.json "$registry/team" reader "$secret-r"
login two.json "$registry/private" keeper "$secret-k"
login strict.json "$registry/team" reader "$secret-r"
login strict.json "$registry/private" strict "$secret-k"
jq -n --arg key "$registry" --arg identity "$identity" '{auths: {($key): {identitytoken: $identity}}}' >identity.json
asked() { # TEXT: a request for a token since the last call contains it
  grep -qxF -- "$1" asked || fail "the token server was not asked '$1': $(cat asked)"
  : >asked
}
as() { # FILE COMMAND...
  local file=$1
  shift
  "$XAAS" "$@" --authfile "$file" -vv >>told 2>&1 || fail "with $file: $*: $(tail -n 5 told)"
}
refused() { # FILE COMMAND...
  local file=$1
  shift
  expect_error 5 denied "$XAAS" "$@" --authfile "$file" -vv
  cat stderr >>told
}

tiny_choices src
"$XAAS" build src -o oci:app:ir -q >/dev/null
digest=$(image_digest app ir)

# A user with all rights: push, inspect, deploy within the registry, pull.
as me.json build src -o "$at/team/app:ir"
asked 'GET me wants repository:team/app:pull,push gets team/app:pull,push'
as me.json inspect "$at/team/app:ir"
asked 'GET me wants repository:team/app:pull gets team/app:pull'
as me.json deploy "$at/team/app:ir" --set isa=x86-64 --cpu x86-64 -o "$at/team/app:here"
as me.json check "$at/team/app:here"
as me.json copy "$at/team/app:ir" oci:back:ir
expect_equal "digest of what came back" "$(image_digest back ir)" "$digest"

# Between two repositories no blob moves: one token covers both.
new_requests log >/dev/null
: >asked
as me.json copy "$at/team/app:ir" "$at/other/app:ir"
asked 'GET me wants repository:other/app:pull,push repository:team/app:pull gets other/app:pull,push team/app:pull'
new_requests log >requests
grep -q '^POST /v2/other/app/blobs/uploads/?mount=sha256.*from=team%2Fapp.* 201 \|^POST /v2/other/app/blobs/uploads/?mount=sha256.*from=team/app.* 201 ' requests ||
  fail "nothing was mounted: $(cat requests)"
if grep '^P[UA]T.* /v2/other/app/blobs' requests; then fail "a blob was sent: $(cat requests)"; fi

# Without read access to the other repository the blobs are sent.
as two.json copy "$at/team/app:ir" "$at/private/app:ir"
as two.json copy "$at/private/app:ir" oci:private:ir
expect_equal "digest of what was sent" "$(image_digest private ir)" "$digest"

as strict.json copy "$at/team/app:ir" "$at/private/again:ir"
as strict.json copy "$at/private/again:ir" oci:private:again
expect_equal "digest of what was sent anew" "$(image_digest private again)" "$digest"

# Read access only, a wrong password, no password.
: >asked
as reader.json inspect "$at/team/app:ir"
asked 'GET reader wants repository:team/app:pull gets team/app:pull'
cp -R src broken
echo 'this is no C' >broken/hello.c
refused reader.json build broken -o "$at/team/app:new" # before anything is built
refused reader.json copy oci:app:ir "$at/team/app:new"
refused reader.json inspect "$at/other/app:ir"
refused wrong.json inspect "$at/team/app:ir"
refused wrong.json copy oci:app:ir "$at/team/app:new"
asked 'GET unknown wants repository:team/app:pull,push gets'
as me.json copy oci:app:ir "$at/public/app:ir"
: >asked
echo '{}' >nobody.json
as nobody.json inspect "$at/public/app:ir"
asked 'GET  wants repository:public/app:pull gets public/app:pull'
refused nobody.json inspect "$at/team/app:ir"
refused nobody.json copy oci:app:ir "$at/public/app:new"
expect_error 4 'new' "$XAAS" inspect "$at/team/app:new" --authfile me.json

# An identity token is exchanged for a token.
: >asked
as identity.json copy "$at/team/app:ir" "$at/team/app:again"
asked 'POST me wants repository:team/app:pull,push gets team/app:pull,push'

tokens() { # TEXT: how many requests for a token contained it
  grep -cxF -- "$1" asked || true
}
as me.json copy oci:app:ir "$at/fast/app:ir"
written=$(tokens 'GET me wants repository:fast/app:pull,push gets fast/app:pull,push')
XAAS_CACHE_DIR=$PWD/fast as me.json copy "$at/fast/app:ir" oci:fast-copy:ir
read=$(tokens 'GET me wants repository:fast/app:pull gets fast/app:pull')
[ "$written" -gt 0 ] && [ "$read" -gt 0 ] || fail "no token was asked for: $(cat asked)"

# Tokens that serve for ten seconds at most, in a copy that takes longer, in either direction. A request takes a part of that
# time only, however busy the machine is: a token that is refused when it is new is a refusal.
echo 10 >lifetime
echo 2.5 >delay
as me.json copy oci:app:ir "$at/slow/app:ir"
[ "$(tokens 'GET me wants repository:slow/app:pull,push gets slow/app:pull,push')" -gt "$written" ] ||
  fail "no token was got anew for writing: $(cat asked)"
rm lifetime delay
: >asked
as me.json copy "$at/slow/app:ir" oci:slow:ir
expect_equal "digest of the slow one" "$(image_digest slow ir)" "$digest"
echo 10 >lifetime
echo 4 >delay
: >asked
XAAS_CACHE_DIR=$PWD/fresh as me.json copy "$at/slow/app:ir" oci:slower:ir
expect_equal "digest of the slower one" "$(image_digest slower ir)" "$digest"
[ "$(tokens 'GET me wants repository:slow/app:pull gets slow/app:pull')" -gt "$read" ] ||
  fail "no token was got anew for reading: $(cat asked)"

# No secret in messages, in requests to the registry, or in files.
grep -q 'Authorization: Bearer ' sent || fail "the forwarder saw no token"
grep -qF "$registry" sent && ! grep -qF "$direct" sent || fail "requests went past the forwarder"
for password in "$secret" "$secret-r" "$secret-k" "$identity"; do
  for user in me reader keeper strict; do
    encoded=$(printf '%s:%s' "$user" "$password" | base64 -w0)
    if grep -raqF -e "$password" -e "$encoded" told sent "$XAAS_CACHE_DIR" fresh; then fail "a secret was told"; fi
  done
done
if grep -q 'eyJ' told; then fail "a token was told: $(grep 'eyJ' told)"; fi
if grep -raq 'eyJ0eXAi\|eyJhbGci' "$XAAS_CACHE_DIR"; then fail "a token was kept"; fi
