#!/usr/bin/env bats
# A server that runs out of memory or descriptors refuses further clients and reports the reason,
# serves connected clients, and later admits new clients again.

load common

# start_idle_clients N PATTERN: starts N idle clients, more than the server can serve. Returns once
# a refused client has printed a matching line.
start_idle_clients() {
	mkfifo "$DIR/silence"
	exec 7<>"$DIR/silence"
	"$PAIR_PEERS/tests/one-host/load-generator" write "$ADDRESS" "$PORT" "$1" "$1" "$DIR/silence" \
		>"$DIR/idle" 2>&1 7>&- 8>&- &
	PEER=$!
	wait_line "$DIR/idle" "$2"
}

# The early client finishes, and a new client is served once the idle clients have left.
serves_other_clients() {
	printf 'to the end' >&8
	exec 8>&-
	exits_with 0 "${CLIENTS[0]}"
	exec 7>&-
	kill -KILL "$PEER"
	wait_until accepts_clients
	stop_server
}
accepts_clients() { client --message late write "$ADDRESS" "$PORT"; }

# Starts the early client, which connects before the shortage.
start_early_client() {
	mkfifo "$DIR/early"
	exec 8<>"$DIR/early"
	"$PAIR_BIN/rdma-client" --verbose --input "$DIR/early" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 8>&- &
	CLIENTS=($!)
	printf 'from the beginning ' >&8
	wait_line "$OUT" '^received MSG_MR'
}

@test "too little memory for all clients" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	(
		ulimit -v 400000
		exec "$PAIR_BIN/rdma-server" --port 0 --port-file "$DIR/port" --discard any >"$LOG" 2>"$ERRORS"
	) &
	SERVER=$!
	wait_until test -s "$DIR/port"
	PORT=$(cat "$DIR/port")
	start_early_client
	start_idle_clients 60 'the server could not allocate memory or a queue pair'
	has "$ERRORS" 'out of memory\|cannot start a thread'
	serves_other_clients
}

@test "too few file descriptors for all clients" {
	mkdir "$DIR/in"
	(
		ulimit -n 40
		exec "$PAIR_BIN/rdma-server" --port 0 --port-file "$DIR/port" --output "$DIR/in/" any \
			>"$LOG" 2>"$ERRORS"
	) &
	SERVER=$!
	wait_until test -s "$DIR/port"
	PORT=$(cat "$DIR/port")
	start_early_client
	start_idle_clients 60 'gave up\|could not allocate'
	has "$ERRORS" 'reached its open-file limit\|Too many open files'
	serves_other_clients
}
