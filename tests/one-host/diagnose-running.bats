#!/usr/bin/env bats
# rdma-client diagnose: failures during a diagnosis, and concurrent sessions.

load common
load diagnose

# start_diagnosis PORT: starts a diagnosis in the background, and returns once it transfers data.
start_diagnosis() {
	"$PAIR_BIN/rdma-client" diagnose --verbose "$ADDRESS" "$1" >"$OUT" 2>"$ERR" &
	CLIENTS+=($!)
	wait_line "$ERR" 'checking bandwidth'
	MARK=$SECONDS
}

# diagnosis_fails STATUS CAUSE [VERDICT]: that diagnosis exits with STATUS and this cause, within 15 s.
diagnosis_fails() {
	exits_with "$1" "${CLIENTS[-1]}" || return 1
	in_time || return 1
	has "$OUT" "^bandwidth   failed  .*$2" && has "$OUT" "^verdict: ${3:-RDMA does not work}: .*$2"
}

# The kernel may free the server's memory before its connection, so accessing the memory fails
# first.
@test "the server is killed during a diagnosis" {
	local i
	for i in 1 2 3 4 5; do
		start_server any
		start_diagnosis "$PORT"
		kill -KILL "$SERVER"
		wait "$SERVER" || true
		SERVER=''
		diagnosis_fails 4 'the peer closed the connection' "$UNKNOWN"
		has "$OUT" '^ *seen: .*RDMA_CM_EVENT_DISCONNECTED.*; counters of this host: '
	done
}

queue_pair_broke() { rdma resource show qp | grep -q 'type RC state ERR'; }

# Software iWARP does not report the state of queue pairs.
# bats test_tags=roce
@test "a server whose memory disappears before its connection is reported as ended" {
	listening_peer --hello diagnosis -- receive reply:key receive reply receive reply receive reply receive reply \
		"await:$DIR/go" disconnect
	"$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PEER_PORT" >"$OUT" 2>"$ERR" &
	CLIENTS+=($!)
	wait_until queue_pair_broke
	touch "$DIR/go"
	exits_with 4 "${CLIENTS[0]}"
	has "$OUT" '^data        failed  the peer closed the connection'
	has "$OUT" '^ *seen: .*RDMA_CM_EVENT_DISCONNECTED after IBV_WC_REM_ACCESS_ERR; counters of this host: '
}

@test "the server is stopped during a diagnosis: the client times out" {
	start_server any
	start_diagnosis "$PORT"
	kill -STOP "$SERVER"
	diagnosis_fails 4 'did not respond in time' "$UNKNOWN"
	kill -CONT "$SERVER"
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
}

@test "the client is killed during a diagnosis: the server keeps serving, no resources left" {
	start_server any
	diagnose 0 "$ADDRESS" "$PORT"
	local i before
	wait_until no_control_session
	before=$(descriptors "$SERVER")
	for i in 1 2 3; do
		start_diagnosis "$PORT"
		kill -KILL "${CLIENTS[-1]}"
		wait "${CLIENTS[-1]}" || true
	done
	wait_until no_control_session
	wait_until has_descriptors "$before" || fail "$(ls -l "/proc/$SERVER/fd")"
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
	has_not "$ERRORS" Sanitizer
}

@test "exchanges and diagnoses run concurrently" {
	start_server --timeout 90 any
	start_diagnosis "$PORT"
	generate_load write "$ADDRESS" "$PORT" $((100 / PAIR_SCALE)) 10 >"$DIR/load"
	has "$DIR/load" ' 0 failed$'
	exits_with 0 "${CLIENTS[0]}"
	clean
	expect 0 client read "$ADDRESS" "$PORT"
	stop_server
	is_empty "$ERRORS"
}

@test "4 diagnoses run concurrently; a fifth is refused with the reason" {
	start_server --timeout 90 any
	local i pid pids=()
	for i in 1 2 3; do
		misbehaving_peer --hello diagnosis "$ADDRESS" "$PORT" command:region receive say:here pause \
			>"$DIR/peer$i" 2>&1 &
	done
	for i in 1 2 3; do
		wait_line "$DIR/peer$i" here
	done
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	misbehaving_peer --hello diagnosis "$ADDRESS" "$PORT" command:region receive say:here pause \
		>"$DIR/peer4" 2>&1 &
	wait_line "$DIR/peer4" here
	diagnose 3 "$ADDRESS" "$PORT"
	VERDICT=$UNKNOWN check_failed connection 'slots for diagnoses and measurements are taken' 'this host'
	expect 0 client write "$ADDRESS" "$PORT"
	kill_peers
	wait_until no_control_session
	for i in 1 2 3 4; do
		"$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT" >"$DIR/out$i" 2>"$ERR" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		exits_with 0 "$pid" || fail "$(cat "$DIR"/out?)"
	done
	for i in 1 2 3 4; do
		clean "$DIR/out$i"
	done
	stop_server
}

@test "the RDMA device is removed during a diagnosis" {
	ip link add plain0 type dummy
	undo ip link delete plain0
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 mtu 4200 up
	rdma link add rxe3 type rxe netdev plain0
	local deletion
	start_server any
	ADDRESS=10.96.0.1 start_diagnosis "$PORT"
	timeout 60 rdma link delete rxe3 &
	deletion=$!
	diagnosis_fails 1 "this host's RDMA device was removed"
	wait "$deletion"
	# The server keeps serving other devices, or exits and reports why.
	if client write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR"; then
		stop_server
	else
		server_exits 1
		has "$ERRORS" 'stopping the server'
	fi
}

# Ctrl-C reaches the program through its terminal.
@test "each round of --interval is a line that fits the terminal, and Ctrl-C prints a summary" {
	local columns typing
	start_server any
	mkfifo "$DIR/keys"
	for columns in 80 40; do
		rm -f "$DIR/screen" # of the loop before
		LC_ALL=C.UTF-8 script -qefc "stty cols $columns && exec ${PAIR_BIN@Q}/rdma-client diagnose --interval 0.1 $ADDRESS $PORT" \
			"$DIR/screen" >/dev/null <"$DIR/keys" &
		CLIENTS+=($!)
		exec {typing}>"$DIR/keys"
		wait_until rounds_printed 3
		printf '\003' >&"$typing"
		exits_with 130 "${CLIENTS[-1]}"
		exec {typing}>&-
		# The progress between the rounds is erased.
		sed 's/\r*$//; s/.*\x1b\[K//; s/\x1b\[[0-9]*m//g; /^Script /d; /^ *$/d' "$DIR/screen" >"$OUT"
		awk -v most="$columns" 'length > most { wide = 1 } END { exit wide }' "$OUT" || fail "$(cat "$OUT")"
		[ $columns = 40 ] || has "$OUT" '^time      result  round trip  to the server       from it$'
		[ $columns = 40 ] || has "$OUT" '^[0-9:]\{8\}  ok    *[0-9.]* ms  *[0-9.]* [kMG]B/s  *[0-9.]* [kMG]B/s$'
		[ $columns = 80 ] || has "$OUT" '^[0-9:]\{8\}  ok to [0-9.]* from [0-9.]* [kMG]B/s$'
		has "$OUT" "^--- diagnosis of $ADDRESS ---\$"
		has "$OUT" '^[0-9]* rounds in [0-9.:]* *m*s*: [0-9]* ok, 0 failed'
		has "$OUT" '^to the server: .* to '
	done
	stop_server
}

rounds_printed() { [ "$(grep -c '[0-9]  .*ok.*[kMG]B/s' "$DIR/screen")" -ge "$1" ]; }

# Without a terminal, the summary follows the lines in the file.
@test "SIGTERM ends --interval with a summary, also in the middle of a round" {
	start_server any
	"$PAIR_BIN/rdma-client" diagnose --interval 0.001 "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS+=($!)
	wait_line "$OUT" '^[0-9:]\{8\}  ok  *[0-9.]* ms  *[0-9.]* .B/s  *[0-9.]* .B/s'
	kill -STOP "$SERVER"
	kill -TERM "${CLIENTS[-1]}"
	exits_with 143 "${CLIENTS[-1]}"
	kill -CONT "$SERVER"
	has "$OUT" '^[0-9]* rounds* in .* ok, '
	is_empty "$ERR"
	stop_server
}
