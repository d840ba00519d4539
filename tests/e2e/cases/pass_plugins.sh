#!/bin/bash
# Pass plugins: a unit that was compiled with one is IR that names it, and deploying runs the plugin that the user gives, on these
# units alone; --for all runs one on every unit. Plugins that misbehave end as errors that name them.
source "$E2E/lib.sh"
source "$E2E/plugins.sh"
needs jq clang-22 clang++-22 llvm-config-22 make readelf
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

mkdir plugins src
plugin plugins/derivative.so derivative '-DDERIVATIVE_VERSION="1"' &
plugin plugins/other.so derivative '-DDERIVATIVE_VERSION="2"' &
plugin plugins/trace.so trace
wait
cat >src/main.c <<'EOF'
#include <stdio.h>
double slope(double);
double plain(double);
int main(void) {
  printf("%g %g\n", slope(3), plain(3));
}
EOF
cat >src/slope.c <<'EOF'
double derivative_of(double (*)(double), double);
static double f(double x) { return x * x * x - 2 * x; }
double slope(double x) { return derivative_of(f, x); }
EOF
echo 'double plain(double x) { return x + 1; }' >src/plain.c
cat >src/Makefile <<'EOF'
CC ?= cc
CFLAGS = -O2
prefix = /usr/local
slope.o: CFLAGS += -fpass-plugin=$(PLUGIN) $(PLUGIN_FLAGS)
program: main.o slope.o plain.o
	$(CC) $^ -o $@
install: program
	install -D program $(DESTDIR)$(prefix)/bin/program
EOF
spec() { # FLAGS: the application, whose makefile gets these for slope.c
  jq -n --arg plugin "$PWD/plugins/derivative.so" --arg flags "$1" '{name: "program", version: "1", isa: ["x86-64", "x86-64-v3"],
    build: {system: "make", arguments: ["PLUGIN=" + $plugin, "PLUGIN_FLAGS=" + $flags]},
    image: {entrypoint: ["/usr/local/bin/program"]}}' >src/xaas.json
}
spec ""
"$XAAS" build src -o oci:app:ir --format json -q >build.json
assert_json build.json '.native_objects == []'
"$XAAS" inspect oci:app:ir --format json >inspect.json
digest=sha256:$(sha256sum <plugins/derivative.so | cut -d' ' -f1)
assert_json inspect.json '[.plugins[] | del(.units, .links)] == [{name: "derivative", version: "1", digest: "'"$digest"'", options: []}]'
assert_json inspect.json '.native_objects == []'
[ -z "$(find app/blobs -type f -exec grep -l llvmGetPassPluginInfo {} +)" ] || fail "the image brings the plugin"
valid_bundle app ir


# x^3 - 2x at 3 has the slope 25.
for options in "" "--lto" "--cpu haswell" "--no-cache"; do
  rm -rf tree
  # shellcheck disable=SC2086 # several words
  deploy rootfs:tree --pass-plugin plugins/derivative.so $options --format json >deploy.json
  expect_equal "with the plugin $options" "$(run tree)" "25 4"
  assert_json deploy.json '.plugins == [{name: "derivative", version: "1", digest: "'"$digest"'", for_all: false, units: 1, links: 0, options: []}]'
done
refused 3 'slope.c asks for the pass plugin derivative 1 (sha256:'
refused 3 'other.so is derivative 2' --pass-plugin plugins/other.so
deploy rootfs:other --pass-plugin plugins/other.so --any-plugin-build >/dev/null
expect_equal "with another build" "$(run other)" "25 4"

# A plugin of the site, for every unit. It alone is not enough, and nothing asks for it.
refused 2 'trace.so: nothing in this configuration asks for the pass plugin trace 1' \
  --pass-plugin plugins/derivative.so --pass-plugin plugins/trace.so
for options in "" "--lto"; do
  rm -rf traced
  # shellcheck disable=SC2086 # several words
  deploy rootfs:traced --pass-plugin plugins/derivative.so --pass-plugin plugins/trace.so --for all $options \
    --plugin-option "trace-prefix=in " --format json >deploy.json
  assert_json deploy.json '[.plugins[] | [.name, .for_all, .units]] == [["derivative", false, 1], ["trace", true, 3]]'
  expect_equal "output with a trace" "$(run traced 2>trace)" "25 4"
  finds -x 'in main' <trace || fail "no trace of main: $(cat trace)"
done
rm -rf traced # lists of values, as LLVM reads them
deploy rootfs:traced --pass-plugin plugins/derivative.so --pass-plugin plugins/trace.so --for all \
  --plugin-option trace-skip=main,f --plugin-option trace-skip=slope >/dev/null
run traced >out.text 2>trace
expect_equal "functions that are traced" "$(cat trace)" "entered plain"
refused 3 "'x' is not a value of it" --pass-plugin plugins/derivative.so --plugin-option derivative-scale=x
refused 2 'it is given twice' --pass-plugin plugins/derivative.so --pass-plugin plugins/derivative.so
refused 2 '--plugin-option inline-threshold=3: no plugin adds this option' --pass-plugin plugins/derivative.so --plugin-option inline-threshold=3

# The same inputs give the same image; its annotations and its SBOM name the plugins, and so does the name for --reuse.
deploy oci:out:a --pass-plugin plugins/derivative.so --cpu haswell --sbom sbom.json --reuse oci:out --format json >a.json
deploy oci:out:b --pass-plugin plugins/derivative.so --cpu haswell --no-cache -j 1 --format json >b.json
expect_equal "digest" "$(jq -r .digest a.json)" "$(jq -r .digest b.json)"
deploy oci:out:c --pass-plugin plugins/derivative.so --cpu haswell --reuse oci:out --format json >c.json
assert_json c.json '.reused != null'
deploy oci:out:d --pass-plugin plugins/derivative.so --pass-plugin plugins/trace.so --for all --cpu haswell --reuse oci:out --format json >d.json
assert_json d.json '.reused == null'
"$XAAS" inspect oci:out:d --format json >inspect.json
assert_json inspect.json '[.plugins[].name] == ["derivative", "trace"]'
assert_json sbom.json '[.packages[] | select(.name == "derivative") | .checksums[0].checksumValue] == ["'"${digest#sha256:}"'"]'
assert_json sbom.json '[.relationships[] | select(.relationshipType == "BUILD_TOOL_OF")] | length == 1'

# An option of the plugin on the command line of the source: the user allows it, or sets another value.
spec "-fplugin=$PWD/plugins/derivative.so -mllvm -derivative-scale=2"
"$XAAS" build src -o oci:app:ir --format json -q >build.json
assert_json build.json '.native_objects == []'
refused 3 'slope.c sets the option -derivative-scale=2 of the pass plugin derivative' --pass-plugin plugins/derivative.so
deploy rootfs:scaled --pass-plugin plugins/derivative.so --plugin-option derivative-scale >/dev/null
expect_equal "with the source's option" "$(run scaled)" "50 4"
deploy rootfs:scaled3 --pass-plugin plugins/derivative.so --plugin-option derivative-scale=3 >/dev/null
expect_equal "with the user's option" "$(run scaled3)" "75 4"

# Other -mllvm options stay a reason for a native object; so does a plugin that brings an LLVM of its own.
spec "-mllvm -inline-threshold=3"
"$XAAS" build src -o oci:native:ir --format json -q >build.json
assert_json build.json '[.native_objects[].reason] | all(. == "-mllvm options") and length >= 1'

# Deploying needs the definition in the same module, as the plugin says.
spec ""
echo 'double f(double x) { return x; }' >src/f.c
sed -i 's/^static double f(double x) .*/double f(double);/' src/slope.c
sed -i 's/program: main.o/program: f.o main.o/' src/Makefile
"$XAAS" build src -o oci:app:split -q >build.out 2>build.err && fail "the build did not notice that f is elsewhere"
grep -q 'no definition of f in this module' build.err || fail "$(cat build.err)"
sed -i 's/^double f(double);/static double f(double x) { return x * x * x - 2 * x; }/' src/slope.c
sed -i 's/program: f.o main.o/program: main.o/' src/Makefile
"$XAAS" build src -o oci:app:ir -q >/dev/null

# Plugins that misbehave, as a plugin for all units.
rm -f /tmp/xaas-plugin-was-here
with() { refused "$1" "$2" --pass-plugin plugins/derivative.so --pass-plugin "$3" --for all --no-cache; }
hostile opens.so -DOPENS
with 1 'pass plugin .*hostile 1.*file refused, new file refused, socket refused, process refused' "$PWD/opens.so"
hostile starts.so -DOPENS_AT_START
with 1 "pass plugin $PWD/starts.so.*file refused, new file refused, socket refused, process refused" "$PWD/starts.so"
hostile crash.so -DCRASHES
with 1 'pass plugin .*hostile 1.*probably a fault of the plugin' "$PWD/crash.so"
hostile abort.so -DCRASHES_AT_START
with 1 "pass plugin $PWD/abort.so" "$PWD/abort.so"
hostile old.so -DAPI=1
with 3 "pass plugin $PWD/old.so.*Got version 1" "$PWD/old.so"
hostile unknown.so -DNEEDS_UNKNOWN
with 3 "pass plugin $PWD/unknown.so: it needs llvm::ValueOf9::oldLayout(), which LLVM" "$PWD/unknown.so"
hostile entry.so -DNO_ENTRY
with 3 'it does not define llvmGetPassPluginInfo' "$PWD/entry.so"
hostile linked.so -Wl,--no-as-needed -L"$(llvm-config-22 --libdir)" -lLLVM-22
with 3 'it needs libLLVM.*second LLVM' "$PWD/linked.so"
echo text >text.so
with 3 "pass plugin text.so: it is not a library" text.so
with 4 "pass plugin none.so" none.so
[ ! -e /tmp/xaas-plugin-was-here ] || fail "a plugin made a file"

# A configuration that is built from source, and device code, have nothing to do with plugins; a merge keeps what units ask for.
"$XAAS" merge oci:app:ir oci:app:ir -o oci:merged:ir -q >/dev/null
"$XAAS" deploy oci:merged:ir -o rootfs:from-merged --pass-plugin plugins/derivative.so -q >/dev/null
expect_equal "after a merge" "$(run from-merged)" "25 4"
