#!/usr/bin/env bats
# --secret-file: peers with the secret are served as usual; peers without it learn nothing.

load common
load streams

setup() {
	prepare
	umask 077
	OURS=$DIR/ours THEIRS=$DIR/theirs
	head -c 32 /dev/urandom | base64 >"$OURS"
	head -c 32 /dev/urandom | base64 >"$THEIRS"
}

# Prints the client's output on both streams, without the port numbers, which vary.
output_without_ports() { cat "$OUT" "$ERR" | sed "s/:$PORT/:PORT/g; s/:$PEER_PORT/:PORT/g"; }

@test "peers with the same secret exchange messages and files in each mode" {
	local mode
	head -c 3000000 /dev/urandom >"$DIR/up"
	head -c 5000000 /dev/urandom >"$DIR/down"
	start_server --secret-file "$OURS" --verbose any
	for mode in write read send; do
		expect 0 client --secret-file "$OURS" --verbose "$mode" "$ADDRESS" "$PORT"
		has "$OUT" '^remote buffer: message from passive'
		has "$ERR" "is authenticated"
	done
	wait_until count "$ERRORS" 'is authenticated' 3
	stop_server
	mkdir "$DIR/in"
	start_server --secret-file "$OURS" --input "$DIR/down" --output "$DIR/in/" any
	for mode in write read send; do
		expect 0 client --secret-file "$OURS" --json --input "$DIR/up" --output "$DIR/got.$mode" \
			"$mode" "$ADDRESS" "$PORT"
		cmp "$DIR/down" "$DIR/got.$mode"
		cmp "$DIR/up" "$DIR/in/up"
		rm "$DIR/in/up"
		has "$OUT" '"secret":true,"digest":"Poly1305-BLAKE2b"'
	done
	wait_until count "$LOG" '^sent .*/down to .*: 5,000,000 bytes .*, Poly1305-BLAKE2b [0-9a-f]*\.$' 3
	stop_server
	is_empty "$ERRORS"
}

# start_by_program OPTION...: starts a server with --stdio. $WRITER holds its standard input open.
start_by_program() {
	STDIN=$DIR/stdin
	mkfifo "$STDIN"
	(
		cat "$OURS"
		exec sleep 1000
	) >"$STDIN" 3>&- &
	WRITER=$!
	undo kill "$WRITER"
	start_server --stdio "$@"
	wait_until has "$LOG" '^rdma-server listens:'
	rm "$STDIN"
}

@test "--stdio: a program starts the server with the secret, and learns port and addresses; it ends with its client, or with its input" {
	mkdir "$DIR/in"
	head -c 3000000 /dev/urandom >"$DIR/up"
	start_by_program --output "$DIR/in" write
	has "$LOG" "^rdma-server listens: $PORT \(.* \)*$ADDRESS\( \|\$\)"
	expect 3 client write --input "$DIR/up" "$ADDRESS" "$PORT"
	has "$ERR" 'do not have the same secret'
	expect 3 client --secret-file "$THEIRS" --input "$DIR/up" write "$ADDRESS" "$PORT"
	expect 0 client --secret-file "$OURS" --input "$DIR/up" write "$ADDRESS" "$PORT"
	server_exits 0
	cmp "$DIR/up" "$DIR/in/up"
	has "$LOG" '^rdma-server listens: [0-9. a-f:]*$'
	one_line "$LOG"
	count "$ERRORS" 'the peer does not have the same secret' 2
	start_by_program --input "$DIR/up" read
	kill "$WRITER"
	server_exits 0
	is_empty "$ERRORS"
}

@test "a wrong secret and no secret get the same answer and change nothing" {
	start_server --secret-file "$OURS" --count 1 any
	expect 3 client write "$ADDRESS" "$PORT"
	one_line "$ERR"
	has "$ERR" 'client and server do not have the same secret'
	output_without_ports >"$DIR/missing"
	wait_until one_line "$ERRORS"
	expect 3 client --secret-file "$THEIRS" write "$ADDRESS" "$PORT"
	output_without_ports >"$DIR/wrong"
	diff "$DIR/missing" "$DIR/wrong"
	expect 3 client --json read "$ADDRESS" "$PORT"
	sed 's/"secret":false,"digest":"XXH3"/SECRET/; s/"time":"[^"]*",//; s/^/without time: /' "$OUT" >"$DIR/missing"
	expect 3 client --json --secret-file "$THEIRS" read "$ADDRESS" "$PORT"
	sed 's/"secret":true,"digest":"Poly1305-BLAKE2b"/SECRET/; s/"time":"[^"]*",//; s/^/without time: /' "$OUT" |
		diff "$DIR/missing" -
	has "$DIR/missing" SECRET
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	server_exits 0
	count_repeated "$ERRORS" '^rdma-server: exchange with .* failed: the peer does not have the same secret' 4
	count "$LOG" '^received MSG_MR' 1
}

@test "a client with a secret refuses a server without it" {
	start_server any
	expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	one_line "$ERR"
	has "$ERR" 'client and server do not have the same secret'
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	is_empty "$ERRORS"
	# Servers that accept anyway, with and without a hello, or that disconnect.
	local kind
	for kind in ours none; do
		listening_peer --hello "$kind" -- closed
		expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" 'client and server do not have the same secret'
		exits_with 0 "$PEER"
	done
	listening_peer --secret "$THEIRS" -- get exit
	expect 4 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'while waiting for MSG_PROOF\|stopped acknowledging\|could not complete'
}

@test "a server of release 0.1 that requires a secret is named" {
	local older=$PAIR_BUILD/tests/one-host/older kind
	local -a secret=(--secret-file "$OURS")
	PAIR_SERVER=$older-server start_server "${secret[@]}" write
	for kind in write diagnose 'latency write'; do
		# shellcheck disable=SC2086 # several words
		expect 3 client "${secret[@]}" $kind "$ADDRESS" "$PORT"
		output_without_ports >"$DIR/said"
		has "$DIR/said" 'the server is of release 0.1, and requires a secret of that release'
	done
	stop_server
	start_server "${secret[@]}" write
	expect 3 "$older-client" "${secret[@]}" write "$ADDRESS" "$PORT"
	stop_server
	has "$LOG" 'it is of release 0.1, whose secrets this release does not know'
}

@test "a server with a secret refuses a tutorial program" {
	start_server --secret-file "$OURS" any
	if misbehaving_peer --hello none "$ADDRESS" "$PORT" closed 2>"$ERR"; then
		fail 'it was accepted'
	fi
	has "$ERR" "$REJECTED"
	wait_line "$ERRORS" 'the peer does not have the same secret'
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	stop_server
}

# bats test_tags=portable
@test "replayed, reflected and wrong proofs, and messages before the proof" {
	local steps pattern before
	start_server --timeout 3 --discard --secret-file "$OURS" any
	start_good --secret-file "$OURS" write
	while IFS='>' read -r steps pattern; do
		before=$(wc -l <"$ERRORS")
		# shellcheck disable=SC2086 # several words
		misbehaving_peer --secret "$OURS" "$ADDRESS" "$PORT" ${steps%=} >"$OUT"
		# The server only counts repetitions of "does not have the same secret".
		[ "$pattern" = ' counted' ] || wait_until printed_since "$before" "${pattern# }" ||
			fail "$steps: $(cat "$ERRORS")"
		has_not "$OUT" 'got MSG_MR'
		has_not "$OUT" 'got MSG_PROOF'
		feed_good
	done <<-END
	proof:wrong get closed => the peer does not have the same secret
	proof:replay get closed => counted
	proof:recorded get closed => counted
	mr closed => received MSG_MR before MSG_PROOF
	done closed => received MSG_DONE before MSG_MR
	data:3 closed => received unexpected data
	type:77 closed => received a message of unknown type 77
	keepalive closed => received a message of 0 bytes
	closed => timed out waiting for MSG_PROOF
	END
	misbehaving_peer --secret "$OURS" "$ADDRESS" "$PORT" proof get proof closed >"$OUT"
	has "$OUT" 'got MSG_PROOF'
	wait_line "$ERRORS" 'received a second MSG_PROOF'
	good_was_served
	expect 0 client --secret-file "$OURS" write "$ADDRESS" "$PORT"
	stop_server
	count_repeated "$ERRORS" 'the peer does not have the same secret' 3
}

printed_since() { tail -n +"$(($1 + 1))" "$ERRORS" | grep -q -e "$2"; }

# bats test_tags=portable
@test "a server that reflects the client's proof or sends a wrong one is refused" {
	local how
	for how in reflect wrong replay recorded; do
		listening_peer --secret "$OURS" -- get "proof:$how" get closed
		expect 3 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
		one_line "$ERR"
		has "$ERR" 'client and server do not have the same secret'
		exits_with 0 "$PEER"
		has "$DIR/peer" 'got MSG_ABORT'
		has_not "$DIR/peer" 'got MSG_MR'
	done
	listening_peer --secret "$OURS" -- get mr closed
	expect 4 client --secret-file "$OURS" write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'received MSG_MR before MSG_PROOF'
	exits_with 0 "$PEER"
}

@test "an unkeyed digest and an unsigned verdict are rejected" {
	start_server --secret-file "$OURS" --count 1 any
	misbehaving_peer --secret "$OURS" "$ADDRESS" "$PORT" proof get mr get:MSG_MR write 'done' \
		get:MSG_VERDICT verdict get:MSG_ABORT closed >"$OUT"
	server_exits 5
	has "$ERRORS" 'data from the peer arrived corrupted'
	has_not "$LOG" 'remote buffer'
}

# bats test_tags=portable
@test "both ends detect corrupted data in each mode and direction" {
	local mode
	head -c 3000000 /dev/urandom >"$DIR/data"
	for mode in write read send; do
		start_server --secret-file "$OURS" --count 1 "$mode"
		DAMAGE=3 expect 5 "$PAIR_BUILD/tests/one-host/damaging-client" --secret-file "$OURS" \
			"$mode" "$ADDRESS" "$PORT"
		server_exits 5
		mkdir "$DIR/in"
		start_server --secret-file "$OURS" --count 1 --output "$DIR/in/" "$mode"
		DAMAGE=2999999 expect 5 "$PAIR_BUILD/tests/one-host/damaging-client" \
			--secret-file "$OURS" --input "$DIR/data" "$mode" "$ADDRESS" "$PORT"
		server_exits 5
		rmdir "$DIR/in"
		DAMAGE=1000000 PAIR_SERVER=$PAIR_BUILD/tests/one-host/damaging-server \
			start_server --secret-file "$OURS" --count 1 --input "$DIR/data" "$mode"
		expect 5 client --secret-file "$OURS" --output "$DIR/got" "$mode" "$ADDRESS" "$PORT"
		server_exits 5
		[ ! -e "$DIR/got" ]
	done
}

# bats test_tags=portable
@test "a secret file that others can read, or an invalid one, is refused" {
	local mode
	for mode in 644 640 604 620; do
		chmod "$mode" "$OURS"
		expect 1 client --secret-file "$OURS" write "$ADDRESS" 7
		one_line "$ERR"
		has "$ERR" 'accessible by other users; run chmod 600'
		expect 1 "$PAIR_BIN/rdma-server" --secret-file "$OURS" any
		one_line "$ERR"
		has "$ERR" 'accessible by other users; run chmod 600'
	done
	chmod 600 "$OURS"
	chown 65534 "$OURS"
	expect 1 client --secret-file "$OURS" write "$ADDRESS" 7
	has "$ERR" 'owned by another user'
	echo short >"$THEIRS"
	expect 1 client --secret-file "$THEIRS" write "$ADDRESS" 7
	has "$ERR" 'shorter than 16 bytes'
	expect 1 client --secret-file "$DIR/none" write "$ADDRESS" 7
	has "$ERR" 'No such file or directory'
	expect 1 client --secret-file /dev/null write "$ADDRESS" 7
	has "$ERR" 'not a regular file'
}

# bats test_tags=portable
@test "a diagnosis needs the secret" {
	local steps
	start_server --secret-file "$OURS" any
	expect 0 client --secret-file "$OURS" diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^connection *ok .*, mutually authenticated$'
	is_empty "$ERRORS"
	expect 3 client diagnose "$ADDRESS" "$PORT"
	output_without_ports | grep -A3 '^connection' | sed 's/[0-9]* ms//' >"$DIR/missing"
	has "$DIR/missing" 'failed *client and server do not have the same secret'
	expect 3 client --secret-file "$THEIRS" diagnose "$ADDRESS" "$PORT"
	output_without_ports | grep -A3 '^connection' | sed 's/[0-9]* ms//' | diff "$DIR/missing" -
	for steps in command:proof:flip command:proof:replay command:proof:recorded command:proof:cut \
		command:facts command:region; do
		# shellcheck disable=SC2086 # several words
		misbehaving_peer --hello diagnosis --secret "$OURS" "$ADDRESS" "$PORT" $steps receive closed >"$OUT"
		has "$OUT" '^received [a-z-]* refused$'
	done
	misbehaving_peer --hello diagnosis --secret "$OURS" "$ADDRESS" "$PORT" command:proof receive command:proof receive \
		command:region receive disconnect >"$OUT"
	count "$OUT" '^received proof done$' 1
	count "$OUT" '^received proof refused$' 1
	count "$OUT" '^received region done$' 1
	stop_server
	count_repeated "$ERRORS" 'the peer does not have the same secret' 8
	start_server any
	expect 3 client --secret-file "$OURS" diagnose "$ADDRESS" "$PORT"
	has "$OUT" 'failed *client and server do not have the same secret'
	expect 1 client --secret-file "$DIR/none" diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^this host   failed  .*none: No such file or directory'
	expect 1 client --secret-file "$DIR/none" diagnose --json "$ADDRESS" "$PORT"
	stop_server
	is_empty "$ERRORS"
	listening_peer --hello diagnosis --secret "$OURS" -- receive reply closed
	expect 3 client --secret-file "$OURS" diagnose "$ADDRESS" "$PEER_PORT"
	has "$OUT" 'failed *client and server do not have the same secret'
	exits_with 0 "$PEER"
}
