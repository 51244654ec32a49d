#!/usr/bin/env bats
# Faults of the network and of a host while files are sent in both directions: either the transfer
# survives with every byte correct, or both sides report the failure and exit with 4.

load common

FILES=/tmp/faults

# Creates files of this size at both ends, and starts a server that sends one and stores the other.
start_files() { # SIZE SERVER-ARGUMENT...
	head -c "$1" /dev/urandom >"$DIR/up"
	on_host1 "rm -rf $FILES && mkdir -p $FILES/in && head -c $1 /dev/urandom >$FILES/down"
	start_far_server --input "$FILES/down" --output "$FILES/in/" --force "${@:2}" any
}

# move MODE ARGUMENT...: starts a client that sends and receives.
move() {
	CLIENTS=()
	"$PAIR_BIN/rdma-client" --input "$DIR/up" --output "$DIR/down" --force "${@:2}" "$1" "$HOST1" \
		"$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
}

same_digest() { # FAR-FILE FILE
	[ "$(far_hash "$1")" = "$(hash_of "$2")" ] || fail "$2 did not arrive"
}

all_arrived() {
	exits_with 0 "${CLIENTS[0]}"
	same_digest "$FILES/in/up" "$DIR/up"
	same_digest "$FILES/down" "$DIR/down"
	rm "$DIR/down"
	on_host1 "rm $FILES/in/up"
	[ ! -s "$FAR/server.err" ] || fail "$(cat "$FAR/server.err")"
}

# disturb WORD...: applies this tc-netem(8) setting to the packets that both hosts send.
disturb() {
	on_host1 "tc qdisc replace dev $VM_INTERFACE root netem $*"
	tc qdisc replace dev "$VM_INTERFACE" root netem "$@"
}

# disturbed WORD...: files arrive despite this disturbance, in both modes.
disturbed() {
	local mode
	start_files 200001 --timeout 60
	for mode in write read; do
		disturb "$@"
		move "$mode" --timeout 60
		all_arrived
	done
	repair_network
	stop_on_host1 server
}

# bats test_tags=slow
@test "1 % loss" { disturbed loss 1%; }
# bats test_tags=slow
@test "10 % loss" { disturbed loss 10%; }
# bats test_tags=slow
@test "50 ms delay in each direction" { disturbed delay 50ms; }
@test "1 % of the packets reordered" { disturbed delay 5ms reorder 99%; }
# bats test_tags=slow
@test "1 % of the packets with a flipped bit" { disturbed corrupt 1%; }
# bats test_tags=slow
@test "5 % of the packets duplicated" { disturbed duplicate 5%; }
# bats test_tags=slow
@test "a rate of 20 Mbit/s" { disturbed rate 20mbit; }
@test "loss, delay, flipped bits and duplicates at once" {
	disturbed loss 2% delay 10ms corrupt 0.5% duplicate 2%
}

# Starts a transfer slow enough to be disturbed, and waits until data flows in both directions.
is_moving() {
	disturb rate 4mbit
	move "$@"
	wait_until arrives "$DIR" || return 1
	wait_until far_arrives
}
arrives() { [ -n "$(find "$1" -name '.down.*' -size +100k)" ]; }
far_arrives() { [ -n "$(on_host1 "find $FILES/in -name '.up.*' -size +100k")" ]; }

no_link_for() { # SECONDS
	disturb loss 100%
	sleep "$1"
	disturb rate 100mbit
}

# without_link SECONDS MODE: the link is down for this time during a transfer, and the files arrive.
without_link() {
	is_moving "$2" --timeout 45
	no_link_for "$1"
	all_arrived
}

@test "files survive link failures of 1 and 5 s, shorter than --timeout" {
	start_files 6000001 --timeout 45
	without_link 1 write
	without_link 5 read
	repair_network
	stop_on_host1 server
}

# bats test_tags=slow
@test "files survive link failures of up to 30 s, shorter than --timeout" {
	start_files 6000001 --timeout 45
	without_link 30 write
	without_link 5 write
	without_link 1 read
	repair_network
	stop_on_host1 server
}

# Both sides report the failure, and no partial file remains.
both_gave_up() {
	exits_with 4 "${CLIENTS[0]}"
	one_line "$ERR"
	wait_line "$FAR/server.err" "^rdma-server: exchange with $VM_ADDRESS:.* failed:"
	[ ! -e "$DIR/down" ]
	wait_until nothing_left
	repair_network
}
nothing_left() {
	[ -z "$(find "$DIR" -name '.down.*')" ] && [ -z "$(on_host1 "ls -A $FILES/in")" ]
}

# To this host, a permanent link failure looks like a crash of the other host.
# bats test_tags=slow
@test "permanent link failure: both ends give up" {
	local mode
	start_files 6000001 --timeout 5
	for mode in write read; do
		is_moving "$mode" --timeout 5
		disturb loss 100%
		both_gave_up
		: >"$FAR/server.err"
	done
	move write
	all_arrived
	stop_on_host1 server
}

@test "the link of this host goes down during an exchange" {
	local mode
	start_files 6000001 --timeout 5
	for mode in write read; do
		is_moving "$mode" --timeout 5
		sysctl -qw "net.ipv6.conf.$VM_INTERFACE.keep_addr_on_down=1"
		ip link set "$VM_INTERFACE" down
		exits_with 1 "${CLIENTS[0]}"
		one_line "$ERR"
		has "$ERR" "this host's RDMA port is down ($VM_DEVICE port 1.*bring up its network interface"
		wait_line "$FAR/server.err" "^rdma-server: exchange with $VM_ADDRESS:.* failed:"
		renew_link
		repair_network
		wait_until nothing_left
		: >"$FAR/server.err"
	done
	move write
	all_arrived
	stop_on_host1 server
}

# Since Linux 6.10, a packet that the interface does not take breaks its queue pair; earlier, its data might be skipped.
flushes_unsent() { [ "$(printf '%s\n' 6.10 "$(uname -r)" | sort -V | head -n 1)" = 6.10 ]; }
has_more() { [ "$(cat "$1")" -gt "$2" ]; } # FILE COUNT

@test "this host's interface drops packets: the files arrive, or this host is at fault" {
	local errors=/sys/class/infiniband/$VM_DEVICE/ports/1/hw_counters/send_err before
	start_files 6000001 --timeout 45
	is_moving write --timeout 45
	before=$(cat "$errors")
	# A short queue.
	tc qdisc replace dev "$VM_INTERFACE" root netem limit 2 delay 5ms
	wait_until has_more "$errors" "$before"
	flushes_unsent || disturb rate 100mbit
	wait_until gone "${CLIENTS[0]}"
	if ! flushes_unsent && [ ! -s "$ERR" ]; then
		all_arrived
	else
		exits_with 1 "${CLIENTS[0]}"
		one_line "$ERR"
		has "$ERR" "this host dropped packets before they left, .*($VM_DEVICE could not send [1-9][0-9]* packets\?; "
		wait_line "$FAR/server.err" "^rdma-server: exchange with $VM_ADDRESS:.* failed:"
		[ ! -e "$DIR/down" ]
		wait_until nothing_left
	fi
	repair_network
	stop_on_host1 server
}

@test "large packets no longer get through: both ends give up" {
	start_files 6000001 --timeout 5
	is_moving write --timeout 5
	# Acknowledgements and keepalives are small. Lengths of 1,024 bytes and more have one of
	# these bits set.
	tc qdisc replace dev "$VM_INTERFACE" root handle 1: prio
	local bit
	for bit in 0x0400 0x0800 0x1000; do
		tc filter add dev "$VM_INTERFACE" parent 1: protocol ip u32 match u16 $bit $bit at 2 action drop
	done
	both_gave_up
	stop_on_host1 server
}

# bats test_tags=slow
@test "the other host's RDMA device is deleted" {
	start_files 6000001 --timeout 5
	is_moving write --timeout 5
	local failed=0
	on_host1 "rdma link delete $VM_DEVICE"
	both_gave_up || failed=1
	has "$FAR/server.err" "this host's RDMA device was removed" || failed=1
	on_host1 "rdma link add $VM_DEVICE type rxe netdev $VM_INTERFACE"
	stop_on_host1 server
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	[ $failed -eq 0 ]
}

# bats test_tags=slow
@test "the remote server is killed or stopped for good" {
	local signal
	for signal in KILL STOP; do
		rm -f "$FAR/port"
		start_files 6000001 --timeout 5
		is_moving write --timeout 5
		on_host1 "kill -$signal $(cat "$FAR/server.pid")"
		exits_with 4 "${CLIENTS[0]}"
		one_line "$ERR"
		[ ! -e "$DIR/down" ]
		repair_network
		on_host1 "kill -CONT $(cat "$FAR/server.pid") || true"
		stop_on_host1 server
	done
}

# bats test_tags=slow
@test "the client is killed or stopped for good: the server drops it and serves the next" {
	local signal
	start_files 6000001 --timeout 5
	for signal in KILL STOP; do
		is_moving write --timeout 5
		kill -$signal "${CLIENTS[0]}"
		wait_until test -s "$FAR/server.err"
		one_line "$FAR/server.err"
		kill -KILL "${CLIENTS[0]}" || true
		repair_network
		: >"$FAR/server.err"
		move read
		all_arrived
		on_host1 "rm -f $FILES/in/up"
	done
	stop_on_host1 server
}
