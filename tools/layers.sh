#!/bin/sh
# layers.sh -- fails if a file under src/ includes a module its own may not see,
# or a part of its own module that its part may not see.
cd "$(dirname "$0")/.." || exit 1
grep -rHn --include='*.[ch]' -E '^#include "[a-z]+/' src |
awk -F: '
    BEGIN {
        while ((getline line < "tools/layers.txt") > 0) {
            if (line ~ /^#/ || line !~ /:/) continue
            split(line, half, ":")
            n = split(half[2], dep, " ")
            may[half[1], half[1]] = 1
            part = half[1]
            sub(/\/.*/, "/", part)
            if (part !~ /\//) part = ""
            else may[half[1], half[1]] = parted[part] = 1
            for (i = 1; i <= n; i++) may[half[1], part dep[i]] = 1
        }
    }
    {
        split($1, path, "/"); split($3, inc, /["\/]/)
        if (!((path[2], inc[2]) in may)) {
            print $1 ":" $2 ": " path[2] " may not include " inc[2]; bad = 1
        }
        from = path[2] "/" path[3]; to = inc[2] "/" inc[3]
        if (path[2] == inc[2] && (path[2] "/") in parted &&
            !((from, to) in may)) {
            print $1 ":" $2 ": " from " may not include " to; bad = 1
        }
    }
    END { exit bad }'
