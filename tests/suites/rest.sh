#!/bin/bash
# rest.sh -- the REST dialect on the wire, where no SDK asks for it.
#
# Each case starts servers of its own (the sanitized program, but for the one
# that makes ten thousand containers) and ends them, which must be with status 0
# and without a word of a sanitizer.  About 50 s.
cd "$(dirname "$0")/../.." || exit 1
export RUNNEL=${RUNNEL:-$PWD/build/release/runnel} PYTHONDONTWRITEBYTECODE=1
export RUNNEL_DEV=${RUNNEL_DEV:-$PWD/build/dev/runnel}
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
exec timeout 600 python3 tests/rest/main.py sessions tokens charges many samples \
    objects keyless headers definitions evil refused claims kinds strict \
    hybrid binary generated mutated
