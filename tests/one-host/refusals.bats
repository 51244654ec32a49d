#!/usr/bin/env bats
# A client that the server refuses, or whose session it ends, learns the reason each time: each
# refusal is repeated PAIR_REFUSALS times (default 1) and, if repeated, while another program keeps a
# processor busy.

load common
load measure

setup() {
	prepare
	umask 077
	head -c 32 /dev/urandom | base64 >"$DIR/ours"
	head -c 32 /dev/urandom | base64 >"$DIR/theirs"
	BUSY=''
	if [ "${PAIR_REFUSALS:-1}" -gt 1 ]; then
		while :; do :; done &
		BUSY=$!
	fi
}

teardown() {
	if [ -n "$BUSY" ]; then
		kill -KILL "$BUSY"
		wait "$BUSY" 2>/dev/null || true
	fi
	clean_up
}

# always PATTERN STATUS COMMAND...: exits with STATUS and prints a line that matches, each time.
always() {
	local i pattern=$1
	shift
	for i in $(seq "${PAIR_REFUSALS:-1}"); do
		expect "$@" || fail "run $i"
		grep -q -h -e "$pattern" "$OUT" "$ERR" || fail "run $i of '$*': $(cat "$OUT" "$ERR")"
	done
}

# each_kind PATTERN OPTION... HOST PORT: an exchange, a diagnosis and the measurements are refused.
each_kind() {
	local kind
	for kind in write diagnose 'bandwidth write' 'latency read'; do
		# shellcheck disable=SC2086 # several words
		always "$1" 3 client $kind "${@:2}"
	done
}

SECRET='client and server do not have the same secret'

@test "a wrong secret and no secret" {
	start_server --secret-file "$DIR/ours" any
	each_kind "$SECRET" --secret-file "$DIR/theirs" "$ADDRESS" "$PORT"
	each_kind "$SECRET" "$ADDRESS" "$PORT"
	stop_server
}

@test "a server without a secret" {
	start_server any
	each_kind "$SECRET" --secret-file "$DIR/ours" "$ADDRESS" "$PORT"
	stop_server
}

@test "another mode, a full server, and input that is too large" {
	local size='the peer aborted: received more than the 1,024 bytes that --max-size allows'
	head -c 1025 /dev/zero >"$DIR/large"
	start_server --max-size 1K --discard --max-clients 1 write
	always 'runs in write mode' 3 client read "$ADDRESS" "$PORT"
	always 'accepts at most 1,024 bytes' 3 client --input "$DIR/large" write "$ADDRESS" "$PORT"
	always "$size" 4 send_unknown "$DIR/large"
	"$PAIR_PEERS/tests/one-host/misbehaving-peer" "$ADDRESS" "$PORT" mr get say:here pause >"$DIR/peer" 2>&1 &
	wait_line "$DIR/peer" '^here$'
	always 'its --max-clients limit is reached' 3 client --timeout 0.5 write "$ADDRESS" "$PORT"
	kill_peers
	stop_server
}

# send_unknown FILE: sends it through a pipe, so that the server does not know its size.
send_unknown() {
	# shellcheck disable=SC2002 # a pipe
	cat "$1" | client --input - write "$ADDRESS" "$PORT"
}

# Each case: the number of the reason, the message.
@test "another version, a session type that is not supported, no memory, no slot" {
	local i kind reason pattern
	while read -r reason pattern; do
		for kind in write diagnose 'bandwidth write'; do
			for i in $(seq "${PAIR_REFUSALS:-1}"); do
				start_peer "$PAIR_PEERS/tests/one-host/misbehaving-peer" --refuse "$reason" \
					"$ADDRESS" "$DIR/peer-port"
				# shellcheck disable=SC2086 # several words
				PAIR_REFUSALS=1 always "$pattern" 3 client $kind "$ADDRESS" "$PEER_PORT"
				wait "$PEER" || true
			done
		done
	done <<-END
	2 speaks protocol version 99
	3 does not support this kind of session
	4 could not allocate memory or a queue pair
	END
}

# refused_often N: the server refuses N clients for each of two reasons, one of which a server prints
# as a failure.
refused_often() {
	local i
	for i in $(seq "$1"); do
		expect 3 client --secret-file "$DIR/ours" read "$ADDRESS" "$PORT"
		expect 3 client write "$ADDRESS" "$PORT"
	done
}

# bats test_tags=portable
@test "repeated refusals of an address: one line, and their number at the end of the minute or of the server" {
	local other=10.77.0.77
	start_server --secret-file "$DIR/ours" write
	refused_often 4
	count "$LOG" "^refused $ADDRESS:[0-9]*: it requested the other mode\.\$" 1
	count "$ERRORS" "$ADDRESS:[0-9]* failed: the peer does not have the same secret" 1
	# No client wakes the server at the end of the minute.
	WAIT_SECONDS=120 wait_line "$ERRORS" \
		"^rdma-server: exchange with $ADDRESS failed: the peer does not have .*; and [0-9]* more in the last minute\.\$"
	WAIT_SECONDS=120 wait_line "$LOG" "^refused $ADDRESS: it requested the other mode, and [0-9]* more in the last minute\.\$"
	refused_often 3
	# Clients of another address are reported.
	ip address add $other/24 dev "$VM_INTERFACE"
	undo ip address delete $other/24 dev "$VM_INTERFACE"
	expect 3 client --source $other --secret-file "$DIR/ours" read "$ADDRESS" "$PORT"
	wait_line "$LOG" "^refused $other:[0-9]*: it requested the other mode\.\$"
	stop_server
	count_repeated "$LOG" "^refused $ADDRESS.* it requested the other mode" 7
	count_repeated "$ERRORS" "exchange with $ADDRESS.* failed: the peer does not have the same secret" 7
	count "$LOG" '^received connection request' 0
}

@test "a server that is stopped in the middle of an exchange or a measurement" {
	local i command line
	mkfifo "$DIR/endless"
	exec 7<>"$DIR/endless"
	for i in $(seq "${PAIR_REFUSALS:-1}"); do
		while IFS='>' read -r line command; do
			start_server --discard any
			# shellcheck disable=SC2086 # several words
			"$PAIR_BIN/rdma-client" $command "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 7>&- &
			CLIENTS=($!)
			wait_line "$OUT" "^ *$line"
			# The second signal aborts what is running, and is the one the server dies by.
			# SIGTERM is the second even if the server reads both at once, in order of number.
			kill -INT "$SERVER"
			kill -TERM "$SERVER"
			server_exits 143
			exits_with 4 "${CLIENTS[0]}"
			has "$ERR" 'the peer aborted: interrupted by a signal'
		done <<-END
		received MSG_MR>write --verbose --input $DIR/endless
		size  *average>bandwidth write --duration 100 --poll event --warm-up 0
		size  *minimum>latency read --duration 100 --poll spin --warm-up 0
		END
	done
	exec 7>&-
}
