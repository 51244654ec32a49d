#!/bin/bash
# Drains a node that cannot use RDMA, before a job starts there. In slurm.conf, as the prolog, as the health check, or both:
#
#   Prolog=/etc/slurm/slurm-prolog.sh
#   HealthCheckProgram=/etc/slurm/slurm-prolog.sh
#   HealthCheckInterval=300
#
# Slurm runs it as root and without a PATH. It checks this node only: that an RDMA device is there, has an active port and
# permissions, and that its connection manager answers. No other host takes part, so no other host's fault drains this one. Options of
# 'rdma-client diagnose', such as --device mlx5_0, may follow in a script that calls this one.
#
# The exit status is
#   1  if the diagnosis says that RDMA is broken or impaired here: the node is drained with the cause as its reason, unless it is drained
#      already, and Slurm requeues the job;
#   0  if this node is ready, and also if that is unknown: the program is missing, was called wrongly, failed or did not end in time.
#      Then the node is left alone, with a line on standard error.
# It ends within RDMA_LIMIT + 25 seconds, whatever hangs.

set -u
export PATH=${RDMA_PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
limit=${RDMA_LIMIT:-20} # seconds; a diagnosis ends within 15
node=${SLURMD_NODENAME:-$(hostname -s)}

leave_alone() {
	echo "$node is not drained: $1" >&2
	exit 0
}

folder=$(mktemp -d) || leave_alone 'cannot create a temporary directory'
trap 'rm -rf "$folder"' EXIT

# In the background, because even 'timeout' waits for a process that hangs in its driver.
exec {status_of}< <(
	exec 2>/dev/null
	timeout -k 1 "$limit" \
		rdma-client diagnose --quiet --json "$@" </dev/null >"$folder/report" 2>"$folder/errors"
	echo $?
)
status=
read -r -t $((limit + 3)) -u "$status_of" status
case $status in
0) exit 0 ;; # ready
'' | 124 | 137) leave_alone "the diagnosis did not end within $limit seconds" ;;
126 | 127) leave_alone "cannot run rdma-client: $(head -n 1 "$folder/errors")" ;;
esac
# The verdict and the side of the failure are in the first members of the document.
report=$(head -c 4096 "$folder/report")
report=${report%%'"checks"'*}
case $report in
*'"verdict":"broken"'*'"side":"this host"'* | *'"verdict":"impaired"'*'"side":"this host"'*) ;;
*) leave_alone "the diagnosis ended with status $status: $(head -n 1 "$folder/errors")" ;;
esac
reason=$(head -n 1 "$folder/errors")
reason=${reason#rdma-client: }
case $(timeout -k 1 10 scontrol --oneliner show node "$node") in
*' State='*DRAIN*) ;; # an operator's reason stays
*)
	timeout -k 1 10 scontrol update nodename="$node" state=drain reason="RDMA: ${reason:0:200}" ||
		echo "cannot drain $node" >&2
	;;
esac
echo "RDMA fails at $node: $reason" >&2
exit 1
