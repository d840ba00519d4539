#!/bin/bash
# Installing an image: programs that run on the host without a container, as an ordinary user, with modules; replacing and removing.
source "$E2E/lib.sh"
source "$E2E/probe.sh"
needs jq cmake ninja clang-22 setpriv readelf gdb bwrap

mkdir src
cat >src/solver.c <<'END'
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const char* level(void);
static char zeros[1 << 20];
int main(int count, char** arguments) {
  char path[4096] = "", data[5000], line[64] = "none\n";
  if (count > 1 && !strcmp(arguments[1], "env")) {
    puts(getenv(arguments[2]) ? getenv(arguments[2]) : "(unset)");
    return zeros[count];
  }
  if (count > 1 && !strcmp(arguments[1], "shell"))
    return system(arguments[2]);
  if (count > 1 && !strcmp(arguments[1], "exit"))
    return atoi(arguments[2]);
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
    return 1;
  printf("exe %s\n", path);
  snprintf(data, sizeof data, "%s/../share/solver/data", dirname(path));
  FILE* file = fopen(data, "r");
  if (file && fgets(line, sizeof line, file))
    fclose(file);
  void* module = dlopen("extension.so", RTLD_NOW);
  const char* (*extend)(void) = module ? (const char* (*)(void))dlsym(module, "extend") : NULL;
  printf("data %sname %s\narguments %d\nlibrary %s\n", line, arguments[0], count, level());
  printf("module %s\n", extend ? extend() : dlerror());
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
echo 'const char* level(void); const char* extend(void) { return level(); }' >src/extension.c
printf '#!/bin/sh\necho "report of $(solver env SOLVER_DATA)"\n' >src/report
echo 'the data' >src/data
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(solver C)
add_library(level SHARED level.c)
add_executable(solver solver.c)
target_link_libraries(solver level dl)
add_library(extension MODULE extension.c)
target_link_libraries(extension level)
set_target_properties(extension PROPERTIES PREFIX "" INSTALL_RPATH "/usr/local/lib/more")
set_target_properties(solver PROPERTIES INSTALL_RPATH "/usr/local/lib/extensions:$ORIGIN/../lib")
install(TARGETS solver level)
install(TARGETS extension DESTINATION lib/extensions)
install(PROGRAMS report DESTINATION bin)
install(FILES data DESTINATION share/solver)
install(CODE "execute_process(COMMAND ln -s /usr/local/bin/solver \$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/solve)")
END
cat >src/xaas.json <<'END'
{"name": "solver", "version": "1.2", "license": "Apache-2.0", "build": {"system": "cmake"}, "isa": ["x86-64", "x86-64-v3"],
 "image": {"entrypoint": ["/usr/local/bin/solver"], "env": {"SOLVER_DATA": "/usr/local/share/solver", "SOLVER_MODE": "a 'b' $c", "SOLVER_TMP": "/tmp", "LD_LIBRARY_PATH": "/usr/local/lib", "HOME": "/nowhere"}}}
END
"$XAAS" build src -o oci:app:ir -q >out.txt
"$XAAS" deploy oci:app:ir --cpu x86-64 -o oci:app:here -q >out.txt

# Below a directory that ordinary users can read. The path of the prefix is longer than any path in the image.
here=$PWD
make_user
apps=$elsewhere/apps-of-the-site
mkdir "$apps"
prefix=$apps/solver/1.2
"$XAAS" install oci:app:here --prefix "$prefix" --modules "$apps/modulefiles" --format json -q >install.json
assert_json install.json '.runtime == null and .obstacles == [] and .texts == [] and .notes == [] and .programs == ["report", "solve", "solver"]
  and .module == "solver/1.2" and (.modules | length) == 4'
expect_equal "files beside the installation" "$(ls -A "$apps/solver")" 1.2

# As an ordinary user, with nothing of this environment, and with libraries of the host that must not get in.
as_user=("${as_user[@]}" env -i PATH=/usr/bin:/bin "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu")
root=$prefix/rootfs
cd "$elsewhere/work"
want() { # NAME
  printf 'exe %s\ndata the data\nname %s\narguments 3\nlibrary plain\nmodule plain' "$root/usr/local/bin/solver" "$root/usr/local/bin/$1"
}
expect_equal "what the program sees" "$("${as_user[@]}" "$prefix/bin/solver" a 'b c')" "$(want solver)"
expect_equal "through a link of the image" "$("${as_user[@]}" "$prefix/bin/solve" a b)" "$(want solve)"
says "$root/usr/local/share/solver" "${as_user[@]}" "$prefix/bin/solver" env SOLVER_DATA
says "a 'b' \$c" "${as_user[@]}" "$prefix/bin/solver" env SOLVER_MODE
says /tmp "${as_user[@]}" "$prefix/bin/solver" env SOLVER_TMP
says /home/me "${as_user[@]}" HOME=/home/me "$prefix/bin/solver" env HOME
says mine "${as_user[@]}" SOLVER_DATA=mine "$prefix/bin/solver" env SOLVER_DATA
says "report of $root/usr/local/share/solver" "${as_user[@]}" "$prefix/bin/report"
says "$(uname)" "${as_user[@]}" "$prefix/bin/solver" shell uname
expect_exit 5 "${as_user[@]}" "$prefix/bin/solver" exit 5
# The C library is the image's, not the host's.
maps=$("${as_user[@]}" "$prefix/bin/solver" shell "cat /proc/\$PPID/maps")
finds -F "$root/" <<<"$maps" || fail "no library of the installation: $maps"
! finds -E ' /(usr/)?lib.*\.so' <<<"$maps" || fail "a library of the host: $maps"
# Other tools read the changed files.
cd "$here"
readelf -lWd "$root/usr/local/bin/solver" >elf.txt 2>&1
! finds -i -E 'warn|error|corrupt' <elf.txt || fail "readelf: $(cat elf.txt)"
finds -F "$root/usr/local/lib/extensions:\$ORIGIN/../lib" <elf.txt || fail "no RPATH: $(cat elf.txt)"
gdb -batch -ex 'break main' -ex run -ex 'info sharedlibrary' "$root/usr/local/bin/solver" >gdb.txt 2>&1 || true
finds 'Breakpoint 1, ' <gdb.txt || fail "gdb: $(cat gdb.txt)"
finds -F "liblevel.so" <gdb.txt || fail "gdb: $(cat gdb.txt)"

# Lmod reads both kinds of module files.
module_init=$(find /usr/share/lmod -path '*/init/sh' 2>/dev/null | head -n 1)
with_module() { # COMMAND
  "${as_user[@]}" HOME="$elsewhere/home" bash -c ". '$module_init'; module use '$modules'; $1"
}
if [ -n "$module_init" ]; then
  modules=$apps/modulefiles
  loaded="$prefix/bin/solver $prefix (unset)" # the scripts set the image's variables, and not the module
  says "$loaded" with_module "module load solver/1.2; echo \$(command -v solver) \$SOLVER_ROOT \${SOLVER_MODE-'(unset)'}"
  says "(unset)" with_module "module load solver; module unload solver; command -v solver || echo '(unset)'"
  with_module "module whatis solver" >whatis.txt 2>&1
  finds 'License: Apache-2.0' <whatis.txt || fail "module whatis: $(cat whatis.txt)"
  modules=$elsewhere/tcl
  mkdir -p "$modules/solver"
  cp "$apps/modulefiles/solver/1.2" "$modules/solver/"
  says "$loaded" with_module "module load solver/1.2; echo \$(command -v solver) \$SOLVER_ROOT \${SOLVER_MODE-'(unset)'}"
  with_module "module help solver" >help.txt 2>&1
  finds "installed in $prefix" <help.txt || fail "module help: $(cat help.txt)"
else
  echo "the module files were not tried: lmod is not installed"
fi

# A second version beside the first, with the same directory of modules; an empty directory may be there.
mkdir "$apps/solver/1.3"
"$XAAS" install oci:app:here --prefix "$apps/solver/1.3" --module solver/1.3 --modules "$apps/modulefiles" -q >out.txt
expect_equal "modules" "$(ls "$apps/modulefiles/solver" | tr '\n' ' ')" "1.2 1.2.lua 1.3 1.3.lua "

refuses() { # CODE PATTERN ARGUMENT...
  local code=0
  "$XAAS" "${@:3}" -q >out.txt 2>error.txt || code=$?
  expect_equal "exit code of ${*:3}" $code "$1"
  finds -E "$2" <error.txt || fail "no '$2': ${*:3}: $(cat error.txt)"
}
refuses 2 'exists' install oci:app:here --prefix "$prefix"
refuses 2 'does not belong to the installation' install oci:app:here --prefix "$apps/solver/2" --modules "$apps/modulefiles"
refuses 2 'letters, digits' install oci:app:here --prefix "$apps/a:b"
refuses 2 'an IR image' install oci:app:ir --prefix "$apps/solver/2"
refuses 2 'cannot be the name of a module' install oci:app:here --prefix "$apps/solver/2" --module 'a b/c'
refuses 2 'not an installation' uninstall "$elsewhere/home"
refuses 2 'not an installation' install oci:app:here --prefix "$apps" --replace
refuses 2 'lies in the prefix' install oci:app:here --prefix "$apps/solver/2" --modules "$apps/solver/2/modules"
expect_equal "versions" "$(ls -A "$apps/solver" | tr '\n' ' ')" "1.2 1.3 "

# Replacing and removing keep what others added.
echo mine >"$prefix/rootfs/mine"
refuses 2 'added or changed: .*/rootfs/mine' install oci:app:here --prefix "$prefix" --replace
rm "$prefix/rootfs/mine"
"$XAAS" deploy oci:app:ir --cpu haswell,x86-64 -o oci:app:site -q >out.txt
"$XAAS" install oci:app:site --prefix "$prefix" --module solver/1.2b --modules "$apps/modulefiles" --replace --format json -q >install.json
assert_json install.json '.targets == ["x86-64", "haswell"] and .runtime == null'
expect_equal "modules" "$(ls "$apps/modulefiles/solver" | tr '\n' ' ')" "1.2b 1.2b.lua 1.3 1.3.lua "
for chosen in "x86-64 plain" "haswell avx2"; do
  target=${chosen% *} word=${chosen#* }
  [ "$word" = plain ] || grep -q ' avx2 ' /proc/cpuinfo || continue
  "${as_user[@]}" XAAS_TARGET="$target" "$prefix/bin/solver" a >seen.txt
  expect_equal "for $target" "$(grep -E '^(exe|data|library|module) ' seen.txt)" \
    "$(printf 'exe %s\ndata the data\nlibrary %s\nmodule %s' "$root/.xaas/targets/$target/usr/local/bin/solver" "$word" "$word")"
done
# A module file that an administrator has changed.
echo '-- depends' >>"$apps/modulefiles/solver/1.2b.lua"
refuses 2 '1.2b.lua: has changed since' install oci:app:site --prefix "$prefix" --module solver/1.2b --modules "$apps/modulefiles" --replace
sed -i '$d' "$apps/modulefiles/solver/1.2b.lua"
# Of two installations at once that want one name, one gets it.
for ((i = 0; i < 2; ++i)); do
  "$XAAS" install oci:app:here --prefix "$apps/named/$i" --module named/1 --modules "$apps/modulefiles" -q >"named.$i" 2>&1 &
done
code=0
for job in $(jobs -p); do wait "$job" || code=$((code + 1)); done
expect_equal "installations that failed, of two with one name" "$code $(ls "$apps/named" | wc -l)" "1 1"
"$XAAS" uninstall "$apps/named"/* -q >out.txt
# Interrupted installations and two at once leave one that is whole.
for ((i = 0; i < 4; ++i)); do "$XAAS" install oci:app:site --prefix "$apps/many/1" -q >"many.$i" 2>&1 & done
code=0
for job in $(jobs -p); do wait "$job" || code=$((code + 1)); done
expect_equal "installations that failed, of four at once" $code 3
says "$(uname)" "${as_user[@]}" "$apps/many/1/bin/solver" shell uname
expect_equal "what else is there" "$(ls -A "$apps/many")" 1
# Links that lead out of the installation are not followed.
echo mine >"$prefix/rootfs/mine"
mkdir "$elsewhere/out"
mv "$prefix/rootfs/usr/local/share/solver" "$elsewhere/out/"
ln -s "$elsewhere/out/solver" "$prefix/rootfs/usr/local/share/solver"
"$XAAS" uninstall "$prefix" --format json -q >removed.json
assert_json removed.json '(.kept | length) >= 2 and .files > 10'
expect_equal "what is left" "$(find "$prefix" -type f)" "$prefix/rootfs/mine"
[ -e "$elsewhere/out/solver/data" ] || fail "uninstall removed a file outside of the prefix"
"$XAAS" uninstall "$apps/solver/1.3" -q >out.txt
[ ! -e "$apps/solver/1.3" ] || fail "the installation is still there"
[ ! -e "$apps/modulefiles/solver" ] || fail "module files are still there: $(ls "$apps/modulefiles/solver")"

# A program that has a path of the image compiled in runs in a container, with the variables of its caller.
sed -i 's|snprintf(data, .*|snprintf(data, sizeof data, "%s", "/usr/local/share/solver/data");|' src/solver.c
"$XAAS" build src -o oci:fixed:ir -q >out.txt
"$XAAS" deploy oci:fixed:ir --cpu x86-64 -o oci:fixed:here -q >out.txt
"$XAAS" install oci:fixed:here --prefix "$apps/fixed/1" --container never -q --format json >install.json
assert_json install.json '.runtime == null and .obstacles == [{"file": "/usr/local/bin/solver",
  "reason": "names /usr/local/share/solver/data of the image"}]'
expect_equal "data without a container" "$("${as_user[@]}" "$apps/fixed/1/bin/solver" | grep ^data)" "data none"
refuses 2 'cannot be used by scripts' install oci:fixed:here --prefix "$apps/fixed/2" --runtime podman
if "${as_user[@]}" bwrap --ro-bind / / true 2>/dev/null; then
  "$XAAS" install oci:fixed:here --prefix "$apps/fixed/2" --runtime bwrap --format json -q >install.json
  assert_json install.json '.runtime == "bwrap"'
  program=("${as_user[@]}" OF_HOST=host "$apps/fixed/2/bin/solver")
  cd "$elsewhere/work"
  cd /tmp
  expect_equal "data in a container" "$("${program[@]}" | grep -E '^(data|exe)')" "$(printf 'exe /usr/local/bin/solver\ndata the data')"
  says host "${program[@]}" env OF_HOST
  says /usr/local/lib "${program[@]}" env LD_LIBRARY_PATH # the image's
  says "a 'b' \$c" "${program[@]}" env SOLVER_MODE
  expect_exit 5 "${program[@]}" exit 5
  cd "$here"
else
  echo "containers were not tried: an ordinary user cannot run bwrap here"
fi
