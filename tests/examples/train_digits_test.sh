#!/bin/bash
# Runs the example and looks at what it prints: train_digits_test.sh PROGRAM
set -u
program=$1
scratch=$(mktemp -d "${TEST_TMPDIR:-/tmp}/train_digits.XXXXXX")
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# refuses TEXT ARGUMENTS...: one line on stderr that holds TEXT, and exit status 1.
refuses() {
  local text=$1 status=0
  shift
  "$program" "$@" > "$scratch/out" 2> "$scratch/err" || status=$?
  [[ $status == 1 ]] || fail "$*: exit status $status"
  [[ $(wc -l < "$scratch/err") == 1 ]] || fail "$*: not one line on stderr: $(< "$scratch/err")"
  grep -qF -- "$text" "$scratch/err" || fail "$*: '$text' is not in: $(< "$scratch/err")"
}

"$program" --epochs=4 --threads=1 --plot="$scratch/loss.svg" > "$scratch/out" || fail "exit status $?"
cat "$scratch/out"
[[ $(grep -cE '^epoch +[0-9]+  loss [0-9.]+  held-out accuracy [0-9.]+ +[0-9]+ samples/s  peak [0-9]+ bytes$' "$scratch/out") == 4 ]] ||
  fail "not a line for each epoch"
grep -qE '^active bytes: ([0-9]+) before, \1 after$' "$scratch/out" || fail "memory was not given back"
tail -n 1 "$scratch/out" | grep -qE '^test accuracy (0\.9[0-9]{2}|1\.000)$' || fail "the last line: $(tail -n 1 "$scratch/out")"
grep -q '</svg>' "$scratch/loss.svg" || fail "no plot"

"$program" --epochs=4 --threads=2 > "$scratch/again"
[[ $(tail -n 1 "$scratch/again") == $(tail -n 1 "$scratch/out") ]] || fail "another result with two threads"

"$program" --epochs=1 --profile="$scratch/trace.json" > "$scratch/profiled" || fail "--profile: exit status $?"
grep -qE '^optimizer +[0-9]+ ' "$scratch/profiled" || fail "--profile: no table"
grep -qE '^module +calls ' "$scratch/profiled" || fail "--profile: no table of modules"
grep -q '"name":"AddmmBackward"\|"name":"LinearBackward"' "$scratch/trace.json" || fail "--profile: no trace"

"$program" --epochs=2 --predict > "$scratch/predicted" || fail "--predict: exit status $?"
for peak in requested live reserved fragmentation; do
  grep -qE "^$peak +([0-9]+ \([^)]+\)) +\1\$" "$scratch/predicted" || fail "--predict: $peak was not as predicted"
done

printf '1,2,3\n' > "$scratch/short.csv"
refuses "$scratch/short.csv:1: 3 columns" --data="$scratch/short.csv"
refuses "No such file" --data="$scratch/none.csv"
refuses "--epochs must be 1 or more" --epochs=0
refuses "--batch_size must be 1 or more" --batch_size=0
refuses "--lr must be positive" --lr=-1
refuses "--lr must be positive" --lr=nan
refuses "--threads must be 0 or more" --threads=-1
refuses "Illegal value 'many'" --epochs=many
refuses "Unknown command line flag 'epoch'" --epoch=3
refuses "'3' is not a flag" 3
refuses "trace.json: cannot be created" --epochs=1 --profile="$scratch/none/trace.json"
refuses "cannot be written" --epochs=1 --plot="$scratch/none/loss.svg"

((failures == 0))
