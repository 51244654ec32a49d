#!/usr/bin/env bats
# The other host is gone, kernel and all: nobody there says goodbye, or anything else. After this test
# there is only one host, so this file has one test and comes last.

load common

# Host 1 is reset where it stands, and does not come back.
take_host1_down() {
	ask_host1 "echo 0 >\"\$VM_LAST_WORD\" && echo b >/proc/sysrq-trigger"
}

# Without host 1 there is nothing to repair_network, end or compare there.
teardown() {
	tc qdisc delete dev "$VM_INTERFACE" root 2>/dev/null || true
	kill_named rdma-server rdma-client
	wait_until same_resources || fail "left behind: $(resources)"
}

@test "the other host disappears: a client and a server here give up, and the server serves the next" {
	local far_port mine
	# Endless streams, from a client here to there, and from there to here: slow, and with little on its way.
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
	take_host1_down
	wait_until unreachable
	ends_with 4 "$mine"
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
