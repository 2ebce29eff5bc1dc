#!/bin/bash
# chaos.sh -- fleets of librunnel's processor, killed, paused and resized while
# ranges split and merge: no change is skipped and the order of each key holds.
#
#   RUNNEL_SEED    which run; 1 unless given
#   RUNNEL_PROVE   10 minutes and 100 kills instead of 90 s and 20
. "$(dirname "$0")/../sdk/lib.sh"
export PYTHONDONTWRITEBYTECODE=1
sdk_begin chaos
sdk_need python3
program=${RUNNEL_DEV%/*}/tests/processor_program
[ -x "$program" ] || sdk_skip "there is no $program"

sdk_start
python3 -u "$root/tests/fleet/main.py" "$endpoint" "$program" chaos
sdk_report $? 'the fleets come to their end'
sdk_stop
sdk_finish
