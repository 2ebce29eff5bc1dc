# check.sh -- sourced by the shell tests here: a scratch directory and TAP.
#
#   check NAME COMMAND...    "ok NAME" if the command succeeds, else "not ok"
#                            and what it printed
#   done_checking            the plan, and the exit status
set -u
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checked=0
failed=0

check()
{
    local name=$1 said

    shift
    checked=$((checked + 1))
    if said=$("$@" 2>&1); then
        echo "ok $checked - $name"
    else
        echo "not ok $checked - $name"
        sed 's/^/# /' <<<"$said"
        failed=$((failed + 1))
    fi
}

# says STATUS PATTERN COMMAND...: the command ends so, and prints a line like
# that (an extended regular expression; empty: anything).
says()
{
    local status=$1 pattern=$2 said got

    shift 2
    said=$("$@" 2>&1)
    got=$?
    if [ "$got" -ne "$status" ]; then
        echo "exit status $got, not $status, and said:"
        echo "$said"
        return 1
    fi
    if [ -n "$pattern" ] && ! grep -qE -- "$pattern" <<<"$said"; then
        echo "no line like '$pattern' in:"
        echo "$said"
        return 1
    fi
}

done_checking()
{
    echo "1..$checked"
    exit $((failed > 0))
}
