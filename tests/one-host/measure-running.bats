#!/usr/bin/env bats
# Long measurements: failures while they run, and concurrent sessions.

load common
load measure

# Measurements in which the two ends have different roles.
TESTS=('write bandwidth' 'read bandwidth --verify' 'write bandwidth --poll spin'
	'write bandwidth --bidirectional' 'read bandwidth --threads 4' 'write latency' 'read latency'
	'write latency --poll spin')

@test "the server is killed during a measurement: exit 4 with the reason" {
	local test
	for test in "${TESTS[@]}"; do
		start_server any
		read -r MODE test <<<"$test"
		# shellcheck disable=SC2086 # options
		start_measurement $test
		MARK=$SECONDS
		kill -KILL "$SERVER"
		wait "$SERVER" || true
		SERVER=''
		exits_with 4 "${CLIENTS[-1]}" || fail "$MODE $test"
		in_time
		one_line "$ERR"
		has "$ERR" 'the peer closed the connection'
	done
}

@test "the server is stopped during a measurement: the client times out" {
	start_server any
	for MODE in write read; do
		start_measurement latency --timeout 3
		MARK=$SECONDS
		kill -STOP "$SERVER"
		exits_with 4 "${CLIENTS[-1]}"
		in_time
		has "$ERR" 'no answer within 3 s'
		kill -CONT "$SERVER"
		wait_until no_control_session
		measure 0 latency --iterations 5
	done
	stop_server
}

@test "the client is killed during a measurement: the server keeps serving, no resources left" {
	local test before
	MODE='write'
	start_server any
	measure 0 bandwidth --iterations 5
	wait_until no_control_session
	before=$(descriptors "$SERVER")
	for test in "${TESTS[@]}"; do
		read -r MODE test <<<"$test"
		# shellcheck disable=SC2086 # options
		start_measurement $test
		kill_clients
		document 0 bandwidth --iterations 5 --verify
		assert_json "$NONE_WRONG"
	done
	wait_until no_control_session
	wait_until has_descriptors "$before" || fail "$(ls -l "/proc/$SERVER/fd")"
	stop_server
	has_not "$ERRORS" Sanitizer
}

@test "a signal ends a measuring client promptly" {
	local test
	start_server any
	for test in "${TESTS[@]}"; do
		read -r MODE test <<<"$test"
		# shellcheck disable=SC2086 # options
		start_measurement $test
		MARK=$SECONDS
		kill -INT "${CLIENTS[-1]}"
		exits_with 130 "${CLIENTS[-1]}" || fail "$MODE $test"
		in_time
		has "$ERR" 'interrupted'
	done
	wait_until no_control_session
	measure 0 latency --iterations 5
	stop_server
}

refuses_clients() { ! client --timeout 2 write "$ADDRESS" "$PORT"; }

@test "the server finishes a measurement after one signal and aborts it after two" {
	local test
	for test in "${TESTS[@]}"; do
		start_server any
		read -r MODE test <<<"$test"
		# shellcheck disable=SC2086 # options
		start_measurement $test
		kill -TERM "$SERVER"
		wait_until refuses_clients
		kill -0 "${CLIENTS[-1]}"
		MARK=$SECONDS
		stop_server || fail "$MODE $test"
		exits_with 4 "${CLIENTS[-1]}" || fail "$MODE $test"
		in_time
		one_line "$ERR"
		has "$ERR" 'the peer aborted: interrupted by a signal' || fail "$MODE $test"
	done
}

@test "a measurement may outlast the idle timeout of the server" {
	local test
	start_server --timeout 2 any
	for test in 'write bandwidth' 'read bandwidth --poll spin' 'read latency' \
		'read latency --poll spin' 'write latency'; do
		read -r MODE test <<<"$test"
		# shellcheck disable=SC2086 # options
		document 0 $test --timeout 2 --duration 3
		assert_json '.results[0].here.seconds >= 3'
	done
	stop_server
	is_empty "$ERRORS"
}

@test "--iterations may take longer than --timeout" {
	local per_second
	MODE='write'
	start_server --timeout 2 any
	document 0 bandwidth --duration 1 --size 64K
	per_second=$(jq '.results[0].here.operations_per_second | floor + 1' "$OUT")
	document 0 bandwidth --timeout 2 --iterations $((per_second * 4)) --size 64K
	assert_json ".results[0].here.operations == $((per_second * 4))"
	stop_server
	is_empty "$ERRORS"
}

@test "too little locked memory: the message names the limit and the remedy" {
	local file=/tmp/measure-port kib
	MODE='write'
	start_server any
	for kib in 4 1024; do
		expect 1 "${AS_NOBODY[@]}" $kib "$PAIR_BIN/rdma-client" bandwidth write --size 1M \
			"$ADDRESS" "$PORT"
		one_line "$ERR"
		has "$ERR" "the locked-memory limit is too low (.* KiB more, the limit is $kib KiB); raise it"
	done
	expect 0 "${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-client" bandwidth write --iterations 9 \
		"$ADDRESS" "$PORT"
	stop_server
	# There is not enough locked memory for the server to accept a connection, or for the data.
	for kib in 1024 8192; do
		rm -f $file
		"${AS_NOBODY[@]}" $kib "$PAIR_BIN/rdma-server" --port 0 --port-file $file any >"$LOG" \
			2>"$ERRORS" &
		SERVER=$!
		wait_until test -s $file
		PORT=$(cat $file) document 3 bandwidth --size 16M
		assert_json '.results == [] and (.error.cause | test("the server could not allocate memory"))'
		wait_line "$ERRORS" 'the locked-memory limit is too low'
		stop_server
	done
}

@test "4 measurements run concurrently; a fifth retries until a slot is free or its timeout expires" {
	local i
	MODE='read'
	start_server --timeout 90 any
	for i in 1 2 3 4; do
		start_measurement latency
	done
	measure 3 latency --timeout 2
	has "$ERR" 'slots for diagnoses and measurements are taken'
	count "$OUT" '^server is full; retrying.$' 1
	expect 0 client write "$ADDRESS" "$PORT"
	"$PAIR_BIN/rdma-client" bandwidth "$MODE" --timeout 60 --duration 0.1 --threads 2 "$ADDRESS" \
		"$PORT" >"$OUT" 2>"$ERR" &
	local waiting=$!
	wait_line "$OUT" 'server is full'
	kill_clients
	exits_with 0 "$waiting"
	stop_server
}

@test "exchanges and measurements run concurrently" {
	MODE='write'
	start_server --timeout 90 any
	start_measurement bandwidth --verify
	generate_load write "$ADDRESS" "$PORT" $((50 / PAIR_SCALE)) 5 >"$DIR/load"
	has "$DIR/load" ' 0 failed$'
	expect 0 client read "$ADDRESS" "$PORT"
	kill -0 "${CLIENTS[0]}"
	kill_clients
	stop_server
}
