#!/usr/bin/env bats
# Retries: a file that is already there is not sent again, and an interrupted transfer resumes.

load common
load streams

@test "the same file again: already there, and no data moves; a different file is refused" {
	local mode hash
	mkdir "$DIR/in"
	make_file "$DIR/data" 300000
	hash=$(hash_of "$DIR/data")
	start_server --output "$DIR/in/" any
	expect 0 client --input "$DIR/data" write "$ADDRESS" "$PORT"
	for mode in write read send; do
		expect 0 client --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^already there: $DIR/data at $ADDRESS:$PORT: 300,000 bytes, XXH3 $hash\\.\$"
		expect 0 client --json --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		has "$OUT" '"sent":{"bytes":0,"resumed_at":300000,"hash":"'"$hash"'"'
	done
	wait_until count "$LOG" "^already there: $DIR/in/data from $ADDRESS:[0-9]*: 300,000 bytes, XXH3 $hash\\.\$" 6
	# A different file of the same name, of the same size or not.
	printf x >>"$DIR/data"
	expect_error 4 'the peer aborted: cannot write data: File exists (--force at the receiver replaces it)' \
		client --input "$DIR/data" write "$ADDRESS" "$PORT"
	truncate -s 299999 "$DIR/data"
	printf x >>"$DIR/data"
	expect_error 4 'the peer aborted: cannot write data: File exists (--force at the receiver replaces it)' \
		client --input "$DIR/data" write "$ADDRESS" "$PORT"
	folder_is "$DIR/in" data
	[ "$(hash_of "$DIR/in/data")" = "$hash" ]
	stop_server
	start_server --force --output "$DIR/in/" any
	expect 0 client --input "$DIR/data" write "$ADDRESS" "$PORT"
	has "$OUT" "^sent $DIR/data to $ADDRESS:$PORT: 300,000 bytes "
	cmp "$DIR/data" "$DIR/in/data"
	stop_server
}

@test "the same file from the server: already there at the client" {
	local mode
	make_file "$DIR/data" 300000
	start_server --input "$DIR/data" any
	expect 0 client --output "$DIR/got" write "$ADDRESS" "$PORT"
	for mode in write read send; do
		expect 0 client --output "$DIR/got" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^already there: $DIR/got from $ADDRESS:$PORT: 300,000 bytes, XXH3 "
	done
	echo different >"$DIR/got"
	expect_error 1 "cannot write $DIR/got: File exists (--force at the receiver replaces it)" \
		client --output "$DIR/got" write "$ADDRESS" "$PORT"
	stop_server
}

# The size of the hidden file of $DIR/big, 0 if there is none.
partial_size() { find "$DIR/in" -name '.big.??????' -printf '%s\n' | sort -n | tail -n 1; }
partial_exceeds() { [ "$(partial_size)" -gt "$1" ] 2>/dev/null; }

# has_partial NAME: a part of this file is there.
has_partial() { [ -n "$(find "$DIR/in" -name ".$1.??????" -size +1000k)" ]; }

start_big() { # MODE
	"$PAIR_BIN/rdma-client" --timeout 60 --json --input "$DIR/big" "$1" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
}

# resumed_after BYTES: the last transfer succeeded, and continued at this position or later.
resumed_after() {
	exits_with 0 "${CLIENTS[0]}" || fail "$(cat "$ERR")"
	local at
	at=$(sed 's/.*"sent":{"bytes":[0-9]*,"resumed_at":\([0-9]*\),.*/\1/' "$OUT")
	[ "$at" -ge "$1" ] || fail "resumed at $at, not after $1"
	cmp "$DIR/big" "$DIR/in/big"
	folder_is "$DIR/in" big
	rm "$DIR/in/big"
}

# Only files of 64 MiB resume, which takes long with sanitizers.
@test "a transfer whose client or server is killed resumes where it stopped" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers are too slow for large files'
	local i modes=(write read send) kept last=$((FEWER > 1 ? 2 : 5))
	mkdir "$DIR/in"
	head -c 80000000 /dev/urandom >"$DIR/big"
	start_server --timeout 60 --output "$DIR/in/" any
	for ((i = 0; i <= last; i++)); do
		start_big "${modes[(i + i / 3) % 3]}"
		wait_until partial_exceeds $((RANDOM % 60 * 1000000))
		if [ $((i % 3)) -eq 0 ]; then
			kill -KILL "$SERVER"
			exits_with 4 "${CLIENTS[0]}" || exits_with 3 "${CLIENTS[0]}"
			kept=$(partial_size)
			start_server --timeout 60 --output "$DIR/in/" any
		else
			kill -KILL "${CLIENTS[0]}"
			wait_until no_clients
			kept=$(partial_size)
		fi
		start_big "${modes[(i + i / 3) % 3]}"
		resumed_after "$kept"
	done
	stop_server
}

# data_at FILE SOURCE MEGABYTES: copies a file into a larger one, behind so many megabytes.
data_at() { dd if="$2" of="$1" bs=1M seek="$3" conv=notrunc status=none; }

@test "holes of a single file are not sent, in each mode and direction, with a secret, and its digest is the file's" {
	local mode hash options
	mkdir "$DIR/in"
	make_file "$DIR/data" 1048576
	truncate -s 60M "$DIR/sparse"
	data_at "$DIR/sparse" "$DIR/data" 7
	data_at "$DIR/sparse" "$DIR/data" 50
	hash=$(hash_of "$DIR/sparse")
	head -c 32 /dev/urandom >"$DIR/secret"
	chmod 600 "$DIR/secret"
	while read -r mode options; do
		# shellcheck disable=SC2086 # several words
		start_server --workers 2 --output "$DIR/in/" $options "$mode"
		# shellcheck disable=SC2086
		expect 0 client --workers 3 --input "$DIR/sparse" $options "$mode" "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/sparse to $ADDRESS:$PORT: 62,914,560 bytes (62.9 MB; 2.1 MB without holes) by "
		[ -n "$options" ] || has "$OUT" ", verified, XXH3 $hash"
		wait_until has "$LOG" "^received $DIR/in/sparse from .*: 62,914,560 bytes (62.9 MB; 2.1 MB without holes) by "
		cmp "$DIR/sparse" "$DIR/in/sparse"
		[ "$(stat -c %b "$DIR/in/sparse")" -lt 5000 ]
		# The second time, nothing is sent.
		# shellcheck disable=SC2086
		expect 0 client --json --input "$DIR/sparse" $options "$mode" "$ADDRESS" "$PORT"
		has "$OUT" '"sent":{"bytes":0,"resumed_at":62914560,'
		stop_server
		rm "$DIR/in/sparse"
		# shellcheck disable=SC2086
		start_server --input "$DIR/sparse" $options "$mode"
		# shellcheck disable=SC2086
		expect 0 client --json --output "$DIR/in/got" $options "$mode" "$ADDRESS" "$PORT"
		[ "$(jq .received.bytes "$OUT")" -lt 2200000 ]
		cmp "$DIR/sparse" "$DIR/in/got"
		rm "$DIR/in/got"
		stop_server
	done <<-END
		write
		read
		send
		write --secret-file $DIR/secret
	END
	# A pipe gets zeros, and so does a receiver that stores nothing.
	start_server --discard --count 1 write
	expect 0 client --json --input "$DIR/data" write "$ADDRESS" "$PORT"
	server_exits 0
	truncate -s 10M "$DIR/small"
	start_server --output - --count 1 write
	expect 0 client --json --input "$DIR/small" write "$ADDRESS" "$PORT"
	has "$OUT" '"sent":{"bytes":10485760,'
	server_exits 0
	cmp "$DIR/small" "$LOG"
}

@test "an interrupted file with holes is resumed, and its holes stay" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers are too slow for large files'
	mkdir "$DIR/in"
	head -c 20000000 /dev/urandom >"$DIR/data"
	truncate -s 150M "$DIR/big"
	data_at "$DIR/big" "$DIR/data" 5
	data_at "$DIR/big" "$DIR/data" 100
	start_server --timeout 60 --output "$DIR/in/" any
	start_big write
	wait_until partial_exceeds 108000000
	kill -KILL "${CLIENTS[0]}"
	wait_until no_clients
	start_big read
	exits_with 0 "${CLIENTS[0]}"
	[ "$(jq .sent.resumed_at "$OUT")" -gt 40000000 ]
	[ "$(jq .sent.bytes "$OUT")" -lt 35000000 ]
	cmp "$DIR/big" "$DIR/in/big"
	[ "$(stat -c %b "$DIR/in/big")" -lt 90000 ]
	stop_server
}

@test "the lines of a server's incomplete transfers name the files, and those that resume name the clients" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers are too slow for large files'
	local i modes=(write read) peer="$ADDRESS:[0-9]*" pids=()
	mkdir "$DIR/in" "$DIR/0" "$DIR/1"
	head -c 80000000 /dev/urandom | tee "$DIR/0/big0" >"$DIR/1/big1"
	start_server --timeout 60 --progress --output "$DIR/in/" any
	for i in 0 1; do
		"$PAIR_BIN/rdma-client" --timeout 60 --input "$DIR/$i/big$i" "${modes[i]}" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
		wait_until has_partial "big$i"
		kill -KILL $!
	done
	for i in 0 1; do
		wait_line "$LOG" "^received $DIR/in/big$i from $peer: [0-9,]* bytes .*, incomplete; kept for the client to resume\\.\$" ||
			fail "$(cat "$LOG" "$ERRORS")"
	done
	has_not "$ERRORS" resuming
	for i in 0 1; do
		"$PAIR_BIN/rdma-client" --timeout 60 --input "$DIR/$i/big$i" "${modes[i]}" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
		pids+=($!)
	done
	exits_with 0 "${pids[0]}"
	exits_with 0 "${pids[1]}"
	count "$ERRORS" "^rdma-server: resuming from $peer at [0-9]* %: [0-9.]* MB of 80\.0 MB already there\$" 2
	[ "$(grep -o ' from [^ ]*' "$ERRORS" | sort -u | wc -l)" -eq 2 ] || fail "$(cat "$ERRORS")"
	stop_server
}

@test "a source that changed is sent anew, and a smaller transfer leaves nothing" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers are too slow for large files'
	mkdir "$DIR/in"
	head -c 80000000 /dev/urandom >"$DIR/big"
	start_server --timeout 60 --output "$DIR/in/" any
	start_big write
	wait_until partial_exceeds 10000000
	kill -KILL "${CLIENTS[0]}"
	wait_until no_clients
	printf changed | dd of="$DIR/big" conv=notrunc status=none
	start_big read
	exits_with 0 "${CLIENTS[0]}"
	has "$OUT" '"sent":{"bytes":80000000,"resumed_at":0,'
	cmp "$DIR/big" "$DIR/in/big"
	folder_is "$DIR/in" big
	rm "$DIR/in/big"
	truncate -s 60M "$DIR/big"
	start_big write
	wait_until partial_exceeds 1000000
	kill -KILL "${CLIENTS[0]}"
	wait_until is_empty "$DIR/in"
	stop_server
}

# interrupted REST COMMAND...: Ctrl-C ends the transfer, and its last line says which command moves the rest, or ends
# with "incomplete" if REST is "".
interrupted() {
	local rest=$1
	shift
	"$@" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_until partial_exceeds 10000000
	kill -INT "${CLIENTS[0]}"
	exits_with 130 "${CLIENTS[0]}"
	has "$OUT" ", incomplete${rest:+; the same command $rest the rest}\.\$"
}

@test "the last line of an interrupted transfer says if the same command moves the rest" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers are too slow for large files'
	local client=("$PAIR_BIN/rdma-client" --timeout 60 write)
	mkdir "$DIR/in"
	head -c 80000000 /dev/urandom >"$DIR/big"
	start_server --timeout 60 --output "$DIR/in/" any
	interrupted sends "${client[@]}" --input "$DIR/big" "$ADDRESS" "$PORT"
	wait_until no_clients
	expect 0 "${client[@]}" --input "$DIR/big" "$ADDRESS" "$PORT"
	has "$OUT" ', resumed at byte [0-9,]*.*, verified, '
	rm "$DIR/in/big"
	# Less than 64 MiB do not resume.
	truncate -s 60M "$DIR/big"
	interrupted '' "${client[@]}" --input "$DIR/big" "$ADDRESS" "$PORT"
	has_not "$OUT" 'same command'
	wait_until no_clients
	stop_server
	truncate -s 80M "$DIR/big"
	start_server --timeout 60 --input "$DIR/big" any
	interrupted fetches "${client[@]}" --output "$DIR/in/big" "$ADDRESS" "$PORT"
	expect 0 "${client[@]}" --output "$DIR/in/big" "$ADDRESS" "$PORT"
	has "$OUT" ', resumed at byte [0-9,]*.*, verified, '
	cmp "$DIR/big" "$DIR/in/big"
	stop_server
}
