#!/bin/bash
# ledger_rules.sh -- tools/ledger.sh believes a row only if its tests passed.
#
# One ledger of a few rows against one list of results; each case changes a row.
. "$(dirname "$0")/check.sh"

results=$scratch/results.txt
ledger=$scratch/ledger.md
cat >"$results" <<'EOF'
pass store.local
pass store.local/it_holds
pass store.local/1,000_come,_and_go
fail store.local/it_breaks
skip store.pg
pass twice
fail twice
EOF

# row MARK TESTS, beside a row that is fine
hold()
{
    printf '%s\n' '# Title' '| id | behaviour | state | tests |' \
        '|---|---|---|---|' \
        '| A1 | a thing | yes | `store.local`, `store.local/it_holds` |' \
        "$1" >"$ledger"
    "$root/tools/ledger.sh" "$ledger" "$results"
}

check 'a row whose tests passed is believed' \
    says 0 '^ledger: 2 rows, 2 yes, 0 not yet' \
    hold '| A2 | more | yes | `store.local` |'
check 'rows that are not yet are counted' \
    says 0 '^ledger: 2 rows, 1 yes, 1 not yet \(0 in part\)$' \
    hold '| A2 | more | no | |'
check 'a part is not yet the whole' \
    says 0 '^ledger: 2 rows, 1 yes, 1 not yet \(1 in part\)$' \
    hold '| A2 | more | part | `store.local` |'
check 'a test that did not run does not count' \
    says 1 ':5: A2: marked yes, but store.remote did not run$' \
    hold '| A2 | more | yes | `store.local`, `store.remote` |'
check 'a test that failed does not count' \
    says 1 ':5: A2: marked yes, but store.local/it_breaks failed$' \
    hold '| A2 | more | yes | `store.local/it_breaks` |'
check 'a row whose test was skipped is not false, but not shown' \
    says 0 '^ledger: 1 rows are not shown here' \
    hold '| A2 | more | yes | `store.pg` |'
check 'the same holds for a case of a skipped test' \
    says 0 '^ledger: 1 rows are not shown here' \
    hold '| A2 | more | yes | `store.local`, `store.pg/it_holds` |'
check 'a failure beside a skipped test counts' \
    says 1 ':5: A2: marked yes, but store.local/it_breaks failed$' \
    hold '| A2 | more | yes | `store.pg`, `store.local/it_breaks` |'
check 'a test that passed once and failed once does not count' \
    says 1 ':5: A2: marked yes, but twice failed$' \
    hold '| A2 | more | yes | `twice` |'
check 'a part needs its tests as well' \
    says 1 ':5: A2: marked part, but store.remote did not run$' \
    hold '| A2 | more | part | `store.remote` |'
check 'yes without a test is refused' \
    says 1 ':5: A2: marked yes and names no test$' \
    hold '| A2 | more | yes | |'
check 'an unknown mark is refused' \
    says 1 ':5: A2: marked "maybe"' hold '| A2 | more | maybe | |'
check 'an id stands once' \
    says 1 ':5: A1: this id stands twice$' hold '| A1 | more | no | |'
check 'a row has its cells' \
    says 1 ':5: A2: a row has four cells$' hold '| A2 | more | no |'
check 'a bar may stand in a cell' \
    says 0 '2 rows, 2 yes' hold '| A2 | more \| less | yes | `store.local` |'
check 'a comma may stand in a name' \
    says 0 '2 rows, 2 yes' \
    hold '| A2 | more | yes | `store.local/1,000_come,_and_go`, `store.local` |'

: >"$results"
check 'without results nothing is believed' \
    says 1 'no results' hold '| A2 | more | no | |'
check 'the project ledger is well formed' \
    says 0 '' "$root/tools/ledger.sh" \
    <(sed 's/| yes |/| no |/; s/| part |/| no |/' \
        "$root/docs/compatibility.md") \
    <(echo 'pass x')

done_checking
