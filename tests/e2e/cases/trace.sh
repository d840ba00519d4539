#!/bin/bash
# `--trace` says where the time of a build and of a deploy went.
source "$E2E/lib.sh"
needs jq skopeo

mkdir src
printf '#include <stdio.h>\nint f(int);\nint main(void) { printf("%%d\\n", f(2)); }\n' >src/main.c
printf 'int f(int a) { return a * 3; }\n' >src/f.c
printf 'program: main.o f.o\n\t$(CC) -o $@ main.o f.o\n' >src/Makefile
echo '{"name": "app", "build": {"system": "make", "install": [{"from": "program", "to": "bin/program"}]}}' >src/xaas.json

# Names and types of https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, complete events.
valid() { # FILE
  assert_json "$1" '.displayTimeUnit == "ms" and (.traceEvents | length) > 0 and all(.traceEvents[];
    .ph == "X" and (.name | type) == "string" and (.cat | type) == "string" and (.ts | type) == "number" and .ts >= 0
    and (.dur | type) == "number" and .dur >= 0 and (.pid | type) == "number" and (.tid | type) == "number" and (.args | type) == "object")'
  # Within a row, events nest.
  assert_json "$1" '[.traceEvents | group_by(.tid)[] | sort_by(.ts, -.dur) | reduce .[] as $e ({open: [], ok: true};
    .open |= map(select(. > $e.ts)) | .ok = (.ok and all(.open[]; . >= $e.ts + $e.dur)) | .open += [$e.ts + $e.dur]) | .ok] | all'
}
names() { # FILE CATEGORY
  jq -r --arg cat "$2" '[.traceEvents[] | select(.cat == $cat) | .name] | sort | unique | join(" ")' "$1"
}
"$XAAS" build src -o oci:app:ir -q --trace build.trace
valid build.trace
expect_equal "compiles" "$(names build.trace compile)" "f.c main.c"
expect_equal "phases" "$(names build.trace phase)" "build bundle configure harvest install"
expect_equal "compiles of the first level" "$(jq -c '[.traceEvents[] | select(.cat == "compile" and .args.configuration == "isa=x86-64")
  | .args.cache] | sort' build.trace)" '["miss","miss"]'
"$XAAS" build src -o oci:app:known -q --trace known.trace >/dev/null
valid known.trace
expect_equal "reused compiles" "$(jq '[.traceEvents[] | select(.cat == "compile" and .args.cache == "hit")] | length' known.trace)" 2

"$XAAS" deploy oci:app:ir -o oci:out:one -q --trace deploy.trace --format json >report.json
valid deploy.trace
expect_equal "modules" "$(jq -c '[.traceEvents[] | select(.cat == "module") | [.name, .args.form, .args.cache]] | sort' deploy.trace)" \
  '[["f.c","object","miss"],["main.c","object","miss"]]'
expect_equal "links" "$(names deploy.trace link)" program
# The phases are the times that the report has, and the command contains everything.
assert_json report.json "$(jq '[.traceEvents[] | select(.cat == "phase" and .name != "choose") | .dur] | add / 1e6' deploy.trace) as \$phases
  | (\$phases - .seconds.total | fabs) < 0.2"
assert_json deploy.trace '(.traceEvents | min_by(.ts)) as $first | $first.cat == "command" and $first.name == "deploy oci:app:ir"
  and all(.traceEvents[]; .ts + .dur <= $first.ts + $first.dur)'
assert_json report.json '.critical_path | .sum >= .longest and .longest > 0 and (.source == "f.c" or .source == "main.c")'

"$XAAS" deploy oci:app:ir -o oci:out:two -q --trace again.trace
expect_equal "cached modules" "$(jq -c '[.traceEvents[] | select(.cat == "module") | .args.cache]' again.trace)" '["hit","hit"]'
layers_of() { jq -c '[.traceEvents[] | select(.cat == "layer" and .args.cache) | .args.cache]' "$1"; }
expect_equal "compressed layers" "$(layers_of deploy.trace) $(layers_of again.trace)" '["miss"] ["hit"]'
expect_equal "the same image" "$(skopeo inspect --raw oci:out:two | sha256sum)" "$(skopeo inspect --raw oci:out:one | sha256sum)"

# A failed build has a trace, too; a trace that cannot be written is an error that names the file.
echo 'int f(int a) { return wrong; }' >src/f.c
expect_exit 1 "$XAAS" build src -o oci:app:bad -q --trace failed.trace 2>/dev/null
valid failed.trace
expect_error 4 'nowhere/file' "$XAAS" deploy oci:app:ir -o oci:out:three -q --trace nowhere/file

# The page of the image, with the times of the deploy; it is the same each time.
"$XAAS" inspect oci:app:ir --html page.html --trace deploy.trace >/dev/null
"$XAAS" inspect oci:app:ir --html again.html --trace deploy.trace --format json | jq -e '.kind == "ir"' >/dev/null
cmp page.html again.html
grep -q "main.c.*colspan=4" page.html || fail "the page has no row for main.c, which all four levels share"
grep -q "<h2>Deploying" page.html || fail "the page has no times"
expect_error 2 'needs an IR or source image' "$XAAS" inspect oci:out:one --html page.html
expect_error 2 'needs an IR or source image' "$XAAS" inspect src --html page.html
echo '{"traceEvents": [{"cat": "module", "dur": 1}]}' >damaged.trace
expect_error 7 'damaged.trace' "$XAAS" inspect oci:app:ir --html page.html --trace damaged.trace
