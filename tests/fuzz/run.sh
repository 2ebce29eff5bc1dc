#!/bin/bash
# run.sh PROGRAM -- a fuzz target for a bounded count, from seeds made here.
#
# The same inputs each time, by a fixed seed, fixed addresses where they may be
# had, and a corpus that is read once: read each second, as is usual, it would
# let the clock choose.  A crash, a leak or a broken promise fails, and leaves
# the input in the current directory.  RUNNEL_PROVE makes it a long run.
set -u
here=$(dirname "$(readlink -f "$0")")
program=$1
name=$(basename "$program" _fuzz)
runs=100000
seconds=60
if [ -n "${RUNNEL_PROVE:-}" ]; then
    runs=50000000
    seconds=1800
fi
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
export PYTHONDONTWRITEBYTECODE=1

case $name in
http) "$here/evil_seeds.py" 3 "$corpus" "$here"/../evil/framing/*.txt ;;
chunked) "$here/evil_seeds.py" 2 "$corpus" "$here"/../evil/framing/*.txt ;;
json) "$here/seed_json.sh" "$corpus" ;;
*) "$here/seeds.py" "$name" "$corpus" ;;
esac || exit 1
seeds=$(find "$corpus" -type f | wc -l)
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"
if ! $fixed "$program" -seed=1 -reload=0 -runs=$runs -max_total_time=$seconds \
    -timeout=25 -max_len=4096 -print_final_stats=1 "$corpus" \
    >"$corpus.log" 2>&1; then
    tail -n 60 "$corpus.log"
    rm -f "$corpus.log"
    exit 1
fi
echo "$name: $seeds seeds, $(sed -n \
    's/^stat::number_of_executed_units: *//p' "$corpus.log") runs," \
    "$(sed -n 's/^#[0-9]*.*DONE *\(cov: [0-9]*\).*/\1/p' "$corpus.log")"
rm -f "$corpus.log"
