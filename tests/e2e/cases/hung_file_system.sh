#!/bin/bash
# A file system without its server blocks every process that touches it: detection leaves it out, says so, and finds the rest.
source "$E2E/lib.sh"
needs jq python3 umount
[ "$(id -u)" -eq 0 ] || skip "only root can mount"
[ -w /dev/fuse ] || skip "no /dev/fuse"

# A FUSE file system that answers nothing.
mkdir hung
cat >server.py <<'END'
import ctypes, os, sys, time
fuse = os.open("/dev/fuse", os.O_RDWR)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
if ctypes.CDLL(None).mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    sys.exit(1)
open("mounted", "w").close()
time.sleep(300)
END
python3 server.py "$PWD/hung" &
server=$!
end_server() {
  kill -9 $server 2>/dev/null || true # waiting processes continue with an error
  umount -l "$PWD/hung" 2>/dev/null || true
}
trap end_server EXIT
for ((i = 0; i < 100; ++i)); do
  [ ! -e mounted ] || break
  kill -0 $server 2>/dev/null || skip "mounting is not allowed here"
  sleep 0.1
done
[ -e mounted ] || fail "nothing was mounted"

# On the search path, in a module's variable, and behind a link.
ln -s "$PWD/hung/apps" link
start=$SECONDS
PATH=$PATH:$PWD/hung/bin FFTW_ROOT=$PWD/link MKLROOT=$PWD/hung/mkl \
  timeout -k 1 60 "$XAAS" detect --format json -q >machine.json
[ $((SECONDS - start)) -lt 30 ] || fail "it took $((SECONDS - start)) seconds"
jq -e --arg note "$PWD/hung was left out: no answer within 3 s" '.notes == [$note]' machine.json >/dev/null ||
  fail "not the note: $(jq -c .notes machine.json)"
assert_json machine.json '.glibc != null and .kernel != null and .cpu.threads > 0 and .memory_bytes > 0'
