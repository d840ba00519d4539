# byte_counter.pl PORT: forwards connections to PORT of the loopback. When one ends, appends "UP DOWN", its bytes, to the file
# `moved`. Writes its own port to the file `counter.port`.
use strict;
use Fcntl ':flock';
use IO::Select;
use IO::Socket::INET;
my ($port) = @ARGV;
$SIG{CHLD} = 'IGNORE';
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die;
open(my $out, '>', 'counter.port.new') or die;
print $out $listener->sockport;
close $out;
rename 'counter.port.new', 'counter.port';
while (my $client = $listener->accept) {
  next if fork;
  my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or exit;
  my %other = ($client => $server, $server => $client);
  my %moved = ($client => 0, $server => 0);
  my $select = IO::Select->new($client, $server);
  FORWARD: while (my @ready = $select->can_read) {
    for my $from (@ready) {
      sysread($from, my $data, 1 << 20) or last FORWARD;
      $moved{$from} += length $data;
      for (my $at = 0; $at < length $data;) {
        $at += syswrite($other{$from}, $data, length($data) - $at, $at) // last FORWARD;
      }
    }
  }
  open(my $file, '>>', 'moved') or die;
  flock $file, LOCK_EX;
  print $file "$moved{$client} $moved{$server}\n";
  exit;
}
