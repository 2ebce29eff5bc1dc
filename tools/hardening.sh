#!/bin/bash
# hardening.sh -- is a program built as a server on a network should be?
#
#   tools/hardening.sh PROGRAM
#
# Looks into the program itself, not at the flags it was meant to get.  Status
# 77 if there is no such program.
set -u
export LC_ALL=C
program=${1:?usage: tools/hardening.sh PROGRAM}
if [ ! -e "$program" ]; then
    echo "$program is not built"
    exit 77
fi
bad=0

must()
{
    if ! grep -qE "$2" <<<"$3"; then
        echo "$program: $1"
        bad=1
    fi
}

must_not()
{
    if grep -qE "$2" <<<"$3"; then
        echo "$program: $1"
        bad=1
    fi
}

header=$(readelf -hW "$program") || exit 1
segments=$(readelf -lW "$program")
dynamic=$(readelf -dW "$program")
symbols=$(readelf -W --dyn-syms "$program")
stack=$(grep GNU_STACK <<<"$segments")

must 'not a position independent executable' 'Type:[[:space:]]+DYN' "$header"
must 'no interpreter: a library, not a program' ' INTERP ' "$segments"
must 'no RELRO segment' ' GNU_RELRO ' "$segments"
must 'symbols are bound lazily' 'BIND_NOW|FLAGS_1.*NOW' "$dynamic"
must 'no GNU_STACK segment' 'GNU_STACK' "$stack"
must_not 'the stack is executable' 'RWE' "$stack"
must_not 'a segment is writable and executable' 'LOAD .*RWE' "$segments"
must 'no stack protector' '__stack_chk_fail' "$symbols"
must 'no fortified library calls' '__[a-z]+_chk(@| |$)' "$symbols"
must 'asserts are compiled out' '__assert_fail' "$symbols"
must_not 'built with a sanitizer' '__(asan|tsan|ubsan)_' "$symbols"
exit $bad
