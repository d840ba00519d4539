#!/bin/bash
# Pass plugins of links: the units of a link, also those in archives, become one module on which the plugin runs, in the build and
# when the image is deployed.
source "$E2E/lib.sh"
source "$E2E/plugins.sh"
needs jq clang-22 clang++-22 llvm-config-22 ld.lld-22 make
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

mkdir src
plugin derivative.so derivative '-DDERIVATIVE_VERSION="1"'
cat >src/main.c <<'EOF'
#include <stdio.h>
double slope(double), slope_here(double), plain(double);
int main(void) { printf("%g %g %g\n", slope(3), slope_here(2), plain(3)); }
EOF
# The function is in another source of the same link, which an archive has.
cat >src/slope.c <<'EOF'
double derivative_of(double (*)(double), double);
double f(double x);
double SLOPE(double x) { return derivative_of(f, x); }
EOF
echo 'double f(double x) { return x * x * x - 2 * x; }' >src/f.c
# A link without plugins takes an ifunc as an object.
echo '__attribute__((target_clones("avx2", "default"))) double plain(double x) { return x + 1; }' >src/plain.c
echo 'int main(void) { return 0; }' >src/tool.c
cat >src/Makefile <<'EOF'
CC = cc
CFLAGS = -O2 -fPIC -flto
LTO = -flto -fuse-ld=lld -Wl,--load-pass-plugin=$(PLUGIN) $(PLUGIN_FLAGS)
prefix = /usr/local
all: program tool
libslope.so: slope.o libf.a
	$(CC) -shared $^ $(LTO) -o $@
slope.o here.o: slope.c
	$(CC) $(CFLAGS) -DSLOPE=$(if $(filter here.o,$@),slope_here,slope) -c $< -o $@
libf.a: f.o
	$(AR) rcs $@ $^
program: main.o here.o f.o plain.o libslope.so
	$(CC) $^ $(LTO) -Wl,-rpath,'$$ORIGIN/../lib' -o $@ 2>messages || { cat messages >&2; false; }
tool: tool.c
	$(CC) -O2 $< -o $@
install: all
	install -D program $(DESTDIR)$(prefix)/bin/program
	install -D tool $(DESTDIR)$(prefix)/bin/tool
	install -D -m 644 messages $(DESTDIR)$(prefix)/share/messages
	install -D libslope.so $(DESTDIR)$(prefix)/lib/libslope.so
EOF
cp -r src native
make -C native -s CC=clang-22 AR=llvm-ar-22 PLUGIN="$PWD/derivative.so" program
native=$(LD_LIBRARY_PATH=native native/program)
expect_equal "natively" "$native" "25 10 4"

spec() { # FLAGS: of the links with the plugin
  jq -n --arg plugin "$PWD/derivative.so" --arg flags "$1" '{name: "program", version: "1", isa: ["x86-64", "x86-64-v3"],
    build: {system: "make", arguments: ["PLUGIN=" + $plugin, "PLUGIN_FLAGS=" + $flags]},
    image: {entrypoint: ["/usr/local/bin/program"]}}' >src/xaas.json
}
spec ""
"$XAAS" build src -o oci:app:ir --format json -q >build.json
assert_json build.json '.native_objects == []'
digest=sha256:$(sha256sum <derivative.so | cut -d' ' -f1)
"$XAAS" inspect oci:app:ir --format json >inspect.json
assert_json inspect.json '[.plugins[] | del(.links)] == [{name: "derivative", version: "1", digest: "'"$digest"'", units: 0, options: []}]'
assert_json inspect.json '.plugins[0].links >= 2'
"$XAAS" inspect oci:app:ir | finds 'derivative 1, for [24] links (sha256:' || fail "$("$XAAS" inspect oci:app:ir)"
valid_bundle app ir

refused 3 'the link of .* asks for the pass plugin derivative 1 (sha256:'
for options in "" "--lto" "--cpu haswell" "--no-cache -j 1"; do
  rm -rf tree
  # shellcheck disable=SC2086 # several words
  deploy rootfs:tree --pass-plugin derivative.so $options --format json >deploy.json
  expect_equal "with the plugin $options" "$(run tree)" "$native"
  assert_json deploy.json '.plugins == [{name: "derivative", version: "1", digest: "'"$digest"'", for_all: false, units: 0, links: 2, options: []}]'
done
rm -rf tree
deploy rootfs:tree --pass-plugin derivative.so --format json >deploy.json
assert_json deploy.json '.lto == {units: 5, without: {}} and .modules.lowered == 0'

# The same inputs give the same image, which names the plugin; so does that of a merge.
deploy oci:out:a --pass-plugin derivative.so --cpu haswell --format json >a.json
deploy oci:out:b --pass-plugin derivative.so --cpu haswell --no-cache -j 1 --format json >b.json
expect_equal "digest" "$(jq -r .digest a.json)" "$(jq -r .digest b.json)"
"$XAAS" inspect oci:out:a --format json >inspect.json
assert_json inspect.json '[.plugins[] | [.name, .units, .links]] == [["derivative", 0, 2]]'
"$XAAS" merge oci:app:ir oci:app:ir -o oci:merged:ir -q >/dev/null
"$XAAS" deploy oci:merged:ir -o rootfs:from-merged --pass-plugin derivative.so -q >/dev/null
expect_equal "after a merge" "$(run from-merged)" "$native"

# With counters and by their profile, too.
deploy rootfs:counted --pass-plugin derivative.so --profile-generate >/dev/null
expect_equal "with counters" "$(LLVM_PROFILE_FILE=$PWD/counts.profraw run counted)" "$native"
mkdir counts
mv counts.profraw.* counts/
deploy rootfs:fast --pass-plugin derivative.so --profile counts --format json >deploy.json
assert_json deploy.json '.profile.matched == .profile.functions and .profile.functions >= 5'
expect_equal "with a profile" "$(run fast)" "$native"

# Options of the plugin, as lld takes them.
spec "-Wl,-mllvm=-load=$PWD/derivative.so -Wl,-mllvm,-derivative-scale=2"
"$XAAS" build src -o oci:app:ir -q >/dev/null
refused 3 'the link of .* sets the option -derivative-scale=2 of the pass plugin derivative' --pass-plugin derivative.so
deploy rootfs:scaled --pass-plugin derivative.so --plugin-option derivative-scale >/dev/null
expect_equal "with the link's option" "$(run scaled)" "50 20 4"
deploy rootfs:scaled3 --pass-plugin derivative.so --plugin-option derivative-scale=3 >/dev/null
expect_equal "with the user's option" "$(run scaled3)" "75 30 4"
deploy rootfs:scaled4 --pass-plugin derivative.so --plugin-option derivative-scale --plugin-option derivative-scale=4 >/dev/null
expect_equal "with an option that is allowed and set" "$(run scaled4)" "100 40 4"
refused 3 "'x' is not a value of it" --pass-plugin derivative.so --plugin-option derivative-scale=x
fails() { # TEXT: a build of src
  "$XAAS" build src -o oci:failed:ir -q >build.out 2>build.err && fail "the build did not fail: $1"
  grep -q -e "$1" build.err || fail "$(cat build.err)"
}
spec "-Wl,-mllvm=-inline-threshold=3"
fails 'linker option -mllvm inline-threshold=3: no pass plugin of the link adds it'
spec "-Wl,-mllvm=-load=/lib/libother.so"
fails 'linker option -mllvm=-load=/lib/libother.so: it runs code'

# As natively, units that were compiled without -flto are linked as they are; those without -O take part.
spec ""
sed -i 's/^program: /plain.o: CFLAGS += -fno-lto\nprogram: /; s/^CFLAGS = -O2/CFLAGS =/' src/Makefile
"$XAAS" build src -o oci:app:ir -q >/dev/null
deploy rootfs:without --pass-plugin derivative.so --format json >deploy.json
expect_equal "with a unit that does not take part" "$(run without)" "$native"
assert_json deploy.json '.lto == {units: 4, without: {"compiled without -flto": 1}}'
# Assembly that could name files is not merged.
printf '__asm__(".section .mark, \\"\\", @progbits; .byte 1; .previous");\n' >>src/main.c
"$XAAS" build src -o oci:app:ir -q >/dev/null
deploy rootfs:assembly --pass-plugin derivative.so --format json >deploy.json
expect_equal "with assembly" "$(run assembly)" "$native"
assert_json deploy.json '.lto.units == 3 and (.lto.without | add) == 2'
grep -q 'main.c is not merged: inline assembly' assembly/usr/local/share/messages || fail "no warning of the assembly"
sed -i 's/^slope.o here.o: /slope.o: CFLAGS += -fno-lto\nslope.o here.o: /' src/Makefile
fails 'undefined reference: derivative_of'
sed -i 's/^slope.o: CFLAGS.*/slope.o: CFLAGS += -flto=thin/' src/Makefile
fails 'slope.c was compiled with -flto=thin'
sed -i '/^slope.o: CFLAGS/d' src/Makefile

# Plugins that misbehave have no more rights in the process that links.
rm -f /tmp/xaas-plugin-was-here
jq --arg plugin "$PWD/hostile.so" '.build.arguments[0] = "PLUGIN=" + $plugin' src/xaas.json >with-hostile.json
mv with-hostile.json src/xaas.json
hostile hostile.so -DOPENS
fails 'file refused, new file refused, socket refused, process refused'
hostile hostile.so -DCRASHES
fails 'linking .*probably a fault of the plugin'
[ ! -e /tmp/xaas-plugin-was-here ] || fail "a plugin made a file"

# Functions that a plugin makes are for the same CPU as the others, or they would pass vectors in other registers. `sum` is not
# merged, and the calls of it stay.
level=$("$XAAS" detect --format json -q | jq -r .cpu.level)
if [[ $level != x86-64-v[34] ]]; then
  echo "not run: a plugin that passes vectors of 256 bits, which this CPU lacks"
  exit 0
fi
mkdir wide
plugin wide.so wide
printf '#include <stdio.h>\ndouble first(const double *);\nint main(void) { double a[] = {1, 2, 3, 4}; printf("%%g\\n", first(a)); }\n' >wide/main.c
cat >wide/sum.c <<'EOF'
typedef double numbers __attribute__((vector_size(32)));
double sum(numbers a) { return a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3]; }
EOF
cat >wide/Makefile <<'EOF'
CC = cc
program: main.c sum.c
	$(CC) $(FLAGS) -O2 -flto -c main.c
	$(CC) $(FLAGS) -O2 -c sum.c
	$(CC) $(FLAGS) main.o sum.o -flto -fuse-ld=lld -Wl,--load-pass-plugin=$(PLUGIN) -o $@
	./program >output
install: program
	install -D program $(DESTDIR)/usr/local/bin/program
	install -D -m 644 output $(DESTDIR)/usr/local/share/output
EOF
for flags in "" "-march=x86-64-v3 -O3"; do # the level's, and the project's own
  want=24321
  [ -z "$flags" ] || want=34321 # the plugin adds the level of optimization
  jq -n --arg plugin "$PWD/wide.so" --arg flags "$flags" '{name: "wide", isa: ["x86-64-v3"],
    build: {system: "make", arguments: ["PLUGIN=" + $plugin, "FLAGS=" + $flags]}}' >wide/xaas.json
  "$XAAS" build wide -o oci:app:ir -q >/dev/null
  for cpu in "" "--cpu haswell"; do
    rm -rf tree
    # shellcheck disable=SC2086 # several words
    deploy rootfs:tree --pass-plugin wide.so $cpu >/dev/null
    expect_equal "a function of the plugin, $flags $cpu" "$(run tree)" $want
    expect_equal "the same in the build" "$(cat tree/usr/local/share/output)" $want
  done
done
