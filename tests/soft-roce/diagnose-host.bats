#!/usr/bin/env bats
# rdma-client diagnose: what is taken away from this host or laid in the way out of it, for each test,
# and given back.

load common
load diagnose

# A second device, on an interface that is up and has no address.
plain_up() {
	ip link add plain0 type dummy
	ip link set plain0 addrgenmode none
	ip address flush dev plain0
	ip link set plain0 up
	rdma link add rxe3 type rxe netdev plain0
	RESOURCES=$(resources)
}

plain_down() {
	rdma link delete rxe3
	ip link delete plain0
	RESOURCES=$(resources)
}

@test "the device's interface has no address, or a link-local one only" {
	plain_up
	local failed=0
	{
		diagnose 3 --device rxe3 &&
			broke 'this host' 'interface has no address of the kind needed' 'this host' &&
			has "$OUT" '^ *seen: port rxe3/1: network interface plain0 has no address$' &&
			ip address add fe80::77/64 dev plain0 nodad &&
			diagnose 3 --device rxe3 &&
			broke 'this host' 'interface has link-local IPv6 addresses only' 'this host' &&
			has "$OUT" '^ *seen: port rxe3/1 has only fe80::77%plain0$' &&
			ip address add 10.96.0.1/24 dev plain0 && diagnose 0 --device rxe3
	} || failed=1
	plain_down
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "the device's file for programs is missing" {
	local file failed=0
	file=$(echo /dev/infiniband/uverbs*)
	mv "$file" /dev/infiniband/away
	{
		diagnose 3 "$ADDRESS" 7471 &&
			broke 'this host' "the RDMA device's file for programs is missing" 'this host' &&
			has "$OUT" "^ *seen: $VM_DEVICE is there, $file is not\$"
	} || failed=1
	mv /dev/infiniband/away "$file"
	[ $failed -eq 0 ] || fail "$(said)"
	diagnose 0
}

@test "a network namespace that the device does not belong to" {
	rdma system set netns exclusive
	ip netns add bare
	local failed=0
	{
		diagnose_as 3 ip netns exec bare "$PAIR_BIN/rdma-client" diagnose &&
			broke 'this host' 'this network namespace has no RDMA device, and none is shared' \
				'this host' &&
			has "$OUT" '^ *seen: .*netns_mode of ib_core is exclusive$' && diagnose 0 &&
			says 3 'this network namespace has no RDMA device, and none is shared (.*exclusive)' \
				ip netns exec bare "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
	} || failed=1
	ip netns delete bare
	# The kernel has to have done with the namespace.
	wait_until rdma system set netns shared
	RESOURCES=$(resources)
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "a route that says that the address cannot be reached" {
	ip route add unreachable 10.92.0.0/24
	local failed=0
	{
		diagnose 3 10.92.0.1 7471 &&
			broke route 'the network says that this address cannot be reached' \
				'the other host, or the way to it' &&
			says 3 'the network says that this address cannot be reached' \
				client write 10.92.0.1 7471
	} || failed=1
	ip route delete unreachable 10.92.0.0/24
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "the interface on the way has no carrier" {
	ethernet_up
	ip -n far link set far0 down
	local failed=0
	{
		wait_until grep -q lowerlayerdown /sys/class/net/near0/operstate &&
			diagnose 3 10.95.0.2 7471 &&
			broke route 'the network interface on the way to that address is down' 'this host' &&
			has "$OUT" '^ *seen: through near0, which has no carrier$'
	} || failed=1
	ethernet_down
	[ $failed -eq 0 ] || fail "$(said)"
}
