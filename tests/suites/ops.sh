#!/bin/bash
# ops.sh -- the server as its operator meets it: control routes, keys, TLS, logs.
#
# The cases are in tests/ops, one file for each; they talk to servers of their
# own over sockets.
set -u
cd "$(dirname "$0")/../.." || exit 1
export RUNNEL_DEV=${RUNNEL_DEV:-$PWD/build/dev/runnel}
export PYTHONDONTWRITEBYTECODE=1
if [ ! -x "$RUNNEL_DEV" ] || ! command -v python3 >/dev/null; then
    echo "needs $RUNNEL_DEV and python3"
    exit 77
fi
failed=0
for file in tests/ops/*.py; do
    case $file in */lib.py) continue ;; esac
    timeout -k 5 300 python3 "$file" || failed=1
done
exit $failed
