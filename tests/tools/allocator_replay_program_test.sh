#!/bin/bash
# The program from the outside: what it prints and writes, and its exit status.
set -u
program=$PWD/$1
export BUILD_WORKING_DIRECTORY=$TEST_TMPDIR

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$program" --make_trace=made.csv --layers=2 --steps=2 || fail "exit status $? of --make_trace"
[[ $(head -n 1 "$TEST_TMPDIR/made.csv") == Thread,Time,Action,Pointer,Size,Stream ]] || fail "the header of the trace"

output=$("$program" --json=figures.json made.csv) || fail "exit status $?"
# 12 for the parameters and states of 2 layers, and in each of 2 steps 8 for each layer and 2 more.
[[ $output == "made.csv: 48 allocations, 48 frees, 0 left"* ]] || fail "the summary: $output"
for strategy in caching direct; do
  grep -q "^$strategy  *[0-9.]* MiB" <<< "$output" || fail "no line for $strategy: $output"
  grep -q "\"strategy\": \"$strategy\"" "$TEST_TMPDIR/figures.json" || fail "no figures of $strategy"
done
[[ $("$program" --strategies=direct made.csv | grep -c '^caching ') == 0 ]] || fail "--strategies"

printf 'Action,Pointer,Size\nallocate,1,2\nfree,1,3\n' > "$TEST_TMPDIR/bad.csv"
"$program" bad.csv > /dev/null 2> "$TEST_TMPDIR/complaint"
(($? == 2)) || fail "exit status for a bad trace"
grep -q "bad.csv:3: frees 3 bytes" "$TEST_TMPDIR/complaint" || fail "the complaint: $(cat "$TEST_TMPDIR/complaint")"
"$program" 2> /dev/null
(($? == 2)) || fail "exit status without a trace"
