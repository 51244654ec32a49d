#!/usr/bin/env bats
# Multicast: the other host sends to several receivers on this one, which know nothing of it.

load common

# start_receivers N OPTION...: starts receivers of the group, and waits until they have joined it.
start_receivers() {
	local i
	for ((i = 1; i <= $1; i++)); do
		"$PAIR_BIN/rdma-server" multicast 239.1.2.3 "${@:2}" >"$DIR/receiver$i" 2>&1 &
		CLIENTS+=($!)
	done
	for ((i = 1; i <= $1; i++)); do
		wait_line "$DIR/receiver$i" '^joined 239\.1\.2\.3 on '
	done
}

# The kernel announces the membership to routers; host 1 sends to all.
far_sender() { on_host1 "$PAIR_BIN/rdma-client multicast 239.1.2.3 $*"; }

@test "eight receivers of one sender get all datagrams" {
	local pid i
	if iwarp; then
		expect 3 client multicast 239.1.2.3
		has "$ERR" 'the device has no datagrams, which multicast needs'
		return
	fi
	start_receivers 8 --count 2
	far_sender >"$DIR/sent"
	has "$DIR/sent" '^sent 1 datagram of '
	far_sender --count 1000 --rate 200 --size 512 >"$DIR/sent"
	has "$DIR/sent" '^sent 1,000 datagrams of 512 bytes in '
	for pid in "${CLIENTS[@]}"; do
		exits_with 0 "$pid"
	done
	for i in {1..8}; do
		has "$DIR/receiver$i" "^message from $HOST1: message from the sender of this group$"
		has "$DIR/receiver$i" "^from $HOST1: received 1,000 of 1,000 datagrams of up to 512 bytes in .*; lost 0, duplicated 0, reordered 0\.$"
	done
}

@test "datagrams that are lost, duplicated or reordered on the way are counted" {
	local i lost dropped
	! iwarp || skip 'iWARP has no datagrams'
	start_receivers 8 --count 1
	on_host1 "tc qdisc add dev $VM_INTERFACE root netem loss 5%"
	far_sender --count 2000 --rate 400 --size 256 >"$DIR/sent"
	dropped=$(on_host1 "tc -s qdisc show dev $VM_INTERFACE" | sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | head -1)
	repair_network
	for i in {1..8}; do
		exits_with 4 "${CLIENTS[i - 1]}"
		has "$DIR/receiver$i" "^from $HOST1: received .* of 2,000 datagrams .*, duplicated 0, reordered 0"
	done
	lost=$(sed -n 's/.*; lost \([0-9]*\),.*/\1/p' "$DIR/receiver1")
	# The end, which is sent five times, and packets of other protocols may be among those that were dropped.
	[ "$lost" -gt 0 ] && [ "$lost" -le "$dropped" ] && [ "$lost" -ge $((dropped - 10)) ] || fail "$lost lost, $dropped dropped"
	for i in {2..8}; do
		has "$DIR/receiver$i" "; lost $lost, "
	done
	CLIENTS=()
	start_receivers 2 --count 1
	on_host1 "tc qdisc add dev $VM_INTERFACE root netem duplicate 10% delay 5ms reorder 5%"
	far_sender --count 500 --rate 400 --size 256
	repair_network
	for i in 1 2; do
		exits_with 0 "${CLIENTS[i - 1]}"
		has "$DIR/receiver$i" '; lost 0, duplicated [1-9][0-9]*, reordered [1-9]'
	done
}

@test "datagrams that arrive after the end of the stream, because delays vary, are not lost" {
	local i
	! iwarp || skip 'iWARP has no datagrams'
	start_receivers 2 --count 1
	on_host1 "tc qdisc add dev $VM_INTERFACE root netem delay 150ms 100ms"
	far_sender --count 500 --rate 500 --size 256
	for i in 1 2; do
		exits_with 0 "${CLIENTS[i - 1]}"
		has "$DIR/receiver$i" 'received 500 of 500 datagrams .*; lost 0, duplicated 0, reordered [1-9]'
	done
	repair_network
}

@test "the first datagrams are lost: not sent before, if the receiver had joined" {
	! iwarp || skip 'iWARP has no datagrams'
	start_receivers 1 --count 1
	on_host1 "tc qdisc add dev $VM_INTERFACE root netem loss 100%"
	start_on_host1 sender "$PAIR_BIN/rdma-client multicast 239.1.2.3 --count 600 --rate 100"
	wait_line "$FAR/sender.out" '^joined'
	pause 99
	repair_network
	exits_with 4 "${CLIENTS[0]}"
	stop_on_host1 sender
	has "$DIR/receiver1" 'received [1-9][0-9]* of 600 datagrams .*; lost [1-9][0-9]*, duplicated 0, reordered 0\.$'
}
