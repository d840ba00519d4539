#!/bin/bash
# docs/troubleshooting.md quotes messages that the program has.
source "$E2E/lib.sh"
needs python3
lost=$(python3 "$E2E/messages.py" "$REPO/docs/troubleshooting.md" "$REPO/src")
[ -z "$lost" ] || fail "messages of docs/troubleshooting.md that no source has: $lost"
sed 's/is not a command/is no command at all/' "$REPO/docs/troubleshooting.md" >other.md
grep -q 'is no command at all' <<<"$(python3 "$E2E/messages.py" other.md "$REPO/src")" || fail "a wrong message was not seen"
