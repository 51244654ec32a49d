#!/usr/bin/env bats
# The other host's kernel is reset, so it sends nothing more, not even a disconnect. Host 1 does not
# come back, so this file has a single test and runs last.

load common

# Resets host 1 immediately.
reset_host1() {
	ask_host1 "echo 0 >\"\$VM_STATUS_FILE\" && echo b >/proc/sysrq-trigger"
}

# Like clean_up, but without host 1.
teardown() {
	tc qdisc delete dev "$VM_INTERFACE" root 2>/dev/null || true
	kill_named rdma-server rdma-client
	collect_messages "$ERR" "$ERRORS" "$FAR"/*.err
	collect_documents "$DIR"/*
	wait_until same_resources || fail "left behind: $(resources)"
}

@test "the other host disappears: local client and server give up, and the server serves the next" {
	local far_port mine
	# Endless streams in both directions, slow and with little data in flight.
	tc qdisc replace dev "$VM_INTERFACE" root netem rate 20mbit
	on_host1 "tc qdisc replace dev $VM_INTERFACE root netem rate 20mbit; mkdir -p /tmp/in"
	start_far_server --timeout 5 --buffer 64K --output /tmp/in/ any
	far_port=$PORT
	mkdir "$DIR/in"
	start_server --timeout 5 --buffer 64K --output "$DIR/in/" any
	start_on_host1 client "$PAIR_BIN/rdma-client --timeout 60 --buffer 64K --input /dev/urandom write $VM_ADDRESS $PORT"
	"$PAIR_BIN/rdma-client" --timeout 5 --buffer 64K --input /dev/urandom read "$HOST1" "$far_port" \
		>"$OUT" 2>"$ERR" &
	mine=$!
	wait_until arrives
	wait_until far_arrives
	reset_host1
	wait_until unreachable
	exits_with 4 "$mine"
	one_line "$ERR"
	has "$ERR" '^rdma-client: exchange with .* failed: '
	wait_line "$ERRORS" "^rdma-server: exchange with $HOST1:.* failed:"
	one_line "$ERRORS"
	wait_until nothing_in "$DIR/in"
	tc qdisc delete dev "$VM_INTERFACE" root
	expect 0 client --message next write "$VM_ADDRESS" "$PORT"
	stop_server
}

arrives() { [ -n "$(find "$DIR/in" -type f -size +100k)" ]; }
far_arrives() { [ -n "$(on_host1 'find /tmp/in -type f -size +100k')" ]; }
nothing_in() { [ -z "$(ls -A "$1")" ]; }
unreachable() { ! ping -c 1 -W 1 "$HOST1"; }
