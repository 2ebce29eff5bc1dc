#!/bin/bash
# lint.sh -- clang-tidy over src/, by the compile commands of build/lint.
#
#   tools/lint.sh [FILE...]     all of src/ unless files are named
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
case ${1:-} in
-*)
    sed -n '2,4s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
cmake --preset lint >/dev/null || exit 1

# A process per file: clang-tidy 14 carries the analyzer's state of va_lists
# from one file to the next.  What it says of suppressed warnings is noise.
files=("$@")
if [ $# -eq 0 ]; then mapfile -t files < <(find src -name '*.c' | sort); fi
printf '%s\0' "${files[@]}" |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet 2>&1 |
    { grep -vE '^[0-9]+ warnings? generated' || true; }
