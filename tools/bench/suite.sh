# shellcheck shell=bash
# A suite of CUDA programs that check their own results: the *-cuda directories of HeCBench, or of a suite that is laid out like
# it, below $suite. Sourced by the benchmarks that run them, and exported to their jobs. $here is the directory of the products,
# $gpu the architecture, $divisor and $small what numbers among the arguments are divided by: those from 1024, and from 16 on.
# shellcheck disable=SC2154 # the benchmark sets them

that_check_themselves() { # their names
  (cd "$suite" && grep -rlE PASS --include='*.cu' --include='*.cuh' --include='*.h' --include='*.cpp' .) |
    sed -n 's,^\./\([^/]*\)-cuda/.*,\1,p' | sort -u
}

prepare() { # NAME: its directory, and those beside it that it names, below $here/NAME/source
  local beside
  mkdir -p "$here/$1/source"
  cp -r "$suite/$1-cuda" "$here/$1/source/"
  while read -r beside; do
    [ ! -d "$suite/${beside#../}" ] || [ -e "$here/$1/source/${beside#../}" ] || cp -r "$suite/${beside#../}" "$here/$1/source/"
  done < <(grep -rIhoE '\.\./[A-Za-z0-9_-]+' "$suite/$1-cuda" | sort -u)
  local product
  product=$(sed -nE 's/^program *[:?]?= *([^ ]+) *$/\1/p' "$suite/$1-cuda/Makefile" | head -n 1)
  product=${product:-main}
  echo '{"name": "app", "version": "1", "build": {"system": "make", "directory": "'"$1"'-cuda", "arguments":
    ["CC=nvcc", "ARCH='"$gpu"'", "LAUNCHER="], "install": [{"from": "'"$1-cuda/$product"'", "to": "bin/app"}]}, "isa": ["x86-64-v3"]}' \
    >"$here/$1/spec.json"
}

arguments_of() { # NAME: the arguments of the first command of `run`
  local line
  line=$(make -C "$here/$1/source/$1-cuda" -n -o "$2" run LAUNCHER= 2>/dev/null) || return 0
  line=$(grep -m1 "^ *\./" <<<"$line") || return 0
  line=${line#*./"$2"}
  local usage place name
  usage=$(grep -rIhiE 'usage' "$here/$1/source/$1-cuda" || true)
  for name in 'repeat|repetition|nruns|num_runs|trials' 'iteration|iters?'; do # a program may have both
    place=$(grep -rIhoiE "\b[a-z_]*($name)[a-z_]* *= *(std::)?(atoi|stoi|atol|strtol) *\( *argv\[[0-9]+" "$here/$1/source/$1-cuda" || true)
    place=$(grep -oE '[0-9]+$' <<<"$place" | head -n 1) || true
    [ -z "$place" ] || break
  done
  if [ -n "$place" ]; then
    line=$(awk -v place="$place" 'NF >= place { $place = 1 } 1' <<<"$line")
  elif grep -qiE '(repeat|repetitions?|iterations?|iters?|times|runs?)[^<]*>? *(\\n)?"' <<<"$usage"; then
    line=$(sed -E 's/ [0-9]+ *$/ 1/' <<<"$line")
  fi
  line=$(perl -pe 's{(?<![^\s=])(\d{2,})(?!\S)}{int($1 / ($1 >= 1024 ? $ENV{divisor} : $1 >= 16 ? $ENV{small} : 1))}ge' <<<"$line")
  printf '%s\n' "$line"
}

lacks_input() { # NAME ARGUMENTS
  local word
  ! grep -iE "(failed|unable|can ?not|can't|could not|couldn't) (to )?open|no such file" "$here/$1/output" >/dev/null || return 0
  for word in $2; do
    case $word in */*) [ -e "$here/$1/source/$1-cuda/$word" ] || return 0 ;; esac
  done
  return 1
}

judge() { # EXIT-CODE OUTPUT REFUSED
  local bad='\bfail(ed|ure|s)?\b|\bmismatch|\bincorrect|\bwrong\b|\bnot supported\b|[Ee]rror: [A-Za-z]'
  if [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
    echo timeout
  elif [ "$1" -ne 0 ] || grep -viE '\b(0|no) (fail|mismatch|error)|fail(ed|ures)? *[:=] *0' "$2" | grep -iE "$bad" >/dev/null; then
    if [ "$3" -gt 0 ]; then echo refused; else echo FAIL; fi
  elif grep -iE '\bpass(ed|es)?\b|\bsuccess|\bcorrect\b' "$2" >/dev/null; then
    echo pass
  else
    echo ended
  fi
}
