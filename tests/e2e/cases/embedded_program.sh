#!/bin/bash
# A program inside other data cannot be lowered for the target: the build fails and writes no image.
source "$E2E/lib.sh"
needs make clang-22 objcopy xxd

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

carrier() { # COMMAND: makes carrier.o, which contains the program and is linked into another one
  rm -rf case
  cp -r src case
  printf '\tinstall -D outer %s/outer\ninstall: outer\nouter: hello\n\t%s\n\t$(CC) -o $@ hello.o carrier.o\n' \
    "$bin" "$1" >>case/Makefile
}
carrier 'printf ".section .rodata\n.incbin \"hello\"\n" >carrier.s && $(CC) -c carrier.s'
expect_error 1 "/carrier.o: " "$XAAS" build case -o oci:app:ir -q
carrier 'xxd -i hello >carrier.c && $(CC) -O2 -c carrier.c'
expect_error 1 "/carrier.o: " "$XAAS" build case -o oci:app:ir -q
[ ! -e app ] || [ ! -e app/index.json ] || fail "an image was written"
# A copy of the program, or a link to it, is lowered like the program.
install "cp hello $bin/other; ln -s other $bin/third"
"$XAAS" build case -o oci:app:ir -q
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
cmp tree/usr/local/bin/hello tree/usr/local/bin/other
expect_equal link "$(readlink tree/usr/local/bin/third)" other
