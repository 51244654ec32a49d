#!/usr/bin/env bats
# Streams that stall or fail: slow producers and consumers, full disks, closed pipes, peers that are
# killed, stopped or interrupted during a transfer, little memory.

load common
load streams

@test "--progress shows a line during the transfer; --no-progress and --quiet do not" {
	mkdir "$DIR/in"
	start_server --progress --output "$DIR/in/" write
	start_fed_client --progress write
	wait_line "$ERR" '^rdma-client: .*5 B'
	wait_line "$ERRORS" '^rdma-server: .*5 B'
	exec 7>&-
	exits_with 0 "${CLIENTS[0]}"
	has_not "$ERR" '^rdma-server'
	stop_server
}

@test "a slow producer at the client: its data is forwarded at once" {
	local mode
	mkdir "$DIR/in"
	for mode in write read; do
		start_server --timeout 1 --output "$DIR/in/" $mode
		start_fed_client --timeout 1 $mode
		MARK=$SECONDS
		wait_until has_waited 3
		printf second >&7
		wait_until partial_file_has "$DIR/in" 11
		exec 7>&-
		exits_with 0 "${CLIENTS[0]}"
		[ "$(cat "$DIR/in/fifo")" = firstsecond ]
		stop_server
		is_empty "$ERRORS"
		rm "$DIR/in/fifo" "$DIR/fifo"
	done
}

@test "a slow producer at the server" {
	local mode pid
	for mode in write read; do
		open_fifo "$DIR/fifo"
		start_server --timeout 1 --count 1 --input "$DIR/fifo" $mode 7>&-
		"$PAIR_BIN/rdma-client" --timeout 1 --output - $mode "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 7>&- &
		pid=$!
		printf first >&7
		wait_until has_size "$OUT" 5
		MARK=$SECONDS
		wait_until has_waited 3
		printf second >&7
		wait_until has_size "$OUT" 11
		exec 7>&-
		exits_with 0 $pid
		server_exits 0
		rm "$DIR/fifo"
	done
}

# stalled CONSUMER OTHER: while no process reads from descriptor 7, neither side times out or uses
# processor time. In 5 s, spinning would take 500 ticks.
stalled() {
	local ticks
	# Wait until the pipe is full.
	wait_until is_asleep "$1" "$2"
	ticks=$(($(processor_ticks "$1") + $(processor_ticks "$2")))
	MARK=$SECONDS
	wait_until has_waited 5
	ticks=$(($(processor_ticks "$1") + $(processor_ticks "$2") - ticks))
	[ $ticks -le $((PAIR_SCALE > 1 ? 60 : 20)) ] || fail "$ticks ticks"
	kill -0 "$1" && kill -0 "$2"
}

# Neither process has used processor time since the last call.
is_asleep() {
	local before=${TICKS:-}
	TICKS="$(processor_ticks "$1") $(processor_ticks "$2")"
	[ "$TICKS" = "$before" ]
}

@test "a slow consumer at the server: no timeout, and no CPU time while waiting" {
	local mode
	make_file "$DIR/data" 300000
	for mode in write read; do
		open_fifo "$DIR/fifo"
		start_server --timeout 2 "${SMALL[@]}" --count 1 --output "$DIR/fifo" $mode 7>&-
		"$PAIR_BIN/rdma-client" --timeout 2 "${SMALL[@]}" --input "$DIR/data" $mode "$ADDRESS" \
			"$PORT" >"$OUT" 2>"$ERR" 7>&- &
		CLIENTS=($!)
		stalled "$SERVER" "${CLIENTS[0]}"
		head -c 300000 <&7 | cmp - "$DIR/data"
		exits_with 0 "${CLIENTS[0]}"
		server_exits 0
		exec 7>&-
		rm "$DIR/fifo"
	done
}

@test "a slow consumer at the client" {
	local mode
	make_file "$DIR/data" 300000
	for mode in write read; do
		open_fifo "$DIR/fifo"
		start_server --timeout 2 "${SMALL[@]}" --count 1 --input "$DIR/data" $mode 7>&-
		"$PAIR_BIN/rdma-client" --timeout 2 "${SMALL[@]}" --output "$DIR/fifo" $mode "$ADDRESS" \
			"$PORT" >"$OUT" 2>"$ERR" 7>&- &
		CLIENTS=($!)
		stalled "$SERVER" "${CLIENTS[0]}"
		head -c 300000 <&7 | cmp - "$DIR/data"
		exits_with 0 "${CLIENTS[0]}"
		server_exits 0
		exec 7>&-
		rm "$DIR/fifo"
	done
}

@test "a full file system at either end: both report it, no partial file remains" {
	local mode
	make_file "$DIR/data" 3000000
	mkdir "$DIR/full"
	mount -t tmpfs -o size=1m none "$DIR/full"
	undo umount "$DIR/full"
	for mode in write read; do
		full_at_both $mode
	done
}

full_at_both() { # MODE
	start_server --count 1 --output "$DIR/full/" "$1"
	expect 4 client --input "$DIR/data" "$1" "$ADDRESS" "$PORT"
	has "$ERR" 'the peer aborted: cannot write data: No space left on device'
	one_line "$ERR"
	server_exits 1
	has "$ERRORS" "cannot write $DIR/full/data: No space left on device"
	one_line "$ERRORS"
	is_empty "$DIR/full"
	start_server --count 1 --input "$DIR/data" "$1"
	expect 1 client --output "$DIR/full/mine" "$1" "$ADDRESS" "$PORT"
	has "$ERR" "cannot write $DIR/full/mine: No space left on device"
	one_line "$ERR"
	server_exits 4
	has "$ERRORS" 'the peer aborted: cannot write mine: No space left on device'
	one_line "$ERRORS"
	is_empty "$DIR/full"
}

@test "a reader that closes its pipe at either end: both report it" {
	local mode pid
	make_file "$DIR/data" 1000000
	for mode in write read; do
		pipe_to head -c 10 >/dev/null
		LOG=$DIR/pipe start_server --count 1 --output - $mode
		expect 4 client --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		has "$ERR" 'the peer aborted: cannot write to standard output: Broken pipe'
		one_line "$ERR"
		server_exits 1
		has "$ERRORS" 'cannot write to standard output: Broken pipe'
		start_server --count 1 --input "$DIR/data" $mode
		pipe_to head -c 10 >/dev/null
		client --output - $mode "$ADDRESS" "$PORT" >"$DIR/pipe" 2>"$ERR" &
		pid=$!
		exits_with 1 $pid
		has "$ERR" 'cannot write to standard output: Broken pipe'
		server_exits 4
		has "$ERRORS" 'the peer aborted: cannot write to standard output: Broken pipe'
	done
}

@test "a client killed during a transfer: no partial file remains, the next is served" {
	local mode
	mkdir "$DIR/in"
	make_file "$DIR/data" 100000
	for mode in write read; do
		start_server --count 2 --timeout 60 --output "$DIR/in/" $mode
		start_fed_client --timeout 60 $mode
		kill -KILL "${CLIENTS[0]}"
		wait_until is_empty "$DIR/in"
		wait_line "$ERRORS" 'exchange with .* failed\|stopped acknowledging'
		one_line "$ERRORS"
		exec 7>&-
		expect 0 client --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		cmp "$DIR/data" "$DIR/in/data"
		# The exit status is that of the first client that failed.
		server_exits 4
		rm "$DIR/in/data" "$DIR/fifo"
	done
}

@test "a server killed during a transfer: the client reports it, exit 4, no partial file remains" {
	local mode pid
	mkdir "$DIR/in"
	for mode in write read; do
		open_fifo "$DIR/fifo"
		start_server --timeout 60 --input "$DIR/fifo" $mode 7>&-
		"$PAIR_BIN/rdma-client" --timeout 60 --output "$DIR/in/" $mode "$ADDRESS" "$PORT" \
			>"$OUT" 2>"$ERR" 7>&- &
		pid=$!
		printf first >&7
		wait_until partial_file_has "$DIR/in" 5
		kill -KILL "$SERVER"
		wait "$SERVER" || true
		SERVER=''
		exits_with 4 $pid
		one_line "$ERR"
		is_empty "$DIR/in"
		exec 7>&-
		rm "$DIR/fifo"
	done
}

@test "SIGINT at a client during a transfer: the server receives the reason" {
	local mode
	mkdir "$DIR/in"
	for mode in write read; do
		start_server --count 1 --timeout 60 --output "$DIR/in/" $mode
		start_fed_client --timeout 60 $mode
		kill -INT "${CLIENTS[0]}"
		exits_with 130 "${CLIENTS[0]}"
		has "$ERR" 'interrupted by a signal'
		server_exits 4
		has "$ERRORS" 'the peer aborted: interrupted by a signal'
		one_line "$ERRORS"
		is_empty "$DIR/in"
		exec 7>&-
		rm "$DIR/fifo"
	done
}

@test "two signals at a server during a transfer: the client receives the reason" {
	mkdir "$DIR/in"
	start_server --timeout 60 --output "$DIR/in/" write
	start_fed_client --timeout 60 write
	kill -TERM "$SERVER"
	wait_until no_listener
	# A first signal lets connected clients finish.
	printf second >&7
	wait_until partial_file_has "$DIR/in" 11
	stop_server
	exits_with 4 "${CLIENTS[0]}"
	has "$ERR" 'the peer aborted: interrupted by a signal'
	is_empty "$DIR/in"
	exec 7>&-
}

no_listener() { ! rdma resource show cm_id | grep -q 'state LISTEN'; }

@test "a stopped client: the server drops it in time; when it continues, it receives the reason" {
	local mode
	mkdir "$DIR/in"
	for mode in write read; do
		start_server --count 1 --timeout 2 --output "$DIR/in/" $mode
		start_fed_client --timeout 60 $mode
		kill -STOP "${CLIENTS[0]}"
		server_exits 4
		has "$ERRORS" 'timed out waiting for MSG_DONE'
		one_line "$ERRORS"
		is_empty "$DIR/in"
		kill -CONT "${CLIENTS[0]}"
		exits_with 4 "${CLIENTS[0]}"
		has "$ERR" 'the peer aborted: timed out waiting for MSG_DONE'
		exec 7>&-
		rm "$DIR/fifo"
	done
}

@test "a stopped server: the client gives up in time" {
	mkdir "$DIR/in"
	start_server --timeout 60 --output "$DIR/in/" write
	start_fed_client --timeout 2 write
	kill -STOP "$SERVER"
	exits_with 4 "${CLIENTS[0]}"
	has "$ERR" 'timed out waiting for'
	kill -CONT "$SERVER"
	wait_line "$ERRORS" 'exchange with .* failed'
	wait_until is_empty "$DIR/in"
	stop_server
	exec 7>&-
}

@test "little locked memory at either end: smaller buffers, reported by -v, and the same data" {
	local folder=/tmp/of-nobody mode
	mkdir -m 777 "$folder" "$folder/in"
	make_file "$folder/data" 1000000
	chmod 644 "$folder/data"
	for mode in write read; do
		start_server --verbose --input "$folder/data" $mode
		expect 0 "${AS_NOBODY[@]}" 512 "$PAIR_BIN/rdma-client" --verbose --force \
			--output "$folder/got" $mode "$ADDRESS" "$PORT"
		has "$ERR" 'registered 1,024 bytes for outgoing data, [0-9,]\{6,7\} for incoming'
		has "$ERRORS" 'registered 1,000,000 bytes for outgoing data, 1,024 for incoming'
		cmp "$folder/data" "$folder/got"
		stop_server
		"${AS_NOBODY[@]}" 512 "$PAIR_BIN/rdma-server" --verbose --port 0 --port-file "$folder/port" \
			--force --output "$folder/in/" $mode >"$LOG" 2>"$ERRORS" &
		SERVER=$!
		wait_until test -s "$folder/port"
		expect 0 client --input "$folder/data" $mode "$ADDRESS" "$(cat "$folder/port")"
		has "$ERRORS" 'registered 1,024 bytes for outgoing data, [0-9,]\{6,7\} for incoming'
		cmp "$folder/data" "$folder/in/data"
		stop_server
		rm "$folder/port"
	done
	rm -r "$folder"
}

# Their messages arrived while the server was stopped, and it must read them before it judges.
@test "a server that was stopped for longer than --timeout keeps its clients" {
	local i clients=()
	start_server --verbose --timeout 1 --discard write
	mkfifo "$DIR/in"
	exec 7<>"$DIR/in"
	for i in 1 2 3 4 5 6; do
		client --timeout 60 --input "$DIR/in" write "$ADDRESS" "$PORT" >>"$OUT" 2>>"$ERR" 7>&- &
		clients+=($!)
	done
	wait_until count "$LOG" '^received MSG_MR' 6
	kill -STOP "$SERVER"
	MARK=$SECONDS
	wait_until has_waited 3
	kill -CONT "$SERVER"
	MARK=$SECONDS
	wait_until has_waited 2
	exec 7>&-
	for i in "${clients[@]}"; do
		exits_with 0 "$i" || fail "$(cat "$ERR" "$ERRORS")"
	done
	stop_server
	has_not "$ERRORS" failed
}

# start_waiting_clients: two clients request the input, and the server waits for its file system.
start_waiting_clients() {
	local before i
	before=$(grep -c 'RDMA_CM_EVENT_CONNECT_REQUEST' "$ERRORS")
	CLIENTS=()
	for i in 1 2; do
		client --output "$DIR/none" write "$ADDRESS" "$PORT" >>"$DIR/waiting" 2>&1 &
		CLIENTS+=($!)
	done
	wait_until count "$ERRORS" 'RDMA_CM_EVENT_CONNECT_REQUEST' $((before + 2))
	wait_until grep -q fuse_ "/proc/$SERVER"/task/*/stack
}

@test "an input whose file system does not respond delays only the clients that wait for it" {
	local files i
	modprobe fuse
	mkdir "$DIR/mount"
	"$PAIR_PEERS/tests/one-host/stoppable-files" "$DIR/mount" &
	files=$!
	undo umount "$DIR/mount"
	wait_until test -s "$DIR/mount/data"
	start_server --verbose --handshake-timeout 5 --input "$DIR/mount/data" write
	expect 0 client --output "$DIR/got" write "$ADDRESS" "$PORT"
	cmp "$DIR/mount/data" "$DIR/got"
	kill -STOP $files
	start_waiting_clients
	expect 3 client --output "$DIR/none" read "$ADDRESS" "$PORT"
	has "$ERR" 'same mode at both ends'
	for i in "${CLIENTS[@]}"; do
		exits_with 3 "$i"
	done
	count "$DIR/waiting" 'the server cannot read its input' 2
	count "$ERRORS" 'opening the input took longer than --handshake-timeout' 2
	grep -q fuse_ "/proc/$SERVER"/task/*/stack
	expect 0 client diagnose "$ADDRESS" "$PORT"
	kill -CONT $files
	expect 0 client --force --output "$DIR/got" write "$ADDRESS" "$PORT"
	kill -STOP $files
	start_waiting_clients
	stop_server
	for i in "${CLIENTS[@]}"; do
		exits_with 3 "$i"
	done
	count "$DIR/waiting" 'shutting down' 2
}
