#!/bin/bash
# feed.sh -- the change feed over the wire, request by request.
. "$(dirname "$0")/../sdk/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

sdk_begin feed
sdk_stranger=no
sdk_need python3
sources=$root/tests/feed
sdk_start
timeout 60 python3 -u "$sources/stop.py" "$endpoint" "$server" &&
    wait "$server"
sdk_report $? 'a server that stops answers readers that wait'

sdk_options=(--enforce-throughput)
sdk_start "$work/throttled"
timeout 60 python3 -u "$sources/throttled.py" "$endpoint"
sdk_report $? 'the throttled part of the tests comes to its end'
sdk_stop
sdk_options=()

mkdir "$work/earlier" &&
    tar -xzf "$root/tests/golden/feed-1.tar.gz" -C "$work/earlier"
sdk_start "$work/earlier"
sdk_phase earlier python3 -u "$sources/main.py"
sdk_stop

sdk_run python3 -u "$sources/main.py"
