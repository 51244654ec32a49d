#!/usr/bin/env bats
# Addresses on interfaces above that of the RDMA device: bridges, bonds, VLANs, macvlans, ipvlans, and
# network namespaces as containers have them. tests/two-hosts/stacks.bats shows which of them carry
# packets between hosts; packets within this host need no interface.

load common
load diagnose

# A second device, on plain1. The tests make an interface above it, which has the address.
setup() {
	prepare
	modprobe -a dummy bridge bonding team macvlan ipvlan 8021q veth vxlan
	ip link add plain1 type dummy
	undo clear_all
	ip link set plain1 up
}

clear_all() {
	local link
	rdma link delete second1 2>/dev/null || true
	for link in above2 above1 plain1; do
		ip link delete $link 2>/dev/null || true
	done
}

# device_on INTERFACE: makes the device second1.
device_on() {
	rdma link add second1 type "${VM_DEVICE%0}" netdev "$1"
	wait_until grep -q ACTIVE /sys/class/infiniband/second1/ports/1/state
}

# has_address INTERFACE: gives it 10.99.0.1. A soft-RoCE device then has a GID for it.
has_address() {
	ip address add 10.99.0.1/24 dev "$1"
	ip link set "$1" up
	iwarp || wait_until has_gid
}
has_gid() { grep -q '0000:ffff:0a63:0001' /sys/class/infiniband/second1/ports/1/gids/*; }

# Software iWARP of Linux 6.1 serves an interface with the MAC address of its own, and needs the address
# given; that of Linux 6.12 serves a VLAN only.
# loses STACK: a diagnosis names the stack as the fault, and a server warns of it or cannot listen.
loses() {
	! iwarp_above || { carries "$1"; return; }
	expect 3 client --device second1 diagnose
	check_failed 'this host' 'the RDMA device does not serve this address' 'this host'
	has "$OUT" "^ *seen: 10.99.0.1 on $1 (second1)\$"
	if iwarp; then
		expect 3 client diagnose 10.99.0.5
		check_failed route 'the route to this address uses a network interface without an RDMA device' 'this host'
		has "$OUT" "seen: the route uses $1;"
		expect 3 "$PAIR_BIN/rdma-server" any --device second1 --bind 10.99.0.1
		has "$ERR" 'cannot listen on 10.99.0.1: '
		return
	fi
	count "$OUT" "^ *10.99.0.1 on $1 (second1)\$" 1
	start_server --device second1 --bind 10.99.0.1
	has "$ERRORS" "does not serve this address.*(10.99.0.1 on $1 (second1))"
	stop_server
}

# What a server on all addresses says about 10.99.0.1: software iWARP would not serve it.
warns_of() { # STACK
	start_server any
	if iwarp_above; then
		has "$ERRORS" "10.99.0.1 on $1 (second1) is not served without --bind 10.99.0.1"
	else
		has_not "$ERRORS" 'is not served'
	fi
	stop_server
}

# Within this host, soft-RoCE works nevertheless, and a diagnosis names no fault.
reaches_itself() {
	! iwarp || iwarp_above || return 0
	expect 0 client --device second1 diagnose 10.99.0.1
}

# carries STACK: a diagnosis shows the stack in one line, and names no fault.
carries() {
	expect 0 client --device second1 diagnose
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	count "$OUT" "^ *10.99.0.1 on $1 (second1)\$" 1
}

@test "a device below the interface of its address" {
	local kind
	device_on plain1
	ip link add above1 type bridge
	ip link set plain1 master above1
	has_address above1
	loses 'above1 (bridge) over plain1 (dummy)'
	warns_of 'above1 (bridge) over plain1 (dummy)'
	reaches_itself
	if ! iwarp || iwarp_above; then
		client --device second1 diagnose --json >"$DIR/json" || true
		has "$DIR/json" '"stack":\[{"interface":"above1","kind":"bridge","mac":"[0-9a-f:]*"},{"interface":"plain1","kind":"dummy","mac":"[0-9a-f:]*"}\]'
		has "$DIR/json" "\"carries\":\"$(iwarp && echo "with the device's MAC address" || echo no)\""
	fi
	ip link delete above1
	ip link add above1 type bond mode active-backup
	ip link set plain1 down
	ip link set plain1 master above1
	has_address above1
	loses 'above1 (bond) over plain1 (dummy)'
	reaches_itself
	ip link delete above1
	ip link set plain1 up
	for kind in macvlan ipvlan; do
		# It has another MAC address than the device.
		! iwarp || [ $kind = ipvlan ] || continue
		ip link add link plain1 name above1 type $kind
		has_address above1
		loses "above1 ($kind) over plain1 (dummy)"
		reaches_itself
		ip link delete above1
	done
	if ! iwarp; then
		ip link add above1 type vxlan id 5 dev plain1 dstport 4789
		has_address above1
		loses 'above1 (vxlan) over plain1 (dummy)'
		reaches_itself
		ip link delete above1
		ip link add above1 type team
		ip link set plain1 down
		ip link set plain1 master above1
		has_address above1
		loses 'above1 (team) over plain1 (dummy)'
		ip link delete above1
		ip link set plain1 up
	fi
	ip link add link plain1 name above1 type vlan id 5
	has_address above1
	carries 'above1 (vlan) over plain1 (dummy)'
	# A bridge of a VLAN, as for virtual machines.
	ip address flush dev above1
	ip link add above2 type bridge
	ip link set above1 master above2
	has_address above2
	loses 'above2 (bridge) over above1 (vlan) over plain1 (dummy)'
}

@test "a device on the interface of its address has no stack to show" {
	device_on plain1
	has_address plain1
	expect 0 client --device second1 diagnose
	has_not "$OUT" ' on plain1'
	ip address flush dev plain1
	ip link set plain1 down
	rdma link delete second1
	ip link add above1 type bridge
	ip link set plain1 master above1
	ip link set plain1 up
	ip link set above1 up
	device_on above1
	has_address above1
	expect 0 client --device second1 diagnose
	has_not "$OUT" ' on above1'
}

# bats test_tags=roce
@test "softroce up chooses the interface that receives the packets, and says so" {
	ip link add above1 type bridge
	ip link set plain1 master above1
	ip link add link above1 name above1.5 type vlan id 5
	expect 0 scripts/softroce up plain1
	has "$OUT" '^plain1 belongs to the bridge above1, which receives its packets: using above1$'
	has "$OUT" '^created rxe1 on above1$'
	expect 0 scripts/softroce up above1.5
	has "$OUT" '^above1.5 is a VLAN, which the device on above1 serves: using above1$'
	has "$OUT" '^rxe1 on above1 already exists$'
	expect 0 scripts/softroce down
	has "$OUT" '^removed rxe1$'
	modprobe vrf
	ip link add blue type vrf table 10
	undo ip link delete blue
	ip link set plain1 master blue
	expect 1 scripts/softroce up plain1
	has "$ERR" '^softroce: plain1 belongs to the VRF blue, where soft-RoCE receives nothing$'
	ip netns add apart
	undo ip netns delete apart
	ip link add plain2 netns apart type dummy
	expect 1 ip netns exec apart scripts/softroce up plain2
	has "$ERR" '^softroce: soft-RoCE receives nothing in this network namespace; run this in the first one$'
	[ ! -e /sys/class/infiniband/rxe1 ]
}

# pod_with CONTROLLER: makes the control group "pod".
pod_with() {
	mount -t cgroup2 none /sys/fs/cgroup
	undo umount /sys/fs/cgroup
	echo "+$1" >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/pod
	undo wait_until rmdir /sys/fs/cgroup/pod
}

# as_pod COMMAND...: runs it in the control group "pod".
as_pod() { bash -c 'echo $$ >/sys/fs/cgroup/pod/cgroup.procs && exec "$@"' - "$@"; }

@test "a control group limits RDMA resources" {
	local limit cause='a control group of this process limits its RDMA resources'
	pod_with rdma
	start_server any
	# No handle, nothing, and too few objects: for the protection domain, the completion queue, the queue
	# pair, and the memory regions.
	for limit in 'hca_handle=0 hca_object=max' 'hca_handle=max hca_object=0' 'hca_handle=max hca_object=1' \
		'hca_handle=max hca_object=2' 'hca_handle=max hca_object=3' 'hca_handle=max hca_object=5'; do
		echo "$VM_DEVICE $limit" >/sys/fs/cgroup/pod/rdma.max
		expect 1 as_pod timeout 100 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
		one_line "$ERR"
		has "$ERR" "$cause (control group /pod, rdma.max: $VM_DEVICE $limit); raise rdma.max"
		diagnose_as 1 as_pod timeout 100 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
		check_failed connection "$cause" 'this host'
	done
	# Enough. Software iWARP registers memory for what the peer may read apart.
	limit=$(iwarp && echo 8 || echo 7)
	echo "$VM_DEVICE hca_handle=1 hca_object=$limit" >/sys/fs/cgroup/pod/rdma.max
	expect 0 as_pod timeout 100 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	diagnose_as 0 as_pod timeout 100 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "a control group limits the number of threads" {
	pod_with pids
	start_server any
	echo 2 >/sys/fs/cgroup/pod/pids.max
	expect 1 as_pod "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	has "$ERR" 'cannot start the CQ thread: Resource temporarily unavailable (control group /pod, pids.max: 2)'
	echo 20 >/sys/fs/cgroup/pod/pids.max
	expect 0 as_pod "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	stop_server
}

# A container with Docker's default network: its eth0 has the name of the device's interface.
@test "a veth in a network namespace, with the name of the device's interface" {
	ip netns add pod
	undo ip netns delete pod
	ip link add plain2 type veth peer name "$VM_INTERFACE" netns pod
	undo ip link delete plain2
	ip link set plain2 up
	ip -n pod address add 10.98.0.2/24 dev "$VM_INTERFACE"
	ip -n pod link set "$VM_INTERFACE" up
	ip address add 10.98.0.1/24 dev plain2
	wait_until ip netns exec pod ping -c 1 -W 1 10.98.0.1
	diagnose_as 3 ip netns exec pod "$PAIR_BIN/rdma-client" diagnose
	check_failed 'this host' "the RDMA device's network interface is in another network namespace" 'this host'
	diagnose_as 3 ip netns exec pod "$PAIR_BIN/rdma-client" diagnose 10.98.0.1
	check_failed 'this host' "the RDMA device's network interface is in another network namespace" 'this host'
	expect 3 ip netns exec pod timeout 100 "$PAIR_BIN/rdma-client" write 10.98.0.1 7471
	has "$ERR" "cannot reach .*: the route to this address uses a network interface without an RDMA device (the route uses $VM_INTERFACE (veth); RDMA addresses of this host: none)"
	diagnose 0
}

hooked() { timeout 100 "$PAIR_BUILD/tests/one-host/hooked-client" "$@"; }

# The route disappears after the path was resolved. Software iWARP reports the error of the route itself,
# soft-RoCE of Linux 6.12 nothing.
@test "a connection request that cannot be sent is this host's fault" {
	device_on plain1
	has_address plain1
	ip address add fd99::1/64 dev plain1 nodad
	undo ip -6 route delete prohibit fd99::2
	export BEFORE_CONNECT='ip -6 route add prohibit fd99::2'
	wait_until ping -6 -c 1 -W 1 fd99::1
	expect 3 hooked write fd99::2 7471
	if iwarp; then
		has "$ERR" 'cannot reach .*: a prohibit route on this host blocks this address'
	elif [[ $(uname -r) != 6.1.* ]]; then
		has "$ERR" 'no reply to the RDMA connection request arrived (no answer within 10 s; packets to the peer that left this host: 0'
	else
		has "$ERR" 'this host could not send the connection request (its kernel reported ETIMEDOUT after [0-9]* ms, too soon for a reply)'
	fi
}

# Keeps all processors busy for some seconds, with a priority below that of the client and above that of
# the kernel's threads. It ends as soon as it does.
# shellcheck disable=SC2016 # for the shell that runs it
STARVE='mkfifo "$DIR/starved"
	exec 3<>"$DIR/starved"
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		taskset -c $cpu chrt -f 10 bash -c "echo >&3
			end=\$((SECONDS + 6)); while [ \$SECONDS -lt \$end ]; do :; done" &
	done
	for ((cpu = 0; cpu < $(nproc); cpu++)); do read -r _ <&3; done'

set_file() { echo "$2" >"$1"; }

# bats test_tags=slow
@test "a kernel without a processor for its work is this host's fault" {
	local runtime step cause server
	runtime=$(cat /proc/sys/kernel/sched_rt_runtime_us)
	undo sysctl -q kernel.sched_rt_runtime_us="$runtime"
	sysctl -q kernel.sched_rt_runtime_us=-1
	# Linux 6.12 reserves a share of each processor for others.
	mount -t debugfs none /sys/kernel/debug
	undo umount /sys/kernel/debug
	for server in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
		[ -e "$server" ] || continue
		undo set_file "$server" "$(<"$server")"
		echo 0 >"$server"
	done
	export DIR
	echo "$STARVE" >"$DIR/starve"
	start_server any
	for step in ADDRESS ROUTE; do
		cause='this host is too busy: on Ethernet'
		[ $step = ROUTE ] || cause='this host is too busy: its kernel did not finish resolving the address'
		rm -f "$DIR/starved"
		expect 3 env "BEFORE_$step=exec bash \"\$DIR/starve\"" chrt -f 20 timeout 100 \
			"$PAIR_BUILD/tests/one-host/hooked-client" --timeout 3 write "$ADDRESS" "$PORT"
		has "$ERR" "$cause"
	done
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
}

# without_sys COMMAND...: runs it where /sys is not mounted, as in a chroot.
without_sys() { unshare -m bash -c 'umount -l /sys && exec "$@"' - "$@"; }

@test "without /sys, a diagnosis finds the device, and names no fault" {
	start_server any
	expect 0 without_sys timeout 100 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	diagnose_as 0 without_sys timeout 100 "$PAIR_BIN/rdma-client" diagnose
	has "$OUT" '^ *rdma_cm usable, /sys is not mounted'
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	diagnose_as 0 without_sys timeout 100 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^verdict: RDMA works within this host'
	stop_server
}
