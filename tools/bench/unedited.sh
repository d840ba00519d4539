#!/bin/bash
# Applications from unedited sources: twenty of Debian's source packages and one with CUDA, different in build system, language
# and shape. For each: `xaas init --try`, `xaas build`, `xaas deploy`, `xaas check` and `xaas run` of a workload, whose output
# must equal that of a native build with the same compiler, and the user CPU seconds of both, measured in turn. A failed step
# ends the application, not the script. At the end come a table, the last error of each failure and its hint. The sources must
# be unchanged afterwards.
#
#   tools/bench/unedited.sh [--rounds N] [--isa LEVEL,...] [--forms] [--report] [APPLICATION]...
#                                                          default: 5 rounds, the levels of the spec, all applications
#
# With --forms, applications that pass are also built with raw and with prepared IR modules (`build --ir`). A second table has the
# CPU seconds of the native build and of a deploy of each form, the bytes of the modules, and run times in turn.
#
# With --report it runs nothing, and prints the table of the steps that are done. A run of one application can go on meanwhile.
# Exits with 1 if fewer than sixteen of all, or not all of the named applications pass. The applications are defined in
# unedited/applications.sh.
#
# Needs root once, for source packages (deb-src) and build dependencies. Resumes after an interruption: lib.sh.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A source_package=() # where the name differs
# shellcheck source=tools/bench/unedited/applications.sh
source "$root/tools/bench/unedited/applications.sh"
mapfile -t all < <(compgen -A function | sed -n 's/_about$//p' | sort)
rounds=5
levels=()
forms=no
report=no
applications=()
while [ $# -gt 0 ]; do
  case "$1" in
  --rounds) rounds=$2; shift 2 ;;
  --isa) levels=(--isa "$2"); shift 2 ;;
  --forms) forms=yes; shift ;;
  --report) report=yes; shift ;;
  *)
    [[ $1 != -* && " ${all[*]} " == *" $1 "* ]] || { echo "usage: $0 [--rounds N] [--isa LEVEL,...] [--forms] [--report] [APPLICATION]...; applications: ${all[*]}" >&2; exit 2; }
    applications+=("$1"); shift ;;
  esac
done
needed=${#applications[@]}
[ "$needed" -gt 0 ] || { applications=("${all[@]}"); needed=16; }
grep -q -- --try <<<"$("$xaas" init --help)" || die "this program has no init --try"
open_bench
packages bubblewrap build-essential
cuda=${CUDA_PATH:-/usr/local/cuda}
if [ -x "$cuda/bin/nvcc" ]; then export PATH=$cuda/bin:$PATH; else echo "no nvcc in $cuda: \`init --try\` leaves values with CUDA out" >&2; fi

# attempt DIRECTORY NAME COMMAND...: a step of the application, unless an earlier one failed: its output in NAME.log, its
# seconds in NAME.time. What has its seconds is not run again. Sets `failed` instead of failing.
attempt() {
  local base=$1/$2 start=$EPOCHREALTIME code
  [ -z "$failed" ] || return 0
  [ ! -s "$base.time" ] || return 0
  set +e
  (set -e; "${@:3}") >"$base.log" 2>&1
  code=$?
  set -e
  [ $code -eq 0 ] || { failed=$2; echo "$app: $2 failed ($code); its log: $base.log"; return 0; }
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f\n", b - a }' >"$base.time"
}

is_library() { declare -F "${app}_program" >/dev/null; }
digest_of() { (cd "$1" && find . -type f -o -type l | sort | tar -cf - --no-recursion --mtime=@0 -T - | sha256sum | cut -c1-64); } # TREE

# The native side.
install_native() {
  tree=$work/$app/native.tree
  rm -rf "$tree" "$work/$app/native"
  cp -a "$source" "$tree"
  "${app}_native" "$work/$app/native"
  rm -rf "$tree"
}
make_data() {
  rm -rf "$data"
  mkdir "$data"
  "${app}_data" "$data"
  if is_library; then "${app}_program" "$work/$app/native" "$data/proof.native" "$work/$app/native"; fi
}
native() { # PROGRAM ARGUMENT...
  local program=$work/$app/native/bin/$1
  [ "$1" != proof ] || program=$data/proof.native
  LD_LIBRARY_PATH=$work/$app/native/lib "${within[@]}" "$program" "${@:2}"
}
within=() # what native programs run in
reference() {
  cd "$data"
  "${app}_run" native >"$work/$app/reference.out"
  [ -s "$work/$app/reference.out" ]
}

# The steps of a user of xaas.
init_try() { "$xaas" init --try "$source" -o "$here/xaas.json" --force --format json >"$here/init.json"; }
build() { "$xaas" build "$here/xaas.json" --source "$source" -o "oci:$here/ir:ir" "${levels[@]}"; }
deploy() { "$xaas" deploy "oci:$here/ir:ir" -o "oci:$here/image:here"; }
check() { "$xaas" check "oci:$here/image:here"; }
path_in_image() { if [ "$1" = proof ]; then echo "$data/proof.image"; else realpath -ms "/usr/local/bin/$1"; fi; }
run_image() { "$xaas" run -q "oci:$here/image:here" --entrypoint "$(path_in_image "$1")" -- "${@:2}"; } # PROGRAM ARGUMENT...
run_workload() {
  unpack "$here/image" here "$here/root"
  if is_library; then "${app}_program" "$here/root/usr/local" "$data/proof.image" /usr/local; fi
  cd "$data"
  "${app}_run" run_image >"$here/run.out"
  cmp "$work/$app/reference.out" "$here/run.out"
}
unchanged_sources() { [ "$(digest_of "$source")" = "$(cat "$work/$app/source.digest")" ]; }

# Run times: user CPU seconds of runs in turn, without the start-up of `xaas run`. Each program starts in a container, whose
# share counts for short runs.
image_environment() { # lines of NAME=VALUE
  local blob
  blob=$here/image/blobs/$(jq -r '.manifests[0].digest | sub(":"; "/")' "$here/image/index.json")
  jq -r '.config.Env[]?' "$here/image/blobs/$(jq -r '.config.digest | sub(":"; "/")' "$blob")"
}
in_root() ( # ROOT PROGRAM ARGUMENT...
  while read -r variable; do export "${variable?}"; done <"$here/environment"
  contained "$1" "$data" "$(path_in_image "$2")" "${@:3}"
)
deployed() { in_root "$here/root" "$@"; } # PROGRAM ARGUMENT...
raw() { in_root "$here/forms/raw.root" "$@"; }
prepared() { in_root "$here/forms/prepared.root" "$@"; }
measure() { # DIRECTORY KIND...: into run.KIND there
  cd "$data"
  image_environment >"$here/environment"
  local round kind TIMEFORMAT='%U' within=(contained / "$data")
  for kind in "${@:2}"; do rm -f "$1/run.$kind"; done
  for ((round = 1; round <= rounds; ++round)); do
    for kind in "${@:2}"; do { time "${app}_run" "$kind" >/dev/null 2>&1; } 2>>"$1/run.$kind"; done
  done
}

# Raw and prepared IR modules, from the spec that --try left.
compare_forms() {
  local at=$here/forms form
  mkdir -p "$at"
  timed "$at/native" install_native
  for form in raw prepared; do
    timed "$at/$form.build" "$xaas" build "$here/xaas.json" --source "$source" --ir $form -o "oci:$at/$form:ir" --no-cache "${levels[@]}"
    timed "$at/$form.deploy" deploy_cold "oci:$at/$form:ir" "oci:$at/$form.image:here"
    once "$at/$form.root" unpack "$at/$form.image" here
    (cd "$data" && "${app}_run" $form | cmp "$work/$app/reference.out" -)
  done
  [ -s "$at/run.prepared" ] || measure "$at" native raw prepared
}
module_bytes() { "$xaas" inspect "oci:$here/forms/$1:ir" --format json | jq .sharing.stored_bytes; } # FORM
forms_row() {
  local at=$here/forms native
  native=$(cpu "$at/native")
  echo "$app|$native|$(cpu "$at/raw.deploy")|$(cpu "$at/prepared.deploy")|$(ratio "$(cpu "$at/raw.deploy")" "$native")|$(ratio "$(cpu "$at/prepared.deploy")" "$native")|$(module_bytes raw | human)|$(ratio "$(module_bytes prepared)" "$(module_bytes raw)")|$(median <"$at/run.native")|$(median <"$at/run.raw")|$(median <"$at/run.prepared")"
}

steps=(init build deploy check run)
in_application() { # NAME: sets what the functions above use
  app=$1
  here=$work/$app/$program-unedited
  source=$work/$app/$app # drafts may take their names from it
  data=$work/$app/data
  export XAAS_CACHE_DIR=$here/cache
}
try_application() {
  local failed='' native=$work/$app
  mkdir -p "$here"
  rm -f "$here/failed"
  attempt "$native" packages "${app}_packages"
  attempt "$native" source once "$source" debian_source "${source_package[$app]-$app}"
  [ -n "$failed" ] || [ -s "$native/source.digest" ] || digest_of "$source" >"$native/source.digest"
  attempt "$native" native install_native
  attempt "$native" data make_data
  attempt "$native" reference reference
  [ -s "$here/init.time" ] || rm -rf "$here"/{cache,xaas.json,init.json}
  attempt "$here" init init_try
  [ -s "$here/build.time" ] || rm -rf "$here/ir"
  attempt "$here" build build
  [ -s "$here/deploy.time" ] || rm -rf "$here"/{image,root}
  attempt "$here" deploy deploy
  attempt "$here" check check
  [ -s "$here/run.time" ] || rm -rf "$here/root"
  attempt "$here" run run_workload
  attempt "$here" sources unchanged_sources
  attempt "$here" measure measure "$here" native deployed
  echo "$failed" >"$here/failed"
}

outcome() { cat "$here/failed" 2>/dev/null || echo unfinished; } # empty: passed; else the step
seconds() { cat "$here/$1.time" 2>/dev/null || echo -; } # STEP
results() { # a word for each step of xaas
  local step
  for step in "${steps[@]}"; do
    if [ -s "$here/$step.time" ]; then echo -n "ok|"; elif [ "$(outcome)" = "$step" ]; then echo -n "FAILED|"; else echo -n "-|"; fi
  done
}
run_ratio() { # deployed over native, for workloads of 0.3 s and more
  [ -s "$here/measure.time" ] || { echo "-|-"; return; }
  local native
  native=$(median <"$here/run.native")
  awk -v s="$native" 'BEGIN { exit !(s < 0.3) }' && { echo "$native|short"; return; }
  echo "$native|$(ratio "$(median <"$here/run.deployed")" "$native")"
}
row() {
  local about
  about=$("${app}_about")
  echo "$app|$about|$(seconds init)|$(seconds build)|$(seconds deploy)|$(results)$(run_ratio)"
}
tried() { # what --try did, from its JSON
  jq -r '.try | "\(.attempts | length) builds", (.attempts[].learned // empty | gsub("\n"; " "))' "$here/init.json" 2>/dev/null | sed 's/^/    /' || true
}
failure() { # the last error of the failed step and its hint
  local step log
  step=$(outcome)
  log=$here/$step.log
  [ -f "$log" ] || log=$work/$app/$step.log
  echo "$app: $step"
  [ -f "$log" ] || return 0
  grep -E '(^|[^a-z])error:|^(problem|hint):|differ:' "$log" | tail -n 3 | cut -c1-400 | sed 's/^/    /'
  echo "    log: $log"
}

passed=0
for application in "${applications[@]}"; do
  in_application "$application"
  if [ $report = no ]; then
    say "$app: $("${app}_about" | tr '|' ',')"
    try_application
  fi
  [ -z "$(outcome)" ] || continue
  passed=$((passed + 1))
  if [ $forms$report = yesno ]; then compare_forms; fi
done
say "$passed of ${#applications[@]} pass; medians of $rounds rounds; $machine"
{
  echo "application|build system|languages|shape|init, s|build, s|deploy, s|init|build|deploy|check|run|native, CPU s|deployed/native"
  for application in "${applications[@]}"; do in_application "$application"; row; done
} | column -t -s '|'
if [ $forms = yes ]; then
  say "raw and prepared IR modules: CPU seconds of builds and deploys, stored bytes of modules, run times in user CPU seconds"
  {
    echo "application|native build|deploy raw|prepared|raw/native|prepared/native|modules|prepared/raw|run native|raw|prepared"
    for application in "${applications[@]}"; do
      in_application "$application"
      [ ! -s "$here/forms/run.prepared" ] || forms_row
    done
  } | column -t -s '|'
fi
say "what init --try did"
for application in "${applications[@]}"; do in_application "$application"; echo "$app:"; tried; done
say "failures"
for application in "${applications[@]}"; do
  in_application "$application"
  [ -z "$(outcome)" ] || failure
done
[ "$passed" -ge "$needed" ]
