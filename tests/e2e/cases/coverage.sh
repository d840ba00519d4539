#!/bin/bash
# What `xaas inspect` reports about an IR image: machine flags, feature-sensitive sources, native objects, the link kit,
# and the layers that deploying a configuration reads.
source "$E2E/lib.sh"
needs jq make clang-22

mkdir src
printf 'int wide(void) {\n#ifdef __AVX2__\n  return 8;\n#else\n  return 4;\n#endif\n}\n' >src/wide.c
for name in plain fixed here feature; do echo "int $name(void) { return 1; }" >src/$name.c; done
for name in one two three four five; do
  printf '.globl %s\n%s: ret\n.section .note.GNU-stack,"",@progbits\n' $name $name >src/$name.S
done
cat >src/main.c <<'END'
#include <stdio.h>
int wide(void); int plain(void); int fixed(void); int here(void); int feature(void);
int main(void) { printf("%d\n", wide() + plain() + fixed() + here() + feature()); }
END
cat >src/Makefile <<'END'
objects = main.o wide.o plain.o fixed.o here.o feature.o one.o two.o three.o four.o five.o
tool: $(objects)
	$(CC) -o $@ $(objects)
fixed.o: CFLAGS = -march=x86-64-v2
here.o: CFLAGS = -march=native
feature.o: CFLAGS = -mpopcnt
install: tool
	install -D tool $(DESTDIR)$(PREFIX)/bin/tool
END
echo '{"name": "tool", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"]}' >src/xaas.json

"$XAAS" build src -o oci:app:ir -q >built
"$XAAS" inspect oci:app:ir --format json >json
assert_json json '.sharing.sources == 6 and .sharing.sensitive == 1 and .sharing.sensitive_sources == ["wide.c"]'
assert_json json '.machine_flags.units == {"open": 8, "native": 2, "fixed": 2, "features": 2}'
assert_json json '.configurations | map(.machine) == [range(2) | {"open": 4, "native": 1, "fixed": 1, "features": 1}]'
assert_json json '.machine_flags.sources == [{"source": "feature.c", "cpu": "", "tune": "", "features": ["+popcnt"]},
  {"source": "fixed.c", "cpu": "x86-64-v2", "tune": "", "features": []},
  {"source": "here.c", "cpu": "native", "tune": "", "features": []}]'
assert_json json '(.native_objects | length == 5)
  and all(.native_objects[]; (.reason | length > 0) and .bytes > 0 and (.configurations | length == 2))'
assert_json json '.kit.files > 5 and .kit.bytes > 0 and .kit as $kit | all(.configurations[]; .kit == $kit)'
assert_json json '(.layers | map({(.digest): .}) | add) as $layers | all(.configurations[];
  .transfer.bytes == ([.transfer.layers[] | $layers[.].size] | add)
  and .transfer.shared_bytes == ([.transfer.layers[] | $layers[.] | select(.configurations | length > 1) | .size] | add)
  and .transfer.shared_bytes < .transfer.bytes)'

# Deploying a configuration reads those layers and no others.
for level in x86-64 x86-64-v3; do
  jq -r --arg id "isa=$level" '.configurations[] | select(.id == $id) | .transfer.layers[]' json >layers
  jq -r '.layers[].digest' json | grep -vxFf layers >others || fail "every layer is read by isa=$level"
  rm -rf less
  cp -r app less
  while read -r digest; do rm "$(blob less "$digest")"; done <others
  "$XAAS" deploy oci:less:ir -o "rootfs:tree-$level" --set isa=$level --no-cache -q
  while read -r digest; do
    rm -rf less
    cp -r app less
    rm "$(blob less "$digest")"
    ! "$XAAS" deploy oci:less:ir -o oci:out:x --set isa=$level --no-cache -q 2>stderr || fail "not read by isa=$level: $digest"
    grep -q "${digest#sha256:}" stderr || fail "another error: $(cat stderr)"
  done <layers
done

# The same for people: five native objects with one reason are one line, and -v names all.
"$XAAS" inspect oci:app:ir >table
grep -q '^feature-sensitive  *1 of 6 sources' table || fail "sources: $(cat table)"
grep -q '^machine flags .*8 units leave the CPU open, 2 say native, 2 fix a CPU, 2 have' table || fail "flags: $(cat table)"
grep -q '^5 native objects five.o, four.o, one.o and 2 more: ' table || fail "native objects: $(cat table)"
grep -q '^5 native objects five.o, four.o, one.o and 2 more: ' built || fail "native objects of the build: $(cat built)"
! grep -q wide.c table || fail "names without -v"
"$XAAS" inspect oci:app:ir -v >table
grep -q '^feature-sensitive wide.c$' table || fail "no name with -v: $(cat table)"
grep -q '^machine flags feature.c: +popcnt$' table || fail "no flags with -v: $(cat table)"
grep -q '^5 native objects five.o, four.o, one.o, three.o, two.o: ' table || fail "not all native objects: $(cat table)"
