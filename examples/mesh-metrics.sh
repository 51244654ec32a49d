#!/bin/bash
# Measures all pairs of a cluster and leaves the figures for the textfile collector of prometheus-node-exporter, for example once a
# night by cron or a systemd timer:
#
#   mesh-metrics.sh 'h[1-64]' [OPTION...]
#
# The exit status is that of the mesh: 0 if nothing is bad.

set -eu
hosts=$1
shift
folder=${TEXTFILE_FOLDER:-/var/lib/prometheus/node-exporter}
exec rdma-client mesh --hosts "$hosts" --quick --quiet --metrics "$folder/rdma-mesh.prom" "$@"
