#!/usr/bin/env bats
# Peers that violate the protocol of a diagnosis, as clients of the server and as servers of
# rdma-client diagnose: each ends at most its own diagnosis, with a reason, and leaves no resources.

load common
load control

KIND=diagnosis

# The steps before a test at the server, and two tests in which only the server initiates
# operations: 16 operations, and for 100 ms.
READY='command:region receive queue-pairs receive'
SERVER_TEST='begin:direction=2:depth=16:ops=16'
TIMED_TEST='begin:direction=2:depth=16:ms=100'

@test "commands of invalid type, length or contents" {
	server_survives <<-END
	bytes:63 closed => $MALFORMED
	bytes:1 closed => $MALFORMED
	keepalive closed => $MALFORMED
	bytes:64 closed => $MALFORMED
	bytes:4096:77 closed => $MALFORMED
	command:77 closed => $MALFORMED
	command:3 closed => $MALFORMED
	command:7 closed => $MALFORMED
	command:16 closed => $MALFORMED
	command:facts:status closed => $MALFORMED
	command:region:wrap closed => $MALFORMED
	command:region:empty closed => $MALFORMED
	command:region:long closed => $MALFORMED
	END
	# Over iWARP, a message without enough room ends the connection, and does not say why.
	iwarp || server_survives <<<'bytes:4097:1 closed => the peer sent a message longer than the protocol allows'
}

# The server sends a reply that refuses the command, and continues.
@test "commands that cannot be carried out are refused, and the diagnosis continues" {
	local steps
	start_server any
	while read -r steps; do
		# shellcheck disable=SC2086 # several words
		control_peer $steps receive command:facts receive disconnect >"$OUT"
		count "$OUT" '^received [a-z-]* refused$' 1
		[ "$(tail -n 1 "$OUT")" = 'received facts done' ]
	done <<-END
	command:queue-pairs receive command:begin
	begin:depth=16:ops=1
	command:region receive begin:depth=16:ops=1
	queue-pairs receive begin:depth=16:ops=1
	$READY queue-pairs
	$READY command:region
	$READY begin
	$READY begin:depth=17:ops=1
	$READY begin:depth=16:ops=17
	$READY begin:depth=16:ms=5001
	$READY begin:depth=16:ops=1:direction=3
	$READY begin:depth=16:ops=1:qps=2
	$READY begin:depth=16:ops=1:slots=17
	$READY begin:depth=16:ops=1:slots=1:size=1025
	command:region:larger
	command:region:answer
	command:facts:answer
	command:operations
	command:operations:garbage
	command:operations:ones
	command:operations-end
	command:operations-end:claims
	command:operations-link:claims
	command:operations:nowhere receive command:operations-link:garbage
	command:operations:nowhere receive command:operations-end:garbage
	command:operations:nowhere receive command:operations-end:claims receive command:operations-end:claims
	END
	is_empty "$ERRORS"
	expect 0 client diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "commands reordered and repeated" {
	start_server any
	# shellcheck disable=SC2086 # several words
	control_peer command:end receive command:region receive command:region receive command:counters:number receive \
		queue-pairs receive command:end receive $SERVER_TEST receive keepalive command:end receive $TIMED_TEST:read receive keepalive command:facts receive \
		begin:depth=16:both:ms=100 receive keepalive command:end receive command:end receive disconnect >"$OUT"
	[ "$(grep -c '^received [a-z-]* done$' "$OUT")" -eq 13 ] || fail "$(cat "$OUT")"
	# The server completes its part of the test although COMMAND_END follows at once.
	has "$OUT" '^result: 16 operations, 0 wrong$'
	wait_until no_control_session
	is_empty "$ERRORS"
	stop_server
}

@test "diagnosing clients that send invalid or inaccessible regions" {
	server_survives <<-END
	command:region:key receive queue-pairs receive $SERVER_TEST receive keepalive closed => $DENIED
	command:region:key receive queue-pairs receive $SERVER_TEST:read receive keepalive closed => $DENIED
	command:region:large receive queue-pairs receive $TIMED_TEST:size=65536:slots=1 receive keepalive closed => $DENIED
	command:region:large receive queue-pairs receive $TIMED_TEST:size=65536:slots=1:read receive keepalive closed => $DENIED
	END
}

@test "operations between queue pairs that do not exist" {
	local files tasks
	start_server any
	control_peer command:region receive disconnect >"$OUT"
	wait_until no_control_session
	files=$(descriptors "$SERVER") tasks=$(threads)
	# The server waits for what the client claims to have sent, and answers that nothing arrived.
	control_peer command:operations:nowhere receive command:operations-end:claims receive command:facts receive disconnect >"$OUT"
	count "$OUT" '^received operations\(-end\)\? done$' 2
	[ "$(tail -n 1 "$OUT")" = 'received facts done' ]
	# Begun again and again, and left in the middle.
	control_peer command:operations:nowhere receive command:operations:nowhere receive command:operations:nowhere receive exit >"$OUT"
	wait_until no_control_session
	wait_until has_only "$files" "$tasks"
	expect 0 client diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "accesses to our memory at the wrong time" {
	server_survives <<-END
	command:region receive write:1024 closed => $IMMEDIATE
	command:region receive command:facts receive command:facts receive command:facts receive write:64 closed => $IMMEDIATE
	command:region receive write:beyond closed => denied access\\|broke before\\|wrote\\|$IMMEDIATE\\|$ENDED
	command:region receive write:key closed => denied access\\|broke before\\|wrote\\|$IMMEDIATE\\|$ENDED
	command:region receive read closed => denied access\\|broke before\\|did not respond in time\\|$ENDED
	END
}

@test "diagnosing clients that disconnect or exit at each step" {
	server_survives <<-END
	exit => -
	disconnect => -
	command:facts disconnect => -
	command:region receive exit => -
	command:region receive disconnect => -
	command:region receive command:facts receive exit => -
	$READY exit => -
	$READY $SERVER_TEST receive keepalive command:end receive exit => -
	$READY $SERVER_TEST:verify receive keepalive disconnect => ?
	END
}

@test "diagnosing clients killed while the server moves data" {
	local step files tasks
	start_server --timeout 5 any
	control_peer command:region receive disconnect >"$OUT"
	wait_until no_control_session
	files=$(descriptors "$SERVER") tasks=$(threads)
	for step in ms=5000 ms=5000:read ms=5000:verify; do
		# shellcheck disable=SC2086 # several words
		control_peer $READY begin:direction=2:depth=16:$step receive keepalive exit >"$OUT"
		wait_until no_control_session
		wait_until has_only "$files" "$tasks"
	done
	[ "$(wc -l <"$ERRORS")" -le 3 ]
	expect 0 client diagnose "$ADDRESS" "$PORT"
	stop_server
}

@test "diagnosing clients that stop responding at each step hit the idle timeout" {
	server_survives --timeout 2 --handshake-timeout 5 <<-END
	closed => timed out waiting for the first command
	command:region closed => the peer did not respond in time
	$READY $SERVER_TEST receive closed => the peer did not respond in time
	$READY $SERVER_TEST receive keepalive command:end receive closed => the peer did not respond in time
	$READY $SERVER_TEST:verify receive keepalive closed => the peer did not respond in time
	END
	# If the peer has no receives posted, the deadline or, at about the same time, the
	# transport's retry limit is reached; with --rnr, the peer's own RNR retry limit.
	start_server --timeout 2 any
	control_peer --receives 0 command:facts closed
	iwarp || wait_line "$ERRORS" 'the peer \(did not respond in time\|stopped acknowledging\)'
	# By TCP, each end decides itself how often it retries.
	if [ "${PAIR_BOOTSTRAP:-}" != tcp ]; then
		control_peer --receives 0 --rnr 1 command:facts closed
		iwarp || wait_line "$ERRORS" "$NO_RECEIVE"
	fi
	stop_server
}

# On iWARP, a message that arrives with no receive posted ends the connection.
# bats test_tags=roce
@test "more commands than the server has posted receives" {
	local i steps=''
	for i in $(seq 12); do
		steps+=' command:facts'
	done
	start_server any
	# shellcheck disable=SC2086 # several words
	control_peer $steps ${steps//command:facts/receive} disconnect >"$OUT"
	count "$OUT" '^received facts done$' 12
	stop_server
	is_empty "$ERRORS"
}

@test "a stopping server lets diagnoses finish; a second signal aborts them" {
	start_server --timeout 60 any
	control_peer command:region receive say:here closed >"$OUT" 2>&1 &
	PEER=$!
	wait_line "$OUT" here
	"$PAIR_BIN/rdma-client" diagnose --verbose "$ADDRESS" "$PORT" >"$DIR/other" 2>"$ERR" &
	CLIENTS+=($!)
	wait_line "$ERR" 'checking bandwidth'
	kill -TERM "$SERVER"
	exits_with 0 "${CLIENTS[0]}"
	kill -0 "$PEER"
	MARK=$SECONDS
	stop_server
	in_time
	exits_with 0 "$PEER"
}

# Replies to region, facts, counters and queue pairs, and to the beginning of the first test.
BEGUN='receive reply receive reply receive reply receive reply receive reply'

# Each case: the check that fails, the steps of the server, and the cause that the client reports.
@test "a server that violates the protocol: the diagnosis reports it within 15 s, exit 4" {
	local check steps pattern verdict
	while IFS='>' read -r check steps pattern; do
		steps=${steps%=} verdict='RDMA does not work'
		case $pattern in *'not respond in time' | *'closed the connection') verdict='Whether RDMA works is unknown' ;; esac
		# shellcheck disable=SC2086 # several words
		listening_peer --hello diagnosis -- ${steps# }
		MARK=$SECONDS
		expect 4 client diagnose "$ADDRESS" "$PEER_PORT"
		in_time
		has "$OUT" "^${check%=} *failed  .*${pattern# }"
		has "$OUT" "^verdict: $verdict: "
		[ "$(LC_ALL=C grep -c '[^ -~]' "$OUT")" -eq 0 ]
		exits_with 0 "$PEER" || fail "$steps"
	done <<-END
	message=> closed => did not respond in time
	message=> receive bytes:1 closed => $MALFORMED
	message=> receive reply:number closed => the reply does not match the request
	message=> receive command:region closed => the reply does not match the request
	message=> receive reply:refused closed => the peer refused a command
	message=> receive reply:wrap closed => $MALFORMED
	message=> receive exit => the peer closed the connection
	both ends=> receive reply receive reply:garbage closed => the peer sent malformed facts
	both ends=> receive reply receive reply receive reply:garbage closed => the peer sent malformed counters
	both ends=> receive reply receive exit => the peer closed the connection
	data=> receive reply receive reply receive reply receive reply:garbage closed => a different number of queue pairs
	data=> receive reply receive reply receive reply receive reply receive reply:refused closed => the peer refused a command
	data=> receive reply:key receive reply receive reply receive reply receive reply closed => $DENIED
	data=> $BEGUN closed => did not respond in time
	data=> $BEGUN receive-notice notice:2:last closed => the peer reported an impossible position
	data=> $BEGUN receive-notice notice:1:last receive reply:garbage closed => the peer sent a malformed test result
	END
}

@test "a server that reports or sends wrong data: exit 5" {
	# shellcheck disable=SC2086 # several words
	listening_peer --hello diagnosis -- $BEGUN receive-notice notice:1:last receive reply:wrong closed
	expect 5 client diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" '^data        failed  probably: data sent to the peer arrived corrupted'
	has "$OUT" '^ *seen: client WRITE of 1 bytes: first wrong byte at offset 0'
	exits_with 0 "$PEER"
	# shellcheck disable=SC2086 # several words
	listening_peer --hello diagnosis -- $BEGUN receive-notice notice:1:last receive reply:zeros \
		receive reply notice:1:mover:last receive-notice receive reply:zeros closed
	expect 5 client diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" "^data        failed  probably: data from the peer arrived corrupted"
	has "$OUT" '^ *seen: server WRITE of 1 bytes: first wrong byte at offset 0'
	exits_with 0 "$PEER"
}
