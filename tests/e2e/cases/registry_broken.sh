#!/bin/bash
# Connections that break in the middle of a blob, in both directions: received bytes stay, and only the rest is requested.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry perl

cat >proxy.pl <<'END'
# PORT BYTES: forwards to PORT of the loopback. While a line is in the file `cuts`, a connection ends after BYTES in one
# direction, and one line is removed. Prints its own port.
use strict;
use Fcntl ":flock";
use IO::Select;
use IO::Socket::INET;
my ($port, $bytes) = @ARGV;
$SIG{CHLD} = 'IGNORE';
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8) or die;
open(my $out, '>', 'proxy.port.new') or die;
print $out $listener->sockport;
close $out;
rename 'proxy.port.new', 'proxy.port';
sub cut {
  open(my $file, '+<', 'cuts') or return 0;
  flock $file, LOCK_EX; # two connections must not take the same line
  my @lines = <$file>;
  return 0 unless @lines;
  pop @lines;
  seek $file, 0, 0;
  truncate $file, 0;
  print $file @lines;
  return 1;
}
while (my $client = $listener->accept) {
  next if fork;
  my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or exit;
  my %other = ($client => $server, $server => $client);
  my %moved;
  my $select = IO::Select->new($client, $server);
  while (my @ready = $select->can_read) {
    for my $from (@ready) {
      sysread($from, my $data, 65536) or exit;
      $moved{$from} += length $data;
      exit if $moved{$from} > $bytes && cut();
      for (my $at = 0; $at < length $data;) {
        $at += syswrite($other{$from}, $data, length($data) - $at, $at) // exit;
      }
    }
  }
}
END
start_registry log
perl proxy.pl "${registry##*:}" 700000 &
registry_pids="$registry_pids $!"
for ((i = 0; i < 100; ++i)); do
  [ -s proxy.port ] && break
  sleep 0.1
done
at=docker://127.0.0.1:$(cat proxy.port)/app

tiny_project src
"$XAAS" build src -o oci:app:ir -q >/dev/null
printf 'one\ntwo\n' >cuts
"$XAAS" build src -o "$at:ir" --format json -q >built.json
[ ! -s cuts ] || fail "no upload was cut"
expect_equal "digest of the image" "$(json built.json .digest)" "$(image_digest app ir)"
new_requests log >/dev/null
printf 'one\ntwo\n' >cuts
"$XAAS" deploy "$at:ir" -o oci:out:x -q >/dev/null
[ ! -s cuts ] || fail "no download was cut"
"$XAAS" deploy oci:app:ir -o oci:app:x -q >/dev/null
expect_equal "digest of the deployed image" "$(image_digest out x)" "$(image_digest app x)"
new_requests log >requests
grep -q '^GET .*/blobs/sha256:[0-9a-f]* 206 ' requests || fail "nothing was asked for from the middle: $(cat requests)"
