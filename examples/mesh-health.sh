#!/bin/bash
# A node health check for the hosts of a Slurm job, before the job's own work: put this at the start of a batch script, or call it
# from there. It drains the hosts that are bad as a whole, if it may, and fails so that the job is requeued or ends:
#
#   mesh-health.sh [OPTION...]

set -u
report=$(mktemp)
status=0
rdma-client mesh --quick --suggest-drain "$@" >"$report" || status=$?
grep '^bad: ' "$report" >&2
# scontrol refuses users who are not operators.
grep '^scontrol update ' "$report" | sh
rm -f "$report"
exit $status
