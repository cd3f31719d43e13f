#!/bin/bash
# The program from the outside: its last line and its exit status.
set -u
replay=$PWD/$1
cases=$PWD/$2

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

output=$("$replay" --known="$PWD/$3" "$cases") || fail "exit status $? on the kept cases"
[[ $(tail -n 1 <<< "$output") =~ ^[0-9]+\ passed,\ 0\ failed,\ [0-9]+\ skipped$ ]] || fail "last line: $output"

"$replay" /no/such/path 2> /dev/null
(($? == 2)) || fail "exit status for a path that is not there"

# Paths are relative to where the user is, and a failure shows in the exit status.
mkdir -p "$TEST_TMPDIR/here"
echo "no case" > "$TEST_TMPDIR/here/bad.safetensors"
output=$(BUILD_WORKING_DIRECTORY=$TEST_TMPDIR "$replay" here)
(($? == 1)) || fail "exit status for a failure"
[[ $(tail -n 1 <<< "$output") == "0 passed, 1 failed, 0 skipped" ]] || fail "last line: $output"

[[ $("$replay" --op='add' "$cases" | grep -c "passed, .* failed, .* unsupported") == 1 ]] || fail "--op"
