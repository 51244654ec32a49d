#!/usr/bin/env bats
# --secret-file: who holds the secret is served as ever, and whoever does not learns nothing.

load common
load streams

setup() {
	note_failures_only
	DIR=$BATS_TEST_TMPDIR
	OUT=$DIR/out ERR=$DIR/err LOG=$DIR/log ERRORS=$DIR/errors
	RESOURCES=$(resources)
	# shellcheck disable=SC2034 # for the tests
	CLIENTS=() PEER='' PEER_PORT=''
	umask 077
	OURS=$DIR/ours THEIRS=$DIR/theirs
	head -c 32 /dev/urandom | base64 >"$OURS"
	head -c 32 /dev/urandom | base64 >"$THEIRS"
}

# What the client has said, on either stream, with nothing in it that differs from run to run.
words() { cat "$OUT" "$ERR" | sed "s/:$PORT/:PORT/g; s/:$PEER_PORT/:PORT/g"; }

@test "those who hold the same secret exchange messages and files, in both modes" {
	local mode
	head -c 3000000 /dev/urandom >"$DIR/up"
	head -c 5000000 /dev/urandom >"$DIR/down"
	start_server --secret-file "$OURS" --verbose any
	for mode in write read; do
		expect 0 client --secret-file "$OURS" --verbose "$mode" "$ADDRESS" "$PORT"
		has "$OUT" '^remote buffer: message from passive'
		has "$ERR" "holds our secret"
	done
	wait_until count "$ERRORS" 'holds our secret' 2
	stop_server
	mkdir "$DIR/in"
	start_server --secret-file "$OURS" --input "$DIR/down" --output "$DIR/in/" any
	for mode in write read; do
		expect 0 client --secret-file "$OURS" --json --input "$DIR/up" --output "$DIR/got.$mode" \
			"$mode" "$ADDRESS" "$PORT"
		cmp "$DIR/down" "$DIR/got.$mode"
		cmp "$DIR/up" "$DIR/in/up"
		rm "$DIR/in/up"
		cat "$OUT" >>"$DIR/documents"
		has "$OUT" '"secret":true,"digest":"BLAKE2b keyed"'
	done
	tests/validate-report "$DIR/documents"
	wait_until count "$LOG" '^sent 5000000 bytes .*, BLAKE2b keyed [0-9a-f]*: down\.$' 2
	stop_server
	[ ! -s "$ERRORS" ]
}

@test "a wrong secret and none are told the same, word for word, and count for nothing" {
	start_server --secret-file "$OURS" --count 1 any
	expect 3 client write "$ADDRESS" "$PORT"
	one_line "$ERR"
	has "$ERR" 'the server and this client do not hold the same secret'
	words >"$DIR/missing"
	wait_until one_line "$ERRORS"
	expect 3 client --secret-file "$THEIRS" write "$ADDRESS" "$PORT"
	words >"$DIR/wrong"
	diff "$DIR/missing" "$DIR/wrong"
	wait_until count "$ERRORS" '^rdma-server: the exchange failed with .*: it does not hold our secret' 2
	expect 3 client --json read "$ADDRESS" "$PORT"
	sed 's/"secret":false,"digest":"XXH3"/SECRET/' "$OUT" >"$DIR/missing"
	expect 3 client --json --secret-file "$THEIRS" read "$ADDRESS" "$PORT"
	sed 's/"secret":true,"digest":"BLAKE2b keyed"/SECRET/' "$OUT" | diff "$DIR/missing" -
	has "$DIR/missing" SECRET
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	server_ends 0
	count "$LOG" '^received MSG_MR' 1
}

@test "a client with a secret talks to no server without it" {
	start_server any
	expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	one_line "$ERR"
	has "$ERR" 'the server and this client do not hold the same secret'
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	[ ! -s "$ERRORS" ]
	# One that accepts all the same, with and without an introduction, or that breaks off.
	local kind
	for kind in ours none; do
		listening_odd_peer --intro "$kind" -- closed
		expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" 'the server and this client do not hold the same secret'
		ends_with 0 "$PEER"
	done
	listening_odd_peer --secret "$THEIRS" -- get vanish
	expect 4 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'waited for its MSG_PROOF\|stopped acknowledging\|could not complete'
}

@test "a program of the tutorial is turned away" {
	start_server --secret-file "$OURS" any
	if odd_peer --intro none "$ADDRESS" "$PORT" closed 2>"$ERR"; then
		fail 'it was accepted'
	fi
	has "$ERR" 'REJECTED, status 28'
	wait_line "$ERRORS" 'it does not hold our secret'
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	stop_server
}

@test "recorded, reflected and wrong proofs, and whatever comes before one" {
	local steps pattern before
	start_server --timeout 3 --secret-file "$OURS" any
	start_good --secret-file "$OURS" write
	while IFS='>' read -r steps pattern; do
		before=$(wc -l <"$ERRORS")
		# shellcheck disable=SC2086 # words
		odd_peer --secret "$OURS" "$ADDRESS" "$PORT" ${steps%=} >"$OUT"
		wait_until said_since "$before" "${pattern# }" || fail "$steps: $(cat "$ERRORS")"
		has_not "$OUT" 'got MSG_MR'
		has_not "$OUT" 'got MSG_PROOF'
		feed_good
	done <<-END
	proof:wrong get closed => it does not hold our secret
	proof:replay get closed => it does not hold our secret
	proof:recorded get closed => it does not hold our secret
	mr closed => it sent MSG_MR before its MSG_PROOF
	done closed => it sent MSG_DONE before its MSG_MR
	data:3 closed => it sent data when none was due
	type:77 closed => it sent a message of unknown type 77
	beat closed => it sent a message of 0 bytes
	closed => timed out waiting for its MSG_PROOF
	END
	odd_peer --secret "$OURS" "$ADDRESS" "$PORT" proof get proof closed >"$OUT"
	has "$OUT" 'got MSG_PROOF'
	wait_line "$ERRORS" 'it sent a second MSG_PROOF'
	good_was_served
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	stop_server
}

said_since() { tail -n +"$(($1 + 1))" "$ERRORS" | grep -q -e "$2"; }

@test "a server that gives back the client's own proof, or a wrong one, gets nothing" {
	local how
	for how in reflect wrong replay recorded; do
		listening_odd_peer --secret "$OURS" -- get "proof:$how" get closed
		expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" 'the server and this client do not hold the same secret'
		ends_with 0 "$PEER"
		has "$DIR/peer" 'got MSG_ABORT'
		has_not "$DIR/peer" 'got MSG_MR'
	done
	listening_odd_peer --secret "$OURS" -- get mr closed
	expect 4 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'it sent MSG_MR before its MSG_PROOF'
	ends_with 0 "$PEER"
}

@test "a digest that anybody can compute, and a verdict that nobody signed" {
	start_server --secret-file "$OURS" --count 1 any
	odd_peer --secret "$OURS" "$ADDRESS" "$PORT" proof get mr get:MSG_MR write 'done' \
		get:MSG_VERDICT verdict get:MSG_ABORT closed >"$OUT"
	server_ends 5
	has "$ERRORS" 'arrived damaged here'
	has_not "$LOG" 'remote buffer'
}

@test "what is damaged on the way is found, in both modes and directions, by both ends" {
	local mode
	head -c 3000000 /dev/urandom >"$DIR/data"
	for mode in write read; do
		start_server --secret-file "$OURS" --count 1 "$mode"
		DAMAGE=3 expect 5 "$PAIR_BUILD/tests/soft-roce/damaging-client" --secret-file "$OURS" \
			"$mode" "$ADDRESS" "$PORT"
		server_ends 5
		mkdir "$DIR/in"
		start_server --secret-file "$OURS" --count 1 --output "$DIR/in/" "$mode"
		DAMAGE=2999999 expect 5 "$PAIR_BUILD/tests/soft-roce/damaging-client" \
			--secret-file "$OURS" --input "$DIR/data" "$mode" "$ADDRESS" "$PORT"
		server_ends 5
		rmdir "$DIR/in"
		DAMAGE=1000000 PAIR_SERVER=$PAIR_BUILD/tests/soft-roce/damaging-server \
			start_server --secret-file "$OURS" --count 1 --input "$DIR/data" "$mode"
		expect 5 client --secret-file "$OURS" --output "$DIR/got" "$mode" "$ADDRESS" "$PORT"
		server_ends 5
		[ ! -e "$DIR/got" ]
	done
}

@test "a secret that others may read, or that is none, starts nothing" {
	local mode
	for mode in 644 640 604 620; do
		chmod "$mode" "$OURS"
		expect 1 client --secret-file "$OURS" write "$ADDRESS" 7
		one_line "$ERR"
		has "$ERR" 'others may use it too; chmod 600'
		expect 1 "$PAIR_BIN/rdma-server" --secret-file "$OURS" any
		one_line "$ERR"
		has "$ERR" 'others may use it too; chmod 600'
	done
	chmod 600 "$OURS"
	chown 65534 "$OURS"
	expect 1 client --secret-file "$OURS" write "$ADDRESS" 7
	has "$ERR" 'it belongs to another user'
	echo short >"$THEIRS"
	expect 1 client --secret-file "$THEIRS" write "$ADDRESS" 7
	has "$ERR" 'it has less than 16 bytes'
	expect 1 client --secret-file "$DIR/none" write "$ADDRESS" 7
	has "$ERR" 'No such file or directory'
	expect 1 client --secret-file /dev/null write "$ADDRESS" 7
	has "$ERR" 'it is not a regular file'
}

@test "a diagnosis needs the secret, too" {
	local steps
	start_server --secret-file "$OURS" any
	expect 0 client --secret-file "$OURS" diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^connection *ok .*, both hold the secret$'
	[ ! -s "$ERRORS" ]
	expect 3 client diagnose "$ADDRESS" "$PORT"
	words | grep -A3 '^connection' | sed 's/[0-9]* ms//' >"$DIR/missing"
	has "$DIR/missing" 'failed *the server and this client do not hold the same secret'
	expect 3 client --secret-file "$THEIRS" diagnose "$ADDRESS" "$PORT"
	words | grep -A3 '^connection' | sed 's/[0-9]* ms//' | diff "$DIR/missing" -
	wait_until count "$ERRORS" 'it does not hold our secret' 2
	for steps in order:proof:flip order:proof:replay order:proof:recorded order:proof:cut \
		order:facts order:region; do
		# shellcheck disable=SC2086 # words
		odd_peer --intro diagnosis --secret "$OURS" "$ADDRESS" "$PORT" $steps told closed >"$OUT"
		has "$OUT" '^told [a-z]* refused$'
	done
	wait_until count "$ERRORS" 'it does not hold our secret' 8
	odd_peer --intro diagnosis --secret "$OURS" "$ADDRESS" "$PORT" order:proof told order:proof told \
		order:region told disconnect >"$OUT"
	count "$OUT" '^told proof done$' 1
	count "$OUT" '^told proof refused$' 1
	count "$OUT" '^told region done$' 1
	stop_server
	start_server any
	expect 3 client --secret-file "$OURS" diagnose "$ADDRESS" "$PORT"
	has "$OUT" 'failed *the server and this client do not hold the same secret'
	expect 1 client --secret-file "$DIR/none" diagnose "$ADDRESS" "$PORT"
	one_line "$ERR"
	stop_server
	[ ! -s "$ERRORS" ]
	listening_odd_peer --intro diagnosis --secret "$OURS" -- told reply closed
	expect 3 client --secret-file "$OURS" diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" 'failed *the server and this client do not hold the same secret'
	ends_with 0 "$PEER"
}
