#!/bin/bash
# ledger.sh -- holds docs/compatibility.md against the tests that ran.
#
#   tools/ledger.sh LEDGER RESULTS
#
# A row is "| id | behaviour | yes, part or no | tests |".  Fails if a row that
# is marked yes or part names no test, or one that did not run and pass; if an
# id comes twice; or if a mark is none of the three.  A row whose test was
# skipped is not false, but this run does not show it: such rows are counted.
set -u
export LC_ALL=C
[ $# -eq 2 ] || { echo 'usage: tools/ledger.sh LEDGER RESULTS' >&2; exit 2; }

exec awk '
    function trim(s) { gsub(/^[ \t`]+|[ \t`]+$/, "", s); return s }
    function complain(text) {
        printf "%s:%d: %s: %s\n", FILENAME, FNR, id, text
        bad = 1
    }

    FNR == 1 { file++ }

    file == 1 && $1 == "fail" { failed[$2] = 1 }
    file == 1 && $1 == "pass" { passed[$2] = 1 }
    file == 1 && $1 == "skip" { skipped[$2] = 1 }

    file == 2 && /^\| / {
        gsub(/\\\|/, "\001") # a bar within a cell
        n = split($0, cell, "|")
        id = trim(cell[2]); mark = trim(cell[4])
        if (id == "id" || id ~ /^-+$/)
            next
        if (n != 6) { complain("a row has four cells"); next }
        if (id in seen) complain("this id stands twice")
        seen[id] = 1
        if (mark !~ /^(yes|part|no)$/) {
            complain("marked \"" mark "\", which is not yes, part or no")
            next
        }
        count[mark]++
        if (mark == "no")
            next
        tests = trim(cell[5])
        if (tests == "") complain("marked " mark " and names no test")
        # a name may have a comma, but no blank
        many = split(tests, test, /[ \t]*,[ \t]+/)
        hidden = 0
        for (i = 1; i <= many; i++) {
            name = trim(test[i])
            whole = name
            sub(/\/.*/, "", whole)
            if (failed[name])
                complain("marked " mark ", but " name " failed")
            else if (!passed[name] && (skipped[name] || skipped[whole]))
                hidden = 1
            else if (!passed[name])
                complain("marked " mark ", but " name " did not run")
        }
        unseen += hidden
    }

    END {
        rows = count["yes"] + count["part"] + count["no"]
        if (rows == 0) { # an empty file of results is no first file
            print "the ledger has no rows or there are no results"
            exit 1
        }
        printf "ledger: %d rows, %d yes, %d not yet (%d in part)\n", rows,
            count["yes"], rows - count["yes"], count["part"]
        if (unseen)
            printf "ledger: %d rows are not shown here: " \
                "a test of theirs was skipped\n", unseen
        exit bad
    }' "$2" "$1"
