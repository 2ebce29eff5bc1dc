#!/bin/bash
# lint.sh -- clang-tidy over src/, by the compile commands of build/lint.
#
#   tools/lint.sh                    all of src/: six minutes on two cores
#   tools/lint.sh --since-release    the files that changed since the newest tag
#                                    vX.Y.Z, and those that include a changed
#                                    header; all of src/ where there is no tag
#   tools/lint.sh FILE...
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Files of src/ that differ from that commit, or are not known to git.
changed_since()
{
    git diff --name-only --diff-filter=d "$1" -- src include &&
        git ls-files --others --exclude-standard -- src include
}

# A header is checked in the files that name it.
with_users()
{
    local file

    while read -r file; do
        case $file in
        *.c) echo "$file" ;;
        *.h)
            file=${file#src/}
            grep -rlF --include='*.c' -e "\"$file\"" -e "<${file#include/}>" src
            ;;
        esac
    done | sort -u
}

all=0
case ${1:-} in
--since-release)
    if tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
        list=$(changed_since "$tag") || exit 1
        mapfile -t files < <(with_users <<<"$list")
        echo "clang-tidy: ${#files[@]} files that changed since $tag concern"
    else
        all=1
    fi
    ;;
-*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
'') all=1 ;;
*) files=("$@") ;;
esac
if [ $all -eq 1 ]; then
    mapfile -t files < <(find src -name '*.c' | sort)
    echo "clang-tidy: all ${#files[@]} files of src"
fi
if [ ${#files[@]} -eq 0 ]; then exit 0; fi
cmake --preset lint >/dev/null || exit 1

# One command for each file: those of librunnel are compiled twice, and clang-tidy
# would check them twice.
database=build/lint/tidy
mkdir -p "$database" || exit 1
awk '
    /^{/ { entry = ""; inside = 1 }
    /^ *"file":/ { file = $0 }
    inside { entry = entry (entry == "" ? "" : "\n") $0 }
    /^}/ {
        inside = 0
        sub(/,$/, "", entry)
        if (!seen[file]++) {
            printf "%s%s", n++ ? ",\n" : "[\n", entry
        }
    }
    END { print "\n]" }' build/lint/compile_commands.json \
    >"$database/compile_commands.json" || exit 1

# A process per file: clang-tidy 14 carries the analyzer's state of va_lists
# from one file to the next.  What it says of suppressed warnings is noise.
printf '%s\0' "${files[@]}" |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy -p "$database" --quiet 2>&1 |
    { grep -vE '^[0-9]+ warnings? generated' || true; }
