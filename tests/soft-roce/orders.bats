#!/usr/bin/env bats
# Peers that break the rules of a diagnosis, at the server and at rdma-client diagnose: each ends its
# own diagnosis at most, with a reason, and leaves nothing behind.

load common
load orders

KIND=diagnosis

# What comes before a test, at the server; and tests that only the server initiates, of 16 operations and
# for a time.
READY='order:region told lanes told'
ITS_TEST='begin:direction=2:depth=16:ops=16'
ITS_RUN='begin:direction=2:depth=16:ms=100'

@test "orders of wrong type, length or contents" {
	server_survives <<-END
	bytes:63 closed => $SENSELESS
	bytes:1 closed => $SENSELESS
	beat closed => $SENSELESS
	bytes:64 closed => $SENSELESS
	bytes:4096:77 closed => $SENSELESS
	bytes:4097:1 closed => the peer sent a message longer than the protocol's
	order:77 closed => $SENSELESS
	order:3 closed => $SENSELESS
	order:7 closed => $SENSELESS
	order:12 closed => $SENSELESS
	order:facts:status closed => $SENSELESS
	order:region:wrap closed => $SENSELESS
	order:region:empty closed => $SENSELESS
	order:region:long closed => $SENSELESS
	END
}

# What the server refuses, it refuses by an answer, and goes on.
@test "orders that cannot be carried out are refused, and the diagnosis goes on" {
	local steps
	start_server any
	while read -r steps; do
		# shellcheck disable=SC2086 # words
		ordering_peer $steps told order:facts told disconnect >"$OUT"
		count "$OUT" '^told [a-z]* refused$' 1
		[ "$(tail -n 1 "$OUT")" = 'told facts done' ]
	done <<-END
	order:lanes told order:begin
	begin:depth=16:ops=1
	order:region told begin:depth=16:ops=1
	lanes told begin:depth=16:ops=1
	$READY lanes
	$READY order:region
	$READY begin
	$READY begin:depth=17:ops=1
	$READY begin:depth=16:ops=17
	$READY begin:depth=16:ms=5001
	$READY begin:depth=16:ops=1:direction=3
	$READY begin:depth=16:ops=1:qps=2
	$READY begin:depth=16:ops=1:slots=17
	$READY begin:depth=16:ops=1:slots=1:size=1025
	order:region:larger
	order:region:answer
	order:facts:answer
	END
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	expect 0 client diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "orders in an order of their own, and more than once" {
	start_server any
	# shellcheck disable=SC2086 # words
	ordering_peer order:end told order:region told order:region told order:counters:number told \
		lanes told order:end told $ITS_TEST told beat order:end told $ITS_RUN:read told beat order:facts told \
		begin:depth=16:both:ms=100 told beat order:end told order:end told disconnect >"$OUT"
	[ "$(grep -c '^told [a-z]* done$' "$OUT")" -eq 13 ] || fail "$(cat "$OUT")"
	# By itself the server does all of a test, though its end is ordered at once.
	has "$OUT" '^tally: 16 operations, 0 wrong$'
	wait_until quiet
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	stop_server
}

@test "memory that the peer does not have, or not give" {
	server_survives <<-END
	order:region:key told lanes told $ITS_TEST told beat closed => the peer's memory did not allow the access
	order:region:key told lanes told $ITS_TEST:read told beat closed => the peer's memory did not allow the access
	order:region:large told lanes told $ITS_RUN:size=65536:slots=1 told beat closed => the peer's memory did not allow the access
	order:region:large told lanes told $ITS_RUN:size=65536:slots=1:read told beat closed => the peer's memory did not allow the access
	END
}

@test "accesses to our memory that are not due" {
	server_survives <<-END
	order:region told write:1024 closed => it sent immediate data, which means nothing here
	order:region told order:facts told order:facts told order:facts told write:64 closed => immediate data
	order:region told write:beyond closed => \\(did not allow\\|broke before\\|wrote\\|immediate\\)
	order:region told write:key closed => \\(did not allow\\|broke before\\|wrote\\|immediate\\)
	order:region told read closed => \\(did not allow\\|broke before\\|does not answer\\)
	END
}

@test "diagnosers that go away at each step, with and without a word" {
	server_survives <<-END
	vanish => -
	disconnect => -
	order:facts disconnect => -
	order:region told vanish => -
	order:region told disconnect => -
	order:region told order:facts told vanish => -
	$READY vanish => -
	$READY $ITS_TEST told beat order:end told vanish => -
	$READY $ITS_TEST:verify told beat disconnect => ?
	END
}

@test "diagnosers that are killed while the server moves data" {
	local step files tasks
	start_server --timeout 5 any
	ordering_peer order:region told disconnect >"$OUT"
	wait_until quiet
	files=$(descriptors "$SERVER") tasks=$(threads)
	for step in ms=5000 ms=5000:read ms=5000:verify; do
		# shellcheck disable=SC2086 # words
		ordering_peer $READY begin:direction=2:depth=16:$step told beat vanish >"$OUT"
		wait_until quiet
		wait_until has_only "$files" "$tasks"
	done
	[ "$(wc -l <"$ERRORS")" -le 3 ]
	expect 0 client diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "diagnosers that fall silent at each step meet the deadline" {
	server_survives --timeout 2 --handshake-timeout 5 <<-END
	closed => timed out waiting for its first order
	order:region closed => the peer does not answer any more
	$READY $ITS_TEST told closed => the peer does not answer any more
	$READY $ITS_TEST told beat order:end told closed => the peer does not answer any more
	$READY $ITS_TEST:verify told beat closed => the peer does not answer any more
	END
	# One that has no receive posted: the deadline or, what comes at about the same time, the transport's
	# limit; or its own limit of retries.
	start_server --timeout 2 any
	ordering_peer --receives 0 order:facts closed
	wait_line "$ERRORS" 'the peer \(does not answer any more\|stopped acknowledging\)'
	ordering_peer --receives 0 --rnr 1 order:facts closed
	wait_line "$ERRORS" 'the peer had no receive posted'
	stop_server
}

@test "more orders than the server has receives for" {
	local i steps=''
	for i in $(seq 12); do
		steps+=' order:facts'
	done
	start_server any
	# shellcheck disable=SC2086 # words
	ordering_peer $steps ${steps//order:facts/told} disconnect >"$OUT"
	count "$OUT" '^told facts done$' 12
	stop_server
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
}

@test "a server that is to stop lets diagnoses finish; the second signal ends them" {
	start_server --timeout 60 any
	ordering_peer order:region told say:here closed >"$OUT" 2>&1 &
	PEER=$!
	wait_line "$OUT" here
	"$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT" >"$DIR/other" 2>"$ERR" &
	CLIENTS+=($!)
	wait_line "$DIR/other" '^data        ok '
	kill -TERM "$SERVER"
	ends_with 0 "${CLIENTS[0]}"
	kill -0 "$PEER"
	MARK=$SECONDS
	stop_server
	in_time
	ends_with 0 "$PEER"
}

# Region, facts, counters and queue pairs; and the first test.
BEGUN='told reply told reply told reply told reply told reply'

# Each case: the rung that breaks, what the server does, and the cause that the client names.
@test "a server that breaks the rules: the client says so within 15 s, exit 4" {
	local rung steps pattern
	while IFS='>' read -r rung steps pattern; do
		steps=${steps%=}
		# shellcheck disable=SC2086 # words
		listening_odd_peer --intro diagnosis -- ${steps# }
		MARK=$SECONDS
		expect 4 client diagnose "$ADDRESS" "$PEER_PORT"
		in_time
		has "$OUT" "^${rung%=} *failed  .*${pattern# }"
		has "$OUT" '^verdict: RDMA does not work: '
		[ "$(LC_ALL=C grep -c '[^ -~]' "$OUT")" -eq 0 ]
		ends_with 0 "$PEER" || fail "$steps"
	done <<-END
	message=> closed => does not answer any more
	message=> told bytes:1 closed => $SENSELESS
	message=> told reply:number closed => it answered something that was not asked
	message=> told order:region closed => it answered something that was not asked
	message=> told reply:refused closed => it did not carry out an order
	message=> told reply:wrap closed => $SENSELESS
	message=> told vanish => the other side ended the connection
	both ends=> told reply told reply:garbage closed => what it says of itself makes no sense
	both ends=> told reply told reply told reply:garbage closed => its counters make no sense
	both ends=> told reply told vanish => the other side ended the connection
	data=> told reply told reply told reply told reply:garbage closed => another number of queue pairs
	data=> told reply told reply told reply told reply told reply:refused closed => it did not carry out an order
	data=> told reply:key told reply told reply told reply told reply closed => did not allow the access
	data=> $BEGUN closed => does not answer any more
	data=> $BEGUN hear notice:2:last closed => it says that it is where it cannot be
	data=> $BEGUN hear notice:1:last told reply:garbage closed => what it says of the run makes no sense
	END
}

@test "a server that is right in everything but the data: exit 5" {
	# shellcheck disable=SC2086 # words
	listening_odd_peer --intro diagnosis -- $BEGUN hear notice:1:last told reply:wrong closed
	expect 5 client diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" '^data        failed  probably: our message arrived damaged at the peer'
	has "$OUT" '^ *seen: our WRITE of 1 bytes: byte 0 is the first wrong one'
	ends_with 0 "$PEER"
	# shellcheck disable=SC2086 # words
	listening_odd_peer --intro diagnosis -- $BEGUN hear notice:1:last told reply:zeros \
		told reply notice:1 hear notice:1:last told reply:zeros closed
	expect 5 client diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" "^data        failed  probably: the peer's message arrived damaged here"
	has "$OUT" '^ *seen: our READ of 1 bytes: byte 0 is the first wrong one'
	ends_with 0 "$PEER"
}
