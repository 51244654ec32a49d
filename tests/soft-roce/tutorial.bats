#!/usr/bin/env bats
# The tutorial's programs and ours: a peer that speaks nothing but its protocol, and checks that all
# that it is sent is zero where the tutorial's format has nothing.

load common

with_our_server() { # MODE
	start_server "$1"
	for _ in 1 2 3; do
		tutorial_peer "$1" "$ADDRESS" "$PORT" >"$OUT"
		has "$OUT" "^remote buffer: message from passive/server side with pid $SERVER\$"
	done
	wait_until count "$LOG" '^remote buffer: message from a tutorial peer' 3
	wait_until count "$LOG" '^peer disconnected.$' 3
	stop_server
	[ ! -s "$ERRORS" ]
}

with_our_client() { # MODE
	for _ in 1 2 3; do
		start_peer "$PAIR_PEERS/tests/soft-roce/tutorial-peer" "$1" --listen "$ADDRESS" \
			"$DIR/peer-port"
		expect 0 client "$1" "$ADDRESS" "$PEER_PORT"
		has "$OUT" '^remote buffer: message from a tutorial peer with pid'
		wait "$PEER"
		has "$DIR/peer" '^remote buffer: message from active/client side with pid'
		[ ! -s "$ERR" ]
	done
}

@test "a tutorial client and our server, write" { with_our_server write; }
@test "a tutorial client and our server, read" { with_our_server read; }
@test "a tutorial server and our client, write" { with_our_client write; }
@test "a tutorial server and our client, read" { with_our_client read; }

@test "an 'any' server treats a tutorial client as write mode" {
	start_server any
	tutorial_peer write "$ADDRESS" "$PORT"
	stop_server
}

@test "our memory stays readable until a tutorial peer disconnects, as its MSG_DONE is not fenced" {
	start_server --message 'read me late' read
	# Its READ runs after both sides' MSG_DONE, as an unfenced one may.
	misbehaving_peer --hello none-read "$ADDRESS" "$PORT" mr get 'done' get sent read disconnect >"$OUT"
	has "$OUT" '^read: read me late$'
	stop_server
	[ ! -s "$ERRORS" ]
}

@test "a tutorial peer with one receive is never sent a message that it has no receive for" {
	start_server --timeout 5 write
	# No retry is granted: a message too early would fail the exchange at once.
	misbehaving_peer --hello none --receives 1 --rnr 0 "$ADDRESS" "$PORT" mr get say:slow >"$OUT"
	has "$OUT" '^got MSG_MR$'
	stop_server
	has_not "$ERRORS" 'no receive posted'
	has "$ERRORS" 'connection closed by the peer while waiting for MSG_DONE'
}
