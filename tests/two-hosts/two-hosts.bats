#!/usr/bin/env bats
# Exchanges between two hosts, with real packets: both modes, a link that is cut, packet loss, a
# server that is killed.

load common

@test "both modes, IPv4 and IPv6" {
	start_far_server any
	local mode address
	for mode in write read; do
		for address in "$HOST1" "${VM_ADDRESSES6%% *}"; do
			expect 0 client "$mode" "$address" "$PORT"
			has "$OUT" '^remote buffer: message from passive/server side with pid'
		done
	done
	stop_on_host1 server
	count "$FAR/server.out" '^remote buffer: message from active/client side with pid' 4
	[ ! -s "$FAR/server.err" ]
}

# Uses retries: on a busy machine, packets between emulated guests can be lost or late.
@test "a tutorial peer on the other host, both modes" {
	local mode
	for mode in write read; do
		rm -f "$FAR/port"
		start_far_server "$mode"
		tutorial_peer "$mode" "$HOST1" "$PORT" 7 >"$OUT" 2>"$ERR"
		stop_on_host1 server
		has "$FAR/server.out" '^remote buffer: message from a tutorial peer'
		[ ! -s "$FAR/server.err" ]
	done
}

# Starts a listening misbehaving peer on host 1.
start_far_peer() { # STEP...
	start_on_host1 peer "$PAIR_PEERS/tests/one-host/misbehaving-peer --listen $HOST1 '$FAR/port' $*"
	wait_until test -s "$FAR/port"
	PORT=$(cat "$FAR/port")
}

# Either the idle timeout expires or a local keepalive is not acknowledged, whichever comes first.
NOTICED='timed out waiting for MSG_DONE\|the peer stopped acknowledging'

@test "the link is cut during an exchange: the client reports it within its timeout, exit 4" {
	start_far_peer get mr say:here pause
	"$PAIR_BIN/rdma-client" --timeout 6 write "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$FAR/peer.out" here
	cut_host1
	exits_with 4 "$pid"
	one_line "$ERR"
	has "$ERR" "$NOTICED"
}

@test "the link is cut during an exchange: the server reports it and keeps serving once it is back" {
	start_far_server --timeout 6 any
	misbehaving_peer "$HOST1" "$PORT" mr get say:here pause >"$OUT" 2>&1 &
	wait_line "$OUT" here
	cut_host1
	wait_line "$FAR/server.err" "$NOTICED"
	repair_network
	kill_peers
	expect 0 client --timeout 60 read "$HOST1" "$PORT"
	stop_on_host1 server
}

@test "lost acknowledgements: the sender gives up and names both ends" {
	start_far_server --timeout 40 any
	# Drop only our acknowledgements (BTH opcode 0x11).
	tc qdisc add dev "$VM_INTERFACE" root handle 1: prio
	tc filter add dev "$VM_INTERFACE" parent 1: protocol ip u32 match ip protocol 17 0xff \
		match u8 0x11 0xff at 28 action drop
	misbehaving_peer "$HOST1" "$PORT" mr say:here pause >"$OUT" 2>&1 &
	wait_line "$FAR/server.err" 'the peer stopped acknowledging: it is down or the path is broken'
	has "$FAR/server.err" "GID ::ffff:$HOST1 to ::ffff:$VM_ADDRESS"
	repair_network
	kill_peers
	expect 0 client --timeout 60 write "$HOST1" "$PORT"
	stop_on_host1 server
}

@test "the server's host loses RDMA: the client reports it within its timeout, exit 3" {
	on_host1 "rdma link delete $VM_DEVICE"
	local failed=0
	expect 3 client --timeout 4 write "$HOST1" 7471 || failed=1
	has "$ERR" 'no reply to the RDMA connection request arrived' || failed=1
	on_host1 "rdma link add $VM_DEVICE type rxe netdev $VM_INTERFACE"
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	[ $failed -eq 0 ]
}

@test "a server killed while a remote client waits: exit 4 at once" {
	start_far_peer get mr write say:here pause
	"$PAIR_BIN/rdma-client" --timeout 60 write "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$FAR/peer.out" here
	stop_on_host1 peer KILL
	exits_with 4 "$pid"
}

@test "2 % loss in both directions: every exchange is verified at both ends" {
	start_far_server --timeout 90 any
	lose 2
	local i
	for i in $(seq 10); do
		expect 0 client --timeout 90 write "$HOST1" "$PORT"
		expect 0 client --timeout 90 read "$HOST1" "$PORT"
	done
	repair_network
	stop_on_host1 server
	count "$FAR/server.out" '^remote buffer: message from active/client side with pid' 20
	[ ! -s "$FAR/server.err" ] || fail "$(cat "$FAR/server.err")"
}

# bats test_tags=slow
@test "2 % loss and 20 ms delay in both directions: files in each direction and mode are verified" {
	local mode folder=/tmp/streams
	on_host1 "mkdir -p $folder/in && head -c 2000001 /dev/urandom >$folder/down"
	head -c 3000001 /dev/urandom >"$DIR/up"
	start_far_server --timeout 90 --input "$folder/down" --output "$folder/in/" --force any
	lose 2 delay 20ms
	for mode in write read; do
		expect 0 client --timeout 90 --discard --input "$DIR/up" "$mode" "$HOST1" "$PORT"
		expect 0 client --timeout 90 --force --output "$DIR/got" "$mode" "$HOST1" "$PORT"
	done
	repair_network
	stop_on_host1 server
	[ "$(far_hash $folder/in/up)" = "$(hash_of "$DIR/up")" ]
	[ "$(hash_of "$DIR/got")" = "$(far_hash $folder/down)" ]
	[ ! -s "$FAR/server.err" ] || fail "$(cat "$FAR/server.err")"
}
