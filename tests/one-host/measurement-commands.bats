#!/usr/bin/env bats
# Peers that violate the protocol of a measurement, as clients of the server and as servers of
# rdma-client: each ends at most its own measurement, with a reason, and leaves no resources.

load common
load measure
load control

KIND=measurement
UNEXPECTED='the peer sent an unexpected message'
IMPOSSIBLE='the peer reported an impossible position'
NOT_RESPONDING='the peer did not respond in time'
QUEUE_PAIR_MISMATCH='the peer has a different number of queue pairs'

# Another operation in flight may fail first.
TOO_LONG="\\(broke before the exchange\\|the peer sent a message longer than the protocol allows\\|$ENDED\\)"

# The steps before COMMAND_BEGIN at the server, and the kinds of tests.
READY='command:region receive queue-pairs receive'
RUNS=(begin begin:read begin:verify begin:read:verify begin:both begin:both:read begin:both:verify
	begin:both:read:verify begin:spin:both begin:spin:verify begin:latency begin:latency:spin
	begin:latency:read begin:latency:spin:verify begin:direction=2 begin:direction=2:read:verify)

@test "impossible queue limits are refused, the largest possible are accepted" {
	local shape refused=0
	start_server -v --discard any
	start_good write
	for shape in 0:0 0:64 1:0 65:1 1:1025 64:129 4294967295:1 1:4294967295 4294967295:4294967295; do
		if control_peer --shape $shape closed >"$OUT" 2>&1; then
			fail "$shape was accepted"
		fi
		has "$OUT" "$REJECTED"
		refused=$((refused + 1))
		wait_until count "$ERRORS" 'refused .*, reason 7$' $refused
		feed_good
	done
	control_peer --shape 64:128 command:region receive queue-pairs:252 receive begin:qps=4 receive command:end receive \
		disconnect >"$OUT"
	# Over iWARP, the server refuses additional queue pairs and the test that uses them.
	if iwarp; then
		[ "$(sed -n 's/^received .* //p' "$OUT" | paste -s)" = $'done\trefused\trefused\tdone' ] || fail "$(cat "$OUT")"
	else
		count "$OUT" '^received [a-z-]* done$' 4
	fi
	good_was_served
	has_not "$ERRORS" failed
	stop_server
}

# In each case the reply refuses the last command, and the next command is executed.
@test "commands out of place are refused, and the measurement continues" {
	local steps
	start_server --discard any
	start_good write
	while read -r steps; do
		# Over iWARP, the server refuses the additional queue pairs as well: two refusals.
		! iwarp || [[ $steps != *queue-pairs:* ]] || continue
		# shellcheck disable=SC2086 # several words
		control_peer $steps receive command:facts receive disconnect >"$OUT" || fail "$steps: $(cat "$OUT")"
		count "$OUT" ' refused$' 1 || fail "$steps"
		[ "$(tail -n 2 "$OUT" | sed 's/^received [a-z-]* //' | paste -s)" = $'refused\tdone' ] ||
			fail "$steps: $(cat "$OUT")"
		feed_good
	done <<-END
	begin
	command:region receive begin
	queue-pairs receive begin
	$READY queue-pairs
	$READY command:region
	$READY begin receive command:end receive queue-pairs
	$READY begin receive command:end receive command:region
	$READY command:begin
	$READY command:begin:garbage
	$READY command:begin:zeros
	$READY command:begin:ones
	$READY command:begin:answer
	$READY command:end:answer
	$READY command:proof
	$READY begin:latency=2
	$READY begin:latency:both
	$READY begin:both=3
	$READY begin:both=255
	$READY begin:spin=3
	$READY begin:read=2
	$READY begin:read=3:size=16
	$READY begin:read=2:size=8:verify
	$READY begin:read=4
	$READY begin:read=5
	$READY begin:read=6
	$READY begin:read=255
	--hello measurement-receives $READY begin:read=4:depth=65
	--hello measurement-receives $READY begin:read=4:size=1048577:slots=1
	--hello measurement-receives $READY begin:read=4:verify:size=30000:slots=32
	$READY begin:size=0
	$READY begin:size=257
	$READY begin:size=1025:slots=1
	$READY begin:size=4294967295:slots=1
	$READY begin:slots=0
	$READY begin:slots=33
	$READY begin:slots=4294967295
	$READY begin:depth=0
	$READY begin:depth=65
	$READY begin:depth=1025
	$READY begin:depth=4294967295
	$READY begin:qps=0
	$READY begin:qps=2
	$READY begin:qps=65
	$READY begin:qps=4294967295
	$READY begin:ms=0
	$READY begin:inline=1026
	$READY begin:inline=65535
	$READY begin:read:inline=1
	$READY begin:both:inline=1025
	$READY begin:signal=33
	$READY begin:latency:signal=1
	$READY begin:sge=33
	$READY begin:sge=65
	$READY begin:size=4:sge=5
	$READY begin:both:sge=2
	$READY begin:read=2:size=8:sge=2
	command:region:large receive queue-pairs receive begin:size=1048577:slots=1
	--shape 1:31 $READY begin:latency:depth=31
	--shape 3:64 command:region receive queue-pairs:8 receive begin:qps=4
	END
	good_was_served
	wait_until no_control_session
	is_empty "$ERRORS"
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
}

@test "commands reordered, repeated and during a test" {
	local steps
	start_server any
	while read -r steps; do
		# shellcheck disable=SC2086 # several words
		control_peer $steps disconnect >"$OUT" || fail "$steps: $(cat "$OUT")"
		[ "$(grep -c '^received [a-z-]* done$' "$OUT")" -eq "$(grep -o -w receive <<<"$steps" | wc -l)" ] ||
			fail "$steps: $(cat "$OUT")"
	done <<-END
	command:end receive command:end receive
	command:counters receive command:facts receive command:facts receive command:region receive command:region receive queue-pairs receive
	$READY command:counters receive command:counters receive command:end receive
	$READY begin receive command:end receive command:end receive begin receive command:end receive
	$READY begin receive begin:read receive begin:latency receive command:end receive
	$READY begin:verify=3 receive command:end receive
	$READY begin:both receive keepalive command:facts receive command:end receive
	$READY begin:both:spin receive keepalive begin:both receive keepalive command:counters receive command:end receive
	$READY begin:latency receive command:facts receive command:end receive
	$READY begin:latency:spin receive command:facts receive begin:latency receive command:end receive
	$READY begin:direction=2:ops=100 receive keepalive command:end receive
	END
	wait_until no_control_session
	is_empty "$ERRORS"
	stop_server
}

# Measurements over iWARP use only one queue pair.
# bats test_tags=roce
@test "a wrong number of queue pairs, and queue pairs without a test" {
	server_survives <<-END
	command:region receive queue-pairs:4 closed => $QUEUE_PAIR_MISMATCH
	command:region receive queue-pairs:3 closed => $QUEUE_PAIR_MISMATCH
	queue-pairs:4032 closed => $QUEUE_PAIR_MISMATCH
	--shape 3:64 command:region receive queue-pairs closed => $QUEUE_PAIR_MISMATCH
	--shape 3:64 command:region receive queue-pairs:4 closed => $QUEUE_PAIR_MISMATCH
	--shape 3:64 command:region receive queue-pairs:9 closed => $QUEUE_PAIR_MISMATCH
	--shape 3:64 command:region receive queue-pairs:12 closed => $QUEUE_PAIR_MISMATCH
	END
	# Without rdmacm, each end decides how often it retries.
	[ "${PAIR_BOOTSTRAP:-}" != tcp ] || return 0
	server_survives <<-END
	--shape 3:64 command:region receive queue-pairs:8 receive begin:both:qps=3 receive keepalive closed => stopped acknowledging
	END
}

# iWARP has no immediate data, and does not report why a connection ended.
# bats test_tags=roce
@test "messages of the wrong length, and unexpected immediate data" {
	server_survives <<-END
	bytes:63 closed => $MALFORMED
	bytes:64:16 closed => $MALFORMED
	$READY bytes:8 closed => $MALFORMED
	$READY write:64 closed => $IMMEDIATE
	$READY begin receive bytes:9 closed => $MALFORMED
	$READY begin receive notice:1:mover closed => $MALFORMED
	$READY begin receive bytes:4097:1 closed => $TOO_LONG
	$READY begin receive write:64 closed => $IMMEDIATE
	$READY begin:both receive keepalive bytes:9 closed => $MALFORMED
	$READY begin:both receive keepalive bytes:4097:1 closed => $TOO_LONG
	$READY begin:both receive keepalive write:64 closed => $UNEXPECTED
	$READY begin:both:spin receive keepalive write:64 closed => $UNEXPECTED
	$READY begin:verify receive keepalive bytes:9 bytes:9 closed => $UNEXPECTED
	$READY begin:verify receive keepalive bytes:4097:1 closed => $TOO_LONG
	$READY begin:verify receive keepalive write:64 closed => $UNEXPECTED
	$READY begin:read:verify receive write:64 closed => $UNEXPECTED
	$READY begin:latency receive bytes:9 closed => $MALFORMED
	$READY begin:latency receive bytes:4097:1 closed => $TOO_LONG
	$READY begin:latency:spin receive bytes:9 closed => $MALFORMED
	$READY begin:latency:spin receive write:64 closed => $UNEXPECTED
	$READY begin:latency:read receive write:64 closed => $IMMEDIATE
	END
}

@test "impossible notices" {
	# When a message arrives after the last notice, the test may have ended.
	server_survives <<-END
	$READY begin:both receive keepalive notice:1 closed => $IMPOSSIBLE
	$READY begin:both receive keepalive notice:1:mover closed => $IMPOSSIBLE
	$READY begin:both:read:spin receive keepalive notice:1:mover closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:5:mover closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:4611686018427387903:mover:last closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:2:mover notice:1:mover closed => $IMPOSSIBLE
	$READY begin:verify:spin receive keepalive notice:2:mover notice:2:mover closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:0:mover closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:1 closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:0:last closed => $IMPOSSIBLE
	$READY begin:verify receive keepalive notice:2:mover:last notice:3:mover closed => \\($IMPOSSIBLE\\|$MALFORMED\\)
	$READY begin:verify receive keepalive notice:2:mover:last notice:2:mover:last closed => \\($IMPOSSIBLE\\|$MALFORMED\\)
	$READY begin:read:verify receive keepalive notice:5:mover closed => $IMPOSSIBLE
	$READY begin:read:verify receive keepalive notice:1 closed => $IMPOSSIBLE
	$READY begin:direction=2:verify receive keepalive notice:1:mover closed => $IMPOSSIBLE
	$READY begin:both:verify receive keepalive notice:5 closed => $IMPOSSIBLE
	$READY begin:both:verify receive keepalive notice:0 closed => $IMPOSSIBLE
	$READY begin:both:verify receive keepalive notice:5:mover closed => $IMPOSSIBLE
	$READY begin:both:read:verify receive keepalive notice:9 closed => $IMPOSSIBLE
	$READY begin:latency receive notice:1:mover closed => $UNEXPECTED
	$READY begin:latency:spin receive notice:1 closed => $UNEXPECTED
	END
}

# The ninth empty message is the last that uses up a first receive; the next would be a permission.
@test "operations that use up receives: impossible messages and permissions" {
	local KIND=measurement-receives first start
	first="receive $(printf 'keepalive %.0s' {1..9})"
	start="$READY begin:read=4:size=100 $first"
	server_survives <<-END
	$start keepalive closed => $IMPOSSIBLE
	$start bytes:100 bytes:99 closed => $UNEXPECTED
	$start bytes:2 closed => $UNEXPECTED
	$start bytes:8 closed => $UNEXPECTED
	$start command:end closed => $UNEXPECTED
	$start bytes:1 bytes:100 closed => $MALFORMED
	$start bytes:100 disconnect => ?
	$start bytes:100 exit => ?
	$start bytes:100 closed => $NOT_RESPONDING
	$READY begin:read=4:size=100:spin $first closed => $NOT_RESPONDING
	$READY begin:read=4:size=100:latency $first closed => $IMPOSSIBLE
	$READY begin:read=4:size=1 $first bytes:1 bytes:1 bytes:2 closed => $UNEXPECTED
	END
}

# A client with queue pairs that share their receives takes all of them on one queue pair, before the
# server has posted any, before the test starts, and during it.
@test "a client that drains its shared receives is refused, and another measures meanwhile" {
	local KIND=measurement-shares begin='begin:read=4:size=100:qps=2:depth=8' shares other last=''
	local too_many='the peer sent more operations than it was permitted'
	if iwarp; then
		start_server any
		control_peer command:region receive queue-pairs receive disconnect >"$OUT"
		has "$OUT" '^received queue-pairs refused$'
		stop_server
		return
	fi
	shares='command:region receive own-queue-pair:2'
	server_survives <<-END
	--shape 2:8 $shares $begin receive drain:100 => $too_many
	--shape 2:8 $shares $begin receive keepalive drain:100 => $too_many
	--shape 2:8 $shares $begin receive keepalive drain:0 => $IMPOSSIBLE
	--shape 2:8 $shares $begin receive keepalive drain:1 => $UNEXPECTED
	--shape 2:8 $shares $begin receive keepalive drain:99 => $UNEXPECTED
	--shape 2:8 $shares $begin receive keepalive drain:101 => $UNEXPECTED
	--shape 2:8 $shares $begin receive keepalive closed => $NOT_RESPONDING
	--shape 2:8 $shares begin:latency:read=4:size=100:qps=2:depth=8 receive disconnect => -
	--shape 2:8 $shares begin:size=100:qps=2:depth=8 receive disconnect => -
	--shape 2:8 command:region receive queue-pairs:4 closed => $QUEUE_PAIR_MISMATCH
	END
	start_server any
	client bandwidth send --srq --verify --qps 4 --duration 1 "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	other=$!
	# shellcheck disable=SC2086 # several words
	while kill -0 $other 2>/dev/null; do
		control_peer --shape 2:8 $shares $begin receive keepalive drain:100 >"$LOG.drain" 2>&1 || last=failed
	done
	wait $other || fail "$(cat "$ERR")"
	[ -z "$last" ] || fail "$(cat "$LOG.drain")"
	has "$ERRORS" "$too_many"
	stop_server
}

# datagrams WORD...: measures SENDs of 100 bytes as datagrams, sends the ones that the words describe,
# and says that they were COUNT. The server replies how many were operations of the test.
datagrams() {
	# shellcheck disable=SC2086 # several words
	control_peer --shape 2:8 command:region receive datagram-pair $BEGIN receive keepalive "${@/#/datagram:}" \
		notice:$COUNT:mover:last receive-notice command:end receive disconnect >"$OUT" || fail "$(cat "$OUT")"
}

# Anyone can send a datagram to a queue pair; no key is secret.
@test "datagrams: strangers do not count, repeated ones count once, and wrong messages end only their test" {
	local KIND=measurement-receives BEGIN='begin:read=4:transport=2:size=100:depth=8' COUNT=9 start
	start_server any
	if iwarp; then
		control_peer --shape 2:8 command:region receive datagram-pair disconnect >"$OUT" || :
		stop_server
		return
	fi
	datagrams 0 0 2 1 1:stranger 3:nobody 3:key 3:longer 3:plain 3:stranger 5 5:stranger 2
	has "$OUT" '^notice 4 last$'
	COUNT=2
	datagrams 0 1 2 3
	has "$OUT" '^notice 2 last$'
	COUNT=1
	BEGIN+=:verify:slots=8
	datagrams 0:too-long 0:longer 0
	has "$OUT" '^notice 1 last$'
	has "$OUT" '^result: 0 operations, 1 wrong$'
	COUNT=3
	datagrams 4294967295 70000 1
	has "$OUT" '^notice 1 last$'
	wait_until no_control_session
	is_empty "$ERRORS"
	stop_server
	start='command:region receive datagram-pair'
	server_survives <<-END
	--shape 2:8 $start:0 closed => $QUEUE_PAIR_MISMATCH
	--shape 2:8 $start:3 closed => $QUEUE_PAIR_MISMATCH
	--shape 2:8 $start:4294967295 closed => $QUEUE_PAIR_MISMATCH
	--shape 1:8 $start:2 closed => $QUEUE_PAIR_MISMATCH
	--shape 2:8 $start begin:size=100:depth=8 receive disconnect => -
	--shape 2:8 $start begin:transport=2:size=100:depth=8 receive disconnect => -
	--shape 2:8 $start begin:read=4:transport=1:size=100:depth=8 receive disconnect => -
	--shape 2:8 $start begin:read=4:transport=2:size=100:depth=8:qps=2 receive disconnect => -
	--shape 2:8 $start ${BEGIN/:verify*/} receive keepalive notice:3:mover closed => $IMPOSSIBLE
	--shape 2:8 $start ${BEGIN/:verify*/} receive keepalive notice:3:last closed => $IMPOSSIBLE
	--shape 2:8 $start ${BEGIN/:verify*/} receive keepalive notice:3:mover:last notice:3:mover:last closed => $IMPOSSIBLE
	--shape 2:8 $start ${BEGIN/:verify*/} receive keepalive datagram:0 closed => $NOT_RESPONDING
	END
}

@test "missing or wrong data is counted as wrong" {
	start_server any
	# shellcheck disable=SC2086 # several words
	control_peer $READY begin:verify receive keepalive notice:4:mover:last receive-notice command:end receive disconnect >"$OUT"
	has "$OUT" '^notice 4 last$'
	has "$OUT" '^result: 0 operations, 4 wrong$'
	# shellcheck disable=SC2086 # several words
	control_peer $READY begin:read:verify receive keepalive receive-notice notice:0:mover:last receive-notice command:end receive \
		disconnect >"$OUT"
	has "$OUT" '^notice 4$'
	has "$OUT" '^notice 4 last$'
	has "$OUT" '^result: 0 operations, 0 wrong$'
	# Without immediate data, the server polls the last byte, so wrong data never completes an operation.
	if ! iwarp; then
		# shellcheck disable=SC2086 # several words
		control_peer $READY begin:latency:verify receive write:64 command:end receive disconnect >"$OUT"
		has "$OUT" '^result: 1 operations, 1 wrong$'
	fi
	wait_until no_control_session
	is_empty "$ERRORS"
	stop_server
}

@test "peers that send invalid or inaccessible memory regions" {
	server_survives <<-END
	command:region:key receive queue-pairs receive begin:both receive keepalive closed => $DENIED
	command:region:key receive queue-pairs receive begin:both:read receive keepalive closed => $DENIED
	command:region:large receive queue-pairs receive begin:both:size=65536 receive keepalive closed => $DENIED
	command:region:key receive queue-pairs receive begin:latency receive write:64 closed => $DENIED
	$READY begin:latency receive write:key closed => denied access\\|broke before\\|$ENDED
	$READY begin:verify receive write:beyond closed => denied access\\|broke before\\|$ENDED
	END
}

# Software iWARP does not check the rights of queue pairs.
# bats test_tags=roce
@test "a client or server whose queue pair permits no access" {
	MODE='write'
	server_survives <<-END
	$READY begin:both receive keepalive deny closed => denied access\\|rejected the request\\|$ENDED
	END
	server_breaks bandwidth --size 64 --depth 4 --duration 60 <<-END
	$BEGUN deny closed => denied access\\|rejected the request\\|$ENDED
	END
}

# To the server, `exit` is the same as being killed: the kernel closes the connection.
@test "peers that disconnect or exit during each kind of test" {
	local run
	for run in "${RUNS[@]}"; do
		echo "$READY $run receive keepalive exit => ?"
		echo "$READY $run receive keepalive disconnect => ?"
	done >"$DIR/cases"
	server_survives <"$DIR/cases"
}

# bats test_tags=slow
@test "peers that stop responding at each step of each test hit the idle timeout" {
	server_survives --timeout 5 --handshake-timeout 5 <<-END
	closed => timed out waiting for the first command
	$READY closed => $NOT_RESPONDING
	$READY begin receive closed => $NOT_RESPONDING
	$READY begin:both receive closed => $NOT_RESPONDING
	$READY begin:verify receive closed => $NOT_RESPONDING
	$READY begin:verify receive keepalive notice:2:mover closed => $NOT_RESPONDING
	$READY begin:verify receive keepalive command:end closed => $NOT_RESPONDING
	$READY begin:both:read:verify receive keepalive closed => $NOT_RESPONDING
	$READY begin:direction=2:verify receive keepalive closed => $NOT_RESPONDING
	$READY begin:latency receive closed => $NOT_RESPONDING
	$READY begin:latency:spin receive write:silent closed => $NOT_RESPONDING
	$READY begin:latency:read receive closed => $NOT_RESPONDING
	END
}

# background_peer STEP...: starts a peer in the background. It exits when its connection fails, or
# at the end of the test.
background_peer() { control_peer "$@" >"$DIR/peer" 2>&1 & }

@test "keepalives are not data: a latency test still hits the idle timeout" {
	local run
	for run in begin:latency begin:latency:spin; do
		start_server --timeout 2 any
		MARK=$SECONDS
		# shellcheck disable=SC2086 # several words
		background_peer $READY $run receive keepalives
		wait_line "$ERRORS" "$NOT_RESPONDING"
		in_time
		wait_until no_control_session
		stop_server
	done
}

@test "a server that waits for valid data exits at the second signal" {
	start_server --timeout 30 any
	# shellcheck disable=SC2086 # several words
	background_peer $READY begin:latency:spin:verify receive pings
	wait_line "$DIR/peer" '^answered$'
	kill -TERM "$SERVER"
	wait_until refuses_clients
	MARK=$SECONDS
	stop_server
	in_time
}

refuses_clients() { ! client --timeout 2 write "$ADDRESS" "$PORT"; }

# server_breaks bandwidth|latency OPTION...: measures in mode $MODE. Reads cases from standard
# input: the steps of the server, and the reason that the client must report in one line, within 15
# s, with exit status 4.
server_breaks() {
	local steps pattern
	while IFS='>' read -r steps pattern; do
		# shellcheck disable=SC2086 # several words
		listening_peer --hello measurement -- ${steps%=}
		MARK=$SECONDS
		PORT=$PEER_PORT measure 4 "$@" --timeout 3 || fail "$steps"
		in_time || fail "$steps"
		one_line "$ERR"
		has "$ERR" "${pattern# }" || fail "$steps"
		[ "$(LC_ALL=C grep -c '[^ -~]' "$ERR")" -eq 0 ]
		exits_with 0 "$PEER" || fail "$steps"
	done
}

# Replies to region, queue pairs, facts and counters, and to the beginning of the test.
PREPARED='receive reply receive reply receive reply receive reply'
BEGUN="$PREPARED receive reply"
SILENT='no answer within 3 s'
GONE='the peer closed the connection'

@test "a server that violates the protocol before a test: the client reports it, exit 4" {
	MODE='write'
	server_breaks bandwidth --size 64 --depth 4 <<-END
	closed => $SILENT
	keepalive closed => the peer sent an empty message
	receive exit => $GONE
	receive disconnect => $GONE
	receive bytes:1 closed => $MALFORMED
	receive bytes:4097:1 closed => $TOO_LONG
	receive reply:number closed => the reply does not match the request
	receive command:region closed => the reply does not match the request
	receive reply:refused closed => the peer refused a command
	receive reply:status closed => $MALFORMED
	receive reply:wrap closed => $MALFORMED
	receive reply:empty closed => $MALFORMED
	receive reply receive reply:garbage closed => $QUEUE_PAIR_MISMATCH
	receive reply receive reply:refused closed => the peer refused a command
	receive reply receive closed => $SILENT
	receive reply receive reply receive reply:garbage closed => the peer sent malformed facts
	receive reply receive reply receive reply:refused closed => the peer refused a command
	receive reply receive reply receive reply receive reply:garbage closed => the peer sent malformed counters
	$PREPARED receive reply:refused closed => the peer refused a command
	$PREPARED receive reply:number closed => the reply does not match the request
	$PREPARED receive closed => $SILENT
	$PREPARED receive exit => $GONE
	END
}

# Measurements over iWARP use only one queue pair.
# bats test_tags=roce
@test "a server that reports the wrong number of queue pairs: the client reports it, exit 4" {
	MODE='write'
	server_breaks bandwidth --size 64 --depth 4 --qps 2 <<-END
	receive reply receive reply closed => $QUEUE_PAIR_MISMATCH
	receive reply receive reply:ones closed => $QUEUE_PAIR_MISMATCH
	END
}

@test "a server that violates the protocol during a test: the client reports it, exit 4" {
	local reads=4
	! iwarp || reads=1 # all that the peer allows
	MODE='write'
	server_breaks bandwidth --size 64 --depth 4 --duration 60 <<-END
	$BEGUN keepalive closed => $UNEXPECTED
	$BEGUN bytes:9 closed => $UNEXPECTED
	$BEGUN bytes:4097:1 closed => $TOO_LONG
	$BEGUN command:facts closed => $UNEXPECTED
	$BEGUN notice:1 closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN write:64 closed => $UNEXPECTED
	$BEGUN exit => $GONE
	$BEGUN disconnect => $GONE
	receive reply:key receive reply receive reply receive reply receive reply closed => $DENIED
	END
	server_breaks bandwidth --size 64 --depth 4 --verify --iterations 8 <<-END
	$BEGUN notice:9 closed => $IMPOSSIBLE
	$BEGUN notice:0 closed => $IMPOSSIBLE
	$BEGUN notice:0:last closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN receive-notice receive-notice notice:1:last closed => $IMPOSSIBLE
	$BEGUN notice:4611686018427387903:last closed => $IMPOSSIBLE
	$BEGUN closed => $SILENT
	$BEGUN exit => $GONE
	END
	MODE='read'
	server_breaks bandwidth --size 64 --depth 4 --verify --iterations 8 <<-END
	$BEGUN notice:9 closed => $IMPOSSIBLE
	$BEGUN notice:0 closed => $IMPOSSIBLE
	$BEGUN notice:0:last closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN notice:$reads closed => $SILENT
	$BEGUN closed => $SILENT
	END
}

# Over iWARP, the client refuses --poll event for WRITE latency.
# bats test_tags=roce
@test "a server that violates the protocol of a latency test: the client reports it, exit 4" {
	local poll
	MODE='write'
	for poll in event spin; do
		server_breaks latency --poll $poll <<-END
		$BEGUN keepalive closed => $UNEXPECTED
		$BEGUN bytes:9 closed => $UNEXPECTED
		$BEGUN notice:1 closed => $UNEXPECTED
		$BEGUN command:facts closed => $UNEXPECTED
		$BEGUN closed => $SILENT
		$BEGUN exit => $GONE
		END
	done
	server_breaks latency --poll spin <<-END
	$BEGUN write:64 closed => $UNEXPECTED
	END
	MODE='read'
	server_breaks latency --duration 60 <<-END
	$BEGUN keepalive closed => $UNEXPECTED
	$BEGUN write:64 closed => $UNEXPECTED
	$BEGUN exit => $GONE
	$BEGUN deny closed => denied access\\|rejected the request\\|$ENDED
	END
}

@test "a server that violates the protocol after a test: the client reports it, exit 4" {
	MODE='write'
	server_breaks bandwidth --size 64 --depth 4 --iterations 8 <<-END
	$BEGUN receive closed => $SILENT
	$BEGUN receive exit => $GONE
	$BEGUN receive bytes:8 closed => $MALFORMED
	$BEGUN receive reply closed => the peer sent a malformed test result
	$BEGUN receive reply:garbage closed => the peer sent a malformed test result
	$BEGUN receive reply:number closed => the reply does not match the request
	$BEGUN receive reply:refused closed => the peer refused a command
	$BEGUN receive reply:zeros receive reply:garbage closed => the peer sent malformed counters
	$BEGUN receive reply:zeros receive exit => $GONE
	END
}

@test "reported results are shown as received; wrong operations count" {
	local options=(bandwidth --size 64 --depth 4 --iterations 8)
	MODE='write'
	reports_result zeros
	document 0 "${options[@]}"
	assert_json '.results[0].here.operations == 8 and .results[0].there.operations == 0'
	reports_result ones
	document 5 "${options[@]}"
	has "$ERR" 'data sent to the peer arrived corrupted'
	assert_json '.results[0].there.wrong_operations > 0 and .error != null'
	reports_result ones
	measure 5 "${options[@]}" --bidirectional
	one_line "$ERR"
}

# reports_result HOW: starts a server that behaves correctly except for the result that it reports.
reports_result() {
	# shellcheck disable=SC2086 # several words
	listening_peer --hello measurement -- $BEGUN receive "reply:$1" receive reply closed
	PORT=$PEER_PORT
}
