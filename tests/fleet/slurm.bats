#!/usr/bin/env bats
# rdma-client mesh in a job of a real Slurm, with slurmctld at host 1 and slurmd at all hosts.

load common

setup_file() {
	local host
	{ command -v slurmctld && command -v munged && command -v srun; } >/dev/null || skip 'slurm-wlm or munge is not installed'
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# shellcheck disable=SC2029 # the paths are the same at all guests
		ssh "host$host" "'$PWD/tests/fleet/start-slurm' $VM_HOSTS" >&2
	done
	local end=$((SECONDS + 60))
	until [ "$(sinfo -h -t idle -o %D)" = "$VM_HOSTS" ]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}

@test "the batch script of examples/ measures the hosts of its job through srun" {
	cd "$DIR" || return
	PATH=$(readlink -f "$OLDPWD/$PAIR_BIN"):$PATH sbatch --wait --nodes="$VM_HOSTS" --output="$DIR/job.out" \
		"$OLDPWD/examples/mesh.sbatch" || true
	cd "$OLDPWD" || return
	jq -s -e --argjson hosts "$VM_HOSTS" '.[-1] | .via == "srun" and .hosts == $hosts and .failed == 0 and .not_measured == 0 and
		.healthy + .slow == $hosts * ($hosts - 1)' "$DIR"/mesh-*.json >/dev/null
	tests/validate-report "$DIR"/mesh-*.json
	grep -q '<table class=map' "$DIR"/mesh-*.html
	tail -n 1 "$DIR/job.out" | grep -q 'directions are healthy'
	mesh --via ssh --json >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	diff <(shape "$DIR"/mesh-*.json) <(shape "$OUT")
}

@test "a job that is cancelled leaves nothing" {
	PATH=$(readlink -f "$PAIR_BIN"):$PATH sbatch --nodes="$VM_HOSTS" --output="$DIR/job.out" --parsable \
		--wrap 'exec rdma-client mesh' >"$DIR/job"
	wait_until grep -q latency "$DIR/job.out"
	scancel "$(cat "$DIR/job")"
}
