#!/usr/bin/env bats
# Limits of a server: number of clients, clients per address, duration of a handshake, bytes from a
# client; and eviction of clients that only occupy slots.

load common
load streams

# --handshake-timeout for tests in which a handshake times out; valid handshakes must be faster.
HANDSHAKE=$((PAIR_SCALE > 1 ? 15 : 4))

# occupy_slot STEP...: starts a client that does these steps, and appends it to ${CLIENTS[@]}.
# Returns when it has printed "here".
occupy_slot() {
	start_misbehaving_peer "$ADDRESS" "$PORT" "$@"
}

start_misbehaving_peer() {
	local before=${#CLIENTS[@]}
	"$PAIR_PEERS/tests/one-host/misbehaving-peer" "$@" >"$DIR/peer.$before" 2>&1 &
	CLIENTS+=($!)
	wait_line "$DIR/peer.$before" '^here$'
}

kill_clients() { kill -KILL "$@"; }

# Adds a second address to this host, for clients.
second_address_up() {
	SECOND=10.77.0.77
	ip address add "$SECOND/24" dev "$VM_INTERFACE"
	undo ip address delete "$SECOND/24" dev "$VM_INTERFACE"
}

FULL='the server is full: its --max-clients limit is reached'
FULL_ADDRESS="too many clients from this address: the server's --max-clients-per-address limit is reached"

# all_slots_work N: all N slots of the server are usable at once, so none was lost.
all_slots_work() {
	wait_until no_clients
	generate_load write "$ADDRESS" "$PORT" "$1" "$1" >"$OUT" 2>"$ERR" || fail "$(cat "$OUT" "$ERR")"
	has "$OUT" "^$1 verified, 0 failed\$"
}

@test "a full server: the client retries until a slot is free or its timeout expires" {
	start_server --timeout 60 --max-clients 2 any
	occupy_slot mr get say:here pause
	occupy_slot mr get say:here pause
	expect_error 3 "$FULL" client --timeout 2 write "$ADDRESS" "$PORT"
	count "$OUT" '^server is full; retrying.$' 1
	"$PAIR_BIN/rdma-client" --timeout 60 write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$OUT" 'server is full'
	kill_clients "${CLIENTS[0]}"
	exits_with 0 "$pid"
	is_empty "$ERR"
	kill_clients "${CLIENTS[1]}"
	all_slots_work 2
	stop_server
}

@test "a signal ends a client that waits for a slot" {
	start_server --timeout 60 --max-clients 1 any
	occupy_slot mr get say:here pause
	"$PAIR_BIN/rdma-client" --timeout 60 write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$OUT" 'server is full'
	kill -INT "$pid"
	exits_with 130 "$pid"
	has "$ERR" 'interrupted by a signal'
	kill_clients "${CLIENTS[@]}"
	stop_server
}

# Over iWARP, the client confirms nothing.
# bats test_tags=roce
@test "silent clients are dropped, and a good one is admitted" {
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients 4 any
	occupy_slot say:here closed
	occupy_slot say:here closed
	start_misbehaving_peer --half-open "$ADDRESS" "$PORT"
	start_misbehaving_peer --half-open "$ADDRESS" "$PORT"
	expect 0 client --timeout 60 write "$ADDRESS" "$PORT"
	wait_until count "$ERRORS" 'timed out waiting for MSG_MR; .*--handshake-timeout' 4
	exits_with 0 "${CLIENTS[0]}"
	exits_with 0 "${CLIENTS[1]}"
	kill_clients "${CLIENTS[2]}" "${CLIENTS[3]}"
	all_slots_work 4
	stop_server
}

@test "keepalives do not extend the handshake deadline" {
	start_server --timeout 60 --handshake-timeout $HANDSHAKE any
	misbehaving_peer "$ADDRESS" "$PORT" closed
	wait_line "$ERRORS" 'timed out waiting for MSG_MR; .*raise --handshake-timeout'
	# After the handshake, only the idle timeout applies.
	occupy_slot mr get say:here pause
	MARK=$SECONDS
	wait_until has_waited $((HANDSHAKE + 2))
	one_line "$ERRORS"
	kill_clients "${CLIENTS[@]}"
	stop_server
}

# Over iWARP, each connection request needs a queue pair, so the peer cannot send as many.
# bats test_tags=roce
@test "a flood of requests: silent clients still time out, and a good one is admitted" {
	start_server --timeout 60 --handshake-timeout $HANDSHAKE any
	occupy_slot say:here closed
	start_misbehaving_peer --hello version --flood-requests "$ADDRESS" "$PORT" 500
	start_misbehaving_peer --hello version --flood-requests "$ADDRESS" "$PORT" 500
	wait_line "$ERRORS" 'timed out waiting for MSG_MR; .*--handshake-timeout'
	kill -0 "${CLIENTS[1]}" "${CLIENTS[2]}"
	expect 0 client --timeout 60 write "$ADDRESS" "$PORT"
	kill_clients "${CLIENTS[1]}" "${CLIENTS[2]}"
	stop_server
}

@test "a server full of idle clients evicts the longest idle and sends it the reason" {
	mkdir "$DIR/in"
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients 3 --output "$DIR/in/" any
	start_fed_client --timeout 60 write
	local fed=${CLIENTS[0]}
	CLIENTS=()
	occupy_slot mr get say:here keepalives
	occupy_slot mr get say:here keepalives
	client --timeout 60 --message hello read "$ADDRESS" "$PORT" >"$DIR/good" 2>&1 ||
		fail "$(cat "$DIR/good")"
	exits_with 4 "$fed"
	one_line "$ERR"
	has "$ERR" 'the peer aborted: no data moved, and another client needed the slot'
	wait_line "$ERRORS" 'no data moved, and another client needed the slot (idle for [0-9.]* s); raise --max-clients'
	# Its partial file is removed.
	wait_until contains_no "$DIR/in" '*fifo*'
	one_line "$ERRORS"
	exec 7>&-
	kill_clients "${CLIENTS[@]}"
	wait_until no_clients
	stop_server
}

@test "exclusive output: an idle holder is evicted for a good client" {
	local secret=$DIR/secret
	(umask 077 && head -c 32 /dev/urandom | base64 >"$secret")
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --output - any
	occupy_slot say:here closed
	succeeds_after_retry
	wait_line "$ERRORS" 'timed out waiting for MSG_MR'
	occupy_slot mr get say:here keepalives
	succeeds_after_retry
	wait_line "$ERRORS" 'another client needed the slot (idle for [0-9.]* s); raise --max-clients'
	kill_clients "${CLIENTS[1]}" || iwarp # there, it has ended
	wait_until no_clients
	stop_server
	count "$ERRORS" 'exchange with .* failed' 2
	[ "$(tr '\0' '\n' <"$LOG")" = "$(printf 'good\ngood')" ]
	# With a secret, an unauthenticated client cannot keep the output longer either; an
	# authenticated client may.
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --secret-file "$secret" --output - any
	start_misbehaving_peer --secret "$secret" "$ADDRESS" "$PORT" say:here closed
	succeeds_after_retry --secret-file "$secret"
	wait_line "$ERRORS" 'timed out waiting for MSG_PROOF'
	stop_server
}

# A good client retries until it gets the output.
succeeds_after_retry() {
	client "$@" --timeout 60 --message good write "$ADDRESS" "$PORT" >"$DIR/good" 2>&1 ||
		fail "$(cat "$DIR/good")"
	has "$DIR/good" '^server is full; retrying.$'
}

# contains_no FOLDER PATTERN: the folder contains no matching file.
contains_no() { [ -z "$(find "$1" -name "$2")" ]; }

# Sends a byte every 0.2 s.
feed() {
	while printf x >&7; do
		sleep 0.2
	done
}

@test "a client that moves data is never evicted, however slow" {
	mkdir "$DIR/in"
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients 1 --output "$DIR/in/" any
	start_fed_client --timeout 60 write
	feed &
	local feeder=$! fed=${CLIENTS[0]} got=0
	MARK=$SECONDS
	wait_until has_waited $((HANDSHAKE + 2))
	client --timeout 3 --message late write "$ADDRESS" "$PORT" >"$DIR/full" 2>&1 7>&- || got=$?
	[ $got -eq 3 ] || fail "exit $got: $(cat "$DIR/full")"
	has "$DIR/full" "$FULL"
	is_empty "$ERRORS"
	kill "$feeder"
	wait "$feeder" || true
	exec 7>&-
	exits_with 0 "$fed"
	wait_until no_clients
	stop_server
}

@test "the limit per address leaves slots to other addresses" {
	second_address_up
	start_server --timeout 60 --max-clients-per-address 2 any
	occupy_slot mr get say:here keepalives
	occupy_slot mr get say:here keepalives
	expect_error 3 "$FULL_ADDRESS" client --timeout 2 write "$ADDRESS" "$PORT"
	has "$OUT" '^server is full; retrying.$'
	expect 0 client --source "$SECOND" write "$ADDRESS" "$PORT"
	is_empty "$ERRORS"
	kill -0 "${CLIENTS[0]}" "${CLIENTS[1]}"
	kill_clients "${CLIENTS[0]}"
	expect 0 client --timeout 60 write "$ADDRESS" "$PORT"
	kill_clients "${CLIENTS[1]}"
	all_slots_work 2
	stop_server
}

@test "an address at its limit evicts only its own idle clients" {
	second_address_up
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients-per-address 1 \
		--discard any
	occupy_slot mr get say:here keepalives
	"$PAIR_BIN/rdma-client" --source "$SECOND" --input /dev/zero --quiet write "$ADDRESS" "$PORT" \
		>"$DIR/other" 2>&1 &
	local other=$!
	expect 0 client --timeout 60 write "$ADDRESS" "$PORT"
	wait_until count "$ERRORS" 'another client needed the slot' 1
	kill -0 $other
	kill -KILL $other "${CLIENTS[@]}"
	wait_until no_clients
	stop_server
}

@test "diagnoses have their own slots, a limit per address and an idle timeout" {
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients 1 \
		--max-clients-per-address 1 any
	occupy_slot mr get say:here keepalives
	# A full server can be diagnosed; the only check that fails reports that it is full.
	expect 4 client diagnose --verbose "$ADDRESS" "$PORT"
	has "$OUT" '^both ends   failed  the server has no slot for another client$'
	has "$OUT" '^ *seen: clients: 1 of 1, full'
	has "$OUT" '^ *clients  *-  *1 of 1, full'
	count "$OUT" '^............failed ' 1
	has "$OUT" '^verdict: RDMA works, but not well: the server has no slot for another client; look at this host\.$'
	start_misbehaving_peer --hello diagnosis "$ADDRESS" "$PORT" command:facts receive say:here pause
	expect 3 client diagnose "$ADDRESS" "$PORT"
	has "$OUT" "^connection  failed  $FULL_ADDRESS"
	kill_clients "${CLIENTS[@]}"
	wait_until no_clients
	misbehaving_peer --hello diagnosis "$ADDRESS" "$PORT" closed
	wait_line "$ERRORS" 'timed out waiting for the first command; .*--handshake-timeout'
	stop_server
}

@test "input larger than --max-size is refused, or aborted once it exceeds the limit" {
	local mode
	head -c 10240 /dev/zero >"$DIR/fits"
	head -c 10241 /dev/zero >"$DIR/large"
	mkdir "$DIR/in"
	for mode in write read; do
		start_server --max-size 10K --output "$DIR/in/" $mode
		expect_error 3 "the server accepts at most 10,240 bytes from a client; send less" \
			client --input "$DIR/large" $mode "$ADDRESS" "$PORT"
		is_empty "$ERRORS"
		is_empty "$DIR/in"
		pipe_to expect 4 client --input - $mode "$ADDRESS" "$PORT"
		cat "$DIR/large" >"$DIR/pipe"
		wait "$PIPE_READER"
		has "$ERR" 'the peer aborted: received more than the 10,240 bytes that --max-size allows'
		wait_line "$ERRORS" 'received more than the 10,240 bytes that --max-size allows; send less'
		one_line "$ERRORS"
		wait_until is_empty "$DIR/in"
		expect 0 client --input "$DIR/fits" $mode "$ADDRESS" "$PORT"
		pipe_to expect 0 client --input - $mode "$ADDRESS" "$PORT"
		cat "$DIR/fits" >"$DIR/pipe"
		wait "$PIPE_READER"
		[ "$(find "$DIR/in" -type f -size 10240c | wc -l)" -eq 2 ]
		rm "$DIR/in"/*
		stop_server
	done
	# A tutorial program announces no size; it may send 1,024 bytes.
	start_server --verbose --max-size 1023 write
	if tutorial_peer write "$ADDRESS" "$PORT" 2>"$ERR"; then
		fail 'it was accepted'
	fi
	has "$ERR" "$REJECTED"
	has "$ERRORS" 'refused .*, reason 17'
	stop_server
}

# Over iWARP, each connection request needs a queue pair, so the peer cannot send as many.
# bats test_tags=roce
@test "all floods at once: good clients are still served" {
	start_server --timeout 60 --handshake-timeout $HANDSHAKE --max-clients 6 any
	local i
	occupy_slot mr get say:here keepalives
	occupy_slot mr get say:here keepalives
	occupy_slot say:here closed
	occupy_slot say:here closed
	start_misbehaving_peer --half-open "$ADDRESS" "$PORT"
	start_misbehaving_peer --half-open "$ADDRESS" "$PORT"
	# Further misbehaving clients compete with the good ones for free slots.
	for i in 1 2 3 4; do
		"$PAIR_PEERS/tests/one-host/misbehaving-peer" "$ADDRESS" "$PORT" mr get keepalives \
			>>"$DIR/more" 2>&1 &
		CLIENTS+=($!)
		expect 0 client --timeout 60 write "$ADDRESS" "$PORT"
		expect 0 client --timeout 60 read "$ADDRESS" "$PORT"
	done
	kill -KILL "${CLIENTS[@]}" 2>/dev/null || true
	all_slots_work 6
	stop_server
}
