#!/bin/bash
# Diagnoses RDMA between this host and an rdma-server, and leaves the verdict and the rates for the textfile collector of
# prometheus-node-exporter, for example every ten minutes by cron or a systemd timer:
#
#   diagnose-metrics.sh PEER [PORT] [OPTION...]
#
# The exit status is that of the diagnosis: 0 if nothing is broken. A run that fails leaves its verdict, too; alert on
#
#   rdma_diagnose_verdict{verdict="broken"} == 1 or time() - rdma_diagnose_end_timestamp_seconds > 1800

set -eu
folder=${TEXTFILE_FOLDER:-/var/lib/prometheus/node-exporter}
exec timeout -k 1 60 \
	rdma-client diagnose --quiet --metrics "$folder/rdma-diagnose.prom" "$@"
