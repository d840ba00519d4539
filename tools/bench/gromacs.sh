#!/bin/bash
# GROMACS from Debian's source package, with its five SIMD instruction sets for x86-64 as configurations: one IR build of all
# beside a native build of each; sharing; a rebuild after one changed file. Then, for each configuration that this CPU runs, a
# deployed image, GROMACS' own regression tests with it, and its trajectories, energies and speed against those of the native
# build. Finally the IR build after a kill, and with a check that compiles every reused outcome again.
#
#   tools/bench/gromacs.sh [--configurations NAME,...] [--rounds N] [--ranks N] [--native-tests] [--forms] [--no-tests]
#                          [--no-check-sharing] [--no-kill]
#
# --configurations   SSE4.1 AVX_256 AVX2_128 AVX2_256 AVX_512; default: all
# --ranks            parallel ranks of the regression tests, default: GROMACS' own choice; idle ranks spin, so use 1 where
#                    other work runs beside the benchmark
# --native-tests     GROMACS' own tests with the native programs too, to see which failures are its own
# --forms            also an IR image with raw modules; deploys of both forms, cold, again and with --lto, each with a trace;
#                    and run times of what was deployed from raw modules
# --no-tests         without GROMACS' own tests
# --no-...           without these builds
#
# Hours on few cores. Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption:
# lib.sh.
#
# A deployed program is compared with native code for the same CPU: the native builds have -march=native before GROMACS' own
# flags, as lowering has the target's CPU. Builds are measured in turn: two native builds, the IR build, the other native
# builds. Each round of runs has the native program and the deployed one.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
all=(SSE4.1 AVX_256 AVX2_128 AVX2_256 AVX_512)
configurations=("${all[@]}")
rounds=3
check_sharing=yes
kill=yes
forms=no
kinds=(native deployed) # of run times
tested=(deployed)
test_options=()
while [ $# -gt 0 ]; do
  case "$1" in
  --configurations) IFS=, read -ra configurations <<<"$2"; shift 2 ;;
  --rounds) rounds=$2; shift 2 ;;
  --ranks) test_options=(-nt "$2"); shift 2 ;;
  --native-tests) tested+=(native); shift ;;
  --forms) forms=yes kinds+=(raw); shift ;;
  --no-tests) tested=(); shift ;;
  --no-check-sharing) check_sharing=no; shift ;;
  --no-kill) kill=no; shift ;;
  *) echo "usage: $0 [--configurations NAME,...] [--rounds N] [--ranks N] [--native-tests] [--forms] [--no-tests] [--no-check-sharing] [--no-kill]" >&2; exit 2 ;;
  esac
done
for configuration in "${configurations[@]}"; do
  [[ " ${all[*]} " == *" $configuration "* ]] || { echo "$0: no configuration $configuration; there are ${all[*]}" >&2; exit 2; }
done
open_bench

app=$work/gromacs
source=$app/source
tests=$source/regressiontests
spec=$root/specs/applications/gromacs.json
here=$app/$program/$(IFS=+; echo "${configurations[*]}") # figures of one program and one set of configurations
systems=(nbnxn_pme nbnxn_vsite)                          # compared bit by bit: with PME, so with FFTW; with constraints
# Of its own, so that what a killed build leaves is seen; for all builds, because GROMACS keeps the path of its build directory.
export TMPDIR=$here/tmp
mkdir -p "$TMPDIR"

configuration_options() { # for `xaas build`
  [ ${#configurations[@]} -eq ${#all[@]} ] || printf -- '--config\nsimd=%s\n' "${configurations[@]}"
}

native_build() { # CONFIGURATION PREFIX: as `xaas build` does it, without xaas
  local arguments
  mapfile -t arguments < <(spec_arguments "$spec" "simd=$1")
  rm -rf "$2.objects"
  cmake -S "$source" -B "$2.objects" -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_FLAGS=-march=native -DCMAKE_CXX_FLAGS=-march=native -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$2" \
    "${arguments[@]}"
  cmake --build "$2.objects" -j "$(nproc)"
  cmake --install "$2.objects"
  rm -rf "$2.objects"
}
native_builds() { # CONFIGURATION...
  local configuration
  for configuration in "$@"; do
    say "native build: $configuration"
    timed "$app/native/$configuration.build" again "$app/native/$configuration" native_build "$configuration"
  done
}

xaas_build() { # TAG OPTION...: with the cache of this benchmark; the report into $here/TAG.json
  local options
  mapfile -t options < <(configuration_options)
  XAAS_CACHE_DIR=$here/cache "$xaas" build "$spec" --source "$source" -o "oci:$here/image:$1" -j "$(nproc)" --format json \
    "${options[@]}" "${@:2}" >"$here/$1.json.new"
  mv "$here/$1.json.new" "$here/$1.json"
}
ir_build() { # with an empty cache
  rm -rf "$here/cache" "$here/image"
  xaas_build ir
}

# Killed (SIGKILL) at a random instant with an empty cache, and built again.
killed_build() {
  local after options
  mapfile -t options < <(configuration_options)
  rm -rf "$here/killed-cache"
  export XAAS_CACHE_DIR=$here/killed-cache
  after=$(part_of "$(wall "$here/ir.build")" 0.1 0.9 $RANDOM)
  killed_after "$after" "$xaas" build "$spec" --source "$source" -o "oci:$here/killed:killed" -j "$(nproc)" -q "${options[@]}" ||
    die "the build ended before the kill after $after s"
  [ -e "$here/killed-cache" ] || die "nothing was done before the kill after $after s"
  "$xaas" build "$spec" --source "$source" -o "oci:$here/killed:ir" -j "$(nproc)" --format json "${options[@]}" \
    >"$here/after-kill.json"
  [ "$(jq -r .digest "$here/after-kill.json")" = "$(jq -r .digest "$here/ir.json")" ] || die "another digest after a kill"
  [ "$(reported after-kill '[.configurations[].reused] | add')" -gt "$(reported ir '[.configurations[].reused] | add')" ] ||
    die "nothing of the killed build was reused"
  [ -z "$(ls -A "$TMPDIR")" ] || die "left in $TMPDIR: $(ls -A "$TMPDIR")"
  rm -rf "$here/killed-cache" "$here/killed"
  echo "killed after $after s; then the digest of the undisturbed build"
}

# The changed file: one that depends on the SIMD instruction set no more than most do.
changed=$source/src/gromacs/mdrun/md.cpp
original=$app/md.cpp.original
restore() { [ ! -f "$original" ] || { cp "$original" "$changed" && rm "$original"; }; }
build_changed() {
  restore # where a run was interrupted below
  cp "$changed" "$original.new"
  mv "$original.new" "$original"
  sed -i 's/"starting mdrun/"Starting mdrun/' "$changed"
  if cmp -s "$changed" "$original"; then die "$changed has no such line to change"; fi
  xaas_build changed
  restore
}

check_build() {
  local options
  mapfile -t options < <(configuration_options)
  rm -rf "$here/check-cache"
  XAAS_CACHE_DIR=$here/check-cache "$xaas" build "$spec" --source "$source" -o "oci:$here/checked:ir" -j "$(nproc)" \
    "${options[@]}" --check-sharing
  rm -rf "$here/check-cache" "$here/checked"
}

deployed_gmx() { contained "$here/rootfs/$1" "$app" /usr/local/bin/gmx "${@:2}"; } # CONFIGURATION ARGUMENT...
raw_gmx() { contained "$here/rootfs-raw/$1" "$app" /usr/local/bin/gmx "${@:2}"; }
native_gmx() { "$app/native/$1/bin/gmx" "${@:2}"; }

deploy() { # CONFIGURATION
  deploy_cold "oci:$here/image:ir" "oci:$here/image:$1" --set "simd=$1"
}
deploy_form() { # CONFIGURATION FORM
  deploy_cold "oci:$here/image:$(tag_of "$2")" "oci:$here/image:$1-$2" --set "simd=$1" --trace "$here/$1.$2.trace"
}
deploy_again() { deploy_warm "oci:$here/image:$(tag_of "$2")" "oci:$here/image:$1-$2" --set "simd=$1"; }
deploy_lto() { deploy_cold "oci:$here/image:$(tag_of "$2")" "oci:$here/image:$1-$2-lto" --set "simd=$1" --lto --trace "$here/$1.$2.lto.trace"; }
tag_of() { if [ "$1" = prepared ]; then echo ir; else echo "$1"; fi; } # FORM
# regression_tests KIND CONFIGURATION DIRECTORY: GROMACS' `complex` tests, with a gmx on PATH that runs one of those above.
regression_tests() {
  mkdir -p "$3/bin"
  script_of "$3/bin/gmx" "app='$app' here='$here'; $1_gmx '$2'" contained "$1_gmx"
  (cd "$3" && PATH=$3/bin:$PATH perl "$tests/gmxtest.pl" complex "${test_options[@]}") >"$3/log" 2>&1 || true
  grep '^All .* complex tests PASSED$' "$3/log" || { grep -e FAILED "$3/log" >&2; die "$1 gmx, $2: regression tests failed: $3/log"; }
}
passed() { # KIND CONFIGURATION
  local log=$here/tests/$2.$1/log
  if [ -e "$log" ]; then sed -n 's/^All \([0-9]*\) complex tests PASSED$/\1 passed/p' "$log"; else echo "not run"; fi
}

prepare_run() { # CONFIGURATION SYSTEM FILE: the run input, made by the native program
  local from=$tests/complex/$2
  native_gmx "$1" grompp -f "$from/grompp.mdp" -c "$from/conf" -r "$from/conf" -p "$from/topol" -maxwarn 10 \
    -po "$3.mdp" -o "$3.tpr" >"$3.log" 2>&1
  mv "$3.tpr" "$3"
}
run_round() { # CONFIGURATION SYSTEM INPUT DIRECTORY: the native program and the deployed one; CPU seconds, and what differs
  local kind TIMEFORMAT='%U'
  mkdir "$4"
  cp "$3" "$4/topol.tpr"
  for kind in "${kinds[@]}"; do
    mkdir "$4/$kind"
    { time (cd "$4/$kind" && "${kind}_gmx" "$1" mdrun -s ../topol.tpr -reprod -ntmpi 1 -ntomp 1 -nsteps 2000 \
      -o traj.trr -e ener.edr >"../$kind.log" 2>&1); } 2>"$4/$kind.cpu"
  done
  for kind in "${kinds[@]:1}"; do first_difference "$1" "$4" "$kind"; done >"$4/difference"
}
first_difference() { # CONFIGURATION DIRECTORY KIND: nothing if trajectory (positions, velocities, forces) and energies are equal
  cmp -s "$2/native/ener.edr" "$2/$3/ener.edr" && cmp -s "$2/native/traj.trr" "$2/$3/traj.trr" && return 0
  {
    native_gmx "$1" check -e "$2/native/ener.edr" -e2 "$2/$3/ener.edr" -tol 0 -abstol 0 2>/dev/null
    native_gmx "$1" check -f "$2/native/traj.trr" -f2 "$2/$3/traj.trr" -tol 0 -abstol 0 2>/dev/null
    echo "files differ where gmx check sees no difference"
  } | grep -v -e '^$' -e '^comparing' -e '^There are' -e '^Files read' | sed -n 1p
}
run_median() { # CONFIGURATION SYSTEM KIND
  local round
  for ((round = 1; round <= rounds; ++round)); do cat "$here/runs/$1.$2.$round/$3.cpu"; done | median
}
result() { # CONFIGURATION SYSTEM: of all rounds
  local round
  for ((round = 1; round <= rounds; ++round)); do
    [ ! -s "$here/runs/$1.$2.$round/difference" ] || { cat "$here/runs/$1.$2.$round/difference"; return; }
  done
  echo equal
}

say "sources"
packages bubblewrap cmake libfftw3-dev libomp-22-dev ninja-build
once "$source" debian_source gromacs
restore

first=$(((${#configurations[@]} + 1) / 3))
native_builds "${configurations[@]:0:first}"
say "IR build: ${configurations[*]}"
timed "$here/ir.build" ir_build
native_builds "${configurations[@]:first}"
if [ $forms = yes ]; then
  say "the same IR image with raw modules, from the cache of the IR build"
  timed "$here/raw.build" xaas_build raw --ir raw
fi
say "IR build after a change in $(basename "$changed")"
timed "$here/changed.build" build_changed

for configuration in "${configurations[@]}"; do
  runs_here "oci:$here/image:ir" "simd=$configuration" || { echo "$configuration: not for this CPU"; continue; }
  say "$configuration: deployed image"
  timed "$here/$configuration.deploy" deploy "$configuration"
  once "$here/rootfs/$configuration" unpack "$here/image" "$configuration"
  if [ $forms = yes ]; then
    for form in raw prepared; do
      say "$configuration: deploys of $form modules"
      timed "$here/$configuration.$form.deploy" deploy_form "$configuration" "$form"
      timed "$here/$configuration.$form.again" deploy_again "$configuration" "$form"
      timed "$here/$configuration.$form.lto" deploy_lto "$configuration" "$form"
    done
    once "$here/rootfs-raw/$configuration" unpack "$here/image" "$configuration-raw"
  fi
  for kind in "${tested[@]}"; do
    say "$configuration: regression tests, $kind"
    once "$here/tests/$configuration.$kind" regression_tests "$kind" "$configuration"
  done
  for system in "${systems[@]}"; do
    say "$configuration: $system, deployed and native"
    input=$here/runs/$configuration.$system.tpr
    once "$input" prepare_run "$configuration" "$system"
    for ((round = 1; round <= rounds; ++round)); do
      once "$here/runs/$configuration.$system.$round" run_round "$configuration" "$system" "$input"
    done
  done
done

if [ $kill = yes ]; then
  say "IR build that is killed, and built again"
  timed "$here/after-kill.build" killed_build
fi
if [ $check_sharing = yes ] && grep -q -e --check-sharing <<<"$("$xaas" build --help)"; then
  say "every known outcome compiled again"
  timed "$here/check.build" check_build
fi

per_configuration() {
  echo "configuration|native build s|CPU s|memory, all|memory, largest|deploy s|CPU s|deployed image|tests, deployed|tests, native|${systems[0]}|run native CPU s|run deployed CPU s|deployed/native|${systems[1]}|run native CPU s|run deployed CPU s|deployed/native"
  local configuration native deploy system cells
  for configuration in "${configurations[@]}"; do
    native=$app/native/$configuration.build deploy=$here/$configuration.deploy
    cells=("$configuration" "$(wall "$native")" "$(cpu "$native")" "$(memory_of_all "$native")" "$(memory_of_one "$native")")
    if [ -e "$deploy" ]; then
      cells+=("$(wall "$deploy")" "$(cpu "$deploy")" "$(image_bytes "oci:$here/image:$configuration" | human)"
        "$(passed deployed "$configuration")" "$(passed native "$configuration")")
      for system in "${systems[@]}"; do
        cells+=("$(result "$configuration" "$system")" "$(run_median "$configuration" "$system" native)"
          "$(run_median "$configuration" "$system" deployed)"
          "$(ratio "$(run_median "$configuration" "$system" deployed)" "$(run_median "$configuration" "$system" native)")")
      done
    fi
    (IFS='|'; echo "${cells[*]}")
  done
}

per_form() {
  local configuration form native
  echo "configuration, form|deploy CPU s|/native|again CPU s|/native|with --lto CPU s|/native|lowering s|longest module s"
  for configuration in "${configurations[@]}"; do
    for form in raw prepared; do
      [ -e "$here/$configuration.$form.lto" ] || continue
      native=$(cpu "$app/native/$configuration.build")
      echo "$configuration, $form$(for kind in deploy again lto; do
        printf '|%s|%s' "$(cpu "$here/$configuration.$form.$kind")" "$(ratio "$(cpu "$here/$configuration.$form.$kind")" "$native")"
      done)|$(jq -r '[.traceEvents[] | select(.cat == "module" and .args.cache != "hit") | .dur] | "\(add / 1e6)|\(max / 1e6)"' \
        "$here/$configuration.$form.trace")"
    done
  done
}
run_of_forms() { # CONFIGURATION SYSTEM
  local deployed raw
  deployed=$(run_median "$1" "$2" deployed) raw=$(run_median "$1" "$2" raw)
  echo "$1, $2: run CPU s, deployed from raw modules $raw, from prepared $deployed: $(ratio "$deployed" "$raw")"
}

# target TEXT VALUE LIMIT: one line that says whether VALUE is at most LIMIT
target() {
  awk -v text="$1" -v value="$2" -v limit="$3" 'BEGIN {
    printf "%-58s %6.3f   at most %s: %s\n", text, value, limit, value <= limit ? "reached" : "MISSED by " sprintf("%.3f", value - limit) }'
}

reported() { jq -r "$2" "$here/$1.json"; } # TAG FILTER: of the report of `xaas build`
build_figures() { # TAG
  local figure=$here/$1.build
  echo "$(wall "$figure") s, $(cpu "$figure") CPU s; memory $(memory_of_all "$figure"), largest process $(memory_of_one "$figure");" \
    "compiled: $(reported "$1" '[.configurations[].compiled] | add'), reused: $(reported "$1" '[.configurations[].reused] | add')"
}

say "figures: $machine, $program"
per_configuration | print_columns
inspect=$("$xaas" inspect "oci:$here/image:ir" --format json)
sharing() { jq ".sharing.$1" <<<"$inspect"; }
natives=$(for configuration in "${configurations[@]}"; do cpu "$app/native/$configuration.build"; done | sum)
cat <<END

native builds of all        $natives CPU s
IR build of all             $(build_figures ir)
IR build after a change     $(build_figures changed)
IR build after a kill       $(if [ -e "$here/after-kill.build" ]; then tail -n 1 "$here/after-kill.build.log"; else echo "not done"; fi)
every known outcome compiled again: $(if [ -e "$here/check.build" ]; then echo "nothing else came out ($(wall "$here/check.build") s, $(cpu "$here/check.build") CPU s)"; else echo "not done"; fi)
units                       $(sharing units), $(sharing unit_bytes) bytes
IR modules                  $(sharing modules), $(sharing module_bytes) bytes, stored in $(sharing stored_bytes)
preprocessed texts          $(reported ir .sharing.preprocessed_texts)
IR image                    $(image_bytes "oci:$here/image:ir") bytes

END
if [ $forms = yes ]; then
  per_form | print_columns
  for configuration in "${configurations[@]}"; do
    for system in "${systems[@]}"; do
      [ ! -e "$here/runs/$configuration.$system.$rounds/raw.cpu" ] || run_of_forms "$configuration" "$system"
    done
  done
  raw_bytes=$("$xaas" inspect "oci:$here/image:raw" --format json | jq .sharing.stored_bytes)
  echo "stored in raw form          $raw_bytes bytes; prepared $(ratio "$(sharing stored_bytes)" "$raw_bytes")"
  echo "preparing, CPU s            $(reported ir .prepared.seconds.cpu)"
  echo
fi
target "CPU seconds, IR build of all / native builds of all" "$(ratio "$(cpu "$here/ir.build")" "$natives")" 0.45
target "bytes of IR modules / bytes of units" "$(ratio "$(sharing module_bytes)" "$(sharing unit_bytes)")" 0.55
target "bytes stored / bytes of IR modules" "$(ratio "$(sharing stored_bytes)" "$(sharing module_bytes)")" 0.40
