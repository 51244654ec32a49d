#!/usr/bin/env bats
# An address of this host on an interface above that of the RDMA device, and a peer on the other host.

load common
load ../one-host/diagnose

# The interfaces that a test makes; the address moves back to the interface of the device.
setup() {
	prepare
	FAR=$(mktemp -d "$VM_SHARED/test.XXXXXX")
	MTU=$(cat "/sys/class/net/$VM_INTERFACE/mtu")
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	modprobe -a bridge bonding macvlan ipvlan 8021q
}

unstack() {
	ip link delete above1 2>/dev/null || true
	ip link set "$VM_INTERFACE" nomaster
	ip address flush dev "$VM_INTERFACE" scope global
	ip link set "$VM_INTERFACE" mtu "$MTU" up
	ip address replace "$VM_ADDRESS/24" dev "$VM_INTERFACE"
	ip address replace "$VM_ADDRESS6/64" dev "$VM_INTERFACE" nodad
	device_on "$VM_INTERFACE"
}

unstack_far() { on_host1 'ip link delete above1'; }

# device_on INTERFACE: makes the device anew, with a GID for the address.
device_on() {
	rdma link delete "$VM_DEVICE" 2>/dev/null || true
	rdma link add "$VM_DEVICE" type "${VM_DEVICE%0}" netdev "$1"
	wait_until grep -q ACTIVE "/sys/class/infiniband/$VM_DEVICE/ports/1/state"
	iwarp || wait_until has_gid
}
has_gid() {
	local bytes
	IFS=. read -ra bytes <<<"$VM_ADDRESS"
	grep -q "$(printf '0000:ffff:%02x%02x:%02x%02x' "${bytes[@]}")" "/sys/class/infiniband/$VM_DEVICE/ports/1/gids/"*
}

# stack KIND: puts above1 above the interface of the device, with its address.
stack() {
	ip address flush dev "$VM_INTERFACE" scope global
	case $1 in
	bridge)
		ip link add above1 type bridge
		ip link set "$VM_INTERFACE" master above1
		;;
	bond)
		ip link add above1 type bond mode active-backup miimon 100
		ip link set "$VM_INTERFACE" down
		ip link set "$VM_INTERFACE" master above1
		;;
	macvlan) ip link add link "$VM_INTERFACE" name above1 type macvlan mode bridge ;;
	ipvlan) ip link add link "$VM_INTERFACE" name above1 type ipvlan mode l2 ;;
	esac
	ip link set above1 mtu "$MTU" up
	ip address add "$VM_ADDRESS/24" dev above1
	wait_until ping -c 1 -W 1 "$HOST1"
}

LOSES='the RDMA device does not serve this address'

# below KIND: the device is below above1, which has the address. Soft-RoCE does not receive the replies.
# Software iWARP of Linux 6.1 does, because above1 has the MAC address of its interface; that of Linux 6.12
# is not used for this address.
below() {
	device_on "$VM_INTERFACE"
	if iwarp_above; then
		expect 0 client write "$HOST1" "$PORT"
		diagnose 0 --verbose "$HOST1" "$PORT"
		clean
		has "$OUT" "^ *$VM_ADDRESS.* on above1 ($1) over $VM_INTERFACE ($VM_DEVICE)\$"
		return
	fi
	expect 3 client --timeout 4 write "$HOST1" "$PORT"
	if iwarp; then
		has "$ERR" "network interface without an RDMA device (the route uses above1 ($1) over $VM_INTERFACE;"
		diagnose 3 "$HOST1" "$PORT"
		check_failed route 'the route to this address uses a network interface without an RDMA device' 'this host'
		has "$OUT" "^ *seen: the route uses above1 ($1) over $VM_INTERFACE;"
	else
		has "$ERR" "$LOSES.*($VM_ADDRESS on above1 ($1) over $VM_INTERFACE ($VM_DEVICE))"
		diagnose 3 "$HOST1" "$PORT"
		check_failed connection "$LOSES" 'this host'
	fi
	diagnose 3
	check_failed 'this host' "$LOSES" 'this host'
}

# serves KIND: the same of a server of this host, with a client on the other one. Without --bind, software
# iWARP serves only the address of the device's own interface.
serves() {
	local PORT # of this host's server
	iwarp_above || return 0
	start_server any
	has "$ERRORS" "$VM_ADDRESS on above1 ($1) over $VM_INTERFACE ($VM_DEVICE) is not served without --bind $VM_ADDRESS"
	! on_host1 "timeout 100 $PAIR_BIN/rdma-client write $VM_ADDRESS $PORT" >"$DIR/far" 2>&1
	has "$DIR/far" 'nothing is listening on this port'
	stop_server
	start_server any --bind "$VM_ADDRESS"
	on_host1 "timeout 100 $PAIR_BIN/rdma-client write $VM_ADDRESS $PORT"
	stop_server
}

# on_top: the advice, a device on above1.
on_top() {
	device_on above1
	expect 0 client write "$HOST1" "$PORT"
	diagnose 0 "$HOST1" "$PORT"
	clean
	has_not "$OUT" ') over '
}

# bats test_tags=slow
@test "the device below a bridge, bond, macvlan or ipvlan with this host's address, and on it" {
	local kind
	undo unstack
	start_far_server any
	for kind in bridge bond macvlan ipvlan; do
		stack $kind
		if iwarp && [ $kind = macvlan ]; then
			on_top
		else
			below $kind
			serves $kind
			on_top
		fi
		unstack
	done
	stop_on_host1 server
}

# The device of the interface below a VLAN carries its packets. Software iWARP's server accepts them only
# if it is bound to the address.
@test "the device below a VLAN with this host's address" {
	undo unstack
	undo unstack_far
	on_host1 "modprobe 8021q; ip link add link $VM_INTERFACE name above1 type vlan id 5
		ip address add 10.75.0.1/24 dev above1; ip link set above1 up"
	start_far_server any --bind 10.75.0.1
	ip link add link "$VM_INTERFACE" name above1 type vlan id 5
	ip address add 10.75.0.2/24 dev above1
	ip link set above1 up
	wait_until ping -c 1 -W 1 10.75.0.1
	expect 0 client write 10.75.0.1 "$PORT"
	diagnose 0 --verbose 10.75.0.1 "$PORT"
	clean
	has "$OUT" "^ *10.75.0.2 on above1 (vlan) over $VM_INTERFACE ($VM_DEVICE)\$"
	stop_on_host1 server
}

# A router or the other host's firewall may report this; it is no fault of this host. Soft-RoCE, which
# uses UDP, ignores it.
@test "a firewall of the other host that answers: the side is unknown" {
	local far6
	iwarp || skip 'over software iWARP only'
	read -r far6 _ <<<"$VM_ADDRESSES6"
	start_far_server any
	on_host1 "modprobe -a nf_tables nft_reject_inet nft_reject_ipv6 2>/dev/null
		nft add table inet far
		nft 'add chain inet far in { type filter hook input priority 0; }'
		nft add rule inet far in tcp dport $PORT meta nfproto ipv6 reject with icmpv6 type admin-prohibited"
	undo on_host1 'nft delete table inet far'
	expect 3 client write "[$far6]" "$PORT"
	has "$ERR" 'cannot connect to .*: Permission denied'
	diagnose 3 "$far6" "$PORT"
	check_failed connection 'Permission denied' 'this host, the other host or the path between them'
	stop_on_host1 server
}

# The interface disappears with the namespace, a moment later.
delete_pod() {
	ip -n pod link delete above1 2>/dev/null || true
	ip netns delete pod 2>/dev/null || true
}

# In a network namespace, as of a container, with the device in that of the host.
@test "an address in another network namespace than the device" {
	local kind mode in_pod=(ip netns exec pod)
	# After this, soft-RoCE of Linux 6.1 receives nothing until its device is made anew.
	undo unstack
	undo delete_pod
	start_far_server any
	for kind in macvlan ipvlan; do
		mode=l2
		[ $kind = ipvlan ] || mode=bridge
		ip netns add pod
		ip link add link "$VM_INTERFACE" name above1 type $kind mode $mode
		ip link set above1 netns pod
		ip -n pod address add "${VM_ADDRESS%.*}.22/24" dev above1
		ip -n pod link set above1 up
		wait_until "${in_pod[@]}" ping -c 1 -W 1 "$HOST1"
		if ! iwarp; then
			expect 3 "${in_pod[@]}" "$PAIR_BIN/rdma-client" write "$HOST1" "$PORT"
			has "$ERR" 'cannot connect to .*: soft-RoCE receives nothing in this network namespace'
			diagnose_as 3 "${in_pod[@]}" "$PAIR_BIN/rdma-client" diagnose "$HOST1" "$PORT"
			check_failed 'this host' 'soft-RoCE receives nothing in this network namespace' 'this host'
			has "$OUT" "GID .*, $VM_INTERFACE of another network namespace\$"
		elif iwarp_above && [ $kind = ipvlan ]; then
			expect 0 "${in_pod[@]}" "$PAIR_BIN/rdma-client" write "$HOST1" "$PORT"
			diagnose_as 0 "${in_pod[@]}" "$PAIR_BIN/rdma-client" diagnose "$HOST1" "$PORT"
			clean
		else
			diagnose_as 3 "${in_pod[@]}" "$PAIR_BIN/rdma-client" diagnose "$HOST1" "$PORT"
			check_failed 'this host' "the RDMA device's network interface is in another network namespace" 'this host'
		fi
		delete_pod
	done
	stop_on_host1 server
}
