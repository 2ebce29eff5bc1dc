#!/bin/bash
# run.sh -- lets Spin look at every state of the models, and at the models with
# a mistake in them, which it must find.
#
#   models/run.sh [wait|split|lease]
#
# Prints "ok NAME" or "not ok NAME" for each; about 45 s of one core.  A model
# that is right passes only if Spin has seen all of it: neither memory, depth
# nor time came to an end.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
only=${1:-}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# explore MODEL DEFINES...: what pan says, in the file `said`
explore()
{
    local model=$1

    shift
    rm -f pan* said
    spin -a "$@" "$here/$model.pml" >said 2>&1 &&
        gcc -w -O1 -DSAFETY -DNOFAIR -DMEMLIM=2000 -o pan pan.c >>said 2>&1 &&
        timeout -k 5 "${RUNNEL_LIMIT:-300}" ./pan -w22 -m20000 >>said 2>&1
}

tell()
{
    if [ "$1" = yes ]; then
        echo "ok $2"
        return
    fi
    echo "not ok $2"
    tail -n 20 said
    failed=1
}

# right NAME MODEL DEFINES...
right()
{
    local name=$1 is=no

    shift
    [ -z "$only" ] || [ "$only" = "$1" ] || return
    if explore "$@" && grep -q 'errors: 0$' said &&
        ! grep -qE 'too small|not completed|out of memory' said; then
        is=yes
    fi
    tell $is "$name"
    awk '/states, stored/ { states = $1 }
        /elapsed time/ { seconds = $4 }
        END { print "  " states " states, " seconds " s" }' said
}

# wrong NAME MODEL BUG DEFINES...: an assertion fails, or all stand still
wrong()
{
    local name=$1 model=$2 bug=$3 is=no

    shift 3
    [ -z "$only" ] || [ "$only" = "$model" ] || return
    explore "$model" "-DBUG=$bug" "$@"
    if grep -q 'errors: 1$' said &&
        grep -qE 'pan:1: (assertion violated|invalid end state)' said; then
        is=yes
    fi
    tell $is "$name"
}

right 'waiting readers miss no change and are answered once' wait
right 'three of them do not, either' wait -DREADERS=3 -DCALM
right 'nor when their range is split' wait -DCALM -DSPLIT
wrong 'found: the snapshot is taken before the reader says that it looks' wait 1
wrong 'found: it parks without asking what moved meanwhile' wait 2
wrong 'found: readers are woken before the commit is visible' wait 3
wrong 'found: the time-out wakes whom a commit wakes, too' wait 4
wrong 'found: a reader that is not parked is woken when its client goes' wait 5
wrong 'found: 304 tells the LSN of now, not the one looked at' wait 6
wrong 'found: the end wakes all before it forbids to park' wait 7
wrong 'found: the writer looks for readers before its commit' wait 8 -DCALM
wrong 'found: the first deadline does not wake the clock' wait 9
wrong 'found: readers of all ranges are forgotten' wait 10 -DCALM
wrong 'found: only the first in a bucket is woken' wait 11 -DREADERS=3 -DCALM
wrong 'found: a split wakes nobody' wait 12 -DCALM -DSPLIT

right 'readers of intervals get each change once through splits and merges' \
    split
right 'a reader of everything misses none' split -DREADER=2
wrong 'found: a child begins below its parent' split 1
wrong 'found: the feeds of ancestors are not read' split 2
wrong 'found: an entry gets a new LSN when it is brought home' split 3
wrong 'found: a merged range begins above one parent only' split 4
wrong 'found: a split moves tokens to the end' split 5
wrong 'found: the newest dead range is emptied first' split 6 -DREADER=2
wrong 'found: a queued write goes to the range that it saw' split 7
wrong 'found: two entries get one place' split 8 -DREADER=2
wrong 'found: a page ends in the middle of an LSN' split 9 -DREADER=2
wrong 'found: a range is called empty after one slice' split 10 -DREADER=2
wrong 'found: of two merged places the later is taken' split 11 -DREADER=2

right 'hosts that take a lease from one another skip no change and leave no hole' \
    lease
if [ -n "${RUNNEL_PROVE:-}" ]; then
    right 'nor when there are more changes' lease -DWRITES=2
fi
wrong 'found: a position is stored when its batch is delivered' lease 1
wrong 'found: children begin where the parent had read to' lease 2
wrong 'found: the parent is deleted before its children exist' lease 5
wrong 'found: only the name of the owner is compared' lease 7
wrong 'found: a renewal sends its old body with the fresh etag' lease 8 -DTAKES=1
wrong 'found: children are deleted again when the parent was lost' lease 13
wrong 'found: leases are deleted because larger ones cover them' lease 14
exit $failed
