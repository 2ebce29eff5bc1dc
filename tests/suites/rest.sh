#!/bin/bash
# rest.sh -- the REST dialect on the wire, where no SDK asks for it.
#
# Each case starts servers of its own (the sanitized program) and ends them,
# which must be with status 0 and without a word of a sanitizer.
cd "$(dirname "$0")/../.." || exit 1
export RUNNEL_DEV=${RUNNEL_DEV:-$PWD/build/dev/runnel} PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
exec timeout 600 python3 tests/rest/main.py sessions charges
