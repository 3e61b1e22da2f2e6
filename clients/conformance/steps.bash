# Sourced by clients/*/run_tests: counts what passes and what fails, and ends with `N passed, N failed`.
# The script stands in its own folder, with the repository's root in $root and a folder to keep things in, $cache.
# shellcheck shell=bash
root=$(cd ../.. && pwd)
export root
cache=${COUNTER_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/counter}/clients
mkdir -p "$cache"
# Relative paths of the caller's are of no use below.
export COUNTERD=${COUNTERD:-$root/out/bin/server/counterd}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
language=$(basename "$PWD")
passed=0
failed=0
conformance_options=(--except "$root/clients/conformance/exceptions.json")

# step NAME COMMAND...: one test; what it writes is shown if it fails.
step() {
  local name=$1 started=$SECONDS
  shift
  if "$@" >"$scratch/output" 2>&1 </dev/null; then
    passed=$((passed + 1))
    echo "PASSED $language: $name ($((SECONDS - started)) s)"
  else
    failed=$((failed + 1))
    tail -n 200 "$scratch/output"
    echo "FAILED $language: $name"
    return 1
  fi
}

# suite NAME PATTERN COMMAND...: as many tests as the numbers that the Perl pattern finds in the output say; each match
# without a number is one. A suite that finds nothing has failed.
suite() {
  local name=$1 pattern=$2 started=$SECONDS count=0 match
  shift 2
  if "$@" >"$scratch/output" 2>&1 </dev/null; then
    while IFS= read -r match; do
      [[ $match =~ ^[0-9]+$ ]] || match=1
      count=$((count + match))
    done < <(grep -oP "$pattern" "$scratch/output")
  fi
  if [[ $count -gt 0 ]]; then
    passed=$((passed + count))
    echo "PASSED $language: $name, $count tests ($((SECONDS - started)) s)"
  else
    failed=$((failed + 1))
    tail -n 200 "$scratch/output"
    echo "FAILED $language: $name"
  fi
}

# conformance NAME COMMAND...: the cases that every language shares, through the adapter COMMAND; $conformance_options for
# clients/conformance/run. What it skips is shown.
conformance() {
  local name=$1 started=$SECONDS good bad
  shift
  "$root/clients/conformance/run" "${conformance_options[@]}" "$name" -- "$@" >"$scratch/output" 2>"$scratch/errors" </dev/null
  if [[ $(tail -n 1 "$scratch/output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    good=${BASH_REMATCH[1]} bad=${BASH_REMATCH[2]}
  else
    good=0 bad=1
  fi
  if [[ $bad -gt 0 ]]; then
    cat "$scratch/output"
    tail -n 50 "$scratch/errors"
  else
    grep '^SKIPPED' "$scratch/output"
    echo "PASSED $language: conformance of $name, $good cases ($((SECONDS - started)) s)"
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
}

# Thrice at most, each time on a new server: a README shows the default deadline, and a program that has just started
# can need more than these 2 s for its first call where the machine is busy (a cold JVM with a load of 25 took 2.6 s).
run_example() {
  local try
  for try in 1 2 3; do
    if "$root/clients/conformance/run" "${conformance_options[@]}" --example "$@"; then return 0; fi
    echo "attempt $try of the example failed"
  done
  return 1
}

# example NAME COMMAND...: the program of the README; $expected_output names a file if it writes more than the others.
example() {
  local name=$1
  shift
  step "$name" run_example "${expected_output:-$root/clients/conformance/example_output.txt}" -- "$@"
}

finish() {
  echo "$passed passed, $failed failed"
  [[ $failed -eq 0 && $passed -gt 0 ]]
  exit
}
