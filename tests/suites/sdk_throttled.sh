#!/bin/bash
# sdk_throttled.sh -- a server that enforces throughput, and a published client
# that waits as long as its answer says.
. "$(dirname "$0")/../sdk/lib.sh"
. "$(dirname "$0")/../sdk/js/install.sh"
sdk_options=(--enforce-throughput)
NODE_PATH=$kit/node_modules sdk_run_once throttled node "$sources/main.js"
