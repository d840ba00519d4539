# A token server for a docker-registry (the project "distribution", spec/auth/token and spec/auth/oauth), on the loopback.
#
#   perl token_server.pl
#
# Reads `users.json`: {"USER": {"password": "...", "identity": "...", "may": {"REPOSITORY PREFIX": "pull,push"}}}; the user
# "" stands for requests without a password; with `all_or_nothing` a user gets no token for a part of the requested rights. Signs
# with `signer.key`; `chain.pem` has its certificates. A token is valid for the seconds in the file `lifetime`, by default 300.
# Writes its port to `token.port`, and each request and its answer to `asked`.
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;
use MIME::Base64 qw(encode_base64 decode_base64 encode_base64url);

my $leeway = 60; # of the registry
$| = 1;
$SIG{PIPE} = 'IGNORE';

sub content {
  my ($path) = @_;
  open(my $file, '<:raw', $path) or return undef;
  local $/;
  return scalar <$file>;
}

my $users = decode_json(content('users.json'));
my @chain = content('chain.pem') =~ /-----BEGIN CERTIFICATE-----(.*?)-----END/gs;
s/\s//g for @chain;

sub signed {
  my ($claims) = @_;
  my $json = JSON::PP->new->canonical;
  my $text = encode_base64url($json->encode({typ => 'JWT', alg => 'RS256', x5c => \@chain})) . '.'
    . encode_base64url($json->encode($claims));
  open(my $file, '>:raw', 'to_sign') or die;
  print $file $text;
  close $file;
  return $text . '.' . encode_base64url(scalar `openssl dgst -sha256 -sign signer.key to_sign`);
}

sub unescaped {
  my ($text) = @_;
  $text =~ tr/+/ /;
  $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
  return $text;
}

sub who { # undef: nobody whom we know
  my ($authorization, $form) = @_;
  if (my $identity = $form->{refresh_token}) {
    for my $user (keys %$users) {
      return $user if ($users->{$user}{identity} // '') eq $identity->[0];
    }
    return undef;
  }
  return '' unless defined $authorization;
  my ($encoded) = $authorization =~ /^Basic (\S+)$/ or return undef;
  my ($user, $password) = split /:/, decode_base64($encoded), 2;
  return $user ne '' && $users->{$user} && $users->{$user}{password} eq $password ? $user : undef;
}

sub granted {
  my ($user, $scope) = @_;
  my ($repository, $actions) = $scope =~ /^repository:([^:]+):(.*)$/ or return ();
  my $may = $users->{$user}{may} // {};
  my ($prefix) = sort { length $b <=> length $a } grep { index($repository, $_) == 0 } keys %$may;
  my %allowed = map { $_ => 1 } split /,/, defined $prefix ? $may->{$prefix} : '';
  return {type => 'repository', name => $repository, actions => [grep { $allowed{$_} } split /,/, $actions]};
}

sub answer {
  my ($method, $target, $authorization, $body) = @_;
  my ($path, $query) = split /\?/, $target, 2;
  my %form;
  for my $pair (split /&/, $method eq 'POST' ? $body : $query // '') {
    my ($name, $value) = split /=/, $pair, 2;
    push @{$form{$name}}, unescaped($value // '');
  }
  my $service = $form{service} ? $form{service}[0] : '';
  return (400, '{}') if $path ne '/token' || $service ne 'the-registry';
  return (400, '{}') if $method eq 'POST' && ($form{grant_type} // [''])->[0] ne 'refresh_token';
  my @scopes = map { split / / } @{$form{scope} // []};
  my $user = who($authorization, \%form);
  my @access = defined $user ? map { granted($user, $_) } @scopes : ();
  open(my $asked, '>>', 'asked') or die;
  print $asked join(' ', $method, $user // 'unknown', 'wants', @scopes, 'gets',
    map { "$_->{name}:" . join(',', @{$_->{actions}}) } @access), "\n";
  close $asked;
  return (401, '{"details": "incorrect username or password"}') unless defined $user;
  return (403, '{"details": "denied"}') if $users->{$user}{all_or_nothing} && grep { !@{$_->{actions}} } @access;
  my $lifetime = content('lifetime') // 300;
  my $now = time;
  my $token = signed({iss => 'the-issuer', sub => $user, aud => $service, exp => $now + $lifetime - $leeway,
    nbf => $now - $leeway, iat => $now, jti => "$now-" . rand, access => \@access});
  return (200, encode_json({($method eq 'POST' ? 'access_token' : 'token') => $token, expires_in => $lifetime + 0}));
}

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16) or die;
open(my $port, '>', 'token.port.new') or die;
print $port $listener->sockport;
close $port;
rename 'token.port.new', 'token.port';
while (my $client = $listener->accept) {
  my ($method, $target) = (<$client> // '') =~ m{^(\S+) (\S+) HTTP/1} or next;
  my ($authorization, $length, $body) = (undef, 0, '');
  while (defined(my $line = <$client>)) {
    last if $line =~ /^\r?$/;
    $authorization = $1 if $line =~ /^Authorization: *(.*?)\r?$/i;
    $length = $1 if $line =~ /^Content-Length: *(\d+)/i;
  }
  read($client, $body, $length) if $length;
  my ($status, $text) = answer($method, $target, $authorization, $body);
  print $client "HTTP/1.1 $status X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
    . length($text) . "\r\n\r\n$text";
  close $client;
}
