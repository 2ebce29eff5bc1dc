#!/bin/bash
# auth.sh -- rights: tests/rest/matrix.py, on the sanitized program.
# About 30 s.
cd "$(dirname "$0")/../.." || exit 1
export RUNNEL_DEV=${RUNNEL_DEV:-$PWD/build/dev/runnel} PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
exec timeout 600 python3 tests/rest/main.py matrix
