#!/bin/bash
# OpenMP off and on as a specialization point: units without OpenMP get another command line and yet share an IR module; units
# with a pragma, a call or the macro do not.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(threads C)
add_executable(tool main.c plain.c loop.c call.c macro.c)
if(WITH_OPENMP)
  find_package(OpenMP REQUIRED)
  target_link_libraries(tool OpenMP::OpenMP_C)
endif()
install(TARGETS tool DESTINATION bin)
END
cat >src/plain.c <<'END'
double plain(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}
END
cat >src/loop.c <<'END'
double loop(const double *x, int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += x[i];
  return sum;
}
END
printf 'int omp_get_max_threads(void) __attribute__((weak));\nint call(void) { return omp_get_max_threads ? omp_get_max_threads() : 0; }\n' >src/call.c
printf 'int macro(void) {\n#ifdef _OPENMP\n  return 1;\n#else\n  return 0;\n#endif\n}\n' >src/macro.c
cat >src/main.c <<'END'
#include <stdio.h>
double plain(const double *, int); double loop(const double *, int); int call(void); int macro(void);
int main(void) {
  double x[4] = {1, 2, 3, 4};
  printf("%.0f %.0f %d %d\n", plain(x, 4), loop(x, 4), call() > 0, macro());
}
END
cat >src/xaas.json <<'END'
{"name": "tool", "build": {"system": "cmake"}, "isa": [],
 "specializations": [{"name": "openmp", "category": "threading", "default": "on", "values": [
   {"value": "off", "arguments": ["-DWITH_OPENMP=OFF"]}, {"value": "on", "arguments": ["-DWITH_OPENMP=ON"]}]}]}
END

"$XAAS" build src -o oci:app:ir -q --check-sharing
"$XAAS" inspect oci:app:ir --format json >json
# main and plain are shared; loop, call and macro have two modules each.
assert_json json '.sharing.units == 10 and .sharing.modules == 8 and .sharing.sources == 5 and .sharing.sensitive == null'
for value in off on; do
  "$XAAS" deploy oci:app:ir -o rootfs:tree-$value --set openmp=$value -q
  libc=$(dirname "$(find "$PWD/tree-$value" -name libc.so.6)")
  libomp=$(find "$PWD/tree-$value" -name 'libomp.so*' -printf '%h\n' | head -n 1)
  [ $value = on ] || [ -z "$libomp" ] || fail "the run-time library is there without OpenMP"
  got=$(tree-$value/lib64/ld-linux-x86-64.so.2 --library-path "$libc:$libomp" tree-$value/usr/local/bin/tool)
  expect_equal "openmp=$value" "$got" "30 10 $([ $value = on ] && echo 1 1 || echo 0 0)"
done
