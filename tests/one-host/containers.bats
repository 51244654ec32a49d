#!/usr/bin/env bats
# The programs in containers of systemd-nspawn, which have namespaces for processes, mounts and names, few
# devices and capabilities, and 8 MiB of locked memory: each thing that docs/containers.md lists is left out
# in turn. Docker, Podman and Kubernetes set up the same things.

load common
load diagnose

setup() {
	command -v systemd-nspawn >/dev/null || skip 'systemd-nspawn is not installed'
	prepare
	mkdir -p /run/box
	mount --bind / /run/box
	undo umount /run/box
	mount -t cgroup2 none /sys/fs/cgroup
	undo umount /sys/fs/cgroup
	echo '+rdma +pids' >/sys/fs/cgroup/cgroup.subtree_control
	mkdir -p /sys/fs/cgroup/box
	undo wait_until remove_groups
}

# nspawn makes groups for its payload below the container's.
remove_groups() { find /sys/fs/cgroup/box -depth -type d -exec rmdir {} +; }

DEVICES=(--bind=/dev/infiniband)

# boxed OPTION... -- COMMAND...: runs it in a container.
boxed() {
	bash -c 'echo $$ >/sys/fs/cgroup/box/cgroup.procs && exec "$@"' - timeout 200 systemd-nspawn --quiet --pipe \
		--register=no --keep-unit --link-journal=no --directory=/run/box --as-pid2 --chdir="$PWD" \
		--bind-ro="$PWD" "$@" </dev/null
}

# finds CAUSE OPTION...: a diagnosis in a container names this cause as the fault of this host.
finds() {
	local cause=$1
	shift
	diagnose_as 3 boxed "$@" -- "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	check_failed 'this host' "$cause" 'this host'
}

@test "a container needs the device files, locked memory, and the network of the device" {
	start_server any
	# With what it needs.
	diagnose_as 0 boxed "${DEVICES[@]}" -- "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	clean
	expect 0 boxed "${DEVICES[@]}" -- "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	# In a user namespace.
	diagnose_as 0 boxed "${DEVICES[@]}" --private-users=identity -- "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	# One thing left out in turn.
	finds "the RDMA connection manager's device file is missing"
	finds "the RDMA device's uverbs file is missing" --bind=/dev/infiniband/rdma_cm
	finds 'the locked-memory limit is too low for a queue pair' "${DEVICES[@]}" --rlimit=MEMLOCK=32768
	finds "the RDMA device's network interface is in another network namespace" "${DEVICES[@]}" --private-network
	stop_server
}

@test "a container's control group limits handles, objects and threads" {
	# The container does not see this group, only the one that nspawn makes below it.
	local cause='the kernel refuses this process another RDMA resource'
	start_server any
	echo "$VM_DEVICE hca_handle=1 hca_object=3" >/sys/fs/cgroup/box/rdma.max
	diagnose_as 1 boxed "${DEVICES[@]}" -- "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	check_failed connection "$cause" 'this host'
	expect 1 boxed "${DEVICES[@]}" -- "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	has "$ERR" "$cause"
	echo "$VM_DEVICE hca_handle=max hca_object=max" >/sys/fs/cgroup/box/rdma.max
	expect 0 boxed "${DEVICES[@]}" -- "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	stop_server
}

# Only adapters can be moved into a container.
@test "a container without the device, in exclusive mode" {
	start_server any
	rdma system set netns exclusive
	undo wait_until rdma system set netns shared
	finds 'this network namespace has no RDMA device, and none is shared' "${DEVICES[@]}" --private-network
	undo_all
	stop_server
}
