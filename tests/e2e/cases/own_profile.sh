#!/bin/bash
# Projects that bring a profile of their own: -fprofile-use with counts of Clang's back end (-fprofile-generate) and of its front
# end (-fprofile-instr-generate). Their sources are IR, and deployed code is what Clang makes with that profile.
source "$E2E/lib.sh"
needs jq make clang-22 llvm-profdata-22 llvm-objdump-22
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

mkdir src
cat >src/main.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int work(const int *values, int count, int mode);
int main(int argc, char **argv) {
  static int values[4096];
  for (int i = 0; i < 4096; ++i)
    values[i] = i * 7919 % 1000;
  int sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1000); ++i)
    sum += work(values, 4096, 1);
  printf("%d\n", sum);
}
EOF
cat >src/work.c <<'EOF'
static int often(int a) { return a * 3 + 1; }
static int seldom(int a) {
  for (int i = 0; i < 10; ++i)
    a = a * 31 + (a >> 3);
  return a;
}
int work(const int *values, int count, int mode) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    if (mode == 0 || values[i] > 997)
      sum += seldom(values[i]);
    else
      sum += often(sum ^ values[i]);
  }
  return sum;
}
EOF
cat >src/Makefile <<'EOF'
CC ?= cc
CFLAGS = -O2
prefix = /usr/local
work.o: CFLAGS += $(PROFILE)
program: main.o work.o
	$(CC) $^ -o $@
install: program
	install -D program $(DESTDIR)$(prefix)/bin/program
EOF
train() { # OPTION PREFIX: counts of a run
  (cd src && clang-22 -O2 "$1" -c work.c -o "../$2.o" && clang-22 -O2 "$1" main.c "../$2.o" -o "../$2")
  LLVM_PROFILE_FILE=$2.profraw "./$2" 100 >/dev/null
  llvm-profdata-22 merge "$2.profraw" -o "src/$2.profdata"
}
train -fprofile-generate back
train -fprofile-instr-generate front

code() { # FILE: of work(), without addresses
  llvm-objdump-22 -d --no-show-raw-insn --no-leading-addr --disassemble-symbols=work "$1" | sed -n '/^<work>/,$p' |
    sed -E 's/0x[0-9a-f]+ //; s/<[^>]*>//; s/[[:space:]]*#.*//; /^[[:space:]]*(nop|int3)/d'
}
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/usr/lib/x86_64-linux-gnu" "$1/usr/local/bin/program" "${@:2}"; }
clang-22 -O2 -march=haswell -c src/work.c -o none.o
for kind in back front; do
  use=-fprofile-use
  [ $kind = back ] || use=-fprofile-instr-use
  jq -n --arg profile "$use=$PWD/src/$kind.profdata" '{name: "program", version: "1", isa: ["x86-64", "x86-64-v3"],
    build: {system: "make", arguments: ["PROFILE=" + $profile]}, image: {entrypoint: ["/usr/local/bin/program"]}}' >src/xaas.json
  "$XAAS" build src -o "oci:app-$kind:ir" --format json -q >build.json
  assert_json build.json '.native_objects == []'
  valid_bundle "app-$kind" ir
  "$XAAS" inspect "oci:app-$kind:ir" --format json >inspect.json
  if [ $kind = back ]; then
    assert_json inspect.json '[.profiles[] | .digest] == ["sha256:'"$(sha256sum <src/back.profdata | cut -d' ' -f1)"'"]'
    "$XAAS" inspect "oci:app-$kind:ir" | finds 'own profile  *for [0-9]* units\? (sha256:' || fail "inspect does not show the profile"
  else
    assert_json inspect.json '.profiles == []'
  fi
  "$XAAS" deploy "oci:app-$kind:ir" -o "rootfs:tree-$kind" --cpu haswell -q --format json >deploy.json
  assert_json deploy.json '.native_objects == 0 and (.warnings | map(select(.kind == "profile")) | length == 0)'
  clang-22 -O2 -march=haswell "$use=src/$kind.profdata" -c src/work.c -o "$kind-native.o"
  [ "$(code $kind-native.o)" != "$(code none.o)" ] || fail "the profile of $kind changes nothing, so this shows nothing"
  expect_equal "code by the profile of $kind" "$(code "tree-$kind/usr/local/bin/program")" "$(code $kind-native.o)"
  "$XAAS" deploy "oci:app-$kind:ir" -o "oci:again:$kind" --cpu haswell -q --no-cache -j 1 --format json >again.json
  expect_equal "digest" "$(jq -r .digest again.json)" "$(jq -r .digest deploy.json)"
  "$XAAS" deploy "oci:app-$kind:ir" -o "rootfs:lto-$kind" --lto -q >/dev/null
  "$XAAS" deploy "oci:app-$kind:ir" -o "rootfs:train-$kind" --profile-generate -q >/dev/null
  mkdir "counts-$kind"
  LLVM_PROFILE_FILE=$PWD/counts-$kind/%p.profraw run "train-$kind" 50 >/dev/null
  "$XAAS" deploy "oci:app-$kind:ir" -o "rootfs:fast-$kind" --profile "counts-$kind" -q --format json >fast.json
  assert_json fast.json '.profile.matched >= 2'
  for tree in tree lto fast; do
    if [ $tree = tree ] && ! grep -q -w avx2 /proc/cpuinfo; then continue; fi
    expect_equal "output of $tree-$kind" "$(run $tree-$kind)" "$(./back 1000)"
  done
done
# A profile of something else does not fit, also where the IR has counts of the front end.
printf 'int other(int a) { return a > 3 ? a * 2 : a; }\nint main(int c, char **v) { (void)v; return other(c) == 7; }\n' >other.c
clang-22 -O1 -fprofile-generate other.c -o other-program
LLVM_PROFILE_FILE=strange.profraw ./other-program
llvm-profdata-22 merge strange.profraw -o strange.profdata
for kind in back front; do
  code=0
  "$XAAS" deploy "oci:app-$kind:ir" -o oci:strange:x --profile strange.profdata -q >/dev/null 2>err || code=$?
  [ $code -eq 3 ] || fail "$kind: exit $code: $(cat err)"
done
# A profile of something else that the project brings: a warning, as in the project's own build.
jq --arg profile "-fprofile-use=$PWD/strange.profdata" '.build.arguments = ["PROFILE=" + $profile]' src/xaas.json >spec.json
"$XAAS" build spec.json --source src -o oci:unfit:ir -q >/dev/null
for _ in lowered cached; do
  "$XAAS" deploy oci:unfit:ir -o oci:unfit:x --format json >unfit.json 2>err
  assert_json unfit.json '[.warnings[] | select(.kind == "profile").message | contains("work.c")] == [true]'
done
grep -q "the project's profile (-fprofile-use) has no counts of functions in work.c" err || fail "$(cat err)"

# The same source with another profile is another unit: nothing is taken from the first build.
LLVM_PROFILE_FILE=other.profraw ./back 3 >/dev/null
llvm-profdata-22 merge other.profraw -o src/back.profdata
jq --arg profile "-fprofile-use=$PWD/src/back.profdata" '.build.arguments = ["PROFILE=" + $profile]' src/xaas.json >spec.json
mv spec.json src/xaas.json
"$XAAS" build src -o oci:other:ir -q >/dev/null
[ "$("$XAAS" inspect oci:other:ir --format json | jq -r .digest)" != "$("$XAAS" inspect oci:app-back:ir --format json | jq -r .digest)" ] ||
  fail "another profile gives the same image"

# A profile that cannot be read is Clang's error.
echo damaged >src/back.profdata
if "$XAAS" build src -o oci:damaged:ir -q >out 2>err; then fail "a damaged profile was taken"; fi
grep -q 'back.profdata' err || fail "$(cat err)"
