# shellcheck shell=bash
# An image with a program that prints its surroundings, and checks that hold under every runtime; sourced by the cases that run
# images.

probe_image() { # LAYOUT: builds it and deploys it there as `here`
  mkdir probe
  cat >probe/probe.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void remember(int number) { got = number; }
int main(int argc, char **argv) {
  char text[4096];
  const char *what = argc > 1 ? argv[1] : "args";
  const char *value = argc > 2 ? argv[2] : "";
  if (!strcmp(what, "env")) {
    puts(getenv(value) ? getenv(value) : "(unset)");
  } else if (!strcmp(what, "cwd")) {
    puts(getcwd(text, sizeof(text)) ? text : "(none)");
  } else if (!strcmp(what, "see")) {
    puts(access(value, F_OK) == 0 ? "yes" : "no");
  } else if (!strcmp(what, "write")) {
    FILE *file = fopen(value, "w");
    puts(file && fputs("written\n", file) >= 0 && fclose(file) == 0 ? "yes" : "no");
  } else if (!strcmp(what, "cat")) {
    for (int c; (c = getchar()) != EOF;) putchar(c);
  } else if (!strcmp(what, "uid")) {
    printf("%d %d\n", (int)getuid(), (int)getgid());
  } else if (!strcmp(what, "exit")) {
    return atoi(value);
  } else if (!strcmp(what, "raise")) {
    raise(atoi(value));
  } else if (!strcmp(what, "wait")) { /* until SIGTERM, then it takes its time */
    signal(SIGUSR1, remember);
    signal(SIGTERM, remember);
    puts("ready");
    fflush(stdout);
    for (;;) {
      pause();
      if (got == SIGTERM) {
        usleep(200000);
        puts("saved");
        return 7;
      }
      puts("usr1");
      fflush(stdout);
    }
  } else {
    for (int i = 1; i < argc; ++i) printf("[%s]", argv[i]);
    puts("");
  }
  return 0;
}
END
  printf 'probe: probe.c\n\t$(CC) -O1 -o $@ $^\ninstall: probe\n\tinstall -D probe $(DESTDIR)$(PREFIX)/bin/probe\n' >probe/Makefile
  cat >probe/xaas.json <<'END'
{"name": "probe", "build": {"system": "make"}, "isa": [],
 "image": {"entrypoint": ["/usr/local/bin/probe"], "env": {"OF_IMAGE": "image", "OF_BOTH": "image"}}}
END
  "$XAAS" build probe -o "oci:$1:ir" -q >/dev/null
  "$XAAS" deploy "oci:$1:ir" -o "oci:$1:here" -q >/dev/null
}

says() { # WANT COMMAND...
  local want=$1
  shift
  expect_equal "$*" "$("$@")" "$want"
}

# COMMAND...: `xaas run --runtime NAME IMAGE`, perhaps as another user; `it may write the current directory
check_probe() {
  local log=$PWD/check.log process i
  expect_equal arguments "$("$@" -- a 'b c' '')" '[a][b c][]'
  says "$PWD" "$@" -- cwd
  says yes "$@" -- write "$PWD/made"
  expect_equal "what was written" "$(cat made)" written
  rm -f made
  says no "$@" -- write /usr/local/bin/made
  says host env OF_HOST=host "$@" -- env OF_HOST
  says image env OF_BOTH=host "$@" -- env OF_BOTH
  says image "$@" -- env OF_IMAGE
  says own "$@" --env OF_BOTH=own -- env OF_BOTH
  says 3 env SLURM_PROCID=3 "$@" -- env SLURM_PROCID
  says 4 env OMP_NUM_THREADS=4 "$@" -- env OMP_NUM_THREADS
  says 1 env CUDA_VISIBLE_DEVICES=1 "$@" -- env CUDA_VISIBLE_DEVICES
  says '(unset)' env LD_LIBRARY_PATH=/lib "$@" -- env LD_LIBRARY_PATH
  says '(unset)' env LD_PRELOAD=libm.so.6 "$@" -- env LD_PRELOAD
  # Variables of the loader apply to the program, not to the runtime on the host.
  "$@" --env LD_PRELOAD=/nowhere/at/all.so -- 2>preload.log >/dev/null
  expect_equal "programs that were to preload" "$(grep -c /nowhere/at/all.so preload.log)" 1
  expect_equal "standard input" "$(echo through | "$@" -- cat)" through
  for place in /proc/self/status /dev/null /sys/kernel /tmp; do says yes "$@" -- see "$place"; done
  says no "$@" -- see /usr/bin/env
  mkdir -p seen
  touch seen/file
  says yes "$@" --bind "$PWD/seen:/some/where" -- see /some/where/file
  says yes "$@" --bind "$PWD/seen/file:/some/file" -- see /some/file
  says / "$@" --workdir / -- cwd
  expect_exit 5 "$@" -- exit 5
  expect_exit 143 "$@" -- raise 15
  expect_exit 137 "$@" -- raise 9
  # Signals reach the program. An ignored signal stays ignored, except under Podman, which handles all of them.
  (if [ "${ignored_stays:-yes}" = yes ]; then trap '' HUP; fi && exec "$@" -- wait) >"$log" &
  process=$!
  until_said ready "$log"
  [ "${ignored_stays:-yes}" = no ] || kill -HUP $process
  kill -USR1 $process
  until_said usr1 "$log"
  kill -TERM $process
  expect_exit 7 wait $process
  grep -q '^saved$' "$log" || fail "the program did not get SIGTERM: $(cat "$log")"
  expect_equal "signals that arrived" "$(grep -c usr1 "$log")" 1
}

until_said() { # TEXT FILE
  local i
  for ((i = 0; i < 300; ++i)); do
    ! grep -q "^$1\$" "$2" || return 0
    sleep 0.1
  done
  fail "no '$1' in $2: $(cat "$2")"
}

# COMMAND...: when it is killed, its program ends, too.
check_killed() {
  local process i
  "$@" -- wait >killed.log &
  process=$!
  until_said ready killed.log
  kill -KILL $process
  wait $process || true
  for ((i = 0; i < 50; ++i)); do
    pgrep -f '^/usr/local/bin/probe wait$' >/dev/null || return 0
    sleep 0.1
  done
  fail "the program lives on: $(pgrep -af '^/usr/local/bin/probe wait$')"
}

# Sets `elsewhere` to a directory outside /tmp, which every image sees. It is removed at the end.
make_elsewhere() {
  elsewhere=$(mktemp -d /var/tmp/xaas-run-XXXXXX)
  chmod 755 "$elsewhere"
  trap 'rm -rf "$elsewhere"' EXIT
}

# The same for an ordinary user if we are root; `as_user` is the prefix that runs a command as that user, with a home and a cache
# there.
make_user() {
  make_elsewhere
  mkdir "$elsewhere/home" "$elsewhere/work"
  as_user=(env HOME="$elsewhere/home" USER=nobody XAAS_CACHE_DIR="$elsewhere/cache")
  [ "$(id -u)" -eq 0 ] || return 0
  chown -R 65534:65534 "$elsewhere"
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups "${as_user[@]}")
}
