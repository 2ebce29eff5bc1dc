#!/bin/bash
# tools.sh -- the command-line tools, end to end against a real server.
#
# Both programs have sanitizers, but with RUNNEL_PROVE, which takes a million
# documents there and back and keeps fleets under kills for minutes.
# RUNNEL_TEST_CASE chooses cases by name, RUNNEL_TEST_FILE one file of tests/tools
# (items: test_items.py).
set -u
cd "$(dirname "$0")/../.." || exit 1
RUNNEL_DEV=${RUNNEL_DEV:-$PWD/build/dev/runnel}
if [ -n "${RUNNEL_PROVE:-}" ]; then
    RUNNEL_DEV=${RUNNEL:-$PWD/build/release/runnel}
fi
export RUNNEL_DEV PYTHONDONTWRITEBYTECODE=1
if [ ! -x "$RUNNEL_DEV" ] || [ ! -x "${RUNNEL_DEV%/*}/runnel-tools" ]; then
    echo "needs $RUNNEL_DEV and runnel-tools beside it"
    exit 77
fi
if ! command -v python3 >/dev/null; then
    echo 'skipped: no python3'
    exit 77
fi
timeout -k 5 "${RUNNEL_PROVE:+8}600" python3 -u tests/tools/main.py
