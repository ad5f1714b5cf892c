# Sourced by bench/*/run, which sets `targets`: answers --help with the words that the script begins with, or else builds the
# targets and goes to the top of the tree. shellcheck shell=bash
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/../.."
scripts/setup tests
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -DPLIMSOLL_TESTS=ON >/dev/null
cmake --build --preset release --target "${targets[@]}" >/dev/null
