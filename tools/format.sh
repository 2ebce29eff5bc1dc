#!/bin/bash
# format.sh -- lays out the C sources by .clang-format.
#
#   tools/format.sh            rewrites the files
#   tools/format.sh --check    changes nothing; status 1 if it would
#
# Versions of clang-format disagree in details.  14 is ours; --check with any
# other is skipped (status 77).
set -u
cd "$(dirname "$0")/.." || exit 1

format=$(command -v clang-format-14 || command -v clang-format) || {
    echo 'clang-format is not installed (tools/deps.sh test)' >&2
    exit 2
}
how=(-i)
if [ "${1:-}" = --check ]; then
    how=(--dry-run -Werror)
    version=$("$format" --version | sed 's/.*version \([0-9]*\).*/\1/')
    if [ "$version" != 14 ]; then
        echo "clang-format is version $version; only 14 is checked"
        exit 77
    fi
fi

dirs=()
for dir in src include tests bench examples; do
    if [ -d "$dir" ]; then dirs+=("$dir"); fi
done
find "${dirs[@]}" -name node_modules -prune -o -type f -name '*.[ch]' -print0 |
    xargs -0 -r "$format" --style=file "${how[@]}"
