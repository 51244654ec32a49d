#!/usr/bin/env bats
# Peers that break the rules of a measurement, at the server and at the client that measures: each ends
# its own measurement at most, with a reason, and leaves nothing behind.

load common
load measure
load orders

KIND=measurement
MEANINGLESS='it sent something that means nothing here'
IMPOSSIBLE='it says that it is where it cannot be'
GIVEN_UP='the peer does not answer any more'
ANOTHER_NUMBER='it has another number of queue pairs'

# What else was under way may be seen to fail before it.
TOO_LONG="\\(broke before the exchange\\|the peer sent a message longer than the protocol's\\)"

# What comes before an ORDER_BEGIN, at the server, and the ways to run.
READY='order:region told lanes told'
RUNS=(begin begin:read begin:verify begin:read:verify begin:both begin:both:read begin:both:verify
	begin:both:read:verify begin:spin:both begin:spin:verify begin:latency begin:latency:spin
	begin:latency:read begin:latency:spin:verify begin:direction=2 begin:direction=2:read:verify)

@test "a shape that there cannot be is refused, and the largest one is not" {
	local shape refused=0
	start_server -v any
	start_good write
	for shape in 0:0 0:64 1:0 65:1 1:1025 64:129 4294967295:1 1:4294967295 4294967295:4294967295; do
		if ordering_peer --shape $shape closed >"$OUT" 2>&1; then
			fail "$shape was accepted"
		fi
		has "$OUT" 'REJECTED, status 28'
		refused=$((refused + 1))
		wait_until count "$ERRORS" ' is refused, reason 7$' $refused
		feed_good
	done
	ordering_peer --shape 64:128 order:region told lanes:252 told begin:qps=4 told order:end told \
		disconnect >"$OUT"
	count "$OUT" '^told [a-z]* done$' 4
	good_was_served
	has_not "$ERRORS" failed
	stop_server
}

# The answer to the last order of each case says so, and the next order is carried out.
@test "orders that make no sense, or not yet, or not any more, are refused, and the measurement goes on" {
	local steps
	start_server any
	start_good write
	while read -r steps; do
		# shellcheck disable=SC2086 # words
		ordering_peer $steps told order:facts told disconnect >"$OUT" || fail "$steps: $(cat "$OUT")"
		count "$OUT" ' refused$' 1 || fail "$steps"
		[ "$(tail -n 2 "$OUT" | sed 's/^told [a-z]* //' | paste -s)" = $'refused\tdone' ] ||
			fail "$steps: $(cat "$OUT")"
		feed_good
	done <<-END
	begin
	order:region told begin
	lanes told begin
	$READY lanes
	$READY order:region
	$READY begin told order:end told lanes
	$READY begin told order:end told order:region
	$READY order:begin
	$READY order:begin:garbage
	$READY order:begin:zeros
	$READY order:begin:ones
	$READY order:begin:answer
	$READY order:end:answer
	$READY order:proof
	$READY begin:latency=2
	$READY begin:latency:both
	$READY begin:both=3
	$READY begin:both=255
	$READY begin:spin=2
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
	order:region:large told lanes told begin:size=1048577:slots=1
	--shape 1:31 $READY begin:latency:depth=31
	--shape 3:64 order:region told lanes:8 told begin:qps=4
	END
	good_was_served
	wait_until quiet
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
}

@test "orders in an order of their own, twice, and in the middle of a run" {
	local steps
	start_server any
	while read -r steps; do
		# shellcheck disable=SC2086 # words
		ordering_peer $steps disconnect >"$OUT" || fail "$steps: $(cat "$OUT")"
		[ "$(grep -c '^told [a-z]* done$' "$OUT")" -eq "$(grep -o -w told <<<"$steps" | wc -l)" ] ||
			fail "$steps: $(cat "$OUT")"
	done <<-END
	order:end told order:end told
	order:counters told order:facts told order:facts told order:region told order:region told lanes told
	$READY order:counters told order:counters told order:end told
	$READY begin told order:end told order:end told begin told order:end told
	$READY begin told begin:read told begin:latency told order:end told
	$READY begin:read=2:verify=3 told order:end told
	$READY begin:both told beat order:facts told order:end told
	$READY begin:both:spin told beat begin:both told beat order:counters told order:end told
	$READY begin:latency told order:facts told order:end told
	$READY begin:latency:spin told order:facts told begin:latency told order:end told
	$READY begin:direction=2:ops=100 told beat order:end told
	END
	wait_until quiet
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	stop_server
}

@test "queue pairs that are another number of them, or nobody's" {
	server_survives <<-END
	order:region told lanes:4 closed => $ANOTHER_NUMBER
	order:region told lanes:3 closed => $ANOTHER_NUMBER
	lanes:4032 closed => $ANOTHER_NUMBER
	--shape 3:64 order:region told lanes closed => $ANOTHER_NUMBER
	--shape 3:64 order:region told lanes:4 closed => $ANOTHER_NUMBER
	--shape 3:64 order:region told lanes:9 closed => $ANOTHER_NUMBER
	--shape 3:64 order:region told lanes:12 closed => $ANOTHER_NUMBER
	--shape 3:64 order:region told lanes:8 told begin:both:qps=3 told beat closed => stopped acknowledging
	END
}

@test "messages of a wrong length, and immediate data where none is due" {
	server_survives <<-END
	bytes:63 closed => $SENSELESS
	bytes:64:12 closed => $SENSELESS
	$READY bytes:8 closed => $SENSELESS
	$READY write:64 closed => immediate data, which means nothing here
	$READY begin told bytes:9 closed => $SENSELESS
	$READY begin told notice:1:mover closed => $SENSELESS
	$READY begin told bytes:4097:1 closed => $TOO_LONG
	$READY begin told write:64 closed => immediate data, which means nothing here
	$READY begin:both told beat bytes:9 closed => $SENSELESS
	$READY begin:both told beat bytes:4097:1 closed => $TOO_LONG
	$READY begin:both told beat write:64 closed => $MEANINGLESS
	$READY begin:both:spin told beat write:64 closed => $MEANINGLESS
	$READY begin:verify told beat bytes:9 bytes:9 closed => $MEANINGLESS
	$READY begin:verify told beat bytes:4097:1 closed => $TOO_LONG
	$READY begin:verify told beat write:64 closed => $MEANINGLESS
	$READY begin:read:verify told write:64 closed => $MEANINGLESS
	$READY begin:latency told bytes:9 closed => $SENSELESS
	$READY begin:latency told bytes:4097:1 closed => $TOO_LONG
	$READY begin:latency:spin told bytes:9 closed => $SENSELESS
	$READY begin:latency:spin told write:64 closed => $MEANINGLESS
	$READY begin:latency:read told write:64 closed => immediate data, which means nothing here
	END
}

@test "notices that claim what cannot be" {
	# What comes behind the last notice may find the run over.
	server_survives <<-END
	$READY begin:both told beat notice:1 closed => $IMPOSSIBLE
	$READY begin:both told beat notice:1:mover closed => $IMPOSSIBLE
	$READY begin:both:read:spin told beat notice:1:mover closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:5:mover closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:4611686018427387903:mover:last closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:2:mover notice:1:mover closed => $IMPOSSIBLE
	$READY begin:verify:spin told beat notice:2:mover notice:2:mover closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:0:mover closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:1 closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:0:last closed => $IMPOSSIBLE
	$READY begin:verify told beat notice:2:mover:last notice:3:mover closed => \\($IMPOSSIBLE\\|$SENSELESS\\)
	$READY begin:verify told beat notice:2:mover:last notice:2:mover:last closed => \\($IMPOSSIBLE\\|$SENSELESS\\)
	$READY begin:read:verify told beat notice:5:mover closed => $IMPOSSIBLE
	$READY begin:read:verify told beat notice:1 closed => $IMPOSSIBLE
	$READY begin:direction=2:verify told beat notice:1:mover closed => $IMPOSSIBLE
	$READY begin:both:verify told beat notice:5 closed => $IMPOSSIBLE
	$READY begin:both:verify told beat notice:0 closed => $IMPOSSIBLE
	$READY begin:both:verify told beat notice:5:mover closed => $IMPOSSIBLE
	$READY begin:both:read:verify told beat notice:9 closed => $IMPOSSIBLE
	$READY begin:latency told notice:1:mover closed => $MEANINGLESS
	$READY begin:latency:spin told notice:1 closed => $MEANINGLESS
	END
}

@test "data that is not there, or wrong, is counted as wrong" {
	start_server any
	# shellcheck disable=SC2086 # words
	ordering_peer $READY begin:verify told beat notice:4:mover:last hear order:end told disconnect >"$OUT"
	has "$OUT" '^notice 4 last$'
	has "$OUT" '^tally: 0 operations, 4 wrong$'
	# shellcheck disable=SC2086 # words
	ordering_peer $READY begin:read:verify told beat hear notice:0:mover:last hear order:end told \
		disconnect >"$OUT"
	has "$OUT" '^notice 4$'
	has "$OUT" '^notice 4 last$'
	has "$OUT" '^tally: 0 operations, 0 wrong$'
	# shellcheck disable=SC2086 # words
	ordering_peer $READY begin:latency:verify told write:64 order:end told disconnect >"$OUT"
	has "$OUT" '^tally: 1 operations, 1 wrong$'
	wait_until quiet
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	stop_server
}

@test "memory that the peer does not have, or not give" {
	server_survives <<-END
	order:region:key told lanes told begin:both told beat closed => the peer's memory did not allow the access
	order:region:key told lanes told begin:both:read told beat closed => the peer's memory did not allow the access
	order:region:large told lanes told begin:both:size=65536 told beat closed => the peer's memory did not allow the access
	order:region:key told lanes told begin:latency told write:64 closed => the peer's memory did not allow the access
	$READY begin:both told beat deny closed => \\(did not allow\\|refused the request\\)
	$READY begin:latency told write:key closed => \\(did not allow\\|broke before\\)
	$READY begin:verify told write:beyond closed => \\(did not allow\\|broke before\\)
	END
}

# The way of its end is the kernel's: a program that is killed does no more than one that vanishes.
@test "peers that go away in the middle of each kind of run, with and without a word" {
	local run
	for run in "${RUNS[@]}"; do
		echo "$READY $run told beat vanish => ?"
		echo "$READY $run told beat disconnect => ?"
	done >"$DIR/cases"
	server_survives <"$DIR/cases"
}

@test "peers that fall silent at each step, and in each kind of run, meet the deadline" {
	server_survives --timeout 5 --handshake-timeout 5 <<-END
	closed => timed out waiting for its first order
	$READY closed => $GIVEN_UP
	$READY begin told closed => $GIVEN_UP
	$READY begin:both told closed => $GIVEN_UP
	$READY begin:verify told closed => $GIVEN_UP
	$READY begin:verify told beat notice:2:mover closed => $GIVEN_UP
	$READY begin:verify told beat order:end closed => $GIVEN_UP
	$READY begin:both:read:verify told beat closed => $GIVEN_UP
	$READY begin:direction=2:verify told beat closed => $GIVEN_UP
	$READY begin:latency told closed => $GIVEN_UP
	$READY begin:latency:spin told write:silent closed => $GIVEN_UP
	$READY begin:latency:read told closed => $GIVEN_UP
	END
}

# background_peer STEP...: one that is still there when this returns. It goes when its connection has
# failed, or in the end.
background_peer() { ordering_peer "$@" >"$DIR/peer" 2>&1 & }

@test "signs of life are no data: a latency meets the deadline all the same" {
	local run
	for run in begin:latency begin:latency:spin; do
		start_server --timeout 2 any
		MARK=$SECONDS
		# shellcheck disable=SC2086 # words
		background_peer $READY $run told beats
		wait_line "$ERRORS" "$GIVEN_UP"
		in_time
		wait_until quiet
		stop_server
	done
}

@test "a server that is to stop, and waits for data that does not come right, ends at the second signal" {
	start_server --timeout 30 any
	# shellcheck disable=SC2086 # words
	background_peer $READY begin:latency:spin:verify told pings
	wait_line "$DIR/peer" '^answered$'
	kill -TERM "$SERVER"
	wait_until takes_nobody
	MARK=$SECONDS
	stop_server
	in_time
}

takes_nobody() { ! client --timeout 2 write "$ADDRESS" "$PORT"; }

# server_breaks OPTION...: in the mode $MODE; reads cases from standard input: what the server does, and
# what the client says of it in one line, within 15 s, with exit status 4.
server_breaks() {
	local steps pattern
	while IFS='>' read -r steps pattern; do
		# shellcheck disable=SC2086 # words
		listening_odd_peer --intro measurement -- ${steps%=}
		MARK=$SECONDS
		PORT=$PEER_PORT measure 4 --timeout 3 "$@" || fail "$steps"
		in_time || fail "$steps"
		one_line "$ERR"
		has "$ERR" "${pattern# }" || fail "$steps"
		[ "$(LC_ALL=C grep -c '[^ -~]' "$ERR")" -eq 0 ]
		ends_with 0 "$PEER" || fail "$steps"
	done
}

# Facts, region, queue pairs, counters; and the beginning of the run.
PREPARED='told reply told reply told reply told reply'
BEGUN="$PREPARED told reply"
SILENT='no answer within 3 s'
GONE='the other side ended the connection'

@test "a server that breaks the rules before a run: the client says so, exit 4" {
	MODE='write'
	server_breaks --bandwidth --size 64 --depth 4 <<-END
	closed => $SILENT
	beat closed => it sent a message of no bytes
	told vanish => $GONE
	told disconnect => $GONE
	told bytes:1 closed => $SENSELESS
	told bytes:4097:1 closed => $TOO_LONG
	told reply:number closed => it answered something that was not asked
	told order:region closed => it answered something that was not asked
	told reply:refused closed => it did not carry out an order
	told reply:status closed => $SENSELESS
	told reply:garbage closed => what it says of itself makes no sense
	told reply told reply:wrap closed => $SENSELESS
	told reply told reply:empty closed => $SENSELESS
	told reply told reply:refused closed => it did not carry out an order
	told reply told reply told reply:garbage closed => $ANOTHER_NUMBER
	told reply told reply told reply:refused closed => it did not carry out an order
	told reply told reply told closed => $SILENT
	told reply told reply told reply told reply:garbage closed => its counters make no sense
	$PREPARED told reply:refused closed => it did not carry out an order
	$PREPARED told reply:number closed => it answered something that was not asked
	$PREPARED told closed => $SILENT
	$PREPARED told vanish => $GONE
	END
	server_breaks --bandwidth --size 64 --depth 4 --qps 2 <<-END
	told reply told reply told reply closed => $ANOTHER_NUMBER
	told reply told reply told reply:ones closed => $ANOTHER_NUMBER
	END
}

@test "a server that breaks the rules in a run: the client says so, exit 4" {
	MODE='write'
	server_breaks --bandwidth --size 64 --depth 4 --duration 60 <<-END
	$BEGUN beat closed => $MEANINGLESS
	$BEGUN bytes:9 closed => $MEANINGLESS
	$BEGUN bytes:4097:1 closed => $TOO_LONG
	$BEGUN order:facts closed => $MEANINGLESS
	$BEGUN notice:1 closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN write:64 closed => $MEANINGLESS
	$BEGUN vanish => $GONE
	$BEGUN disconnect => $GONE
	$BEGUN deny closed => \\(did not allow\\|refused the request\\)
	told reply told reply:key told reply told reply told reply closed => the peer's memory did not allow the access
	END
	server_breaks --bandwidth --size 64 --depth 4 --verify --iterations 8 <<-END
	$BEGUN notice:9 closed => $IMPOSSIBLE
	$BEGUN notice:0 closed => $IMPOSSIBLE
	$BEGUN notice:0:last closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN hear hear notice:1:last closed => $IMPOSSIBLE
	$BEGUN notice:4611686018427387903:last closed => $IMPOSSIBLE
	$BEGUN closed => $SILENT
	$BEGUN vanish => $GONE
	END
	MODE='read'
	server_breaks --bandwidth --size 64 --depth 4 --verify --iterations 8 <<-END
	$BEGUN notice:9 closed => $IMPOSSIBLE
	$BEGUN notice:0 closed => $IMPOSSIBLE
	$BEGUN notice:0:last closed => $IMPOSSIBLE
	$BEGUN notice:1:mover closed => $IMPOSSIBLE
	$BEGUN notice:4 closed => $SILENT
	$BEGUN closed => $SILENT
	END
}

@test "a server that breaks the rules of a latency: the client says so, exit 4" {
	local poll
	MODE='write'
	for poll in event spin; do
		server_breaks --latency --poll $poll <<-END
		$BEGUN beat closed => $MEANINGLESS
		$BEGUN bytes:9 closed => $MEANINGLESS
		$BEGUN notice:1 closed => $MEANINGLESS
		$BEGUN order:facts closed => $MEANINGLESS
		$BEGUN closed => $SILENT
		$BEGUN vanish => $GONE
		END
	done
	server_breaks --latency --poll spin <<-END
	$BEGUN write:64 closed => $MEANINGLESS
	END
	MODE='read'
	server_breaks --latency --duration 60 <<-END
	$BEGUN beat closed => $MEANINGLESS
	$BEGUN write:64 closed => $MEANINGLESS
	$BEGUN vanish => $GONE
	$BEGUN deny closed => \\(did not allow\\|refused the request\\)
	END
}

@test "a server that breaks the rules after a run: the client says so, exit 4" {
	MODE='write'
	server_breaks --bandwidth --size 64 --depth 4 --iterations 8 <<-END
	$BEGUN told closed => $SILENT
	$BEGUN told vanish => $GONE
	$BEGUN told bytes:8 closed => $SENSELESS
	$BEGUN told reply closed => what it says of the run makes no sense
	$BEGUN told reply:garbage closed => what it says of the run makes no sense
	$BEGUN told reply:number closed => it answered something that was not asked
	$BEGUN told reply:refused closed => it did not carry out an order
	$BEGUN told reply:zeros told reply:garbage closed => its counters make no sense
	$BEGUN told reply:zeros told vanish => $GONE
	END
}

@test "a tally is shown as it is, whatever it claims; what was wrong there counts" {
	local options=(--bandwidth --size 64 --depth 4 --iterations 8)
	MODE='write'
	tally_is zeros
	document 0 "${options[@]}"
	tells '.results[0].here.operations == 8 and .results[0].there.operations == 0'
	tally_is ones
	document 5 "${options[@]}"
	has "$ERR" 'arrived damaged at the peer'
	tells '.results[0].there.wrong_operations > 0 and .error != null'
	tally_is ones
	measure 5 --bidirectional "${options[@]}"
	one_line "$ERR"
}

# tally_is HOW: a server that says so of the run, and nothing else wrong.
tally_is() {
	# shellcheck disable=SC2086 # words
	listening_odd_peer --intro measurement -- $BEGUN told "reply:$1" told reply closed
	PORT=$PEER_PORT
}
