#!/usr/bin/env bats
# Interoperability with the tutorial's programs: a peer that speaks only their protocol, and checks
# that unused bytes of the messages it receives are zero.

load common

with_our_server() { # MODE [MODE-OF-THE-SERVER [CLIENTS]]
	local clients=${3:-3}
	start_server "${2:-$1}"
	for ((i = 0; i < clients; i++)); do
		tutorial_peer "$1" "$ADDRESS" "$PORT" >"$OUT"
		has "$OUT" "^remote buffer: message from passive/server side with pid $SERVER\$"
	done
	wait_until count "$LOG" '^remote buffer: message from a tutorial peer' "$clients"
	wait_until count "$LOG" '^peer disconnected.$' "$clients"
	count "$LOG" '^not verified: .* is a tutorial program\.$' "$clients"
	stop_server
	is_empty "$ERRORS"
}

with_our_client() { # MODE
	for _ in 1 2 3; do
		start_peer "$PAIR_PEERS/tests/one-host/tutorial-peer" "$1" --listen "$ADDRESS" \
			"$DIR/peer-port"
		expect 0 client "$1" "$ADDRESS" "$PEER_PORT"
		has "$OUT" '^remote buffer: message from a tutorial peer with pid'
		has "$OUT" "^not verified: $ADDRESS:$PEER_PORT is a tutorial program\.\$"
		wait "$PEER"
		has "$DIR/peer" '^remote buffer: message from active/client side with pid'
		is_empty "$ERR"
	done
}

@test "a tutorial client and our server, write" { with_our_server write; }
@test "a tutorial client and our server, read" { with_our_server read; }
@test "a tutorial server and our client, write" { with_our_client write; }
@test "a tutorial server and our client, read" { with_our_client read; }

@test "tutorial clients in write mode and an 'any' server" { with_our_server write any 25; }
@test "tutorial clients in read mode and an 'any' server" { with_our_server read any 25; }

@test "our memory stays readable until a tutorial peer disconnects, because its MSG_DONE is not fenced" {
	start_server --message 'read me late' read
	# Its READ executes after both MSG_DONE, which is allowed because it is unfenced.
	misbehaving_peer --hello none-read "$ADDRESS" "$PORT" mr get 'done' get sent read disconnect >"$OUT"
	has "$OUT" '^read: read me late$'
	stop_server
	is_empty "$ERRORS"
}

@test "a tutorial peer with one posted receive is sent only one message at a time" {
	start_server --timeout 5 write
	# Without RNR retries, a premature message would fail the exchange at once.
	misbehaving_peer --hello none --receives 1 --rnr 0 "$ADDRESS" "$PORT" mr get say:slow >"$OUT"
	has "$OUT" '^got MSG_MR$'
	stop_server
	has_not "$ERRORS" 'no receive posted'
	has "$ERRORS" 'connection closed by the peer while waiting for MSG_DONE'
}
