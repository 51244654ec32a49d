#!/usr/bin/env bats
# Addresses on interfaces above that of the RDMA device: bridges, bonds, VLANs, macvlans, ipvlans, and
# network namespaces as containers have them. tests/two-hosts/stacks.bats shows which of them carry
# packets between hosts; packets within this host need no interface.

load common
load diagnose

# A second device, on plain1. The tests make an interface above it, which has the address.
setup() {
	prepare
	modprobe -a dummy bridge bonding macvlan ipvlan 8021q veth
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

# Software iWARP serves an interface with the MAC address of its own, and needs the address given.
# loses STACK: a diagnosis names the stack as the fault, and a server warns of it.
loses() {
	! iwarp || { carries "$1"; return; }
	expect 3 client --device second1 diagnose
	check_failed 'this host' 'the RDMA device does not receive the packets for this address' 'this host'
	has "$OUT" "^ *seen: 10.99.0.1 on $1 (second1)\$"
	count "$OUT" "^ *10.99.0.1 on $1 (second1)\$" 1
	start_server --device second1 --bind 10.99.0.1
	has "$ERRORS" "does not receive the packets for this address.*(10.99.0.1 on $1 (second1))"
	stop_server
}

# Within this host, RDMA works nevertheless, and a diagnosis names no fault.
reaches_itself() {
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
	reaches_itself
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

# as_pod COMMAND...: runs it in the control group "pod".
as_pod() { bash -c 'echo $$ >/sys/fs/cgroup/pod/cgroup.procs && exec "$@"' - "$@"; }

@test "a control group limits RDMA resources" {
	local limit cause='a control group of this process limits its RDMA resources'
	mount -t cgroup2 none /sys/fs/cgroup
	undo umount /sys/fs/cgroup
	echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/pod
	undo wait_until rmdir /sys/fs/cgroup/pod
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
	# Enough.
	echo "$VM_DEVICE hca_handle=1 hca_object=7" >/sys/fs/cgroup/pod/rdma.max
	expect 0 as_pod timeout 100 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	diagnose_as 0 as_pod timeout 100 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
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
	has "$OUT" '^verdict: RDMA works between the two hosts'
	stop_server
}
