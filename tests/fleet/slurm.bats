#!/usr/bin/env bats
# rdma-client mesh in a job of a real Slurm, with slurmctld at host 1 and slurmd at all hosts.

load common

setup_file() {
	local host
	{ command -v slurmctld && command -v munged && command -v srun; } >/dev/null || skip 'slurm-wlm or munge is not installed'
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# shellcheck disable=SC2029 # the paths are the same at all guests
		ssh "host$host" "'$PWD/tests/fleet/start-slurm' $VM_HOSTS '$(readlink -f "$PAIR_BIN")'" >&2
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

# remove_device HOST: its RDMA device, until the test ends; then the node is put back into service.
remove_device() {
	undo scontrol update nodename="$1" state=resume
	undo ssh "$1" 'rdma link add rxe0 type rxe netdev eth0'
	ssh "$1" 'rdma link delete rxe0'
}

# put_program HOST LINE: a script with this line takes the place of rdma-client for the prolog of the host; "": no program does.
put_program() {
	undo ssh "$1" 'rm -r /etc/slurm/bin'
	# shellcheck disable=SC2029 # the line is known here
	ssh "$1" "mkdir /etc/slurm/bin && [ -z '$2' ] || { printf '#!/bin/sh\n%s\n' '$2' >/etc/slurm/bin/rdma-client && chmod +x /etc/slurm/bin/rdma-client; }"
}

reason_of() { sinfo -h -n "$1" -o %E; }
is_drained() { [[ $(sinfo -h -n "$1" -o %T) == drain* ]]; }
is_idle() { [ "$(sinfo -h -n "$1" -o %T)" = idle ]; }
# shellcheck disable=SC2029 # the words are known here
prolog_said() { ssh "$1" "grep -q '$2' /run/prolog.log"; }

@test "the prolog drains a node that cannot use RDMA, with the reason, and no other" {
	remove_device host2
	timeout 60 sbatch --parsable --nodes="$VM_HOSTS" --output="$DIR/job.out" --wrap 'srun hostname' >"$DIR/job"
	wait_until is_drained host2
	[ "$(reason_of host2)" = 'RDMA: RDMA does not work: this host has no RDMA device; look at this host.' ] || fail "$(reason_of host2)"
	run is_drained host1
	[ "$status" -ne 0 ]
	scancel "$(cat "$DIR/job")"
	# An operator's reason stays.
	scontrol update nodename=host2 state=drain reason=mine
	expect 1 timeout 60 ssh host2 "SLURMD_NODENAME=host2 /etc/slurm/prolog"
	[ "$(reason_of host2)" = mine ]
}

@test "the prolog leaves a node alone if it cannot tell, and keeps no job waiting" {
	put_program host2 ''
	timeout 90 srun --nodes="$VM_HOSTS" --immediate=60 true
	prolog_said host2 'host2 is not drained: cannot run rdma-client'
	undo_all
	put_program host2 'trap : TERM; while :; do sleep 1; done'
	MARK=$SECONDS
	timeout 90 srun --nodes="$VM_HOSTS" --immediate=60 true
	[ $((SECONDS - MARK)) -lt 60 ]
	prolog_said host2 'host2 is not drained: the diagnosis did not end within 10 seconds'
	wait_until is_idle host2
}

@test "the health check of a job drains the host that cannot use RDMA" {
	remove_device host2
	put_program host2 'exit 1' # the prolog cannot tell
	local status=0
	PATH=$(readlink -f "$PAIR_BIN"):$PATH sbatch --wait --nodes="$VM_HOSTS" --output="$DIR/job.out" \
		"$PWD/examples/mesh-health.sh" --duration 0.3 --size 16K --concurrency 1 || status=$?
	[ $status -eq 1 ]
	has "$DIR/job.out" '^bad: host2 was not tested: cannot use RDMA: '
	wait_until is_drained host2
	[[ $(reason_of host2) == 'host2 was not tested: '* ]]
}
