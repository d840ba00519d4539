#!/bin/bash
# What a value needs from the host, as opposed to what the image brings: selected, explained, recorded and verified.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_project src
cat >src/hello.c <<'END'
#include <math.h>
#include <stdio.h>
int main(int argc, char **argv) {
  (void)argv;
#ifdef WITH_LIBM
  printf("hello %.3f\n", sin(argc));
#else
  printf("hello %d\n", argc);
#endif
  return 0;
}
END
sed -i 's/ -o .*/& $(LIBS)/' src/Makefile
spec() { # LIBRARY: that maths=libm claims to bring
  cat >src/xaas.json <<END
{"name": "hello", "build": {"system": "make", "arguments": ["LIBS=-Wl,--as-needed -lm"]}, "isa": [],
 "specializations": [
   {"name": "gpu", "category": "gpu", "default": "none",
    "values": [{"value": "none"}, {"value": "cuda", "requires": {"gpu": {"vendor": "nvidia", "driver": "530"}}}]},
   {"name": "maths", "default": "own",
    "values": [{"value": "own", "arguments": ["CFLAGS=-O2"]},
               {"value": "libm", "arguments": ["CFLAGS=-O2 -DWITH_LIBM"],
                "requires": {"library": [{"name": "$1", "from": "image"}]}}]},
   {"name": "mpi", "category": "communication", "default": "off",
    "values": [{"value": "off"}, {"value": "host", "requires": {"mpi": "mpich-12"}}]}]}
END
}
# A library that the image does not bring is not attributed to it.
spec nosuchlibrary
expect_error 1 "maths=libm says that the image brings the library nosuchlibrary" "$XAAS" build src -o oci:app:ir -q
spec m
"$XAAS" build src -o oci:app:ir -q >/dev/null

"$XAAS" detect -o here.json -q
jq '.gpus = [] | .mpi = [] | .libraries = []' here.json >bare.json
jq '.gpus = [{"vendor": "nvidia", "model": "NVIDIA H200", "arch": "sm_90", "memory_bytes": 0, "driver": "550.54", "runtime": null,
    "evidence": "/proc/driver/nvidia"}] | .mpi = [{"implementation": "mpich", "version": "4.2", "abi": "mpich-12", "libdir": "/opt/lib"}]' \
  bare.json >rich.json
jq '.gpus[0].driver = "520.1"' rich.json >old.json

"$XAAS" deploy oci:app:ir --dry-run --explain --system bare.json >bare.text
grep -qx '  maths=libm  from the image  the library m: libm[.]so[.]6' bare.text || fail "not told: $(cat bare.text)"
grep -qx '  gpu=cuda    from the host   nvidia GPU, driver 530 or later: this system has no GPU; nvidia GPU is needed' bare.text ||
  fail "not told: $(cat bare.text)"
grep -qx '  maths=libm  possible      ranks below maths=own, the default' bare.text || fail "not told: $(cat bare.text)"
grep -qx '  mpi=host    not possible  this system has no MPI; one with the ABI mpich-12 is needed' bare.text ||
  fail "not told: $(cat bare.text)"

deploy() { # FILE ARG...
  "$XAAS" deploy oci:app:ir --format json -q "${@:2}" >"$1"
}
deploy bare.deploy --dry-run --system bare.json
assert_json bare.deploy '.configuration == {"gpu": "none", "maths": "own", "mpi": "off"} and (.values | length == 6)
  and all(.values[]; (.reason | length > 0) and .built and (.needs | type) == "array")
  and ([.values[] | select(.chosen) | .point + "=" + .value] == ["gpu=none", "maths=own", "mpi=off"])
  and ([.values[] | select(.possible | not) | .value] == ["cuda", "host"])'
assert_json bare.deploy '.values[] | select(.value == "libm").needs ==
  [{"kind": "library", "from": "image", "what": "the library m", "met": true, "found": "libm.so.6", "lacks": null}]'
deploy rich.deploy --dry-run --system rich.json
assert_json rich.deploy '.configuration.gpu == "cuda" and (.values[] | select(.value == "cuda").needs[0] |
  .met and .from == "host" and .found == "NVIDIA H200, sm_90, driver 550.54 (/proc/driver/nvidia)")'
deploy old.deploy --dry-run --system old.json
assert_json old.deploy '.configuration.gpu == "none" and (.values[] | select(.value == "cuda") | (.possible | not)
  and .needs[0].found == "NVIDIA H200, sm_90, driver 520.1 (/proc/driver/nvidia)"
  and .reason == "the driver of the nvidia GPU is 520.1; 530 or later is needed")'
expect_error 3 "mpi=host: this system has no MPI" deploy none --dry-run --system bare.json --set mpi=host

# Recorded, and checked on the machine that runs it.
deploy out.deploy -o oci:app:out --system rich.json --set mpi=host --set maths=libm
"$XAAS" inspect oci:app:out --format json >out.json
assert_json out.json '.requires.mpi == "mpich-12" and .requires.driver == "530"'
check() { # FILE ARG...
  "$XAAS" check oci:app:out --format json -q "${@:2}" >"$1"
}
check alone.check
assert_json alone.check '.runs and ([.needs[] | [.point, .from, .met]] == [["gpu", "host", null], ["maths", "image", true], ["mpi", "host", null]])'
check rich.check --system rich.json
assert_json rich.check '.runs and all(.needs[]; .met)'
expect_exit 3 check bare.check --system bare.json
assert_json bare.check '(.runs | not) and ([.problems[] | select(.kind == "host") | .message] ==
  ["gpu=cuda: this system has no GPU; nvidia GPU is needed", "mpi=host: this system has no MPI; one with the ABI mpich-12 is needed"])'
"$XAAS" check oci:app:out --system rich.json -q >text
grep -qx 'mpi=host needs from the host: an MPI with the ABI mpich-12: mpich 4.2 (/opt/lib)' text || fail "not told: $(cat text)"
grep -q '^maths=libm needs from the image: the library m: /usr/lib.*/libm.so.6$' text || fail "not told: $(cat text)"
