#!/usr/bin/env bats
# A server that runs out of memory or descriptors refuses further clients and reports the reason,
# serves connected clients, and later admits new clients again.

load common

SECRET=() # the clients' --secret-file FILE

# start_idle_clients N PATTERN: starts N idle clients, more than the server can serve. Returns once
# a refused client has printed a matching line.
start_idle_clients() {
	mkfifo "$DIR/silence"
	exec 7<>"$DIR/silence"
	"$PAIR_PEERS/tests/one-host/load-generator" write "$ADDRESS" "$PORT" "$1" "$1" "$DIR/silence" "${SECRET[@]:1}" \
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
accepts_clients() { client "${SECRET[@]}" --message late write "$ADDRESS" "$PORT"; }

# Starts the early client, which connects before the shortage.
start_early_client() {
	mkfifo "$DIR/early"
	exec 8<>"$DIR/early"
	"$PAIR_BIN/rdma-client" "${SECRET[@]}" --verbose --input "$DIR/early" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 8>&- &
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

# in_group NAME SIZE PROGRAM: writes to $DIR/NAME a command that runs the program in a control group of
# this name, with at most SIZE bytes of memory.
in_group() {
	GROUP=/sys/fs/cgroup/$1
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir "$GROUP"
	undo remove_group "$GROUP"
	echo "$2" >"$GROUP/memory.max"
	printf '#!/bin/bash\necho $$ >%q/cgroup.procs\nexec %q "$@"\n' "$GROUP" "$3" >"$DIR/$1"
	chmod +x "$DIR/$1"
}
remove_group() { wait_until rmdir "$1"; }

# A third of the group's memory is free, and the kernel has killed nothing.
group_has_room() {
	local used most
	used=$(<"$GROUP/memory.current") most=$(<"$GROUP/memory.max")
	[ $((used * 3)) -le $((most * 2)) ] || fail "$used of $most bytes are in use"
	has "$GROUP/memory.events" '^oom_kill 0$'
}

# Starts more clients that stall, until the next one is refused: what clients that were refused at the same time
# held was freed a moment later.
stall_until_refused() {
	while client "${SECRET[@]}" --timeout 1 --input /etc/passwd write "$ADDRESS" "$PORT" >"$DIR/next" 2>"$ERR"; do
		"$PAIR_BIN/rdma-client" "${SECRET[@]}" --verbose --input "$DIR/silence" write "$ADDRESS" "$PORT" \
			>"$DIR/more" 2>&1 7>&- 8>&- &
		wait_line "$DIR/more" '^received MSG_MR'
	done
}

@test "clients that stall cannot exhaust the memory of the server's control group" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	local full='its clients use all the memory that they may take together' options
	in_group server 64M "$PAIR_BIN/rdma-server"
	mkdir "$DIR/in"
	(umask 077 && head -c 32 /dev/urandom >"$DIR/secret")
	for options in --discard "--output $DIR/in/" "--discard --secret-file $DIR/secret"; do
		[[ $options != *secret* ]] || SECRET=(--secret-file "$DIR/secret")
		# shellcheck disable=SC2086 # options
		PAIR_SERVER=$DIR/server start_server --verbose --handshake-timeout 600 $options any
		has "$ERRORS" 'memory for all connections: .* MB, half of what control group /server has available'
		start_early_client
		start_idle_clients 60 "$full"
		group_has_room
		has "$ERRORS" 'memory in use: [23][0-9.]* MB of 3[0-9.]* MB$'
		stall_until_refused
		has "$ERR" "$full"
		serves_other_clients
		rm "$DIR/silence" "$DIR/early"
	done
}

@test "clients that do not authenticate cannot exhaust --memory, and new clients replace those that time out" {
	local full='its clients use all the memory that they may take together' i
	(umask 077 && head -c 32 /dev/urandom >"$DIR/secret")
	start_server --memory 4M --handshake-timeout 5 --secret-file "$DIR/secret" --discard --json any
	for i in {1..12}; do
		misbehaving_peer --secret "$DIR/secret" "$ADDRESS" "$PORT" closed >"$DIR/peer" 2>&1 &
		CLIENTS+=($!)
	done
	wait_line "$ERRORS" 'timed out waiting for MSG_PROOF'
	expect 0 client --timeout 60 --secret-file "$DIR/secret" --message hello write "$ADDRESS" "$PORT"
	wait_line "$LOG" '"verdict":"verified".*"memory":{"budget":4194304,"used":[0-9]*,"source":"--memory"}'
	stop_server
}

# Over iWARP, the client confirms nothing.
# bats test_tags=roce
@test "requests that are never confirmed cannot exhaust the memory of the server's control group" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	in_group server 64M "$PAIR_BIN/rdma-server"
	PAIR_SERVER=$DIR/server start_server --verbose --handshake-timeout 5 --discard any
	"$PAIR_PEERS/tests/one-host/misbehaving-peer" --flood-requests "$ADDRESS" "$PORT" 200 >"$DIR/peer" 2>&1 &
	CLIENTS=($!)
	wait_line "$ERRORS" 'no memory for another client: '
	group_has_room
	expect 0 client --timeout 60 --message hello write "$ADDRESS" "$PORT"
	group_has_room
	kill -KILL "${CLIENTS[0]}"
	stop_server
}

@test "clients that are sent a large folder cannot exhaust the memory of the server's control group" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	local i
	mkdir "$DIR/names"
	(cd "$DIR/names" && seq -f 'name-%0200g' 30000 | xargs touch)
	in_group server 64M "$PAIR_BIN/rdma-server"
	PAIR_SERVER=$DIR/server start_server --verbose --input "$DIR/names" any
	for i in {1..6}; do
		mkdir "$DIR/out.$i"
		"$PAIR_BIN/rdma-client" --quiet --output "$DIR/out.$i/" read "$ADDRESS" "$PORT" >"$DIR/client.$i" 2>&1 &
		CLIENTS+=($!)
	done
	wait_line "$ERRORS" 'it has too many entries for the memory that may be used'
	group_has_room
	kill -KILL "${CLIENTS[@]}" 2>/dev/null || true
	# The server may not have noticed yet that they are gone.
	wait_until client --timeout 60 --discard read "$ADDRESS" "$PORT"
	stop_server
}

@test "measurements cannot exhaust the memory of the server's control group" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	local full='its clients use all the memory that they may take together'
	in_group server 64M "$PAIR_BIN/rdma-server"
	PAIR_SERVER=$DIR/server start_server --verbose any
	"$PAIR_BIN/rdma-client" bandwidth --size 8M --duration 600 write "$ADDRESS" "$PORT" >"$DIR/first" 2>&1 &
	CLIENTS=($!)
	wait_line "$DIR/first" '^size  *average'
	expect_error 3 "$full" client --timeout 1 bandwidth --size 8M write "$ADDRESS" "$PORT"
	group_has_room
	wait_line "$ERRORS" 'no memory for another client: '
	has_not "$ERRORS" 'measurement.*failed'
	expect 0 client --message hello write "$ADDRESS" "$PORT"
	kill -KILL "${CLIENTS[0]}"
	stop_server
}

@test "an idle client makes room in the memory of the server, also where each address may have one client" {
	local i
	mkfifo "$DIR/silence"
	exec 7<>"$DIR/silence"
	start_server --memory 4M --handshake-timeout 2 --max-clients-per-address 1 --discard any
	for i in {101..120}; do
		ip address add "10.77.0.$i/24" dev "$VM_INTERFACE"
		undo ip address delete "10.77.0.$i/24" dev "$VM_INTERFACE"
		"$PAIR_BIN/rdma-client" --quiet --source "10.77.0.$i" --timeout 60 --input "$DIR/silence" \
			write "$ADDRESS" "$PORT" >"$DIR/idle.$i" 2>&1 7>&- &
		CLIENTS+=($!)
	done
	wait_line "$ERRORS" 'another client needed the slot (idle for [0-9.]* s)'
	expect 0 client --timeout 60 --message hello write "$ADDRESS" "$PORT"
	kill -KILL "${CLIENTS[@]}" 2>/dev/null || true
	stop_server
}

@test "--memory of more than the host has is announced" {
	start_server --memory 1T any
	has "$ERRORS" '^rdma-server: clients get less than --memory, at most seven eighths of what is available: 1.10 TB (--memory; this host has .* available)$'
	stop_server
}

@test "a client in a small control group takes less memory, or says why it cannot" {
	[ "$PAIR_SCALE" -eq 1 ] || skip 'sanitizers need more memory'
	start_server --discard any
	head -c 10000000 /dev/urandom >"$DIR/file"
	in_group client 16M "$PAIR_BIN/rdma-client"
	expect 0 "$DIR/client" --verbose --timeout 60 --input "$DIR/file" write "$ADDRESS" "$PORT"
	has "$ERR" ': registered [1-4],[0-9]\{3\},[0-9]\{3\} bytes for outgoing data'
	has "$GROUP/memory.events" '^oom_kill 0$'
	echo 700K >"$GROUP/memory.max"
	expect_error 1 "this program's connections may not take more of this host's memory" \
		"$DIR/client" --input "$DIR/file" write "$ADDRESS" "$PORT"
	has "$ERR" 'half of what control group /client has available'
	echo 8M >"$GROUP/memory.max"
	expect_error 1 "this program's connections may not take more of this host's memory" \
		"$DIR/client" bandwidth --size 16M write "$ADDRESS" "$PORT"
	has "$GROUP/memory.events" '^oom_kill 0$'
	stop_server
	# A small server says that it is small.
	in_group server 7M "$PAIR_BIN/rdma-server"
	PAIR_SERVER=$DIR/server start_server any
	has "$ERRORS" 'some clients may be refused, because a diagnosis, or an exchange with a large --depth, needs up to 4.2 MB of memory: [0-9.]* [kM]B, half of what control group /server has available$'
	stop_server
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
