#!/bin/bash
# feed.sh -- the change feed over the wire, request by request.
. "$(dirname "$0")/../sdk/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

sdk_begin feed
sdk_need python3
sources=$root/tests/feed
sdk_start
timeout 60 python3 -u "$sources/stop.py" "$endpoint" "$server" &&
    wait "$server"
sdk_report $? 'a server that stops answers those who wait'
sdk_run python3 -u "$sources/main.py"
