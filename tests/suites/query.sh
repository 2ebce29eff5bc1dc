#!/bin/bash
# query.sh -- queries over HTTP as no SDK shows them: headers, tokens, costs.
. "$(dirname "$0")/../sdk/lib.sh"

sdk_begin raw
sdk_stranger=no
sdk_need python3

# The switch wants a server of its own.
sdk_options=(--any-order)
sdk_start
PYTHONDONTWRITEBYTECODE=1 sdk_phase lenient python3 -u "$sources/main.py"
kill -TERM "$server"
wait "$server"
rm -rf "$work/data"
sdk_options=()
PYTHONDONTWRITEBYTECODE=1 sdk_run python3 -u "$sources/main.py"
