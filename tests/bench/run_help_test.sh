#!/usr/bin/env bash
# Every script that is called run says at --help what it does, in the words that it begins with, and does nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
for script in bench/*/run fuzz/run .ci/run; do
  said=$("$script" --help </dev/null 2>&1) || { echo "$script --help fails: $said" >&2; exit 1; }
  [ "$(head -n 1 <<<"$said")" = "$(sed -n '2s/^# //p' "$script")" ] || { echo "$script --help says: $said" >&2; exit 1; }
  [[ $script != bench/* ]] || grep -q "$script" <<<"$said" || { echo "$script --help does not say how to call it: $said" >&2; exit 1; }
done
