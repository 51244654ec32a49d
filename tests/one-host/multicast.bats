#!/usr/bin/env bats
# `multicast` at both programs; tests/two-hosts/multicast.bats has losses.

load common

setup() {
	prepare
	! iwarp || [[ $BATS_TEST_DESCRIPTION == *iWARP* ]] || skip 'iWARP has no datagrams'
}

start_receiver() { # OPTION...
	"$PAIR_BIN/rdma-server" multicast 239.1.2.3 "$@" >"$LOG" 2>"$ERRORS" &
	SERVER=$!
	wait_line "$LOG" "^joined 239\.1\.2\.3 on $VM_DEVICE/1: MGID ::ffff:239\.1\.2\.3, MLID 0x[0-9a-f]*, MTU [0-9]*\.$"
}

@test "a message and a stream arrive, from a sender that knows nobody" {
	start_receiver
	expect 0 client multicast 239.1.2.3 --message $'h\xc3\xa9llo\e'
	has "$OUT" '^sent 1 datagram of [0-9]* bytes in '
	wait_line "$LOG" "^message from $ADDRESS: héllo\\\\x1b$"
	wait_line "$LOG" "^from $ADDRESS: received 1 of 1 datagram .*; lost 0, duplicated 0, reordered 0\.$"
	expect 0 client multicast 239.1.2.3 --count 300 --rate 1000 --size 100 --source "$ADDRESS"
	wait_line "$LOG" "^from $ADDRESS: received 300 of 300 datagrams of up to 100 bytes in .*; lost 0, "
	expect 0 client --quiet multicast 239.1.2.3 --count 3
	is_empty "$OUT"
	stop_server
	is_empty "$ERRORS"
}

# start_sender OPTION...: starts one in the background, and waits until it has joined the group.
start_sender() {
	"$PAIR_BIN/rdma-client" multicast 239.1.2.3 "$@" >"$OUT" 2>"$ERR" &
	PEER=$!
	wait_line "$OUT" '^joined'
}

# The number after these words in the report of a stream.
reported() { sed -n "s/^from .*$1 \([0-9,]*\).*/\1/p" "$LOG" | tr -d ,; }

@test "two senders at the same time are told apart; one that is killed leaves a stream without its end" {
	local pid received
	start_receiver --count 3 --timeout 2
	client multicast 239.1.2.3 --count 200 --rate 200 >"$OUT" 2>"$ERR" &
	pid=$!
	expect 0 client multicast 239.1.2.3 --count 100 --rate 200
	exits_with 0 "$pid"
	wait_line "$LOG" 'received 200 of 200 '
	wait_line "$LOG" 'received 100 of 100 '
	start_sender --count 100000 --rate 100
	pause 50
	kill -KILL "$PEER"
	exits_with 137 "$PEER"
	server_exits 4
	received=$(reported received | tail -n 1)
	has "$LOG" "received $received of 100,000 datagrams .*; lost 0, duplicated 0, reordered 0; the last $(with_commas $((100000 - received))) and the end did not arrive\.$"
}

@test "a sender that is interrupted says how many it sent: nothing counts as lost, and nobody waits" {
	local sent
	start_receiver --count 1 --timeout 300
	start_sender --count 100000 --rate 100
	pause 50
	kill -TERM "$PEER"
	exits_with 143 "$PEER"
	server_exits 0
	sent=$(sed -n 's/.*interrupted by a signal (\([0-9]*\) datagrams were sent).*/\1/p' "$ERR")
	[ "$sent" -gt 10 ] || fail "sent $sent: $(output_so_far)"
	has "$LOG" "received $sent of $sent datagrams .*; lost 0, .*; its sender was interrupted before the other $(with_commas $((100000 - sent)))\.$"
}

@test "a receiver that joins late counts what was sent before, but not as lost" {
	local before
	start_sender --count 400 --rate 200
	pause 60
	start_receiver --count 1
	exits_with 0 "$PEER"
	server_exits 0
	before=$(reported 'sent before this receiver joined:')
	[ "$before" -gt 20 ] && [ $((before + $(reported received))) -eq 400 ] || fail "$before before: $(output_so_far)"
	has "$LOG" 'received [0-9]* of 400 datagrams .*; lost 0, duplicated 0, reordered 0; sent before this receiver joined: [0-9]*\.$'
}

@test "a stream that was ignored, because 16 others were counted, is not counted later" {
	local i senders=()
	start_receiver --timeout 3
	for i in {1..16}; do
		"$PAIR_BIN/rdma-client" multicast 239.1.2.3 --count 100000 --rate 20 >"$DIR/sender$i" 2>&1 &
		senders+=($!)
	done
	for i in {1..16}; do
		wait_line "$DIR/sender$i" '^joined'
	done
	pause 50
	start_sender --count 300 --rate 50
	pause 50
	kill -TERM "${senders[@]}"
	for i in "${senders[@]}"; do
		exits_with 143 "$i"
	done
	exits_with 0 "$PEER"
	# Now there is room for others.
	expect 0 client multicast 239.1.2.3 --count 7
	wait_line "$LOG" 'received 7 of 7 '
	stop_server
	[ "$(grep -c '^from .*; lost 0, .*; its sender was interrupted before the other' "$LOG")" -eq 16 ] || fail "$(output_so_far)"
	[ "$(grep -c '^from ' "$LOG")" -eq 17 ] || fail "$(output_so_far)"
	# Its 300 datagrams, and as many of its 5 ends as arrived.
	has "$LOG" '^ignored 30[0-5] datagrams of further streams: at most 16 are counted at a time\.$'
}

@test "a sender that was held up does not catch up, and says how long it took" {
	start_receiver --count 1
	start_sender --count 200 --rate 100
	pause 50
	kill -STOP "$PEER"
	pause 99
	pause 99
	kill -CONT "$PEER"
	exits_with 0 "$PEER"
	server_exits 0
	# Two seconds for the stream, and two for the stop.
	has "$OUT" '^sent 200 datagrams of [0-9]* bytes in \(3\.[89]\|[4-9]\).* s\.$'
	has "$LOG" 'received 200 of 200 datagrams .* in \(3\.[89]\|[4-9]\).* s; lost 0, duplicated 0, reordered 0\.$'
}

@test "the RDMA device is removed during a stream: both ends say so, and let it go" {
	local receiver count
	ip link add second0 type dummy
	undo ip link delete second0
	ip address add 10.94.0.1/24 dev second0
	ip link set second0 multicast on up
	rdma link add rxe2 type rxe netdev second0
	undo 'rdma link delete rxe2 2>/dev/null || true'
	# One that waits for the next datagram, and one that is as fast as it can be.
	for count in 20000 100000000; do
		"$PAIR_BIN/rdma-server" multicast 239.1.2.3 --device rxe2 >"$LOG" 2>"$ERRORS" &
		receiver=$!
		wait_line "$LOG" '^joined'
		start_sender --device rxe2 --count "$count" --rate $((count / 100))
		pause 50
		MARK=$SECONDS
		timeout 60 rdma link delete rxe2
		exits_with 1 "$PEER"
		exits_with 1 "$receiver"
		in_time
		one_line "$ERR"
		has "$ERR" "this host's RDMA device was removed"
		has_not "$OUT" '^sent '
		has "$ERRORS" "this host's RDMA device was removed"
		rdma link add rxe2 type rxe netdev second0
	done
	rdma link delete rxe2
}

@test "a device that does not send, because its link is held up" {
	ethernet_up
	# Soft-RoCE waits while 64 of a queue pair's packets are queued in its interface.
	tc qdisc add dev near0 root tbf rate 8bit burst 2kb limit 1mb
	MARK=$SECONDS
	"$PAIR_BIN/rdma-client" multicast 239.1.2.3 --device rxe1 --count 1000 --size 100 >"$OUT" 2>"$ERR" &
	PEER=$!
	wait_line "$ERR" .
	in_time
	# The kernel destroys the queue pair when its packets are gone.
	tc qdisc delete dev near0 root
	exits_with 1 "$PEER"
	one_line "$ERR"
	has "$ERR" 'the device does not send ([0-9]* datagrams are queued)'
	has_not "$OUT" '^sent '
}

@test "a group that is none, and what does not fit: one sentence each" {
	expect_error 3 "cannot reach $ADDRESS: this is not a multicast address; use the address of a group, such as 239.1.2.3\\.$" client multicast "$ADDRESS"
	expect_error 3 'this is not a multicast address' "$PAIR_BIN/rdma-server" multicast 10.77.0.1
	expect_error 3 'the kernel joins groups of this kind only over InfiniBand or RoCE v1' client multicast ff15::123
	ethernet_up
	expect_error 1 'a datagram must fit into one packet (4096 bytes with the header of 40, MTU 1024)' \
		client multicast 239.1.2.3 --count 2 --size 4096 --source 10.95.0.1
	expect_error 3 'no such RDMA device' client multicast 239.1.2.3 --device nowhere
	expect_error 3 "cannot reach 239\.1\.2\.3: the local address belongs to no RDMA device (127\.0\.0\.1; RDMA addresses of this host: .*$ADDRESS" \
		client multicast 239.1.2.3 --source 127.0.0.1
	expect_error 3 'the local address belongs to no RDMA device (192\.0\.2\.9; ' "$PAIR_BIN/rdma-server" multicast 239.1.2.3 --bind 192.0.2.9
	expect_error 2 "must be a size from 40 (the header) to 4096 (the largest MTU), not '39'" client multicast 239.1.2.3 --size 39
	expect 2 client multicast 239.1.2.3 --count 2 --message both
	expect 2 client multicast
	has "$ERR" 'GROUP is missing; for example: rdma-client multicast 239.1.2.3'
}

@test "standard output that is full is reported once, by either end" {
	local status=0
	client multicast 239.1.2.3 >/dev/full 2>"$ERR" || status=$?
	[ "$status" -eq 1 ]
	one_line "$ERR"
	has "$ERR" 'cannot write to standard output'
	"$PAIR_BIN/rdma-server" multicast 239.1.2.3 --count 1 >/dev/full 2>"$ERRORS" &
	SERVER=$!
	wait_until multicast_member
	expect 0 client multicast 239.1.2.3
	server_exits 1
	one_line "$ERRORS"
	has "$ERRORS" 'cannot write to standard output'
}

# A queue pair of the receiver is there, and the kernel has joined the group.
multicast_member() { rdma resource show qp | grep -q 'type UD.*rdma-server' && ip maddress | grep -q '239\.1\.2\.3'; }

@test "over iWARP, multicast is refused at both ends" {
	iwarp || skip 'over software iWARP only'
	expect_error 3 'the device has no datagrams, which multicast needs' client multicast 239.1.2.3
	expect_error 3 'the device has no datagrams, which multicast needs' "$PAIR_BIN/rdma-server" multicast 239.1.2.3
}
