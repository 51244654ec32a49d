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

@test "two senders at the same time are told apart; a sender that is stopped leaves a stream without its end" {
	local pid
	start_receiver --count 3 --timeout 2
	client multicast 239.1.2.3 --count 200 --rate 200 >"$OUT" 2>"$ERR" &
	pid=$!
	expect 0 client multicast 239.1.2.3 --count 100 --rate 200
	exits_with 0 "$pid"
	wait_line "$LOG" 'received 200 of 200 '
	wait_line "$LOG" 'received 100 of 100 '
	"$PAIR_BIN/rdma-client" multicast 239.1.2.3 --count 100000 --rate 100 >"$OUT" 2>"$ERR" &
	pid=$!
	wait_line "$OUT" '^joined'
	pause 50
	kill -TERM "$pid"
	exits_with 143 "$pid"
	has "$ERR" 'interrupted by a signal'
	server_exits 4
	has "$LOG" 'received [0-9]* of 100,000 datagrams .*; its end did not arrive\.$'
}

@test "a group that is none, and what does not fit: one sentence each" {
	expect_error 3 'this is not a multicast address; use the address of a group, such as 239.1.2.3' client multicast "$ADDRESS"
	expect_error 3 'this is not a multicast address' "$PAIR_BIN/rdma-server" multicast 10.77.0.1
	expect_error 3 'the kernel joins groups of this kind only over InfiniBand or RoCE v1' client multicast ff15::123
	expect_error 1 'a datagram must fit into one packet' client multicast 239.1.2.3 --count 2 --size 5000
	expect_error 3 'no such RDMA device' client multicast 239.1.2.3 --device nowhere
	expect 2 client multicast 239.1.2.3 --count 2 --size 39
	expect 2 client multicast 239.1.2.3 --count 2 --message both
	expect 2 client multicast
	has "$ERR" 'GROUP is missing; for example: rdma-client multicast 239.1.2.3'
}

@test "over iWARP, multicast is refused at both ends" {
	iwarp || skip 'over software iWARP only'
	expect_error 3 'the device has no datagrams, which multicast needs' client multicast 239.1.2.3
	expect_error 3 'the device has no datagrams, which multicast needs' "$PAIR_BIN/rdma-server" multicast 239.1.2.3
}
