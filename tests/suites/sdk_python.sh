#!/bin/bash
# sdk_python.sh -- the published Python client works against the server.
. "$(dirname "$0")/../sdk/lib.sh"

# What is there is not fetched again.
install()
{
    cmp -s "$sources/requirements.txt" "$kit/installed" && return
    timeout 300 python3 -m venv --clear "$kit" &&
        timeout 400 "$kit/bin/pip" install -r "$sources/requirements.txt" &&
        cp "$sources/requirements.txt" "$kit/installed"
}

sdk_begin python
sdk_need python3
sdk_install install
# It does not look at the certificates of localhost and 127.0.0.1.
sdk_secure=127.0.0.2
PYTHONDONTWRITEBYTECODE=1 sdk_run "$kit/bin/python" -u "$sources/main.py"
