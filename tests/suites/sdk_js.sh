#!/bin/bash
# sdk_js.sh -- the published JavaScript client works against the server.
. "$(dirname "$0")/../sdk/lib.sh"

. "$(dirname "$0")/../sdk/js/install.sh"
NODE_PATH=$kit/node_modules sdk_run node "$sources/main.js"
