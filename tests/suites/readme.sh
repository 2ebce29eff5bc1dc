#!/bin/bash
# readme.sh -- the commands and the first program of README.md work as they
# stand there.
. "$(dirname "$0")/../sdk/lib.sh"
. "$(dirname "$0")/../sdk/js/install.sh"
sdk_need python3
export RUNNEL_DEV PYTHONDONTWRITEBYTECODE=1 NODE_PATH=$kit/node_modules
timeout -k 5 300 python3 -u tests/docs/readme.py
