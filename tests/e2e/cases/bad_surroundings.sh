#!/bin/bash
# A build that writes outside its build tree (sources, the machine's prefix, the home directory), that cannot read
# its inputs, or that asks questions: refused with the file's name, or harmless.
source "$E2E/lib.sh"
needs jq make cmake clang-22

hint() { # TEXT
  grep '^hint: ' stderr | finds -F -- "$1" || fail "no hint '$1': $(cat stderr)"
}

# A CMake project that generates a file in its source tree; then with a copy of the sources for each configuration.
mkdir generating
printf '#include "version.h"\nint main(void) { return VERSION; }\n' >generating/main.c
echo '#define VERSION 0' >generating/version.h.in
cat >generating/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(tool C)
configure_file(version.h.in "${CMAKE_SOURCE_DIR}/version.h")
add_executable(tool main.c)
install(TARGETS tool DESTINATION bin)
END
echo '{"name": "tool", "isa": ["x86-64", "x86-64-v2"], "build": {"system": "cmake"}}' >generating/xaas.json
expect_error 1 'version.h (added)' "$XAAS" build generating -o oci:app:ir -q
hint '"copy": true'
rm generating/version.h
sed -i 's/"system"/"copy": true, "system"/' generating/xaas.json
before=$(find generating -printf '%p %T@ %s\n' | sort)
"$XAAS" build generating -o oci:app:ir -q --format json >build.json
assert_json build.json '.sharing.units == 2 and .sharing.modules == 1'
expect_equal "the sources after building" "$(find generating -printf '%p %T@ %s\n' | sort)" "$before"
# Output in the source tree is not a source: an image, a log that is being written, leftovers of an earlier run.
(cd generating && "$XAAS" build . -o oci:app:ir -q 2>&1 | tee build.txt && "$XAAS" build . -o oci-archive:app.tar -q >out)
expect_equal "digest from within" "$(image_digest generating/app ir)" "$(image_digest app ir)"

# A copy does not contain it either.
tiny_project within
sed -i 's/^hello.o: hello.c$/&\n\ttest ! -e app/' within/Makefile
(cd within && "$XAAS" build . -o oci:app:ir -q >out && "$XAAS" build . -o oci:app:ir -q >out)

# Sources edited during the build through an absolute path, also where the build has a copy.
tiny_project src
sed -i "s|^hello.o: hello.c\$|&\n\techo '/* more */' >>$PWD/src/hello.c|" src/Makefile
expect_error 1 'hello.c (changed)' "$XAAS" build src -o oci:app:ir -q
tiny_project src
[ "$(find app -name index.json | wc -l)" -eq 1 ] || fail "a refused build wrote an image"

# An install step that ignores DESTDIR, for all files and for some. The prefix is a temporary one.
mkdir -p prefix/bin
echo "{\"name\": \"hello\", \"build\": {\"system\": \"make\"}, \"isa\": [], \"image\": {\"prefix\": \"$PWD/prefix\"}}" >src/xaas.json
sed -i "s|\$(DESTDIR)\$(PREFIX)|$PWD/prefix|" src/Makefile
expect_error 1 "installed nothing below DESTDIR, but wrote into $PWD/prefix of this machine: bin/hello (added)" \
  "$XAAS" build src -o oci:app:ir -q
hint DESTDIR
rm -r prefix/bin/*
sed -i 's/^install: hello$/&\n\tinstall -D hello.c $(DESTDIR)$(PREFIX)\/share\/hello.c/' src/Makefile
expect_error 1 "the build installed into $PWD/prefix of this machine: bin/hello (added)" "$XAAS" build src -o oci:app:ir -q
hint DESTDIR

# The build has its own home directory.
mkdir home
tiny_project homely
cat >homely/xaas.json <<'END'
{"name": "tool", "isa": [], "build": {"system": "commands",
  "build": "mkdir -p ~/.cache && touch ~/.cache/file && $CC -o tool hello.c", "install": [{"from": "tool", "to": "bin/tool"}]}}
END
HOME=$PWD/home "$XAAS" build homely -o oci:home-image:ir -q >out
expect_equal "files at home" "$(find home | wc -l)" 1

# Questions.
ask() { # COMMAND
  jq -n --arg command "$1" '{name: "tool", isa: [], build: {system: "commands", configure: $command, install: "true"}}' >ask.json
  expect_error 1 'the configure step' "$XAAS" build ask.json -o oci:app:ir -q
}
ask 'printf "Use OpenMP? [y/n] "; read answer; test "$answer" = y'
hint 'standard input is empty'
ask 'until [ "$answer" ]; do echo "Accept the license?"; read answer; done'
hint 'standard input is empty'
ask 'read answer </dev/tty'

# Unreadable inputs, as an ordinary user.
cp "$XAAS" xaas
chmod 755 xaas
mkdir -m 1777 tmp
user() {
  as_nobody TMPDIR="$PWD/tmp" HOME="$PWD/tmp" PATH="$PATH" "$PWD/xaas" "$@"
}
chmod 0 generating/main.c
sed -i 's/"copy": true, //; s/"isa".*"build"/"isa": [], "build"/' generating/xaas.json
sed -i '/configure_file/d' generating/CMakeLists.txt
expect_error 1 main.c user build generating -o oci:tmp/app:ir -q
hint 'generating/main.c in the sources cannot be read'
sed -i 's/"system"/"copy": true, "system"/' generating/xaas.json
expect_error 9 generating/main.c user build generating -o oci:tmp/app:ir -q
hint 'read permission'
chmod 711 generating
expect_error 9 generating user build generating/xaas.json -o oci:tmp/app:ir -q
