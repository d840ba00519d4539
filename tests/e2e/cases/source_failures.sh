#!/bin/bash
# Builds on the target that fail, hang or exceed their limits: the message, the files that are kept, and those not touched.
source "$E2E/lib.sh"
needs jq bwrap gcc pgrep
toolchain_image tools gcc gcc libc6-dev
mkdir src
touch src/file
deploying_user
layout=$PWD/app
# NAME [SPEC]: a source image of a build that runs the commands on standard input.
image() {
  cat >src/build.sh
  jq -n --argjson more "${2:-"{}"}" '{name: "odd", toolchain: {base: "oci:tools:gcc"}, isa: [], build: ({system: "commands",
    build: "sh $SRC/build.sh", install: "mkdir -p $DESTDIR$PREFIX && touch $DESTDIR$PREFIX/made"} + $more)}' >src/xaas.json
  "$XAAS" build src --kind source -o "oci:app:$1" -q >/dev/null
}
deploy() { # NAME [NAME=VALUE...]
  (cd "$elsewhere" && "${as_user[@]}" "${@:2}" "$XAAS" deploy "oci:$layout:$1" -o oci:here:x --cpu x86-64-v2 --runtime bwrap -q)
}
clean() {
  expect_equal "left in TMPDIR after $1" "$(ls -A "$elsewhere/tmp" | wc -l)" 0
  ! pgrep -fx 'sleep 1000.25' >/dev/null || fail "the build of $1 still runs"
}
fails() { # NAME TEXT [NAME=VALUE...]
  expect_error 1 "$2" deploy "$1" "${@:3}"
  clean "$1"
}

# The compiler's message, and a log that is kept.
image broken <<'END'
echo 'int main(void) { return wrong; }' >a.c && $CC -c a.c
END
fails broken "the log is $elsewhere/cache/logs/odd-default-"
grep -q "a.c:1:.*error: .*wrong" stderr || fail "the compiler's message is not shown: $(cat stderr)"
log=$(sed -n 's/.*the log is \([^ ]*\.log\).*/\1/p' stderr)
grep -q "error: .*wrong" "$log" || fail "not in the log: $(cat "$log")"

# Writes outside the build tree fail, and nothing of this machine is visible.
echo mine >"$elsewhere/mine"
chmod 777 "$elsewhere"
image outside <<END
for place in /usr/bin/x /etc/x /.xaas/source/x /.xaas/tools/x /x $elsewhere/x $PWD/x; do
  echo x >\$place && { echo "could write \$place"; exit 1; }
done
cat $elsewhere/mine && exit 1
[ "\$(ls \$HOME)" = "" ] && ls / && exit 0
END
deploy outside >/dev/null
[ ! -e "$elsewhere/x" ] && [ ! -e x ] || fail "it wrote outside"
clean outside

# No network, not even to this machine.
image network <<'END'
cat >a.c <<'EOF'
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
int main(void) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  return s >= 0 && connect(s, (struct sockaddr *)&to, sizeof to) == 0 ? 0 : (perror("no way out"), 3);
}
EOF
$CC a.c -o a || exit 1
./a
[ $? = 3 ] || exit 1
[ "$(wc -l </proc/net/dev)" -le 3 ] || exit 1
END
deploy network >/dev/null
clean network

# A failed download is answered with a hint at the spec.
image downloads <<'END'
cat >a.c <<'EOF'
#include <netdb.h>
#include <stdio.h>
int main(void) {
  struct addrinfo *found;
  int error = getaddrinfo("example.org", NULL, NULL, &found);
  return error ? (fprintf(stderr, "get: %s\n", gai_strerror(error)), 1) : 0;
}
EOF
$CC a.c -o a && ./a
END
fails downloads "the log is"
grep -q '^hint: .*`fetch` of the spec' stderr || fail "the hint does not say fetch: $(cat stderr)"

# A build that waits for input gets none.
image input <<'END'
read answer && exit 1
[ -z "$answer" ]
END
deploy input >/dev/null
image waits <<'END'
setsid sleep 1000.25 &
sleep 1000.25
END
fails waits "did nothing for 1 seconds" XAAS_BUILD_IDLE_SECONDS=1
image busy <<'END'
while :; do :; done
END
fails busy "took more than 2 seconds" XAAS_BUILD_SECONDS=2
image many <<'END'
for i in $(seq 120); do sleep 1000.25 & done
wait
END
fails many "had more than 50 processes" XAAS_BUILD_PROCESSES=50
# So fast that the kernel stops it first.
image faster <<'END'
for i in $(seq 2000); do sleep 1000.25 & done
wait
END
fails faster "the setting build_processes" XAAS_BUILD_PROCESSES=50
image large <<'END'
i=0
while head -c 4000000 /dev/zero >"large.$i"; do i=$((i + 1)); sleep 0.02; done
END
fails large "to disk" XAAS_BUILD_DISK=40M

image chatty <<'END'
head -c 60000000 /dev/urandom
END
fails chatty "to disk" XAAS_BUILD_DISK=40M

# A link that leads out of the build directory, to files of this machine.
echo private >"$elsewhere/private"
for place in "$elsewhere" ../../../../../../../..; do
  name=private
  [ "$place" = "$elsewhere" ] || name=etc/hostname
  image leads "$(jq -nc --arg from "out/$name" '{install: [{from: $from, to: "bin/x"}]}')" <<END
ln -s $place out
END
  expect_error 1 "out/$name" deploy leads
done
image itself '{"install": [{"from": "x", "to": "bin/x"}]}' <<END
ln -s $elsewhere/private x
END
if deploy itself >log 2>&1; then
  "$XAAS" copy -q "oci:$elsewhere/here:x" rootfs:root >/dev/null
  ! grep -rq private root || fail "a file of this machine is in the image"
fi
clean leads

# An installed symbolic link that would redirect the other files.
for place in usr usr/local; do
  image through '{"install": [{"from": "x", "to": "bin/x"}]}' <<END
echo x >x
mkdir -p \$(dirname \$DESTDIR/$place)
ln -s $elsewhere \$DESTDIR/$place
END
  expect_error 2 "is installed as a file or link" deploy through
  [ ! -e "$elsewhere/bin" ] && [ ! -e "$elsewhere/local" ] || fail "written through the link $place"
  clean through
done

# File types that an image cannot contain.
image pipe '{"install": [{"from": "x", "to": "bin/x"}]}' <<'END'
mkfifo x
END
fails pipe "special file"
image special '{"install": "mkdir -p $DESTDIR/usr && mkfifo $DESTDIR/usr/pipe"}' <<'END'
:
END
fails special "special file"
image setuid '{"install": "mkdir -p $DESTDIR/usr && touch $DESTDIR/usr/x && chmod 4755 $DESTDIR/usr/x"}' <<'END'
:
END
fails setuid "set-user-ID"
image nothing '{"install": ":"}' <<'END'
:
END
fails nothing "install"
image library '{"install": "mkdir -p $DESTDIR/usr/bin && cp a $DESTDIR/usr/bin/a"}' <<'END'
echo 'int f(void) { return 0; }' >f.c && $CC -shared -fPIC f.c -o libmissing.so
echo 'int f(void); int main(void) { return f(); }' >a.c && $CC a.c -L. -lmissing -o a
END
fails library "libmissing.so"
# A toolchain without a compiler, or without the named one.
mkdir empty
cp -L /bin/true empty/true
tar -C empty -cf empty.tar true
image_of_tar tools empty empty.tar
jq '.toolchain.base = "oci:tools:empty"' src/xaas.json >spec.new && cp spec.new src/xaas.json
"$XAAS" build src --kind source -o oci:app:empty >/dev/null 2>log
grep -q 'the toolchain has no compiler: neither gcc nor clang' log || fail "not said: $(cat log)"
expect_error 8 "neither gcc nor clang" deploy empty
jq '.toolchain = {base: "oci:tools:gcc", compilers: {fortran: "ifx"}}' src/xaas.json >spec.new && cp spec.new src/xaas.json
"$XAAS" build src --kind source -o oci:app:ifx >/dev/null 2>log # with --runtime host it may be the host's
grep -q 'the toolchain has no ifx, which the spec names as its compiler for Fortran' log || fail "not said: $(cat log)"
expect_error 8 "the toolchain has no ifx" deploy ifx
