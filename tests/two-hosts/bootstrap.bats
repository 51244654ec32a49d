#!/usr/bin/env bats
# Connections without rdmacm between two hosts: real packets, real neighbours and routes.

load common

setup() {
	prepare_hosts
	! iwarp || skip 'queue pairs of iWARP need rdmacm'
}

tcp_client() { client "$1" --bootstrap tcp "${@:2}"; }

@test "between two hosts, files there and back in each mode, measurements and a diagnosis over TCP" {
	local mode
	on_host1 "mkdir '$FAR/in'"
	start_far_server --bootstrap both --output "'$FAR/in/'" --input /etc/services any
	head -c 5000000 /dev/urandom >"$DIR/data"
	for mode in write read send; do
		expect 0 tcp_client $mode --input "$DIR/data" --output "$DIR/back" --force "$HOST1" "$PORT"
		cmp "$DIR/back" /etc/services
		[ "$(far_hash "$FAR/in/data")" = "$(xxhsum -H2 <"$DIR/data" | sed 's/ .*//')" ]
		on_host1 "rm '$FAR/in/data'"
	done
	expect 0 client bandwidth write --bootstrap tcp --duration 0.2 --verify "$HOST1" "$PORT"
	expect 0 tcp_client diagnose "$HOST1" "$PORT"
	has "$OUT" '^verdict: RDMA works between the two hosts: '
	has "$OUT" '^other way   ok      by rdmacm, too: '
}

@test "between two hosts, faults of the path are named" {
	start_far_server --bootstrap both any
	expect 3 tcp_client write 10.77.0.99 "$PORT"
	has "$ERR" 'no TCP connection to this port is possible (No route to host)'
	# A GID to which the server has no route through its RDMA port.
	ip link add apart type dummy
	undo ip link delete apart
	ip address add 10.98.0.1/24 dev apart
	ip link set apart up
	rdma link add apart type rxe netdev apart
	undo rdma link delete apart
	on_host1 'ip route add prohibit 10.98.0.0/24'
	expect 3 tcp_client write --device apart --gid-index "$(gid_index 10.98.0.1 apart)" "$HOST1" "$PORT"
	on_host1 'ip route delete prohibit 10.98.0.0/24'
	has "$ERR" "the server's routes to this host's GID do not use its RDMA port (here 10.98.0.1 (RoCE v2, index [0-9]*), there $HOST1 "
	# A GID whose address nobody answers for: the kernel gives up on the way to RTR.
	ip address add 10.77.0.200/24 dev "$VM_INTERFACE"
	undo ip address delete 10.77.0.200/24 dev "$VM_INTERFACE"
	undo sysctl -qw "net.ipv4.conf.$VM_INTERFACE.arp_ignore=0"
	sysctl -qw "net.ipv4.conf.$VM_INTERFACE.arp_ignore=8"
	on_host1 "ip neighbour replace $VM_ADDRESS lladdr $(cat "/sys/class/net/$VM_INTERFACE/address") dev $VM_INTERFACE nud permanent"
	expect 3 tcp_client write --gid-index "$(gid_index 10.77.0.200)" "$HOST1" "$PORT"
	has "$ERR" "the server's queue pair cannot be connected to this host's GID (its kernel says: Connection timed out); "
	wait_line "$FAR/server.err" "the hardware address of the peer's GID cannot be found (.*, to RTR: from $HOST1 (RoCE v2, index [0-9]*), LID 0, to 10.77.0.200 "
	on_host1 "ip neighbour delete $VM_ADDRESS dev $VM_INTERFACE"
}

# gid_index ADDRESS [DEVICE]: the index of the GID of this IPv4 address.
gid_index() {
	local file
	# shellcheck disable=SC2046,SC2183 # four numbers
	file=$(grep -l "^$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' $(tr . ' ' <<<"$1"))" \
		"/sys/class/infiniband/${2:-$VM_DEVICE}/ports/1/gids/"* | head -1)
	[ -n "$file" ] && echo "${file##*/}"
}

# Packets to queue pair 1 are those of connection managers: UDP port 4791, destination QP in bytes 5 to 7 of
# the payload.
@test "packets of connection managers are dropped: diagnose says that TCP works and rdmacm does not" {
	start_far_server --bootstrap both any
	# Host 1 drops them as they arrive: soft-RoCE would repeat without end what its own host drops.
	on_host1 "tc qdisc add dev $VM_INTERFACE clsact && tc filter add dev $VM_INTERFACE ingress protocol ip u32 \
		match ip protocol 17 0xff match ip dport 4791 0xffff match u32 1 0xffffff at 32 action drop"
	expect 3 client diagnose "$HOST1" "$PORT"
	has "$OUT" '^verdict: RDMA works if connected by TCP, but not by rdmacm: .*no reply to the RDMA connection request arrived'
	has "$OUT" '^other way   ok      by TCP, too: '
	expect 3 tcp_client diagnose "$HOST1" "$PORT"
	has "$OUT" '^verdict: RDMA works if connected by TCP, but not by rdmacm: .*no reply to the RDMA connection request arrived'
	has "$OUT" '^other way   failed  '
	# A server that does not say that it accepts both is not blamed.
	start_on_host1 other "$PAIR_BIN/rdma-server --bootstrap tcp --port 0 --port-file '$FAR/other' any"
	wait_until test -s "$FAR/other"
	expect 0 tcp_client diagnose "$HOST1" "$(cat "$FAR/other")"
	has "$OUT" '^verdict: RDMA works between the two hosts: '
	repair_network
}

@test "a client that connected by TCP and vanishes is noticed within --timeout" {
	start_far_server --bootstrap both --verbose --timeout 3 --discard any
	mkfifo "$DIR/data"
	tcp_client write --input "$DIR/data" "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	exec 7>"$DIR/data"
	printf 'beginning' >&7
	wait_line "$FAR/server.err" "RDMA_CM_EVENT_ESTABLISHED"
	cut_link
	wait_line "$FAR/server.err" 'exchange with .* failed: '
	mend_link
	exec 7>&-
	wait "${CLIENTS[0]}" || true
}
