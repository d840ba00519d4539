#!/bin/bash
# A level whose build would be the same as another one's is not built, and the image is the one that building it gives.
source "$E2E/lib.sh"
needs jq clang-22

# Other builds of an application with this name at the same time would take the name of the build directory.
mkdir src tmp
export TMPDIR=$PWD/tmp
cat >src/configure <<'END'
#!/bin/sh
check() { # NAME TEXT
  echo "$2" >conftest.c
  if $CC -c conftest.c -o conftest.o 2>/dev/null; then echo "#define $1 1"; else echo "/* no $1 */"; fi >>config.h
}
: >config.h
check HAVE_STDIO '#include <stdio.h>'
check HAVE_NONE '#include <none.h>'
$CC -E conftest.c >/dev/null 2>&1
$CC -fsyntax-only conftest.c 2>/dev/null
echo | $CC -x assembler -Werror -c - -o /dev/null && echo "#define HAVE_ASSEMBLER 1" >>config.h
$CC -c -x c /dev/null -o /dev/null && echo "#define HAVE_EMPTY 1" >>config.h
rm -f conftest.*
END
cat >src/Makefile <<'END'
all: app
config.h:
	sh configure
%.o: %.c config.h
	$(CC) -O2 -c $< -o $@
app: main.o part.o
	$(CC) main.o part.o -o $@
install: all
	install -D app $(DESTDIR)/usr/local/bin/app
END
cat >src/main.c <<'END'
#include "config.h"
#ifdef HAVE_STDIO
#include <stdio.h>
#endif
int part(int);
int main(void) { printf("app %d\n", part(1)); return 0; }
END
echo 'int part(int a) { return a + 1; }' >src/part.c
echo '{"name": "app", "build": {"system": "make"}, "image": {"entrypoint": ["/usr/local/bin/app"]}}' >src/xaas.json

build() { # TAG OPTION...: leaves TAG.json
  local tag=$1
  shift
  "$XAAS" build src -o "oci:app:$tag" -q --format json "$@" >"$tag.json"
}
same_as() { jq -c '[.configurations[] | .same_as]' "$1.json"; }
check_same() { # TAG: the image that building everything gives
  build "$1-checked" --check-sharing
  expect_equal "built levels" "$(same_as "$1-checked")" "[null,null,null,null]"
  expect_equal "digest of $1" "$(image_digest app "$1")" "$(image_digest app "$1-checked")"
}

build plain
expect_equal "levels" "$(same_as plain)" '[null,"isa=x86-64","isa=x86-64","isa=x86-64"]'
assert_json plain.json '.configurations[3].units == 2 and .configurations[3].programs == 1 and .configurations[3].compiled == 0'
"$XAAS" build src -o oci:app:text 2>text.err >text.out
grep -q "configuration isa=x86-64-v3: the same as isa=x86-64" text.err || fail "what the build says: $(cat text.err)"
grep -q "^isa=x86-64-v3 .* as isa=x86-64 *$" text.out || fail "the table: $(cat text.out)"
check_same plain
"$XAAS" deploy oci:app:plain --cpu haswell -o oci:app:v3 -q --format json >deploy.json
assert_json deploy.json '.configuration.isa == "x86-64-v3"'

# The images of single builds are merged to the same image.
for level in x86-64 x86-64-v2 x86-64-v3 x86-64-v4; do build "$level" --config "isa=$level"; done
"$XAAS" merge oci:app:x86-64 oci:app:x86-64-v2 oci:app:x86-64-v3 oci:app:x86-64-v4 -o oci:app:merged -q >/dev/null
expect_equal "merged" "$(image_digest app merged)" "$(image_digest app plain)"

# A source that reads the level.
echo '#ifdef __AVX2__
int part(int a) { return a + 2; }
#else
int part(int a) { return a + 1; }
#endif' >src/part.c
build reads
expect_equal "levels" "$(same_as reads)" '[null,"isa=x86-64",null,"isa=x86-64-v3"]'
assert_json reads.json '.configurations[0].differences["x86-64-v3"] == "part.c: its text depends on the instruction set"'
check_same reads

# A check that succeeds at some levels, and leaves a trace only in config.h.
echo 'int part(int a) { return a + 1; }' >src/part.c
sed -i '/HAVE_NONE/a check HAVE_AVX2 "$(printf "#ifndef __AVX2__\\n#error none\\n#endif\\n")"' src/configure
build checks
expect_equal "levels" "$(same_as checks)" '[null,"isa=x86-64",null,"isa=x86-64-v3"]'
check_same checks

# A check that only asks for the exit code.
printf '#ifndef __AVX2__\n#error none\n#endif\n' >src/avx2.c
sed -i 's/^check HAVE_AVX2.*/$CC -fsyntax-only avx2.c 2>errors || echo "#define NO_AVX2 1" >>config.h/' src/configure
build syntax
expect_equal "levels" "$(same_as syntax)" '[null,"isa=x86-64",null,"isa=x86-64-v3"]'

# All levels are built in a directory of the same name.
sed -i '/install -D app/a \\tpwd >$(DESTDIR)/usr/local/bin/where' src/Makefile
sed -i '/NO_AVX2/d' src/configure
build path
expect_equal "levels" "$(same_as path)" '[null,"isa=x86-64","isa=x86-64","isa=x86-64"]'
check_same path
