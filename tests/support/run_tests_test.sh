#!/usr/bin/env bash
# scripts/run-tests, on small folders of tests: who gets a second try, what is said of it, and what is kept.
set -euo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/run-tests
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# build NAME COMMAND LABEL...: adds a test to the folder
declare_test() {
  printf 'add_test(%s "/bin/bash" "-c" "%s")\nset_tests_properties(%s PROPERTIES LABELS "%s")\n' "$1" "$2" "$1" "$3" \
    >>"$room/CTestTestfile.cmake"
}
# Fails once and says so; passes from then on.
fails_once() { echo "echo try of $1; test -e $room/$1 || { touch $room/$1; exit 1; }"; }
begin() { rm -rf "$room" && mkdir -p "$room"; }
expect() { # STATUS WHAT-THE-OUTPUT-HOLDS [WHAT-IT-DOES-NOT]
  local status=0
  "$script" "$room" --test-dir "$room" --output-on-failure >"$room/output" 2>&1 || status=$?
  if [ $status -ne "$1" ] || ! grep -q -- "$2" "$room/output" || { [ -n "${3:-}" ] && grep -q -- "$3" "$room/output"; }; then
    echo "line ${BASH_LINENO[0]}: status $status instead of $1, or not '$2', or '${3:-}', in:" >&2
    cat "$room/output" >&2
    exit 1
  fi
}

begin
declare_test unit_a true unit
declare_test kube_a true kube
expect 0 '100% tests passed' 'second try'

begin
declare_test unit_a "echo once >>$room/unit_ran" unit
declare_test kube_a "$(fails_once kube_a)" "kube;random"
declare_test kube_b true kube
expect 0 "^passed only at the second try: kube_a, log at $room/second-try/kube_a.log\$"
tail -1 "$room/output" | grep -q '^passed only at' || { echo "the second try is not named at the very end" >&2; exit 1; }
grep -q 'try of kube_a' "$room/second-try/kube_a.log" || { echo "the first try's log is not kept" >&2; exit 1; }
[ "$(wc -l <"$room/unit_ran")" = 1 ] || { echo "what passed is run again" >&2; exit 1; }

begin # twice is a failure
declare_test kube_a false kube
expect 1 'failed twice: kube_a' 'passed only'

begin # no other test gets a second try
declare_test unit_a "$(fails_once unit_a)" unit
declare_test kube_a "$(fails_once kube_a)" kube
expect 1 'run-tests: failed: unit_a' 'passed only'

begin # a name that another one begins with
declare_test kube_a "$(fails_once kube_a)" kube
declare_test kube_a_long "$(fails_once kube_a_long)" kube
expect 0 "second try: kube_a_long"
