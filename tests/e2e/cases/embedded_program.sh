#!/bin/bash
# Code of the build inside other data cannot be made again for the target; no such image is made.
source "$E2E/lib.sh"
needs make clang-22 objcopy

tiny_project src
install() { # COMMAND: runs at the end of the install step
  rm -rf case
  cp -r src case
  printf '\t%s\n' "$1" >>case/Makefile
}
bin='$(DESTDIR)$(PREFIX)/bin'
install "(printf x; cat hello) > $bin/data.bin"
expect_error 1 /usr/local/bin/data.bin "$XAAS" build case -o oci:app:ir -q
grep -q '^hint: ' stderr || fail "no hint: $(cat stderr)"
install "printf payload >> $bin/hello"
expect_error 1 /usr/local/bin/hello "$XAAS" build case -o oci:app:ir -q
install "objcopy --add-section payload=Makefile $bin/hello"
expect_error 1 /usr/local/bin/hello "$XAAS" build case -o oci:app:ir -q
[ ! -e app ] || [ ! -e app/index.json ] || fail "an image was written"
# A second name of the program is no such case.
install "cp hello $bin/other; ln -s other $bin/third"
"$XAAS" build case -o oci:app:ir -q
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
cmp tree/usr/local/bin/hello tree/usr/local/bin/other
expect_equal link "$(readlink tree/usr/local/bin/third)" other
