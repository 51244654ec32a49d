#!/usr/bin/env bats
# Large files. They take long, and a sanitizer finds nothing that smaller ones do not show.

load common
load streams

# watch_peak PID: its peak memory, in KiB, is in $DIR/peak.PID when it has ended.
watch_peak() {
	local status
	while status=$(<"/proc/$1/status") && [[ $status =~ VmHWM:[[:space:]]*([0-9]+) ]]; do
		echo "${BASH_REMATCH[1]}" >"$DIR/peak.$1"
		pause 50
	done 2>/dev/null &
}

# has_small_peak PID: it has needed at most 32 MiB.
has_small_peak() { [ "$(cat "$DIR/peak.$1")" -le 32768 ] || fail "$(cat "$DIR/peak.$1") KiB"; }

# both_ways BYTES: so many in each direction at once, in both modes, within 32 MiB of memory at each end.
both_ways() {
	local mode pid
	mkdir "$DIR/in"
	make_file "$DIR/up" "$1"
	make_file "$DIR/down" "$1"
	start_server --force --input "$DIR/down" --output "$DIR/in/" any
	watch_peak "$SERVER"
	for mode in write read; do
		"$PAIR_BIN/rdma-client" --force --input "$DIR/up" --output "$DIR/got" $mode "$ADDRESS" "$PORT" \
			>"$OUT" 2>"$ERR" &
		pid=$!
		CLIENTS=("$pid")
		watch_peak "$pid"
		ends_with 0 "$pid"
		has_small_peak "$pid"
		cmp "$DIR/up" "$DIR/in/up"
		cmp "$DIR/down" "$DIR/got"
	done
	has_small_peak "$SERVER"
	stop_server
	[ ! -s "$ERRORS" ]
}

@test "50 MB in both directions at once within 32 MiB of memory, both modes" {
	both_ways 50000000
}

# bats test_tags=slow
@test "200 MB in both directions at once within 32 MiB of memory, both modes" {
	both_ways 200000000
}

OVER_4_GIB=$(((4 << 30) + 1000000))

# Sparse, with data where a counter of 32 bits would be at its end.
make_sparse() {
	truncate -s $OVER_4_GIB "$1"
	local place
	for place in 0 2147483000 4294967000 $((OVER_4_GIB - 1000)); do
		head -c 1000 /dev/urandom | dd of="$1" bs=1000 seek=$place oflag=seek_bytes \
			conv=notrunc status=none
	done
}

# small_and_right FILE PID PID: both have ended well, in 32 MiB, and that is what was received.
small_and_right() {
	local pid
	for pid in "$2" "$3"; do
		WAIT_SECONDS=900 ends_with 0 "$pid"
		has_small_peak "$pid"
	done
	SERVER=''
	has_size "$1" $OVER_4_GIB
	# It is as sparse as it was, but for what a write of several blocks may fill.
	[ "$(du -k "$1" | cut -f 1)" -le 512 ]
	hash=$(hash_of "$DIR/sparse")
	[ "$(hash_of "$1")" = "$hash" ]
	has "$OUT" "XXH3 $hash"
	has "$LOG" "XXH3 $hash"
}

# By default, the unit tests of exchange/ move more than 4 GiB.
# bats test_tags=slow
@test "a sparse file over 4 GiB within 32 MiB of memory at each end: written by a client" {
	mkdir "$DIR/in"
	make_sparse "$DIR/sparse"
	start_server --count 1 --output "$DIR/in/" write
	watch_peak "$SERVER"
	"$PAIR_BIN/rdma-client" --input "$DIR/sparse" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	watch_peak "${CLIENTS[0]}"
	small_and_right "$DIR/in/sparse" "${CLIENTS[0]}" "$SERVER"
}

# bats test_tags=slow
@test "a sparse file over 4 GiB within 32 MiB of memory at each end: read by a client" {
	make_sparse "$DIR/sparse"
	start_server --count 1 --input "$DIR/sparse" read
	watch_peak "$SERVER"
	"$PAIR_BIN/rdma-client" --output "$DIR/got" read "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	watch_peak "${CLIENTS[0]}"
	small_and_right "$DIR/got" "${CLIENTS[0]}" "$SERVER"
}
