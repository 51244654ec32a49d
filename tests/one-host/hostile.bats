#!/usr/bin/env bats
# Peers that violate the protocol or disappear: each ends at most its own exchange, with a reason,
# and the server keeps serving the others.

load common

# Each case: the steps of the peer, and the reason that the server must report. A good client stays
# connected and is not affected; another client is served afterwards.
server_survives() { # OPTIONS... reads cases from standard input: STEPS => PATTERN
	local steps pattern before mode=${!#}
	start_server --timeout 3 --discard "$@"
	start_good "${mode/any/write}"
	while IFS='>' read -r steps pattern; do
		steps=${steps%=}
		before=$(wc -l <"$ERRORS")
		# shellcheck disable=SC2086 # several words
		misbehaving_peer $PEER_OPTIONS "$ADDRESS" "$PORT" $steps
		wait_until printed_since "$before" "${pattern# }" || fail "$steps: $(cat "$ERRORS")"
		feed_good
	done
	good_was_served
	expect 0 client "${mode/any/write}" "$ADDRESS" "$PORT"
	stop_server
}

if iwarp; then
	NOT_EXPOSED=$ENDED BROKEN=$ENDED NO_ACKNOWLEDGEMENT=$ENDED
else
	NOT_EXPOSED='received a WRITE to memory that is not exposed'
	BROKEN='the connection broke before the exchange was complete'
	DENIED="the peer's memory region denied access"
	NO_RECEIVE='the peer had no receive posted for a message'
	NO_ACKNOWLEDGEMENT='timed out waiting for the acknowledgement of MSG_MR'
fi

# denied FILE: a request of the peer that wrote this file was denied, which iWARP does not report.
denied() { iwarp || has "$1" '^completion remote access error$'; }

printed_since() { tail -n +"$(($1 + 1))" "$ERRORS" | grep -q -e "$2"; }

# bats test_tags=portable
@test "messages out of order" {
	server_survives any <<-END
	done closed => received MSG_DONE before MSG_MR
	verdict closed => received MSG_VERDICT before MSG_DONE
	mr mr closed => received a second MSG_MR
	mr get mr closed => received a second MSG_MR
	mr get write done done closed => received a second MSG_DONE
	mr get verdict closed => received MSG_VERDICT before MSG_DONE
	mr get write done get verdict verdict closed => received a second MSG_VERDICT
	END
}

# bats test_tags=portable
@test "messages with invalid contents" {
	server_survives any <<-END
	type:77 closed => received a message of unknown type 77
	keepalive closed => received a message of 0 bytes, expected 56
	bytes:55 closed => received a message of 55 bytes, expected 56
	bytes:57:1 closed => received a message of 57 bytes, expected 56
	bytes:320 closed => received a message of 320 bytes, expected 56
	bytes:321 closed => the peer sent a message longer than the protocol allows
	mr:wrap closed => received an invalid MSG_MR
	mr:empty closed => received an invalid MSG_MR
	mr:small get closed => timed out waiting for
	mr get write done:large closed => MSG_DONE does not match the 25 bytes received
	mr get write done:empty closed => MSG_DONE does not match the 25 bytes received
	mr get write done get verdict:9 closed => received an invalid MSG_VERDICT
	END
}

@test "memory accesses that either end does not permit" {
	server_survives any <<-END
	mr:key get closed => $DENIED
	mr:all get closed => $DENIED
	mr get write:beyond closed => $NOT_EXPOSED
	mr get write:key closed => $NOT_EXPOSED
	END
	# Linux 6.1's siw does not check whether a region allows READ.
	iwarp || server_survives any <<-END
	mr get read closed => the connection broke before the exchange was complete
	END
	PEER_OPTIONS='--hello read' server_survives read <<-END
	mr get write closed => $NOT_EXPOSED
	END
}

# A server verifies only when the client can no longer write, and a client that has sent MSG_VERDICT
# no longer needs to read the server's data.
@test "remote access to memory is revoked as soon as it is no longer needed" {
	start_server --discard any
	start_good write
	misbehaving_peer "$ADDRESS" "$PORT" mr get write 'done' get:MSG_VERDICT write:silent closed >"$OUT"
	denied "$OUT"
	wait_line "$ERRORS" "$BROKEN"
	has "$LOG" "^message from $ADDRESS:[0-9]*: message from a test peer\$"
	misbehaving_peer "$ADDRESS" "$PORT" mr get write 'done' get:MSG_VERDICT write closed >"$OUT"
	denied "$OUT"
	wait_line "$ERRORS" "$NOT_EXPOSED"
	misbehaving_peer --hello read "$ADDRESS" "$PORT" mr get read data 'done' get:MSG_VERDICT read verdict \
		reads closed >"$OUT"
	iwarp || count "$OUT" '^completion remote access error$' 1
	[ "$(grep -c '^read: message from passive' "$OUT")" -ge 2 ]
	good_was_served
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	count "$ERRORS" . 2
}

# two_peers MODE STEP...: a second client does these steps with the region and rkey of the first.
two_peers() {
	local mode=$1 region
	shift
	start_server --timeout 60 "$mode"
	# shellcheck disable=SC2086 # several words
	misbehaving_peer --hello "${mode/write/ours}" "$ADDRESS" "$PORT" mr get region "await:$DIR/go" $GOOD \
		>"$DIR/first" &
	PEER=$!
	wait_line "$DIR/first" '^region '
	region=$(sed -n 's/^region //p' "$DIR/first")
	misbehaving_peer --hello "${mode/write/ours}" "$ADDRESS" "$PORT" mr get "use:$region" "$@" closed >"$OUT"
	denied "$OUT"
	wait_until one_line "$ERRORS"
	touch "$DIR/go"
	exits_with 0 "$PEER"
	rm "$DIR/go"
	has_not "$DIR/first" '^completion'
	wait_line "$LOG" '^remote buffer: message from a test peer$'
	stop_server
	one_line "$ERRORS"
}

@test "the rkey of another connection is rejected, and its owner is unaffected" {
	GOOD='write done get:MSG_VERDICT verdict sent disconnect'
	two_peers write write
	has "$ERRORS" "$NOT_EXPOSED"
	two_peers write write:silent
	two_peers write read
	GOOD='read data done get:MSG_VERDICT verdict sent disconnect'
	two_peers read read
	two_peers read write:silent
}

@test "peers that disconnect or exit at each step" {
	server_survives any <<-END
	exit => connection closed by the peer while waiting for MSG_MR
	disconnect => connection closed by the peer while waiting for MSG_MR
	mr exit => connection closed by the peer while waiting for
	mr get exit => connection closed by the peer while waiting for
	mr get disconnect => connection closed by the peer while waiting for
	mr get write exit => connection closed by the peer while waiting for
	mr get write done exit => connection closed by the peer while waiting for
	mr get write done get get exit => connection closed by the peer while waiting for
	END
}

# bats test_tags=portable
@test "peers that stop responding at each step hit the idle timeout" {
	server_survives any <<-END
	closed => timed out waiting for MSG_MR
	mr closed => timed out waiting for MSG_DONE
	mr get write done closed => timed out waiting for MSG_VERDICT
	END
}

@test "a peer without a posted receive: idle timeout or RNR retries exhausted" {
	PEER_OPTIONS='--receives 0' server_survives any <<-END
	mr closed => $NO_ACKNOWLEDGEMENT
	END
	# Without rdmacm, each end decides how often it retries.
	[ "${PAIR_BOOTSTRAP:-}" != tcp ] || return 0
	PEER_OPTIONS='--receives 0 --rnr 1' server_survives any <<-END
	mr closed => $NO_RECEIVE
	END
}

@test "a corrupted message: exit 5 at both ends" {
	start_server --count 1 any
	misbehaving_peer "$ADDRESS" "$PORT" mr get write done:digest get get disconnect >"$OUT"
	has "$OUT" '^got MSG_VERDICT$'
	server_exits 5
	has "$ERRORS" "data from the peer arrived corrupted"
	has_not "$LOG" 'remote buffer'
	listening_peer -- get mr write done:digest get get verdict closed
	expect 5 client write "$ADDRESS" "$PEER_PORT"
	one_line "$ERR"
	has "$ERR" "data from the peer arrived corrupted"
	wait "$PEER"
	listening_peer -- get mr write 'done' get verdict:damaged get closed
	expect 5 client write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'data sent to the peer arrived corrupted'
	wait "$PEER"
}

# bats test_tags=portable
@test "a client that receives corrupted data reports it even if the peer stops responding" {
	listening_peer -- get mr write done:digest get get pause
	expect 5 client --timeout 3 write "$ADDRESS" "$PEER_PORT"
	kill -KILL "$PEER"
}

@test "data that is unannounced, not permitted or too early" {
	server_survives any <<-END
	mr get write write closed => received more than the announced 25 bytes
	mr get write:26 closed => received more than the announced 25 bytes
	mr get write:immediate closed => received more than the announced 25 bytes
	mr get write:10 done closed => received fewer than the announced 25 bytes
	data:5 closed => received unexpected data
	mr get write done data:25 closed => received unexpected data
	mr get write data:25 closed => received an invalid announcement of data up to byte 25
	mr get write data:3 closed => received an invalid announcement of data up to byte 3
	END
	PEER_OPTIONS='--size unknown' server_survives any <<-END
	mr get write:immediate done closed => MSG_DONE does not match the 32 bytes received
	mr get data:99999999 closed => received an invalid announcement of data up to byte 99999999
	mr get data:18446744073709551615 closed => an invalid announcement of data up to byte 18446744073709551615
	mr get data:0 closed => received an invalid announcement of data up to byte 0
	END
	PEER_OPTIONS='--hello none' server_survives write <<-END
	mr get data:5 closed => received unexpected data
	mr get credit:0 closed => received invalid credit up to byte 0
	END
	PEER_OPTIONS='--hello read --size unknown' server_survives read <<-END
	mr get data:1025 closed => received an invalid announcement of data up to byte 1025
	mr:key get data closed => $DENIED
	mr:all get data closed => $DENIED
	mr get data:4 data:4 closed => received an invalid announcement of data up to byte 4
	END
}

# bats test_tags=portable
@test "impossible credit" {
	server_survives --message 'a text of 23 characters' any <<-END
	credit:0 closed => received invalid credit up to byte 0
	mr get get credit:25 closed => received invalid credit up to byte 25
	mr get get credit:10 credit:9 closed => received invalid credit up to byte 9
	mr get get credit:10:1 credit:10:0 closed => received invalid credit up to byte 10
	mr get get credit:24:2 closed => received invalid credit up to byte 24
	mr:depth closed => received MSG_MR with a depth of 0
	END
}

@test "a sender that ignores flow control" {
	# No process reads from the FIFO, so no data leaves the ring.
	mkfifo "$DIR/fifo"
	start_server --timeout 60 --chunk 4K --buffer 16K --count 1 --output "$DIR/fifo" write
	misbehaving_peer --size unknown "$ADDRESS" "$PORT" mr get write:4096 write:4096 write:4096 write:4096 \
		closed
	server_exits 4
	has "$ERRORS" 'received an invalid announcement of data up to byte 16384'
	one_line "$ERRORS"
}

@test "send mode: pieces that fit no receive, and data without credit" {
	PEER_OPTIONS='--hello send' server_survives any <<-END
	mr closed => received MSG_MR with [0-9]* first receives
	mr:send get piece:early closed => received an invalid announcement of data up to byte 25
	mr:send get piece:empty closed => received an invalid announcement of data up to byte 0
	mr:send get piece:wrong closed => received an invalid announcement of data up to byte 26
	mr:send get piece:long closed => the peer sent a message longer than the protocol allows
	mr:send get data:25 closed => received an invalid announcement of data up to byte 25
	mr:send get piece piece closed => received more than the announced 25 bytes
	mr:send get piece done:large closed => MSG_DONE does not match the 25 bytes received
	mr:send get piece done closed => timed out waiting for MSG_VERDICT
	mr:send get write closed => $NOT_EXPOSED
	END
	# No process reads from the FIFO, so the receives of the pieces are not posted again.
	mkfifo "$DIR/fifo"
	start_server --timeout 60 --count 1 --output "$DIR/fifo" send
	misbehaving_peer --hello send --size unknown "$ADDRESS" "$PORT" mr:send get pieces closed
	server_exits 4
	has "$ERRORS" 'received an invalid announcement of data up to byte 225'
	one_line "$ERRORS"
}

@test "unexpected texts, and texts with terminal escapes" {
	server_survives any <<-END
	bytes:57:2 closed => received a message of 57 bytes, expected 56
	bytes:57:3 closed => received a message of 57 bytes, expected 56
	bytes:57:4 closed => received a message of 57 bytes, expected 56
	bytes:312:5 closed => received a message of 312 bytes, expected 56
	bytes:311:5 closed => the peer aborted: \\\\x00\\\\x00
	abort closed => the peer aborted: no reason given
	abort:why closed => the peer aborted: why
	mr get abort:why closed => the peer aborted: why
	mr get write done get abort:why closed => the peer aborted: why
	END
	start_server --count 1 any
	misbehaving_peer "$ADDRESS" "$PORT" mr get $'abort:\e[2J\r\n\x07\xff %s%n \\' closed
	server_exits 4
	has "$ERRORS" 'the peer aborted: \\x1b\[2J\\x0d\\x0a\\x07\\xff %s%n'
	[ "$(LC_ALL=C grep -c '[^ -~]' "$ERRORS")" -eq 0 ]
	one_line "$ERRORS"
}

# bats test_tags=portable
@test "a server that violates the stream protocol: the client reports it, exit 4" {
	local steps pattern
	while IFS='>' read -r steps pattern; do
		# shellcheck disable=SC2086 # several words
		listening_peer -- ${steps%=}
		expect 4 client --timeout 60 write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" "${pattern# }"
		exits_with 0 "$PEER"
	done <<-END
	get mr write write closed => received more than the announced 25 bytes
	get mr:depth closed => received MSG_MR with a depth of 0
	get credit:1 closed => received invalid credit up to byte 1
	get data:1 closed => received unexpected data
	get mr abort:tired closed => the peer aborted: tired
	get abort closed => the peer aborted: no reason given
	get keepalive closed => received a message of 0 bytes
	get mr write done:large closed => MSG_DONE does not match the 25 bytes received
	END
}

@test "the peer receives the reason when its exchange is aborted" {
	start_server any
	misbehaving_peer "$ADDRESS" "$PORT" mr get mr get:MSG_ABORT closed >"$OUT"
	has "$OUT" '^got MSG_ABORT: received a second MSG_MR'
	stop_server
}

# Keepalives prevent the idle timeout, because a peer may wait for its own files indefinitely.
@test "a peer that only sends keepalives delays no other client" {
	start_server --timeout 1 any
	misbehaving_peer "$ADDRESS" "$PORT" mr get say:here keepalives >"$OUT" 2>&1 &
	PEER=$!
	wait_line "$OUT" here
	MARK=$SECONDS
	wait_until has_waited 3
	is_empty "$ERRORS"
	expect 0 client write "$ADDRESS" "$PORT"
	kill_peers
	wait_line "$ERRORS" 'exchange with .* failed'
	one_line "$ERRORS"
	stop_server
}

@test "peers that flood messages: other clients are still served" {
	start_server --timeout 30 any
	local i mode
	for i in 1 2; do
		misbehaving_peer "$ADDRESS" "$PORT" mr get say:here flood >>"$OUT" 2>&1 &
	done
	wait_until count "$OUT" here 2
	for mode in write read send; do
		expect 0 client "$mode" "$ADDRESS" "$PORT"
	done
	# On iWARP, the flood ends their own connections.
	iwarp || is_empty "$ERRORS"
	kill_peers
	stop_server
}

@test "a server that exits at each step: the client reports it, exit 4" {
	local steps
	while read -r steps; do
		# shellcheck disable=SC2086 # several words
		listening_peer -- $steps
		expect 4 client --timeout 60 write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" 'connection closed by the peer while waiting for\|stopped acknowledging\|could not complete'
		wait "$PEER"
	done <<-END
	get exit
	get mr exit
	get mr write exit
	get mr write done exit
	get mr write done get exit
	get disconnect
	END
}

@test "a server killed at each step: the client reports it, exit 4, no resources left" {
	local steps pid
	while read -r steps; do
		# shellcheck disable=SC2086 # several words
		listening_peer -- $steps say:here pause
		"$PAIR_BIN/rdma-client" --timeout 60 write "$ADDRESS" "$PEER_PORT" >"$OUT" 2>"$ERR" &
		pid=$!
		wait_line "$DIR/peer" here
		kill -KILL "$PEER"
		exits_with 4 "$pid"
		one_line "$ERR"
	done <<-END
	get
	get mr
	get mr write
	get mr write done
	get mr write done get
	END
}

@test "our server killed at each step: the peer is disconnected, no resources left" {
	local steps
	while read -r steps; do
		start_server any
		# shellcheck disable=SC2086 # several words
		misbehaving_peer "$ADDRESS" "$PORT" $steps say:here closed >"$OUT" 2>&1 &
		PEER=$!
		wait_line "$OUT" here
		kill -KILL "$SERVER"
		wait "$SERVER" || true
		SERVER=''
		wait "$PEER" || fail "$(cat "$OUT")"
		wait_until same_resources
	done <<-END
	say:connected
	mr
	mr get
	mr get write
	mr get write done
	mr get write done get get
	END
}

@test "our client killed at each step: the peer is disconnected, no resources left" {
	local steps pid
	while read -r steps; do
		# shellcheck disable=SC2086 # several words
		listening_peer -- $steps say:here closed
		"$PAIR_BIN/rdma-client" --timeout 60 write "$ADDRESS" "$PEER_PORT" >"$OUT" 2>"$ERR" &
		pid=$!
		wait_line "$DIR/peer" here
		kill -KILL "$pid"
		wait "$pid" || true
		wait "$PEER" || fail "$(cat "$DIR/peer")"
	done <<-END
	say:connected
	get
	get mr
	get mr write
	get mr write done get
	END
}

@test "unterminated remote text with control characters is printed bounded and escaped" {
	start_server any
	misbehaving_peer --size 1024 "$ADDRESS" "$PORT" mr get write:wild 'done' get verdict get sent disconnect
	wait_line "$LOG" '^remote buffer: '
	stop_server
	[ "$(grep -c '[^ -~]' "$LOG")" -eq 0 ]
	has "$LOG" '^remote buffer: %s%n\\x1b\[2J'
	[ "$(grep '^remote buffer' "$LOG" | wc -c)" -gt 1024 ]
}

@test "read mode: a server that permits no RDMA READ is refused with the reason" {
	listening_peer --hello read --depth 0 -- closed
	expect 4 client read "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'the server does not allow RDMA READ'
	wait "$PEER"
}

@test "read mode: a client that permits no RDMA READ is refused with the reason" {
	start_server any
	if misbehaving_peer --hello read --depth 0 "$ADDRESS" "$PORT" closed 2>"$ERR"; then
		fail 'it was accepted'
	fi
	has "$ERR" "$REJECTED"
	stop_server
}

@test "a good client is served among twenty misbehaving ones" {
	start_server --timeout 30 any
	local i
	for i in $(seq 20); do
		misbehaving_peer "$ADDRESS" "$PORT" mr get say:here pause >>"$OUT" 2>&1 &
		CLIENTS+=($!)
	done
	wait_until count "$OUT" here 20
	for mode in write read; do
		expect 0 client "$mode" "$ADDRESS" "$PORT"
	done
	kill_peers
	stop_server
}
