#!/bin/bash
# files.sh -- fails if ARCHITECTURE.md and src/ do not know the same files.
#
# Every src/*/*.c is named in the table "file of `DIR/`" of its directory, as its
# name without the ending or a pattern, and so is every file of a part of a module
# that has such a table (`client/http/`); and whatever a table names, or the text
# as DIR/NAME, is there.
cd "$(dirname "$0")/.." || exit 1
bad=0

# The tables, as lines "DIR NAME".
tables=$(awk '
    /^\| file of `[a-z]+(\/[a-z]+)?\/` / {
        split($0, part, "`")
        dir = part[2]
        sub(/\/$/, "", dir)
        next
    }
    !/^\|/ { dir = "" }
    dir && /^\| `/ {
        split($0, cell, "|")
        while (match(cell[2], /`[^`]+`/)) {
            print dir, substr(cell[2], RSTART + 1, RLENGTH - 2)
            cell[2] = substr(cell[2], RSTART + RLENGTH)
        }
    }' ARCHITECTURE.md)

# named DIR NAME: what that means, a line each; nothing if it is not there.
named()
{
    local pattern=src/$1/$2

    case $2 in
    *.[ch]) compgen -G "$pattern" ;;
    *)
        compgen -G "$pattern.c" || compgen -G "$pattern.h" ||
            { [ -d "$pattern" ] && echo "$pattern"; }
        ;;
    esac
}

known=$(while read -r dir name; do
    if [ -n "$dir" ]; then named "$dir" "$name"; fi
done <<<"$tables")

while read -r dir name; do
    if [ -n "$dir" ] && [ -z "$(named "$dir" "$name")" ]; then
        echo "ARCHITECTURE.md: there is no src/$dir/$name"
        bad=1
    fi
done <<<"$tables"

parts=$(awk '$1 ~ /\// { print "src/" $1 "/*.c" }' <<<"$tables" | sort -u)
# shellcheck disable=SC2086
for file in src/*/*.c $parts; do
    grep -qxF "$file" <<<"$known" && continue
    echo "$file: not in the table of its directory in ARCHITECTURE.md"
    bad=1
done

dirs=$(printf '%s|' src/*/ | sed 's/src\///g; s/\///g; s/|$//')
while IFS=/ read -r dir name; do
    if [ -n "$name" ] && [ -z "$(named "$dir" "$name")" ]; then
        echo "ARCHITECTURE.md: there is no $dir/$name"
        bad=1
    fi
done < <(grep -oE "(^|[ (\`])($dirs)/[a-z0-9_*]+(\.[ch])?" ARCHITECTURE.md |
    sed 's/^[ (`]//' | sort -u)
exit $bad
