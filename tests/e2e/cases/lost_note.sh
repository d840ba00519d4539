#!/bin/bash
# An object without its origin note, alone or in an archive, is recognized by its contents: no working object ships.
source "$E2E/lib.sh"
needs jq make clang-22 objcopy ar

project() { # DIRECTORY: from the Makefile on standard input
  mkdir "$1"
  cat >"$1/Makefile"
  printf 'int work(int n);\nint main(int argc, char **argv) { (void)argv; return work(argc); }\n' >"$1/main.c"
  printf 'int work(int n) { int s = 0; for (int i = 0; i < n; ++i) s += i * n; return s; }\n' >"$1/work.c"
  printf '{"name": "%s", "isa": [], "build": {"system": "make", "install": [{"from": "prog", "to": "bin/prog"}]}}' "$1" >"$1/xaas.json"
}

project object <<'MAKE'
prog: main.c work.c
	$(CC) -O2 -c main.c && $(CC) -O2 -c work.c
	objcopy -R .note.xaas work.o
	$(CC) main.o work.o -o prog
MAKE
project archive <<'MAKE'
prog: main.c work.c
	$(CC) -O2 -c main.c && $(CC) -O2 -c work.c
	objcopy -R .note.xaas work.o
	ar rcs libwork.a work.o
	$(CC) main.o -L. -lwork -o prog
MAKE
for kind in object archive; do
  "$XAAS" build $kind -o oci:$kind-image:ir -q >/dev/null
  result=$("$XAAS" deploy oci:$kind-image:ir -o oci:$kind-image:here --no-cache -q --format json)
  expect_equal "$kind: native objects" "$(jq .native_objects <<<"$result")" 0
  expect_equal "$kind: lowered" "$(jq .modules.lowered <<<"$result")" 2
done
