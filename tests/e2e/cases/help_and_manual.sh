#!/bin/bash
# Help, version and manual pages.
source "$E2E/lib.sh"

expect_exit 2 "$XAAS" 2>overview
grep -q '^Commands:' overview || fail "without arguments there is no help: $(cat overview)"
expect_equal "help" "$("$XAAS" --help)" "$(cat overview)"
[[ $("$XAAS" --version) =~ ^xaas\ [0-9]+\.[0-9]+.*LLVM\ 22\. ]] || fail "version: $("$XAAS" --version)"
for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' overview); do
  "$XAAS" "$command" --help >help
  expect_equal "the third line of $command --help" "$(sed -n 3p help)" Examples:
  grep -q "^  .*xaas $command " help || fail "$command --help has no example of it"
  for option in --format --quiet --verbose --help; do
    grep -q -e "$option" help || fail "$command --help does not have $option"
  done
  "$XAAS" "$command" -h | cmp - help
done

"$XAAS" manual --directory pages
for command in "" $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/-\1/p' overview); do
  [ -f "pages/xaas$command.1" ] || fail "no page xaas$command.1"
done
! command -v man >/dev/null || for page in pages/*.1; do
  man --warnings -E UTF-8 -l -Tutf8 -Z "$page" >/dev/null 2>warnings
  [ ! -s warnings ] || fail "$page: $(cat warnings)"
done
