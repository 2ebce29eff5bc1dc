#!/bin/sh
# seed_json.sh DIRECTORY -- tests/json/cases.txt as a corpus for json_fuzz.
set -e
mkdir -p "$1"
n=0
grep -v '^#' "$(dirname "$0")/../json/cases.txt" | cut -f3 |
while IFS= read -r line; do
    n=$((n + 1))
    text=$(printf '%s' "$line" |
           sed 's/\\/\\\\/g; s/%\(..\)/\\x\1/g')
    /usr/bin/printf "@%b" "$text" > "$1/case-$n"
done
