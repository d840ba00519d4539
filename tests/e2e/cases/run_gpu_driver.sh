#!/bin/bash
# A GPU driver's library comes from the machine and brings nothing of the C library along. It was linked when that had several
# parts, so it needs parts that the program itself does not. The driver here is a stand-in.
source "$E2E/lib.sh"
needs jq make clang-22 bwrap unshare mount
[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "only root can put a driver into a mount namespace"

mkdir src driver
cat >src/main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  void *driver = dlopen(count > 1 ? names[1] : "libcuda.so.1", RTLD_NOW);
  int (*initialize)(void) = driver ? (int (*)(void))dlsym(driver, "cuInit") : NULL;
  printf("%s\n", initialize && initialize() == 0 ? "a GPU" : dlerror());
  return 0;
}
END
cat >src/Makefile <<'END'
app: main.c
	$(CC) -O2 main.c -o app
install: app
	install -D app $(DESTDIR)$(PREFIX)/bin/app
END
echo '{"name": "app", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/app"]}}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:tree -q >/dev/null
echo 'int cuInit(void) { return 0; }' >driver.c
clang-22 -shared -fPIC driver.c -o driver/libcuda.so.1 -Wl,-soname,libcuda.so.1,--no-as-needed -lm -l:libdl.so.2 -l:libpthread.so.0 -l:librt.so.1

on_a_gpu_node() { # COMMAND...: where /dev/nvidiactl and the driver's library are
  # shellcheck disable=SC2016 # the inner shell's
  unshare -m bash -euo pipefail -c '
    mkdir -p dev
    mount -t tmpfs none dev
    for name in null zero full random urandom tty; do
      touch "dev/$name"
      mount --bind "/dev/$name" "dev/$name"
    done
    touch dev/nvidiactl dev/nvidia0
    mkdir dev/shm
    mount --rbind dev /dev
    mount --bind driver /usr/local/lib
    "$@"' bash "$@"
}
expect_equal "without a driver" "$("$XAAS" run -q --runtime bwrap oci:app:here | grep -c 'libcuda.so.1')" 1
expect_equal "with a driver" "$(on_a_gpu_node "$XAAS" run -q --runtime bwrap oci:app:here)" "a GPU"
expect_equal "by the name of developers' packages" "$(on_a_gpu_node "$XAAS" run -q --runtime bwrap oci:app:here -- libcuda.so)" "a GPU"
expect_equal "with a driver that is hidden" "$(on_a_gpu_node "$XAAS" run -q --no-gpu --runtime bwrap oci:app:here | grep -c 'libcuda.so.1')" 1

# An image of an older version has only what its programs need.
rm tree/usr/lib/*/libdl.so.2
on_a_gpu_node "$XAAS" run --runtime bwrap rootfs:tree >output 2>stderr
grep -q 'libdl.so.2' output || fail "the driver is found without libdl.so.2: $(cat output)"
grep -q "the image has no libdl.so.2, which the driver's /usr/local/lib/libcuda.so.1 needs, so the program finds no GPU" stderr ||
  fail "nothing is said of it: $(cat stderr)"
