#!/usr/bin/env bats
# Many clients: sequential, concurrent, and while the server shuts down.

load common

# Prints the number of the server's descriptors and the RDMA resources.
state() { echo "$(descriptors "$SERVER") $(resources)"; }
state_is() { [ "$(state)" = "$1" ]; }
resident() { awk '/VmRSS/ { print $2 }' "/proc/$SERVER/status"; }

# has_not_grown KIB: the server's memory is at most 512 KiB larger than KIB. That allows for the
# allocator, but not for a leak of a page per connection. Sanitizers keep freed memory, and detect
# leaks themselves.
has_not_grown() {
	[ "$PAIR_SCALE" -ne 1 ] || [ "$(resident)" -le $(($1 + 512)) ] ||
		fail "memory grew from $1 to $(resident) KiB"
}

@test "500 sequential clients: the server leaks nothing" {
	start_server --timeout 60 any
	local i before memory
	for i in $(seq 10); do
		expect 0 client write "$ADDRESS" "$PORT"
	done
	wait_until count "$LOG" '^peer disconnected.$' 10
	before=$(state) memory=$(resident)
	generate_load read "$ADDRESS" "$PORT" $((490 / FEWER)) 1 >"$OUT"
	has "$OUT" "^$((490 / FEWER)) verified, 0 failed\$"
	wait_until state_is "$before" || fail "before $before, after $(state)"
	has_not_grown "$memory"
	stop_server
	is_empty "$ERRORS"
}

@test "100 clients at once" {
	start_server --timeout 60 any
	local i n=$((100 / FEWER)) pid modes=(write read)
	for i in $(seq "$n"); do
		"$PAIR_BIN/rdma-client" --timeout 60 "${modes[i % 2]}" "$ADDRESS" "$PORT" \
			>"$DIR/client.$i" 2>&1 &
		CLIENTS+=($!)
	done
	for pid in "${CLIENTS[@]}"; do
		wait "$pid" || fail "$(cat "$DIR"/client.*)"
	done
	wait_until count "$LOG" '^peer disconnected.$' "$n"
	count "$LOG" '^remote buffer: message from active/client side with pid' "$n"
	stop_server
	is_empty "$ERRORS"
}

@test "1,000 concurrent exchanges from one process, then 2,000 with 20 at a time" {
	start_server --timeout 120 --quiet any
	generate_load write "$ADDRESS" "$PORT" 10 1
	wait_until no_clients
	local before memory
	before=$(state)
	generate_load read "$ADDRESS" "$PORT" $((1000 / FEWER)) $((1000 / FEWER)) >"$OUT"
	has "$OUT" "^$((1000 / FEWER)) verified, 0 failed\$"
	wait_until state_is "$before"
	memory=$(resident)
	generate_load write "$ADDRESS" "$PORT" $((2000 / FEWER)) 20 >"$OUT"
	has "$OUT" "^$((2000 / FEWER)) verified, 0 failed\$"
	wait_until state_is "$before"
	has_not_grown "$memory"
	stop_server
	is_empty "$ERRORS"
}

@test "SIGTERM under load: running exchanges finish, new clients are refused" {
	start_server --timeout 60 any
	generate_load write "$ADDRESS" "$PORT" $((600 / FEWER)) 20 >"$OUT" 2>"$ERR" &
	PEER=$!
	wait_until enough_served
	stop_server
	wait "$PEER" || true
	# Clients failed only while connecting, never during an exchange.
	has_not "$ERR" 'exchange with .* failed'
	is_empty "$ERRORS"
}

enough_served() { [ "$(grep -c 'peer disconnected' "$LOG")" -ge $((100 / FEWER)) ]; }

@test "an idle connection uses no CPU time at either end" {
	listening_peer -- get say:here pause
	"$PAIR_BIN/rdma-client" --timeout 5 write "$ADDRESS" "$PEER_PORT" >"$OUT" 2>"$ERR" &
	local pid=$! ticks
	wait_line "$DIR/peer" here
	ticks=$(processor_ticks "$pid")
	MARK=$SECONDS
	wait_until has_waited 2
	# Spinning for two seconds would take 200 ticks.
	[ $(($(processor_ticks "$pid") - ticks)) -le 20 ]
	wait "$pid" || true
	kill -KILL "$PEER"

	start_server --timeout 5 any
	misbehaving_peer "$ADDRESS" "$PORT" mr get say:here pause >"$OUT" 2>&1 &
	PEER=$!
	wait_line "$OUT" here
	ticks=$(processor_ticks "$SERVER")
	wait_line "$ERRORS" 'timed out waiting for MSG_DONE'
	[ $(($(processor_ticks "$SERVER") - ticks)) -le 20 ]
	kill_peers
	stop_server
}
