#!/bin/bash
# Help, version and manual pages.
source "$E2E/lib.sh"

expect_exit 2 "$XAAS" 2>overview
grep -q '^Commands:' overview || fail "without arguments there is no help: $(cat overview)"
expect_equal "help" "$("$XAAS" --help)" "$(cat overview)"
[[ $("$XAAS" --version) =~ ^xaas\ [0-9]+\.[0-9]+.*LLVM\ 22\. ]] || fail "version: $("$XAAS" --version)"
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' overview)
for command in "${commands[@]}"; do
  "$XAAS" "$command" --help >help
  expect_equal "the third line of $command --help" "$(sed -n 3p help)" Examples:
  grep -q "^  .*xaas $command " help || fail "$command --help has no example of it"
  for option in --format --quiet --verbose --help; do
    grep -q -e "$option" help || fail "$command --help does not have $option"
  done
  "$XAAS" "$command" -h | cmp - help
done

"$XAAS" manual --directory pages
pages=(pages/man1/*.1 pages/man5/*.5)
for command in "" "${commands[@]/#/-}"; do
  page=pages/man1/xaas$command.1
  [ -f "$page" ] || fail "no page xaas$command.1"
  for title in NAME SYNOPSIS 'EXIT STATUS' 'SEE ALSO'; do
    grep -qx "\.SH $title" "$page" || fail "$page has no $title"
  done
done
# Help lists the options that apply, and no others.
# An earlier name still works, and appears nowhere.
"$XAAS" verify --help | cmp - <("$XAAS" check --help)
! "$XAAS" --help | finds verify || fail "the overview has the hidden name"
[ ! -e pages/man1/xaas-verify.1 ] || fail "a page for the hidden name"
expect_error 2 "xaas check: has no option --systm" "$XAAS" verify oci:a:b --systm x

grep -q XAAS_CLANG pages/man1/xaas-build.1 || fail "xaas-build(1) does not know XAAS_CLANG"
! grep -q XAAS_CLANG pages/man1/xaas-check.1 || fail "xaas-check(1) speaks of XAAS_CLANG"
grep -q 'access denied' pages/man1/xaas-deploy.1 || fail "xaas-deploy(1) has no exit status 5"
! grep -q 'access denied' pages/man1/xaas-cache.1 || fail "xaas-cache(1) speaks of registries"
# The page of the configuration file documents every setting.
for key in $("$XAAS" config show | sed -n 's/^\([a-z_]*\) .*/\1/p'); do
  grep -q "\"$key\"" pages/man5/xaas-config.json.5 || fail "xaas-config.json(5) has no $key"
done
! command -v man >/dev/null || for page in "${pages[@]}"; do
  man --warnings -E UTF-8 -l -Tutf8 -Z "$page" >/dev/null 2>warnings
  [ ! -s warnings ] || fail "$page: $(cat warnings)"
done
# Pages have no date: the same sources give the same pages.
! command -v mandoc >/dev/null || for page in "${pages[@]}"; do
  mandoc -Tlint -W warning "$page" 2>&1 | grep -v 'missing date' >warnings || true
  [ ! -s warnings ] || fail "$page: $(cat warnings)"
done
