#!/bin/bash
# files.sh -- fails if ARCHITECTURE.md and src/ do not know the same files and locks.
#
# Every .c file below src/ is named in the table "file of `DIR/`" of its module or of
# its part of a module (`client/http/`), as its path without the ending or as a
# pattern.  Every file that a table names, or the text names as DIR/NAME, exists.
# Every mutex of src/, but for the command-line tools, is in a table "lock | guards",
# by its struct or by its file.
cd "$(dirname "$0")/.." || exit 1
bad=0

# The tables, as lines "DIR NAME".
tables=$(awk '
    /^\| file of `[a-z]+(\/[a-z_]+)?\/` / {
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

while read -r file; do
    grep -qxF "$file" <<<"$known" && continue
    echo "$file: not in a table of ARCHITECTURE.md"
    bad=1
done < <(find src -name '*.c' | sort)

dirs=$(printf '%s|' src/*/ | sed 's/src\///g; s/\///g; s/|$//')
while IFS=/ read -r dir name; do
    # src/tools and the scripts of tools/ share a name.
    if [ -n "$name" ] && [ -z "$(named "$dir" "$name")" ] &&
        ! compgen -G "$dir/$name.*" >/dev/null; then
        echo "ARCHITECTURE.md: there is no $dir/$name"
        bad=1
    fi
done < <(grep -oE "(^|[ (\`])($dirs)(/[a-z0-9_*]+)+(\.[ch])?" ARCHITECTURE.md |
    sed 's/^[ (`]//' | sort -u)

locks=$(awk '/^\|.*lock \| guards/ { on = 1 } !/^\|/ { on = 0 } on' ARCHITECTURE.md)
while IFS=: read -r file tag; do
    grep -qF -e "struct ${tag:-?}\`" -e "${file##*/}" <<<"$locks" && continue
    echo "$file: its lock is in no table of ARCHITECTURE.md"
    bad=1
done < <(find src -path src/tools -prune -o -name '*.[ch]' -print | sort | xargs awk '
    FNR == 1 || /^\}/ { tag = "" }
    /^struct [a-z_0-9]+ \{/ { tag = $2 }
    /^ +(static )?pthread_mutex_t [a-z]+( |;)/ { print FILENAME ":" tag }')
exit $bad
