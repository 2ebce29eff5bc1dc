# find_bug.sh -- for tests that switch faults on by name and must see them found.
#
#   find BUG SEEDS [FIRST]    runs the program $1 with that fault, from the seed
#                             FIRST or 1 on; "none" must not fail
sim=$1
number=0
failed=0

find()
{
    number=$((number + 1))
    said=$("$sim" --bug "$1" --seeds "$2" --seconds 60 \
        --first "${3:-1}" 2>&1)
    status=$?
    seed=$(echo "$said" | sed -n 's/^\(seed [0-9].*\)/\1/p' | head -n 1)
    if [ "$1" = none ] && [ $status -eq 0 ]; then
        echo "ok $number - $1"
    elif [ "$1" != none ] && [ $status -eq 1 ] && [ -n "$seed" ]; then
        echo "ok $number - $1 # $seed"
    else
        echo "not ok $number - $1 # exit status $status"
        echo "$said"
        failed=1
    fi
}
