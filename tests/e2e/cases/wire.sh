#!/bin/bash
# Bytes on the wire, counted between the program and a registry: only the needed ones move, in either direction.
# XAAS_TEST_MIB: size of the large image.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry perl skopeo umoci
mib=${XAAS_TEST_MIB:-24}

start_registry log
perl "$E2E/byte_counter.pl" "${registry##*:}" &
registry_pids="$registry_pids $!"
for ((i = 0; i < 100; ++i)); do
  [ -s counter.port ] && break
  sleep 0.1
done
at=docker://127.0.0.1:$(cat counter.port)
moved() { # sets `up` and `down`: the bytes since the last call
  sleep 0.3 # they are written when the connection ends
  read -r up down < <(awk '{ up += $1; down += $2 } END { print up + 0, down + 0 }' moved)
  : >moved
}
at_most() { # WHAT BYTES LIMIT
  echo "$1: $2 bytes, at most $3"
  [ "$2" -le "$3" ] || fail "$1: $2 bytes, more than $3"
}
: >moved

# Five configurations with their own data, and as much shared data.
mkdir src
cat >src/Makefile <<'END'
all: app
app: app.c
	$(CC) $(CFLAGS) -DCHOICE=$(CHOICE) -o app app.c
install: app
	install -D app $(DESTDIR)$(PREFIX)/bin/app
	install -D -m 644 data.$(CHOICE) $(DESTDIR)$(PREFIX)/share/data
	install -D -m 644 data.0 $(DESTDIR)$(PREFIX)/share/common
END
cat >src/app.c <<'END'
#include <stdio.h>
int main(void) { printf("choice %d\n", CHOICE); return 0; }
END
for choice in 0 1 2 3 4 5; do head -c $((mib * 1048576 / 6)) /dev/urandom >"src/data.$choice"; done
jq -n '{name: "app", build: {system: "make"}, isa: [], image: {entrypoint: ["/usr/local/bin/app"]},
  specializations: [{name: "choice", category: "other", default: "1",
    values: [range(1; 6) | {value: tostring, arguments: ["CHOICE=\(tostring)"]}]}]}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" copy oci:app:ir "$at/app:ir" -q >/dev/null
moved
size=$(du -sb app/blobs | cut -f1)
at_most "pushing an image of $size bytes" "$up" $((size + size / 100 + 100000))

"$XAAS" inspect "$at/app:ir" --format json -q >ir.json
moved
at_most "inspect of an image of $size bytes" $((up + down)) 1000000

"$XAAS" deploy "$at/app:ir" --set choice=3 -o "$at/deployed:v3" --format json -q >deployed.json
moved
layers=$(jq '[.configurations[] | select(.values.choice == "3") | .transfer.bytes] | add' ir.json)
at_most "deploying one of five configurations, down" "$down" $((layers + layers / 10))
application=$(curl -fsS -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$registry/v2/deployed/manifests/v3" |
  jq '.layers[-1].size')
at_most "pushing the deployed image, whose closure is there" "$up" $((application + 100000))

"$XAAS" deploy "$at/app:ir" --set choice=3 -o "$at/deployed:again" -q >/dev/null
moved
at_most "the second deploy of the same image" $((up + down)) 100000

# Another configuration: only its own layer moves, the rest is in the cache.
"$XAAS" deploy "$at/app:ir" --set choice=4 -o oci:out:v4 -q >/dev/null
moved
at_most "deploying another configuration" "$down" $((layers - mib * 1048576 / 6 + layers / 10))

# A large image of another kind: `inspect` reads only its description.
umoci init --layout other
umoci new --image other:v1
head -c $((mib * 1048576)) /dev/urandom >large
umoci insert --image other:v1 large /large
"$XAAS" copy oci:other:v1 "$at/other:v1" -q >/dev/null
moved
"$XAAS" inspect "$at/other:v1" --format json -q >other.json
assert_json other.json '.kind == "other"'
moved
at_most "inspect of another image of $mib MiB" $((up + down)) 100000
"$XAAS" copy "$at/other:v1" "$at/moved:v1" -q >/dev/null
moved
at_most "copying within a registry" $((up + down)) 100000
