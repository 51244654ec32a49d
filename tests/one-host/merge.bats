#!/usr/bin/env bats
# Directories that are sent again: an interrupted transfer is resumed, and --update merges.

load common
load streams

# make_tree: 200 small files and one of 40 MB in $DIR/from/tree, with links and closed directories.
make_tree() {
	local i
	mkdir -p "$DIR/from/tree/small" "$DIR/from/tree/closed" "$DIR/in"
	make_file "$DIR/from/tree/large" 40000000
	for ((i = 0; i < 200; i++)); do
		head -c $((1 + RANDOM % 5000)) "$DIR/from/tree/large" >"$DIR/from/tree/small/$i"
		echo $i >>"$DIR/from/tree/small/$i"
	done
	: >"$DIR/from/tree/empty"
	ln "$DIR/from/tree/small/1" "$DIR/from/tree/hard"
	ln -s small/2 "$DIR/from/tree/soft"
	echo data >"$DIR/from/tree/closed/file"
	chmod 555 "$DIR/from/tree/closed"
	undo chmod 755 "$DIR/from/tree/closed"
}

# value STREAM FIELD: of the document that the client has printed.
value() { jq ".$1.$2" "$OUT"; }

# listing DIRECTORY: what is in it, with permissions, times and links, but not its own time.
listing() { (cd "$1" && find . -mindepth 1 -printf '%p %y %m %T@ %n %l\n' | LC_ALL=C sort); }

same_tree() {
	diff -r --no-dereference "$DIR/from/tree" "$DIR/in/tree"
	diff <(listing "$DIR/from/tree") <(listing "$DIR/in/tree")
	[ "$(ls -A "$DIR/in")" = tree ]
}

# staged BYTES: more than this much of the large file has arrived.
staged() { [ -n "$(find "$DIR/in" -path "$DIR/in/.tree.??????/*/tree/large" -size "+$(($1 / 1000))k")" ]; }

# clear: removes what has arrived.
clear() {
	chmod -R u+w "$DIR/in"
	rm -r "$DIR/in"
	mkdir "$DIR/in"
}

@test "an interrupted directory is resumed in each mode, whoever was killed" {
	local mode signal sends bytes
	make_tree
	for mode in write read send; do
		for signal in INT KILL; do
			start_server --output "$DIR/in/" $mode
			"$PAIR_BIN/rdma-client" --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
			CLIENTS=($!)
			wait_until staged 10000000
			if [ $signal = INT ]; then
				kill -INT "${CLIENTS[0]}"
				exits_with 130 "${CLIENTS[0]}"
				has "$OUT" ', incomplete; the same command sends the rest\.$'
				wait_until has "$LOG" ', incomplete; kept for the client to resume\.$'
			else
				kill -KILL "$SERVER"
				wait "$SERVER" "${CLIENTS[0]}" || true
				start_server --output "$DIR/in/" $mode
			fi
			[ ! -e "$DIR/in/tree" ]
			expect 0 client --json --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
			bytes=$(value sent bytes)
			[ "$bytes" -lt 30500000 ]
			same_tree
			stop_server
			clear
		done
	done
}

@test "an interrupted directory is resumed by a client that receives it, with and without a secret" {
	local secret bytes
	make_tree
	head -c 32 /dev/urandom >"$DIR/secret"
	chmod 600 "$DIR/secret"
	for secret in '' "--secret-file=$DIR/secret"; do
		start_server ${secret:+"$secret"} --input "$DIR/from/tree" any
		"$PAIR_BIN/rdma-client" ${secret:+"$secret"} --output "$DIR/in/" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
		CLIENTS=($!)
		wait_until staged 10000000
		kill -KILL "${CLIENTS[0]}"
		wait "${CLIENTS[0]}" || true
		expect 0 client ${secret:+"$secret"} --json --output "$DIR/in/" write "$ADDRESS" "$PORT"
		bytes=$(value received bytes)
		[ "$bytes" -lt 30500000 ]
		same_tree
		stop_server
		clear
	done
}

@test "--update sends what differs, merges it, removes nothing, and refuses another kind first" {
	local mode before
	make_tree
	for mode in write read send; do
		start_server --update --output "$DIR/in/" $mode
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		same_tree
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/from/tree (205 files, 202 already there, 0 B) to "
		wait_until has "$LOG" "^received $DIR/in/tree (205 files, 202 already there, 0 B) from "
		same_tree
		echo more >>"$DIR/from/tree/small/7"
		touch "$DIR/from/tree/small/8"
		chmod 600 "$DIR/from/tree/small/9"
		expect 0 client --json --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		[ "$(value sent there)" = 201 ]
		same_tree
		# What only the receiver has stays.
		echo theirs >"$DIR/in/tree/theirs"
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		[ "$(cat "$DIR/in/tree/theirs")" = theirs ]
		rm "$DIR/in/tree/theirs" "$DIR/in/tree/soft"
		mkdir "$DIR/in/tree/soft"
		echo new >"$DIR/from/tree/small/10"
		before=$(listing "$DIR/in/tree")
		expect_error 4 'the peer aborted: cannot write tree/soft: Is a directory' \
			client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		[ "$(listing "$DIR/in/tree")" = "$before" ]
		[ "$(ls "$DIR/in")" = tree ]
		stop_server
		clear
	done
	expect_error 2 '--update needs --output' client --update write "$ADDRESS" 7471
}

@test "--update trusts sizes and times, unless either end has --checksum" {
	local mode
	mkdir -p "$DIR/from/tree" "$DIR/in"
	echo same >"$DIR/from/tree/same"
	echo one >"$DIR/from/tree/file"
	for mode in write read send; do
		start_server --update --output "$DIR/in/" $mode
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		echo two >"$DIR/in/tree/file"
		touch -r "$DIR/from/tree/file" "$DIR/in/tree/file"
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		has "$OUT" "(2 files, 2 already there, 0 B)"
		[ "$(cat "$DIR/in/tree/file")" = two ]
		expect 0 client --checksum --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		has "$OUT" "(2 files, 1 already there, 4 B)"
		[ "$(cat "$DIR/in/tree/file")" = one ]
		stop_server
		echo two >"$DIR/in/tree/file"
		touch -r "$DIR/from/tree/file" "$DIR/in/tree/file"
		start_server --update --checksum --output "$DIR/in/" $mode
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		[ "$(cat "$DIR/in/tree/file")" = one ]
		# What is written right after a copy has another time.
		echo now >"$DIR/from/tree/file"
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		[ "$(cat "$DIR/in/tree/file")" = now ]
		echo one >"$DIR/from/tree/file"
		stop_server
		clear
	done
	expect_error 2 '--checksum needs --update, or a directory to send' client --checksum write "$ADDRESS" 7471
}

@test "a file that changes while it is sent is not stored, and named; everything else is" {
	local mode
	make_tree
	for mode in write read send; do
		start_server --output "$DIR/in/" $mode
		"$PAIR_BIN/rdma-client" "${SMALL[@]}" --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
		CLIENTS=($!)
		wait_until staged 3000000
		echo more >>"$DIR/from/tree/large"
		exits_with 1 "${CLIENTS[0]}"
		has "$ERR" '^rdma-client: cannot read tree/large: it changed while being read$'
		[ ! -e "$DIR/in/tree/large" ]
		[ "$(ls -A "$DIR/in")" = tree ]
		diff -r --no-dereference --exclude large "$DIR/from/tree" "$DIR/in/tree"
		stop_server
		clear
	done
}

@test "damaged answers end the exchange at both ends, and nothing is changed" {
	mkdir -p "$DIR/from/tree" "$DIR/in"
	echo 1 >"$DIR/from/tree/a"
	echo 2 >"$DIR/from/tree/b"
	start_server --input "$DIR/from/tree" any
	expect 0 client --output "$DIR/in/" write "$ADDRESS" "$PORT"
	echo 3 >>"$DIR/from/tree/b"
	DAMAGE=20 expect 4 timeout 30 "$PAIR_BUILD/tests/one-host/damaging-client" --update --output "$DIR/in/" write "$ADDRESS" "$PORT"
	has "$ERR" 'failed: the peer aborted: data from the peer arrived corrupted'
	wait_until has "$ERRORS" "^rdma-server: exchange with $ADDRESS:[0-9]* failed: data from the peer arrived corrupted (digest mismatch)"
	[ "$(cat "$DIR/in/tree/b")" = 2 ]
	[ "$(ls -A "$DIR/in")" = tree ]
	stop_server
	DAMAGE=20 PAIR_SERVER=$PAIR_BUILD/tests/one-host/damaging-server start_server --update --output "$DIR/in/" write
	expect 5 client --input "$DIR/from/tree" write "$ADDRESS" "$PORT"
	has "$ERR" "^rdma-client: exchange with $ADDRESS:$PORT failed: data from the peer arrived corrupted (digest mismatch)"
	[ "$(cat "$DIR/in/tree/b")" = 2 ]
	stop_server
}
