#!/usr/bin/env bats
# Large files. They take long and, with sanitizers, would reveal no more than smaller files, so only
# the release build runs these tests.

load common
load streams

# watch_peak PID: records its peak memory, in KiB, in $DIR/peak.PID until it exits.
watch_peak() {
	local status
	while status=$(<"/proc/$1/status") && [[ $status =~ VmHWM:[[:space:]]*([0-9]+) ]]; do
		echo "${BASH_REMATCH[1]}" >"$DIR/peak.$1"
		pause 50
	done 2>/dev/null &
}

# has_small_peak PID: its peak memory is at most 32 MiB.
has_small_peak() { [ "$(cat "$DIR/peak.$1")" -le 32768 ] || fail "$(cat "$DIR/peak.$1") KiB"; }

# exchange_files BYTES: sends a file of this size in each direction at once, in both modes, within
# 32 MiB of memory at each end.
exchange_files() {
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
		exits_with 0 "$pid"
		has_small_peak "$pid"
		cmp "$DIR/up" "$DIR/in/up"
		cmp "$DIR/down" "$DIR/got"
	done
	has_small_peak "$SERVER"
	stop_server
	is_empty "$ERRORS"
}

@test "50 MB in both directions at once within 32 MiB of memory, both modes" {
	exchange_files 50000000
}

# bats test_tags=slow
@test "200 MB in both directions at once within 32 MiB of memory, both modes" {
	exchange_files 200000000
}

OVER_4_GIB=$(((4 << 30) + 1000000))

# Creates a sparse file with data around the limits of 32-bit counters.
make_sparse() {
	truncate -s $OVER_4_GIB "$1"
	local place
	for place in 0 2147483000 4294967000 $((OVER_4_GIB - 1000)); do
		head -c 1000 /dev/urandom | dd of="$1" bs=1000 seek=$place oflag=seek_bytes \
			conv=notrunc status=none
	done
}

# received_within_memory FILE PID PID: both exit with 0, with a peak memory of at most 32 MiB, and
# FILE is the received copy.
received_within_memory() {
	local pid
	for pid in "$2" "$3"; do
		WAIT_SECONDS=900 exits_with 0 "$pid"
		has_small_peak "$pid"
	done
	SERVER=''
	has_size "$1" $OVER_4_GIB
	# It is still sparse, except for holes that a write of several blocks may fill.
	[ "$(du -k "$1" | cut -f 1)" -le 512 ]
	hash=$(hash_of "$DIR/sparse")
	[ "$(hash_of "$1")" = "$hash" ]
	has "$OUT" "XXH3 $hash"
	has "$LOG" "XXH3 $hash"
}

# The unit tests of exchange/, which run by default, also cover more than 4 GiB.
# bats test_tags=slow
@test "a client writes a sparse file over 4 GiB within 32 MiB of memory at each end" {
	mkdir "$DIR/in"
	make_sparse "$DIR/sparse"
	start_server --count 1 --output "$DIR/in/" write
	watch_peak "$SERVER"
	"$PAIR_BIN/rdma-client" --input "$DIR/sparse" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	watch_peak "${CLIENTS[0]}"
	received_within_memory "$DIR/in/sparse" "${CLIENTS[0]}" "$SERVER"
}

# bats test_tags=slow
@test "a client reads a sparse file over 4 GiB within 32 MiB of memory at each end" {
	make_sparse "$DIR/sparse"
	start_server --count 1 --input "$DIR/sparse" read
	watch_peak "$SERVER"
	"$PAIR_BIN/rdma-client" --output "$DIR/got" read "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	watch_peak "${CLIENTS[0]}"
	received_within_memory "$DIR/got" "${CLIENTS[0]}" "$SERVER"
}
