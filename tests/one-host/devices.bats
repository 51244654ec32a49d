#!/usr/bin/env bats
# Several RDMA devices, and removal of devices.

load common

setup_file() {
	ip link add second0 type dummy
	ip address add 10.94.0.1/24 dev second0
	ip link set second0 mtu 4200 up
	rdma link add rxe2 type rxe netdev second0
}

teardown_file() {
	rdma link delete rxe2 || true
	ip link delete second0
	explain_messages
}

SECOND=10.94.0.1

# Prints the number of the server's CQ threads.
cq_threads() { threads_named 'cq-*'; }

@test "one server on two devices has a CQ thread for each" {
	start_server any
	expect 0 client write "$ADDRESS" "$PORT"
	[ "$(cq_threads)" -eq 1 ]
	expect 0 client read "$SECOND" "$PORT"
	[ "$(cq_threads)" -eq 2 ]
	generate_load write "$ADDRESS" "$PORT" 40 10 >"$OUT" &
	PEER=$!
	generate_load read "$SECOND" "$PORT" 40 10 >"$DIR/other"
	wait "$PEER"
	has "$OUT" '^40 verified, 0 failed$'
	has "$DIR/other" '^40 verified, 0 failed$'
	stop_server
	is_empty "$ERRORS"
}

@test "--device restricts the server to one device" {
	start_server --device rxe2 any
	expect 0 client write "$SECOND" "$PORT"
	expect 3 client write "$ADDRESS" "$PORT"
	stop_server
	expect 3 "$PAIR_BIN/rdma-server" --device rxe2 --bind "$ADDRESS" any
	has "$ERR" 'does not belong to the RDMA device given with --device'
	start_server --device rxe2 --bind :: any
	expect 3 client write "$ADDRESS" "$PORT"
	has "$ERR" 'the server does not use the RDMA device with this address'
	expect 0 client write "$SECOND" "$PORT"
	expect 3 client --device "$VM_DEVICE" --timeout 4 write "$SECOND" "$PORT"
	stop_server
}

# Deletes the device while it is in use, and creates it again. The deletion returns once no process
# has the device open.
delete_second() {
	timeout 60 rdma link delete rxe2
	rdma link add rxe2 type rxe netdev second0
}

# Soft-RoCE cannot delete a device that is open, and librdmacm does not close it.
server_has_stopped() {
	server_exits 1
	has "$ERRORS" 'RDMA device rxe2 is being removed'
	has "$ERRORS" 'the kernel cannot remove rxe2 while it is open; stopping the server'
}

@test "an unused device is removed: the server keeps serving" {
	start_server any
	expect 0 client write "$ADDRESS" "$PORT"
	delete_second
	expect 0 client write "$SECOND" "$PORT"
	stop_server
	is_empty "$ERRORS"
}

@test "the device of an idle server is removed: the server stops and names the cause" {
	start_server any
	expect 0 client write "$SECOND" "$PORT"
	delete_second
	server_has_stopped
}

@test "the device of a bound server is removed: the server stops and names the cause" {
	local option
	for option in '--bind 10.94.0.1' '--device rxe2'; do
		# shellcheck disable=SC2086 # two words
		start_server $option any
		delete_second
		server_exits 1
		has "$ERRORS" 'the listener.s RDMA device is being removed'
	done
}

@test "the device of running exchanges is removed: they fail with the cause, others finish" {
	start_server --timeout 60 any
	misbehaving_peer "$SECOND" "$PORT" mr get say:here closed >"$OUT" 2>&1 &
	misbehaving_peer "$ADDRESS" "$PORT" mr get say:here write 'done' pause >"$DIR/other" 2>&1 &
	PEER=$!
	wait_line "$OUT" here
	wait_line "$DIR/other" here
	delete_second &
	local deletion=$!
	# The peer runs on the same host: its program fails for the same reason, perhaps earlier.
	wait_line "$ERRORS" \
		"exchange with .* failed: \(this host's RDMA device was removed\|connection closed by the peer while\)"
	wait_line "$ERRORS" 'stopping the server'
	kill -0 "$SERVER"
	kill_peers
	server_has_stopped
	wait "$deletion"
}

@test "the device of a waiting client is removed: exit 1 with the cause" {
	start_peer "$PAIR_PEERS/tests/one-host/misbehaving-peer" --listen "$SECOND" "$DIR/peer-port" \
		get say:here pause
	"$PAIR_BIN/rdma-client" --timeout 60 write "$SECOND" "$PEER_PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$DIR/peer" here
	# A paused peer does not notice the removal; otherwise it might disconnect first.
	delete_second &
	local deletion=$!
	exits_with 1 "$pid"
	has "$ERR" "this host's RDMA device was removed"
	kill -KILL "$PEER"
	wait "$deletion"
}
