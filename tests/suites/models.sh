#!/bin/bash
# models.sh -- the models of the change feed and of its leases (models/), in every
# state, and with seeded mistakes that must be found.  About 45 s of one core,
# more with RUNNEL_PROVE.
cd "$(dirname "$0")/../.." || exit 1
for tool in spin gcc; do
    if ! command -v $tool >/dev/null; then
        echo "skipped: there is no $tool"
        exit 77
    fi
done
exec models/run.sh
