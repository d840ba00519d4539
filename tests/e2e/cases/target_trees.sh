#!/bin/bash
# One file tree for several targets: programs choose when they start, and find themselves, their libraries and their data.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 qemu-x86_64

mkdir src
cat >src/solver.c <<'END'
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const char* level(void);
int main(int count, char** arguments) {
  char path[4096] = "", data[5000], line[64] = "none\n";
  if (count > 1 && !strcmp(arguments[1], "variable")) {
    puts(getenv("LD_LIBRARY_PATH"));
    fflush(stdout);
    if (count > 2)
      execlp(arguments[2], arguments[2], "variable", NULL);
    return 0;
  }
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
    return 1;
  printf("exe %s\n", path);
  snprintf(data, sizeof data, "%s/../share/solver/data", dirname(path));
  FILE* file = fopen(data, "r");
  if (file && fgets(line, sizeof line, file))
    fclose(file);
  printf("data %sname %s\narguments %d\n", line, arguments[0], count);
#ifdef __AVX2__
  puts("program avx2");
#else
  puts("program plain");
#endif
  printf("library %s\n", level());
  return 0;
}
END
cat >src/level.c <<'END'
const char* level(void) {
#ifdef __AVX2__
  return "avx2";
#else
  return "plain";
#endif
}
END
cat >src/extension.c <<'END'
#include <stdio.h>
const char* level(void);
void extend(void) {
#ifdef __AVX2__
  printf("extension avx2, %s\n", level());
#else
  printf("extension plain, %s\n", level());
#endif
}
END
echo 'int main(void) { return 3; }' >src/three.c
echo 'the data' >src/data
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(solver C)
add_library(level SHARED level.c)
set_target_properties(level PROPERTIES VERSION 1.2 SOVERSION 1)
add_executable(solver solver.c)
target_link_libraries(solver level)
add_library(extension MODULE extension.c)
target_link_libraries(extension level)
set_target_properties(extension PROPERTIES PREFIX "" INSTALL_RPATH "$ORIGIN/../../lib")
add_executable(static_three three.c)
target_link_options(static_three PRIVATE -static-pie)
set_target_properties(static_three PROPERTIES POSITION_INDEPENDENT_CODE ON)
install(TARGETS solver level static_three)
install(TARGETS extension DESTINATION lib/extensions)
install(FILES data DESTINATION share/solver)
install(CODE "execute_process(COMMAND ln -s solver \$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/solve)")
END
cat >src/xaas.json <<'END'
{"name": "solver", "build": {"system": "cmake", "arguments": ["-DCMAKE_BUILD_TYPE=Release"]}, "isa": ["x86-64", "x86-64-v3"],
 "image": {"entrypoint": ["/usr/local/bin/solver"]}}
END
"$XAAS" build src -o oci:app:ir -q >out.txt
"$XAAS" deploy oci:app:ir --cpu haswell,x86-64,x86-64-v3 -o rootfs:tree --format json -q >deploy.json
assert_json deploy.json '[.images[].target.cpu] == ["x86-64", "x86-64-v3", "haswell"] and (.digest | test("^sha256:"))'
assert_json tree/.xaas/image.json '.annotations."dev.xaas.targets" == "x86-64,x86-64-v3,haswell"'
"$XAAS" deploy oci:app:ir --cpu x86-64,haswell,x86-64-v3,x86-64 -o rootfs:again --format json -q >again.json
expect_equal "digest in another order" "$(jq .digest again.json)" "$(jq .digest deploy.json)"
diff -r --no-dereference tree again || fail "the same targets in another order give another tree"

refuses() { # CODE PATTERN COMMAND...: of the launcher
  local code=0
  "${@:3}" >out.txt 2>error.txt || code=$?
  expect_equal "exit code of ${*:3}" $code "$1"
  finds -E "$2" <error.txt || fail "no '$2': ${*:3}: $(cat error.txt)"
}

# The choice, by the CPU and by hand.
chosen() { # QEMU-CPU [TREE]
  XAAS_TARGET=print qemu-x86_64 -cpu "$1" "${2:-tree}/usr/local/bin/solver" 2>qemu.err || cat qemu.err
}
expect_equal "on Haswell" "$(chosen Haswell)" "haswell $PWD/tree/.xaas/targets/haswell/usr/local/bin/solver"
expect_equal "on Nehalem" "$(chosen Nehalem)" "x86-64 $PWD/tree/.xaas/targets/x86-64/usr/local/bin/solver"
expect_equal "on Zen, which has no TSX" "$(chosen EPYC | cut -d' ' -f1)" haswell
expect_equal "by hand" "$(XAAS_TARGET=x86-64 tree/usr/local/bin/solver | grep program)" "program plain"
refuses 126 'XAAS_TARGET=other: no such target; there are haswell, x86-64-v3, x86-64' env XAAS_TARGET=other tree/usr/local/bin/solver
"$XAAS" deploy oci:app:ir --cpu haswell,znver4 -o rootfs:new -q >out.txt
refuses 126 'no target has this program for this CPU: znver4 needs .* and others; haswell needs ' \
  env XAAS_TARGET= qemu-x86_64 -cpu Nehalem new/usr/local/bin/solver
finds '^hint: deploy it for this machine' <error.txt || fail "no hint: $(cat error.txt)"

# What the program sees: itself, its data, its name, and its library, found through LD_LIBRARY_PATH.
seen() { # TREE TARGET NAME WORD
  expect_equal "what $3 sees in $1" "$(XAAS_TARGET=$2 "$1/usr/local/bin/$3" a b)" \
    "$(printf 'exe %s\ndata the data\nname %s\narguments 3\nprogram %s\nlibrary %s' "$(realpath "$1")/.xaas/targets/$2/usr/local/bin/solver" \
      "$1/usr/local/bin/$3" "$4" "$4")"
}
seen tree x86-64 solver plain
grep -q ' avx2 ' /proc/cpuinfo && seen tree haswell solver avx2
seen tree x86-64 solve plain
mkdir 'moved to'
mv tree 'moved to/a b'
seen 'moved to/a b' x86-64 solver plain
ln -s 'moved to/a b' tree
seen ./tree x86-64 solver plain
code=0
tree/usr/local/bin/static_three || code=$?
expect_equal "the static program" $code 3
expect_equal "its launcher" "$(stat -c %i tree/usr/local/bin/static_three)" "$(stat -c %i tree/usr/local/bin/solver)"
own=$(realpath tree)/.xaas/targets/x86-64/usr/local/lib
export XAAS_TARGET=x86-64
expect_equal "the variable" "$(env -u LD_LIBRARY_PATH tree/usr/local/bin/solver variable)" "$own"
expect_equal "the variable's own value stays" "$(LD_LIBRARY_PATH=/a:/b tree/usr/local/bin/solver variable)" "$own:/a:/b"
expect_equal "the variable of a child" "$(LD_LIBRARY_PATH=/a tree/usr/local/bin/solver variable tree/usr/local/bin/solver)" "$own:/a
$own:/a"
# A directory of the tree, as modules files set it, gets the target's own before it.
common=$(realpath tree)/usr/local/lib
expect_equal "a directory of the tree" "$(LD_LIBRARY_PATH=/a:$common:/b tree/usr/local/bin/solver variable)" "$own:/a:$own:$common:/b"
expect_equal "a directory of the tree, for a child" "$(LD_LIBRARY_PATH=$common: tree/usr/local/bin/solver variable tree/usr/local/bin/solver)" \
  "$own:$common:
$own:$common:"
long=$(printf '/opt/package%04d/lib:' {1..2000})
expect_equal "a long variable" "$(LD_LIBRARY_PATH=$long tree/usr/local/bin/solver variable | wc -c)" $((${#long} + ${#own} + 2))
mkdir 'with:colon'
cp -a "$(realpath tree)" 'with:colon/tree'
refuses 126 'LD_LIBRARY_PATH cannot name it' with:colon/tree/usr/local/bin/solver
mapfile -t many < <(printf 'V%d=1\n' {1..4000})
(ulimit -s 128 && env "${many[@]}" tree/usr/local/bin/static_three) || [ $? -eq 3 ] || fail "a small stack"
# As an interpreter, and by execve without any variable.
printf '#!%s/usr/local/bin/static_three\n' "$PWD/tree" >script
chmod +x script
code=0
env -i ./script || code=$?
expect_equal "an interpreter" $code 3
unset XAAS_TARGET

# Where something is missing.
cp tree/usr/local/bin/solver alone
refuses 127 'no directory above it has .xaas/targets$' ./alone
cp tree/usr/local/bin/solver tree/usr/local/bin/renamed
refuses 127 'no target has a program of this name and place' tree/usr/local/bin/renamed
rm tree/.xaas/targets/haswell/usr/local/bin/static_three
refuses 127 'target haswell has no such program' env XAAS_TARGET=haswell tree/usr/local/bin/static_three
XAAS_TARGET=print qemu-x86_64 -cpu Haswell tree/usr/local/bin/static_three >out.txt 2>qemu.err
expect_equal "the next that has it" "$(cut -d' ' -f1 out.txt)" x86-64-v3

# Equal files are one. In the common place are launchers, and the libraries of the weakest.
expect_equal "names of the data" "$(stat -c %h again/usr/local/share/solver/data)" 4
cmp again/usr/local/lib/liblevel.so.1.2 again/.xaas/targets/x86-64/usr/local/lib/liblevel.so.1.2
(cd again && find usr/local/lib/glibc-hwcaps -not -type d | sort) >hwcaps
expect_equal "libraries for a level" "$(cat hwcaps)" "$(printf 'usr/local/lib/glibc-hwcaps/x86-64-v3/liblevel.so%s\n' '' .1 .1.2)"

# A foreign program gets the library of its level by name.
cat >foreign.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** arguments) {
  void* library = dlopen(count > 1 ? arguments[1] : "liblevel.so.1", RTLD_NOW);
  if (!library)
    puts(dlerror());
  else if (count > 1)
    ((void (*)(void))dlsym(library, "extend"))();
  else
    puts(((const char* (*)(void))dlsym(library, "level"))());
}
END
clang-22 foreign.c -o foreign
loader=$(readelf -lW foreign | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
expect_equal "foreign, without levels" "$("$loader" --glibc-hwcaps-mask none --library-path again/usr/local/lib ./foreign)" plain
# A module is opened by its path; it finds its own library beside itself.
extension=$PWD/again/usr/local/lib/extensions/extension.so
expect_equal "module, without levels" "$("$loader" --glibc-hwcaps-mask none ./foreign "$extension")" 'extension plain, plain'
expect_equal "module by its name" "$("$loader" --glibc-hwcaps-mask none --library-path "$(dirname "$extension")" ./foreign extension.so)" \
  'extension plain, plain'
if "$loader" --help | finds 'x86-64-v3 (supported'; then
  expect_equal "foreign, with levels" "$("$loader" --library-path again/usr/local/lib ./foreign)" avx2
  expect_equal "module, with levels" "$(./foreign "$extension")" 'extension avx2, avx2'
  expect_equal "module of a tree that moved" "$(mv again 'moved to/'; ./foreign "$PWD/moved to/again/usr/local/lib/extensions/extension.so"; mv 'moved to/again' .)" \
    'extension avx2, avx2'
fi

# Targets with one image need no launcher. The names of machines are those of their targets.
"$XAAS" deploy oci:app:ir --cpu haswell,haswell -o rootfs:one --format json -q >one.json
[ ! -e one/.xaas/targets ] || fail "a tree for one target has a launcher"
"$XAAS" deploy oci:app:ir --cpu haswell -o oci:single:haswell --format json -q >single.json
expect_equal "the tree of one" "$(jq .digest one.json)" "$(jq .digest single.json)"
"$XAAS" detect --cpu haswell -o fat.json -q
"$XAAS" detect --cpu haswell -o thin.json -q
"$XAAS" detect --cpu nehalem -o old.json -q
"$XAAS" deploy oci:app:ir --system ./fat.json --system ./old.json --system ./thin.json -o rootfs:named -q >out.txt
expect_equal "a machine's name" "$(XAAS_TARGET=print qemu-x86_64 -cpu Haswell named/usr/local/bin/solver 2>qemu.err | cut -d' ' -f1)" fat
expect_equal "a second name" "$(XAAS_TARGET=thin named/usr/local/bin/solver | head -n 1)" "exe $PWD/named/.xaas/targets/fat/usr/local/bin/solver"
cp old.json print.json
expect_error 2 "'print' cannot be the name of a target" "$XAAS" deploy oci:app:ir --system ./fat.json --system ./print.json -o rootfs:x -q
mkdir other
cp old.json other/fat.json
expect_error 2 'the name fat stands for two targets' "$XAAS" deploy oci:app:ir --system ./fat.json --system other/fat.json -o rootfs:x -q
[ ! -e x ] || fail "a refused deploy left a tree"
expect_error 2 'SBOMs can be attached in a registry or a layout' "$XAAS" deploy oci:app:ir --cpu haswell,nehalem -o rootfs:x --attach-sbom -q

# Different configurations: scripts and symlinks that differ get a launcher, too; data that differs is a warning. Libraries of
# another configuration are not for a level. A program that is the same for all has its libraries.
mkdir choice
cat >choice/main.c <<'END'
#include <stdio.h>
const char* kind(void);
int main(void) { puts(kind()); }
END
echo 'const char* kind(void) { return KIND; }' >choice/kind.c
cat >choice/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(choice C)
set(KIND plain CACHE STRING "")
add_library(kind SHARED kind.c)
target_compile_definitions(kind PRIVATE KIND="${KIND}")
add_executable(choice main.c)
target_link_libraries(choice kind)
set_target_properties(choice PROPERTIES INSTALL_RPATH "/usr/local/lib")
install(TARGETS choice kind)
file(WRITE ${CMAKE_BINARY_DIR}/script "#!/bin/sh\necho script ${KIND}\n")
install(PROGRAMS ${CMAKE_BINARY_DIR}/script DESTINATION bin)
file(WRITE ${CMAKE_BINARY_DIR}/kind.txt "${KIND}\n")
install(FILES ${CMAKE_BINARY_DIR}/kind.txt DESTINATION share)
foreach(kind plain fast)
  file(WRITE ${CMAKE_BINARY_DIR}/of_${kind} "#!/bin/sh\necho of ${kind}\n")
  install(PROGRAMS ${CMAKE_BINARY_DIR}/of_${kind} DESTINATION bin)
endforeach()
install(CODE "execute_process(COMMAND ln -s of_${KIND} \$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/link)")
END
cat >choice/xaas.json <<'END'
{"name": "choice", "build": {"system": "cmake", "arguments": ["-DCMAKE_BUILD_TYPE=Release"]}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/choice"]},
 "specializations": [{"name": "kind", "category": "other", "default": "fast",
   "values": [{"value": "plain", "arguments": ["-DKIND=plain"]}, {"value": "fast", "arguments": ["-DKIND=fast"], "requires": {"cpu": ["avx2"]}}]}]}
END
"$XAAS" build choice -o oci:choice.ir:ir -q >out.txt
"$XAAS" deploy oci:choice.ir:ir --cpu x86-64,x86-64-v3 -o rootfs:choices --format json -q >choices.json
assert_json choices.json '[.images[].warnings[] | select(.kind == "tree") | .message] | unique | length == 1 and (.[0] | test("^1 file differs between targets ./usr/local/share/kind.txt.: "))'
for kind in 'x86-64 plain' 'x86-64-v3 fast'; do
  read -r target word <<<"$kind"
  expect_equal "script of $target" "$(XAAS_TARGET=$target choices/usr/local/bin/script)" "script $word"
  expect_equal "link of $target" "$(XAAS_TARGET=$target choices/usr/local/bin/link)" "of $word"
done
expect_equal "library of x86-64" "$(XAAS_TARGET=x86-64 choices/usr/local/bin/choice)" plain
grep -q ' avx2 ' /proc/cpuinfo && expect_equal "library of x86-64-v3" "$(XAAS_TARGET=x86-64-v3 choices/usr/local/bin/choice)" fast
[ ! -e choices/usr/local/lib/glibc-hwcaps ] || fail "libraries of another configuration are for a level"

# Libraries of one name in two directories: one program finds its own beside itself, and the other needs LD_LIBRARY_PATH for the
# other. A DT_RPATH precedes that variable.
mkdir same
cat >same/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(same C)
file(WRITE ${CMAKE_BINARY_DIR}/use.c "int f(void);\nint main(void) { return f(); }\n")
file(WRITE ${CMAKE_BINARY_DIR}/f.c "int f(void) { return 3; }\n")
foreach(one a b)
  add_library(same_${one} SHARED ${CMAKE_BINARY_DIR}/f.c)
  set_target_properties(same_${one} PROPERTIES OUTPUT_NAME same LIBRARY_OUTPUT_DIRECTORY ${one})
  add_executable(use_${one} ${CMAKE_BINARY_DIR}/use.c)
  target_link_libraries(use_${one} same_${one})
  install(TARGETS same_${one} DESTINATION lib/${one})
  install(TARGETS use_${one} DESTINATION bin)
endforeach()
set_target_properties(use_a PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/a")
set_target_properties(use_b PROPERTIES INSTALL_RPATH "/usr/local/lib/b")
option(OLD_TAGS "" OFF)
if(OLD_TAGS)
  target_link_options(use_b PRIVATE -Wl,--disable-new-dtags)
endif()
END
for tags in OFF ON; do
  echo '{"name": "same", "build": {"system": "cmake", "arguments": ["-DCMAKE_BUILD_TYPE=Release", "-DOLD_TAGS='$tags'"]}, "isa": []}' >same/xaas.json
  "$XAAS" build same -o "oci:same.ir:$tags" -q >out.txt
done
expect_error 1 '/usr/local/bin/use_a finds libsame.so in /usr/local/lib/a, and other programs need /usr/local/lib/b' \
  "$XAAS" deploy oci:same.ir:OFF --cpu x86-64,haswell -o rootfs:x -q
"$XAAS" deploy oci:same.ir:ON --cpu x86-64,haswell -o rootfs:old --format json -q >old.report
assert_json old.report '[.images[0].warnings[] | select(.kind == "tree")] == [{"kind": "tree", "file": "/usr/local/bin/use_b", "line": null,
  "message": "has DT_RPATH /usr/local/lib/b, which precedes LD_LIBRARY_PATH: it loads the libraries of the weakest target"}]'

# What a file tree cannot serve is refused before the work where it can be known.
expect_error 2 "'print' cannot be the name of a target" "$XAAS" deploy oci:app:ir --system ./fat.json --system ./print.json -o rootfs:x --dry-run -q
"$XAAS" deploy oci:app:ir --system ./fat.json --cpu nehalem,haswell -o rootfs:cpus -q >out.txt
expect_equal "names of one machine's CPUs" "$(cd cpus/.xaas/targets && echo *)" 'haswell nehalem'
# In containers, where the root is /.
if command -v bwrap >/dev/null; then
  "$XAAS" run --runtime bwrap -q rootfs:again -- a >out.txt
  finds -E '^exe /\.xaas/targets/(haswell|x86-64-v3|x86-64)/usr/local/bin/solver$' <out.txt || fail "in a container: $(cat out.txt)"
  XAAS_TARGET=x86-64 "$XAAS" run --runtime bwrap -q rootfs:again >out.txt
  finds '^library plain$' <out.txt || fail "in a container, by hand: $(cat out.txt)"
  # Without /proc.
  bwrap --bind again / --setenv XAAS_TARGET x86-64 /usr/local/bin/static_three || code=$?
  expect_equal "without /proc" $code 3
  refuses 126 'cannot read /proc/self/exe' bwrap --bind again / --chdir / usr/local/bin/static_three
  if command -v mksquashfs >/dev/null; then
    "$XAAS" deploy oci:app:ir --cpu haswell,x86-64 -o squashfs:app.sqfs -q >out.txt
    "$XAAS" run --runtime bwrap -q squashfs:app.sqfs >out.txt
    finds '^data the data$' <out.txt || fail "from squashfs: $(cat out.txt)"
  fi
fi

# A debugger follows the launcher to the program.
if command -v gdb >/dev/null; then
  XAAS_TARGET=x86-64 gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'set breakpoint pending on' -ex 'break level' -ex run \
    -ex 'info program' -ex backtrace again/usr/local/bin/solver >gdb.txt 2>&1 || fail "gdb: $(cat gdb.txt)"
  if finds 'ptrace: Operation not permitted' <gdb.txt; then
    echo "not run: the debugger may not trace here"
    exit 0
  fi
  finds 'process .* is executing new program: .*/targets/x86-64/usr/local/bin/solver' <gdb.txt || fail "gdb does not follow: $(cat gdb.txt)"
  finds '#0 .* level ()' <gdb.txt || fail "gdb does not stop: $(cat gdb.txt)"
else
  echo "not run: without gdb"
fi
