#!/bin/bash
# feed.sh -- the change feed over the wire, request by request.
. "$(dirname "$0")/../sdk/lib.sh"

sdk_begin feed
sdk_need python3
sources=$root/tests/feed
PYTHONDONTWRITEBYTECODE=1 sdk_run python3 -u "$sources/main.py"
