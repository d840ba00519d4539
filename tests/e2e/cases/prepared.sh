#!/bin/bash
# Modules go through the half of the optimizer that knows no machine once, in the build.
source "$E2E/lib.sh"
needs jq qemu-x86_64

project() { # DIRECTORY
  mkdir -p "$1"
  cat >"$1/main.c" <<'END'
#include <stdio.h>
double sum(const double* x, int n);
int version(void);
static double square(double x) { return x * x; }
int main(void) {
  double x[1000];
  for (int i = 0; i < 1000; ++i) x[i] = square(i);
  printf("%.0f %d\n", sum(x, 1000), version());
}
END
  cat >"$1/sum.c" <<'END'
__attribute__((target("fma"))) double twice(double a) { return a * 2; }
double sum(const double* x, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += x[i];
  if (__builtin_cpu_supports("fma")) s += twice(s) - s - s;
  return s;
}
END
  # The resolver runs before the CPU is known.
  cat >"$1/version.c" <<'END'
__attribute__((target_clones("default", "avx2"))) int version(void) { return 7; }
END
  cat >"$1/unoptimized.c" <<'END'
int unused(int a) { return a + 1; }
END
  cat >"$1/Makefile" <<'END'
all:
	$(CC) -O2 -fPIC -c main.c sum.c version.c
	$(CC) -O0 -fPIC -c unoptimized.c
	$(CC) -o program main.o sum.o version.o unoptimized.o
END
  cat >"$1/xaas.json" <<'END'
{"name": "app", "build": {"system": "make", "install": [{"from": "program", "to": "bin/program"}]}}
END
}
project src
"$XAAS" build src --ir raw -o oci:raw:ir -q
"$XAAS" build src -o oci:app:ir -q --format json >report.json
expect_equal "report" "$(jq -c '.prepared | [.units, .modules, .without]' report.json)" \
  '[3,3,[{"reason":"option -O0","units":1}]]'
expect_equal "modules" "$(jq -c .sharing.modules report.json)" "$("$XAAS" inspect oci:raw:ir --format json | jq -c .sharing.modules)"
expect_equal "sharing" "$("$XAAS" inspect oci:app:ir --format json | jq -c '.sharing | [.prepared, .modules]')" '[3,4]'

# Packed, modules take less than half of their size, and the format says that older versions cannot read them.
for image in raw app; do
  expect_equal "format of $image" \
    "$(jq -r '.annotations["dev.xaas.format"]' "$(blob "$image" "$(image_digest "$image" ir)")")" 6
  "$XAAS" inspect "oci:$image:ir" --format json >"$image.json"
  [ "$(json "$image.json" .sharing.stored_bytes)" -lt $(($(json "$image.json" .sharing.module_bytes) / 2)) ] ||
    fail "modules of $image are stored in $(json "$image.json" .sharing.stored_bytes) bytes"
done

"$XAAS" deploy oci:raw:ir -o rootfs:plain -q
want=$(plain/usr/local/bin/program)
for way in "" "--lto"; do
  "$XAAS" deploy oci:app:ir $way -o "rootfs:native$way" -q
  expect_equal "output" "$("./native$way/usr/local/bin/program")" "$want"
  "$XAAS" deploy oci:app:ir --cpu nehalem $way -o "rootfs:old$way" -q
  expect_equal "output on Nehalem$way" "$(qemu-x86_64 -cpu Nehalem "old$way/usr/local/bin/program")" "$want"
done

# An object from the cache is that of the same form.
"$XAAS" deploy oci:app:ir -o oci:cached:here -q --format json >cached.json
"$XAAS" deploy oci:app:ir --no-cache -o oci:fresh:here -q --format json >fresh.json
expect_equal "digest" "$(json cached.json .digest)" "$(json fresh.json .digest)"
expect_equal "lowered" "$(json cached.json .modules.lowered)" 0

# The same from another directory and without the cache, and by merging.
project other
"$XAAS" build other --no-cache -o oci:again:ir -q --format json >again.json
expect_equal "digest" "$(json again.json .digest)" "$(json report.json .digest)"
"$XAAS" build src --isa x86-64,x86-64-v3 -o oci:one:ir -q
"$XAAS" build src --isa x86-64-v2,x86-64-v4 -o oci:two:ir -q
"$XAAS" merge oci:one:ir oci:two:ir -o oci:both:ir -q --format json >merged.json
expect_equal "digest of the merged image" "$(json merged.json .digest)" "$(json report.json .digest)"
expect_error 2 ' is prepared, and that of another image is raw' "$XAAS" merge oci:raw:ir oci:two:ir -o oci:mixed:ir

"$XAAS" build src --check-sharing -o oci:checked:ir -q --format json >checked.json
expect_equal "digest with --check-sharing" "$(json checked.json .digest)" "$(json report.json .digest)"

# The spec can say it, and the option comes first.
sed -i 's/^{/{"ir": "raw", /' other/xaas.json
"$XAAS" build other -o oci:specified:ir -q --format json >specified.json
expect_equal "digest" "$(json specified.json .digest)" "$(image_digest raw ir)"
"$XAAS" build other --ir prepared -o oci:option:ir -q --format json >option.json
expect_equal "digest" "$(json option.json .digest)" "$(json report.json .digest)"

expect_error 2 'a source image has no IR' "$XAAS" build src --kind source --ir prepared -o oci:sources:ir
