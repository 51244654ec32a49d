#!/usr/bin/env bats
# Bandwidth and latency in both modes, with each option, and the correctness of the reports.

load common
load measure
load control

DRIVER=rdma_rxe GID_TYPE='RoCE v2'
! iwarp || DRIVER=siw GID_TYPE=iWARP

@test "bandwidth and latency are printed as tables in both modes" {
	local us="[^ ]* ($VM_DEVICE/1)"
	start_server any
	for MODE in write read; do
		expect 0 client bandwidth $MODE --warm-up 0.05 --duration 0.3 "$ADDRESS" "$PORT"
		has "$OUT" "^${MODE^^} bandwidth from $us to $us, 20"
		has "$OUT" "$ADDRESS ($VM_DEVICE/1)"
		has "$OUT" "^both ends:  $DRIVER, .*, RDMA MTU [0-9]*, $GID_TYPE, "
		has "$OUT" 'poll \(spin\|event\)$'
		has "$OUT" '^size  *average  *worst  *best  *messages '
		has "$OUT" '^ 64K  *[1-9][0-9.]* '
		has "$OUT" '^counters of this host: '
		has "$OUT" 'of the other host: '
		has "$OUT" '^best rate: [1-9][0-9.]* MB/s at size 64K$'
		is_empty "$ERR"
		measure 0 latency --iterations 200 --verbose
		has "$OUT" "^${MODE^^} latency from $us to $us, 20"
		has "$OUT" '^ *8  *[0-9.]* .* 200$'
		has "$OUT" '^best median: [0-9.]* us at size 8\(, half the round trip\)\?$'
	done
	stop_server
}

# bats test_tags=portable
@test "a JSON document contains the options and the results" {
	local poll
	start_server any
	for MODE in write read; do
		document 0 bandwidth --duration 0.4 --warm-up 0.1 --size 3K --depth 7
		assert_json ".schema == 5 and .command == \"bandwidth\" and .verdict == \"measured\" and .message == null and .mode == \"$MODE\" and .error == null"
		assert_json '.asked | [.smallest_bytes, .largest_bytes, .iterations, .duration_seconds,
			.warm_up_seconds, .queue_pairs, .depth, .poll] == [3072, 3072, null, 0.4, 0.1,
			1, 7, "event"]'
		assert_json '.results[0] | .size_bytes == 3072 and .depth == 7 and .poll == "event" and
			.here.seconds >= 0.4 and .here.bytes == 3072 * .here.operations and
			.here.operations > 0 and .there.operations == 0 and .latency_ns == null'
		assert_json '.results[0].here | .worst_interval_bytes_per_second != null and
			.worst_interval_bytes_per_second <= .best_interval_bytes_per_second'
		iwarp || assert_json '.counters.here.all.sent_pkts > 0 and .counters.there.all.sent_pkts > 0'
		assert_json ".here.device == \"$VM_DEVICE\" and .there.device == \"$VM_DEVICE\""
		for poll in $(polls); do
			document 0 latency --iterations $((400 / PAIR_SCALE)) --poll "$poll"
			assert_json ".asked.poll == \"$poll\" and .results[0].poll == \"$poll\""
			assert_json '.command == "latency" and .results[0].size_bytes == 8 and
				.results[0].here.operations == .asked.iterations'
			assert_json '.results[0].latency_ns | .histogram == null and
				([.minimum, .median, .p90, .p99, .p99_9, .p99_99, .maximum] |
				. == sort and .[0] > 0)'
		done
		document 0 bandwidth --iterations 5 --poll auto
		assert_json '.results[0].poll | . == "spin" or . == "event"'
	done
	stop_server
}

@test "the tuning of exchanges and bandwidth tests is reported by both ends" {
	local dscp=0
	! iwarp || dscp=unknown
	start_server --verbose --relaxed-ordering on any
	for MODE in write read; do
		document 0 bandwidth --size 4M --iterations 4 --verify --relaxed-ordering on --tos 26 --verbose
		assert_json '.asked | .dscp == 26 and .relaxed_ordering == "on"'
		has "$ERR" '^\(both ends\|other host\): *DSCP .*, relaxed ordering on, '
		# The line may be broken there.
		[[ $(tr -s ' \n' ' ' <"$ERR") == *'completion vector '[0-9]* ]]
		assert_json '[.here, .there] | all(.relaxed_ordering == "on" and .completion_vector >= 0)'
		[[ $(</sys/kernel/mm/transparent_hugepage/enabled) == *'[never]'* ]] ||
			assert_json '[.here, .there] | all(.huge_pages == "on")'
		document 0 latency --iterations 10
		assert_json '[.here, .there] | all(.relaxed_ordering == "off")'
		expect 0 client "$MODE" --relaxed-ordering on --json "$ADDRESS" "$PORT"
		jq -e '.tuning | .relaxed_ordering and .processors == null' "$OUT"
	done
	stop_server
	count "$ERRORS" ": DSCP $dscp, relaxed ordering on, huge pages off, .* completion vector" 2
}

@test "every size runs exactly --iterations operations" {
	start_server any
	for MODE in write read; do
		document 0 bandwidth --size 1..4K --iterations 37
		assert_json '[.results[].size_bytes] == [range(13) | pow(2; .)]'
		assert_json 'all(.results[]; .here.operations == 37 and .here.bytes == 37 * .size_bytes and
			.there.bytes == 0)'
		document 0 latency --size 3..200 --iterations 11
		assert_json '[.results[].size_bytes] == [3, 6, 12, 24, 48, 96, 192]'
		assert_json 'all(.results[]; .here.operations == 11)'
		document 0 bandwidth --size 8M..16M --iterations 2
		assert_json '[.results[].here.bytes] == [16777216, 33554432]'
	done
	stop_server
}

@test "several queue pairs and both directions at once" {
	local pairs
	start_server any
	for MODE in write read; do
		for pairs in $(queue_pairs 1 2 3 4); do
			document 0 bandwidth --qps "$pairs" --depth 5 --iterations 21 --size 5000
			assert_json ".results[0] | .queue_pairs == $pairs and .here.operations == 21 * $pairs"
			document 0 bandwidth --qps "$pairs" --bidirectional --iterations 21 --size 5000
			assert_json ".results[0] | .bidirectional and .here.operations == 21 * $pairs and
				.there.operations == 21 * $pairs and .there.bytes == 105000 * $pairs"
		done
		pairs=$(queue_pairs 64)
		document 0 bandwidth --qps "$pairs" --depth 4 --iterations 10
		assert_json ".results[0].here.operations == 10 * $pairs"
		measure 0 bandwidth --bidirectional --duration 0.3
		has "$OUT" '^ 64K client  *[1-9]'
		has "$OUT" '^ 64K server  *[1-9]'
		has "$OUT" '^best rate: .* in both directions together at size 64K$'
	done
	stop_server
}

# Prints sizes that are and are not a multiple of a word or a packet.
sizes() { if [ "$FEWER" -eq 1 ]; then echo 1 3 4097 1M; else echo 3 1M; fi; }

@test "--verify checks every byte for all sizes and numbers of queue pairs" {
	local size pairs
	start_server any
	for MODE in write read; do
		for size in $(sizes); do
			for pairs in $(queue_pairs 1 3); do
				document 0 bandwidth --verify --size "$size" --qps "$pairs" --iterations 33
				assert_json ".results[0] | .verified and .here.operations == 33 * $pairs"
				assert_json "$NONE_WRONG"
			done
			pairs=$(queue_pairs 2)
			document 0 bandwidth --verify --size "$size" --qps "$pairs" --bidirectional --depth 3 \
				--iterations 20
			assert_json ".results[0] | [.here.operations, .there.operations] | unique == [20 * $pairs]"
			assert_json "$NONE_WRONG"
		done
		measure 0 bandwidth --verify --duration 0.3 --qps "$pairs" --bidirectional
		has "$OUT" '^verified: every byte of every operation$'
	done
	stop_server
}

@test "latency --verify with spinning and with events" {
	local poll size
	start_server any
	for MODE in write read; do
		for poll in $(polls); do
			for size in $(sizes); do
				document 0 latency --verify --poll "$poll" --size "$size" --iterations 12
				assert_json '.results[0] | .verified and .here.operations == 12'
				assert_json "$NONE_WRONG"
			done
		done
	done
	stop_server
}

# damaged client|server WRONG bandwidth|latency OPTION...: this end corrupts one bit of the data of
# the second of 4 operations, which the other end must detect.
damaged() {
	local who=$1 wanted=$2 server=
	shift 2
	[ "$who" = client ] || server=$PAIR_BUILD/tests/one-host/damaging-server
	DAMAGE_PATTERN=5000 PAIR_SERVER=$server start_server any
	if [ "$who" = client ]; then
		DAMAGE_PATTERN=5000 PAIR_BIN=$DIR/damaging document 5 "$@"
	else
		document 5 "$@"
	fi
	assert_json "$(wrong_operations "$wanted")"
	assert_json '.status == 5 and .verdict == "damaged" and (.message | test("arrived corrupted .*wrong data in 1 operation"))'
	stop_server
}

# bats test_tags=portable
@test "--verify detects one flipped bit: exit 5, both modes and directions" {
	local options=(--verify --size 4097 --iterations 4)
	mkdir "$DIR/damaging"
	ln -s "$PWD/$PAIR_BUILD/tests/one-host/damaging-client" "$DIR/damaging/rdma-client"
	MODE='write'
	damaged client '[0,1]' bandwidth "${options[@]}"
	damaged server '[1,0]' bandwidth "${options[@]}" --bidirectional
	damaged client '[0,1]' latency "${options[@]}"
	damaged client '[0,1]' latency "${options[@]}" --poll spin
	damaged server '[1,0]' latency "${options[@]}"
	MODE='read'
	damaged server '[1,0]' bandwidth "${options[@]}"
	damaged client '[0,1]' bandwidth "${options[@]}" --bidirectional
}

# bats test_tags=portable
@test "the buckets of --histogram add up to all operations" {
	start_server any
	for MODE in write read; do
		document 0 latency --histogram --iterations 150
		assert_json '.results[0] | ([.latency_ns.histogram[].operations] | add) == 150'
		assert_json '.results[0].latency_ns | .histogram[0].from_ns <= .minimum and
			.histogram[-1].to_ns > .maximum'
		assert_json '[.results[0].latency_ns.histogram[] | .from_ns, .to_ns] | . == sort'
		measure 0 latency --histogram --iterations 150
		[ "$(awk '$2 == "us" { sum += $3 } END { print sum }' "$OUT")" -eq 150 ] ||
			fail "$(cat "$OUT")"
	done
	stop_server
}

# bats test_tags=portable
@test "--unit, --quiet and --json print to the right streams" {
	local unit
	MODE='write'
	start_server any
	for unit in MB/s MiB/s Gb/s; do
		measure 0 bandwidth --iterations 5 --unit $unit
		has "$OUT" " $unit  *$unit  *$unit "
	done
	measure 0 bandwidth --iterations 5 --quiet
	[ ! -s "$OUT" ]
	is_empty "$ERR"
	document 0 bandwidth --iterations 5 --quiet
	[ "$(wc -l <"$OUT")" -eq 1 ]
	stop_server
}

# bats test_tags=portable
@test "--csv prints a line per size, and nothing else" {
	start_server any
	for MODE in write read; do
		measure 0 bandwidth --iterations 5 --size 1K..4K --csv --verify
		[ "$(cut -d , -f 1 "$OUT" | paste -s)" = $'size_bytes\t1024\t2048\t4096' ] ||
			fail "$(cat "$OUT")"
		[ "$(awk -F , '{ print NF }' "$OUT" | sort -u)" = 22 ]
		is_empty "$ERR"
		measure 0 latency --iterations 5 --csv
		has "$OUT" '^8,[a-z]*,5,[1-9][0-9]*,'
	done
	stop_server
}

# figure NAME LABELS [VALUE]: $FILE has one value of this name whose labels match the expression.
figure() {
	[ "$(grep -c -E "^$1\{host=\"[^\"]+\",$2\} ${3:-[0-9.e+-]+}\$" "$FILE")" -eq 1 ] ||
		fail "no $1 of $2: $(cat "$FILE")"
}

# bats test_tags=portable
@test "--metrics: the figures and the verdict of measurements and diagnoses, also of those that fail" {
	local FILE=$DIR/rdma.prom labels
	labels="peer=\"$ADDRESS\",device=\"$VM_DEVICE\",bootstrap=\"[a-z]+\""
	MODE='write'
	start_server any
	measure 0 bandwidth --iterations 5 --size 1K..2K --metrics "$FILE"
	figure rdma_bandwidth_bytes_per_second "$labels,operation=\"write\",size=\"1024\""
	figure rdma_bandwidth_bytes_per_second "$labels,operation=\"write\",size=\"2048\""
	figure rdma_bandwidth_verdict "$labels,operation=\"write\",verdict=\"measured\"" 1
	measure 1 bandwidth --duration 0.1 --expect 900GB/s --metrics "$FILE"
	figure rdma_bandwidth_verdict "$labels,operation=\"write\",verdict=\"measured\"" 0
	figure rdma_bandwidth_verdict "$labels,operation=\"write\",verdict=\"slow\"" 1
	measure 0 latency --iterations 20 --metrics "$FILE"
	figure rdma_latency_median_seconds "$labels,operation=\"write\",size=\"8\""
	measure 1 latency --iterations 20 --metrics "$DIR/missing/rdma.prom"
	has "$ERR" "^rdma-client: cannot write the metrics file $DIR/missing/rdma.prom: No such file or directory\$"
	expect 0 client diagnose --metrics "$FILE" "$ADDRESS" "$PORT"
	figure rdma_diagnose_verdict "$labels,verdict=\"healthy\"" 1
	figure rdma_diagnose_send_bytes_per_second "$labels" '[0-9.]+'
	figure rdma_diagnose_round_trip_seconds "$labels"
	stop_server
	# The file of the run before does not stay.
	expect 3 client diagnose --metrics "$FILE" "$ADDRESS" "$PORT"
	figure rdma_diagnose_verdict ".*verdict=\"unknown\"" 1
	figure rdma_diagnose_exit_status '.*' 3
	! grep -q bytes_per_second "$FILE" || fail "$(cat "$FILE")"
	[ "$(echo "$FILE"*)" = "$FILE" ]
}

# bats test_tags=portable
@test "compare: a measurement and itself, as text and JSON" {
	start_server any
	MODE='write'
	document 0 bandwidth --size 1K..4K --duration 0.3
	stop_server
	cp "$OUT" "$DIR/saved"
	expect 0 client compare "$DIR/saved" "$DIR/saved"
	has "$OUT" '^B is faster at 0 of 3 sizes, slower at 0, within the noise at 3$'
	expect 0 client compare --json "$DIR/saved" "$DIR/saved"
	is_empty "$ERR"
	jq -e '[.results[] | .ratio, .b_is] == [1, "noise", 1, "noise", 1, "noise"] and .verdict == "compared"' "$OUT"
}

# bats test_tags=slow
@test "--plot draws the results, or says what is missing before it measures" {
	start_server any
	for MODE in write read; do
		measure 0 bandwidth --size 1K..4K --iterations 5 --plot "$DIR/rates.svg"
		grep -q "<text>${MODE^^} bandwidth from " "$DIR/rates.svg"
		has "$OUT" '^best rate: '
		measure 0 latency --iterations 20 --csv --plot "$DIR/times.png"
		[ "$(head -c 4 "$DIR/times.png" | tail -c 3)" = PNG ]
		[ "$(wc -l <"$OUT")" -eq 2 ]
	done
	mkdir "$DIR/without"
	printf '#!/bin/sh\nPATH=/nowhere exec "%s" "$@"\n' "$(readlink -f "$PAIR_BIN/rdma-client")" \
		>"$DIR/without/rdma-client"
	chmod +x "$DIR/without/rdma-client"
	PAIR_BIN=$DIR/without document 1 latency --plot "$DIR/none.svg"
	assert_json '.results == [] and (.error.cause | test("cannot draw .*: gnuplot is not installed; install "))'
	[ "$(find "$DIR" -name 'none*')" = '' ]
	stop_server
}

# bats test_tags=portable
@test "a rate below --expect: exit 1 and the measured rate" {
	MODE='write'
	start_server any
	measure 0 bandwidth --duration 0.2 --expect 1kB/s
	measure 1 bandwidth --duration 0.2 --expect 900GB/s --quiet
	[ ! -s "$OUT" ]
	one_line "$ERR"
	measure 1 bandwidth --duration 0.2 --expect 900GB/s
	has "$ERR" 'the rate is lower than expected ([0-9.]* MB/s of 900000.0 MB/s)'
	document 1 bandwidth --duration 0.2 --expect 900GB/s
	assert_json '.status == 1 and .verdict == "slow" and (.error.cause | test("lower than expected")) and
		.asked.expect_bytes_per_second == 900e9 and (.results | length) == 1'
	stop_server
}

# bats test_tags=portable
@test "--expect with a percentage of an unknown link rate: exit 1 before measuring" {
	MODE='write'
	start_server any
	measure 1 bandwidth --duration 100 --expect 90%
	has "$ERR" "the link rate is unknown, so --expect cannot be a percentage (this host: $DRIVER, .*; the other host: $DRIVER, .*)"
	document 1 bandwidth --duration 100 --expect 90%
	assert_json '.asked.expect_percent == 90 and .link_bytes_per_second == null and .results == []'
	stop_server
}

# bats test_tags=portable
@test "--secret-file: a client without the secret cannot measure" {
	head -c 32 /dev/urandom >"$DIR/ours"
	head -c 32 /dev/urandom >"$DIR/theirs"
	chmod 600 "$DIR/ours" "$DIR/theirs"
	start_server --secret-file "$DIR/ours" any
	for MODE in write read; do
		document 0 bandwidth --iterations 5 --verify --secret-file "$DIR/ours"
		assert_json '.asked.secret'
		measure 3 bandwidth --iterations 5 --secret-file "$DIR/theirs"
		has "$ERR" 'client and server do not have the same secret'
		document 3 latency --iterations 5
		assert_json '.results == [] and .here == {} and .counters == {here: null, there: null}'
	done
	stop_server
}

# bats test_tags=slow
@test "scripts/plot draws a measurement" {
	MODE='read'
	start_server any
	document 0 bandwidth --size 1K..4K --duration 0.2
	scripts/plot "$OUT" "$DIR/rates.svg"
	grep -q '<text>out</text>' "$DIR/rates.svg"
	grep -q '<text>READ bandwidth (higher is better)</text>' "$DIR/rates.svg"
	document 0 latency --iterations 50 --histogram
	scripts/plot "$OUT" "$DIR/times.svg"
	grep -q '<text>out read, 8 bytes</text>' "$DIR/times.svg"
	stop_server
}

# refused COMMAND OPTION...: exits with 2 and a line that names the first option.
refused() {
	local command=$1
	shift
	expect 2 client "$command" write "$@" "$ADDRESS" 7471
	has "$ERR" "^rdma-client: .*$1"
	[ ! -s "$OUT" ]
}

# bats test_tags=portable
@test "invalid and contradictory options are refused" {
	refused latency --bidirectional
	refused latency --expect 1GB/s
	refused latency --qps 2
	refused latency --threads 2
	refused latency --depth 2
	refused latency --message text
	refused bandwidth --threads 2 --iterations 5
	refused bandwidth --threads 5
	refused bandwidth --histogram
	refused latency --csv --histogram
	refused bandwidth --csv --json
	refused bandwidth --iterations 5 --duration 1
	refused bandwidth --qps 64 --depth 1024
	refused bandwidth --qps 65
	refused bandwidth --size 0
	refused bandwidth --size 17M
	refused bandwidth --size 8..4
	refused bandwidth --size 8..
	refused bandwidth --iterations 0
	refused bandwidth --duration 0
	refused bandwidth --poll never
	refused bandwidth --unit GB
	refused bandwidth --expect 101%
	refused bandwidth --expect 0GB/s
	refused bandwidth --input /dev/null
	expect 2 client write --verify "$ADDRESS" 7471
	has "$ERR" 'write does not accept --verify; bandwidth and latency do$'
	expect 2 client --bandwidth write "$ADDRESS" 7471
	has "$ERR" 'bandwidth is a command'
}

@test "atomic operations: measured and verified, and refused without them" {
	start_server any
	if iwarp; then
		expect 3 client bandwidth fetch-add "$ADDRESS" "$PORT"
		has "$ERR" "the operation is not supported at both ends ($VM_DEVICE of this host has no atomic operations: its atomic_cap is IBV_ATOMIC_NONE)"
		one_line "$ERR"
		stop_server
		return
	fi
	for MODE in fetch-add compare-swap; do
		document 0 bandwidth --verify --iterations 500 --qps 3
		assert_json ".mode == \"$MODE\" and .results[0].size_bytes == 8 and .results[0].here.operations == 1500"
		document 0 bandwidth --verify --bidirectional --duration 0.3
		document 0 latency --verify --iterations 300
		expect 0 client bandwidth $MODE --verify --qps 2 --iterations 100 "$ADDRESS" "$PORT"
		has "$OUT" '^verified: every operation counted once$'
		expect 0 client bandwidth $MODE --warm-up 0 --threads 2 --duration 0.2 "$ADDRESS" "$PORT"
		has "$OUT" '^best rate: [0-9.]* kops/s at size 8$'
		expect 0 client bandwidth $MODE --verify --threads 4 --qps 2 --duration 0.3 --verbose "$ADDRESS" "$PORT"
		has "$ERR" 'all threads share one counter$'
		has "$OUT" '^verified: every operation counted once$'
		expect 2 client bandwidth $MODE --size 16 "$ADDRESS" "$PORT"
		has "$ERR" "$MODE always has 8 bytes; --size must be 8"
	done
	stop_server
	has "$LOG" '^measurement by .*fetch-and-add bandwidth of 8 B, '
}

# rnr: how often a message found no receive at this host. Only soft-RoCE counts it.
rnr() { iwarp || cat "/sys/class/infiniband/$VM_DEVICE/ports/1/hw_counters/"*rnr* | paste -s -d +; }

@test "send and write-imm: measured and verified, and each finds a receive" {
	local before qps='--qps 3' poll
	start_server any
	if iwarp; then
		qps=''
		expect 3 client bandwidth write-imm "$ADDRESS" "$PORT"
		has "$ERR" "($VM_DEVICE of this host has no immediate data: its transport_type is IBV_TRANSPORT_IWARP)"
		one_line "$ERR"
	fi
	before=$(rnr)
	for MODE in send write-imm; do
		! iwarp || [ $MODE = send ] || continue
		# shellcheck disable=SC2086 # several words
		document 0 bandwidth --size 1..64K --iterations $((FEWER > 1 ? 50 : 300)) $qps
		assert_json ".mode == \"$MODE\" and (.results | length) == 17 and .results[16].size_bytes == 65536"
		# shellcheck disable=SC2086 # several words
		document 0 bandwidth --verify --size 2K --iterations $((FEWER > 1 ? 300 : 1000)) $qps
		document 0 bandwidth --verify --bidirectional --size 1..8K --iterations 100 --depth 3
		document 0 bandwidth --verify --bidirectional --size 1M..4M --iterations 8
		document 0 bandwidth --bidirectional --duration 0.3 --poll spin
		expect 0 client bandwidth $MODE --warm-up 0 --threads 2 --duration 0.3 "$ADDRESS" "$PORT"
		has "$OUT" '^best rate: [0-9.]* MB/s at size 64K$'
		for poll in event spin; do
			document 0 latency --poll $poll --verify --size 1..16K --iterations $((FEWER > 1 ? 20 : 50))
			assert_json ".results | length == 15 and all(.latency_ns.median > 0)"
		done
	done
	[ "$(rnr)" = "$before" ] || fail "$before RNR events before, $(rnr) after"
	stop_server
	has "$LOG" '^measurement by .*SEND latency of '
}

# most NAME: the limit that the error of a measurement names.
most() { sed -n "s/.*: the $1 of $VM_DEVICE of this host is \([0-9]*\)).*/\1/p" "$ERR"; }

@test "--srq: queue pairs share their receives, and none is ever missing" {
	local before
	start_server any
	expect 2 client bandwidth read --srq "$ADDRESS" "$PORT"
	has "$ERR" '--srq cannot be combined with read: it uses up no receives'
	expect 2 client bandwidth write --srq "$ADDRESS" "$PORT"
	has "$ERR" '--srq cannot be combined with write: it uses up no receives'
	expect 2 client latency send --srq "$ADDRESS" "$PORT"
	expect 2 client bandwidth send --srq --verify --size 1M "$ADDRESS" "$PORT"
	has "$ERR" '--size must be at most [0-9]* with --srq, --verify and --qps 1'
	if iwarp; then
		expect 3 client bandwidth send --srq "$ADDRESS" "$PORT"
		has "$ERR" '(--srq: over iWARP, only rdmacm connects queue pairs)'
		stop_server
		return
	fi
	before=$(rnr)
	for MODE in send write-imm; do
		document 0 bandwidth --srq --verify --bidirectional --qps 4 --size 1..2K --iterations 100
		assert_json '.asked.srq'
		# Each waits for a permission of the other: 8 ms, if that came too late.
		document 0 bandwidth --srq --qps 1 --depth 1 --size 64 --iterations 500
		assert_json '.results[0].here.seconds < 2'
		document 0 bandwidth --srq --qps 8 --depth 1 --size 64 --iterations 500
		document 0 bandwidth --srq --qps 3 --signal-every 7 --size 4K --duration 0.5
		assert_json '[.counters.here.all, .counters.there.all | .event_shared_receive_queue_limit // 0] | max > 0'
	done
	expect 0 client bandwidth send --srq --threads 2 --qps 2 --poll spin --bidirectional --duration 0.3 "$ADDRESS" "$PORT"
	[ "$(rnr)" = "$before" ] || fail "$before RNR events before, $(rnr) after"
	stop_server
}

@test "--transport uc and ud: what is lost is counted, and nothing waits for it" {
	local transport most
	start_server any
	expect 2 client bandwidth read --transport uc "$ADDRESS" "$PORT"
	has "$ERR" '--transport uc cannot be combined with read: only rc has it'
	expect 2 client bandwidth fetch-add --transport ud "$ADDRESS" "$PORT"
	expect 2 client bandwidth write --transport ud "$ADDRESS" "$PORT"
	has "$ERR" '--transport ud cannot be combined with write: nothing would tell what has arrived'
	expect 2 client bandwidth write-imm --transport ud "$ADDRESS" "$PORT"
	expect 2 client bandwidth write-imm --transport uc --verify "$ADDRESS" "$PORT"
	expect 2 client latency write --transport ud "$ADDRESS" "$PORT"
	if iwarp; then
		expect 3 client bandwidth send --transport uc "$ADDRESS" "$PORT"
		has "$ERR" "(--transport: $VM_DEVICE of this host has only reliable connections: its transport_type is IBV_TRANSPORT_IWARP)"
		stop_server
		return
	fi
	expect 3 client bandwidth send --transport ud --size 8192 "$ADDRESS" "$PORT"
	has "$ERR" "(--transport ud --size 8192: the active_mtu of $VM_DEVICE of this host is [0-9]*)"
	most=$(most active_mtu)
	expect 0 client bandwidth send --transport ud --size "$most" --verify --duration 0.2 "$ADDRESS" "$PORT"
	has "$OUT" '^ *size .* lost '
	expect 3 client bandwidth send --transport ud --size $((most + 1)) "$ADDRESS" "$PORT"
	MODE=send
	for transport in uc ud; do
		document 0 bandwidth --transport $transport --qps 3 --size 1..1K --iterations 100
		assert_json ".asked.transport == \"$transport\""
		assert_json 'all(.results[]; .here.operations + .here.lost_operations == 300)'
		document 0 bandwidth --transport $transport --qps 3 --size 1K --verify --bidirectional --iterations 1000
		assert_json 'all(.results[] | .here, .there; .operations + .lost_operations == 3000 and .wrong_operations == 0)'
		expect 0 client bandwidth send --transport $transport --threads 2 --qps 2 --poll spin --size 512 --duration 0.3 \
			"$ADDRESS" "$PORT"
		document 0 latency --transport $transport --size 1..1K --verify --iterations 100
		assert_json 'all(.results[]; .here.operations == 100 and .there.operations == 100 and .latency_ns.median > 0)'
	done
	document 0 bandwidth --transport uc --size 64K --verify --duration 0.3
	MODE=write-imm
	document 0 latency --transport uc --size 64K --verify --poll spin --iterations 100
	assert_json '.results[0].here | .operations == 100 and .lost_operations == 0'
	document 0 bandwidth --transport uc --size 64K --qps 2 --bidirectional --duration 0.3
	MODE='write'
	document 0 bandwidth --size 1K --duration 0.2
	assert_json '.results[0].here.lost_operations == null and .asked.transport == "rc"'
	stop_server
}

# A server that is stopped posts no receives: what finds none is lost, and nobody waits for it.
# bats test_tags=roce
@test "--transport uc and ud: a server that is too slow loses operations" {
	local options stop
	start_server any
	while read -r MODE options; do
		# shellcheck disable=SC2086 # several words
		start_measurement bandwidth $options --size 1K --duration 2
		for stop in 1 2 3; do
			sleep 0.3
			kill -STOP "${SERVER:?}"
			sleep 0.3
			kill -CONT "${SERVER:?}"
		done
		wait "${CLIENTS[-1]}" || fail "$MODE $options: $(cat "$ERR")"
		awk '$1 == "1K" {found = $2 > 0 && $3 > 0} END {exit !found}' "$DIR/running" ||
			fail "$MODE $options: $(cat "$DIR/running")"
	done <<-END
		send --transport uc
		send --transport ud --verify
		write-imm --transport uc
	END
	stop_server
}

# The client asks over the connection, and waits for the answer.
# bats test_tags=roce
@test "latency --transport uc and ud: a server that is busy for a while has lost nothing" {
	local transport
	MODE='send'
	start_server any
	for transport in uc ud; do
		start_measurement latency --transport $transport --size 1K --duration 1
		sleep 0.3
		kill -STOP "${SERVER:?}"
		sleep 0.5
		kill -CONT "${SERVER:?}"
		wait "${CLIENTS[-1]}" || fail "$transport: $(cat "$ERR")"
		# The lost part, and the maximum.
		awk '$1 == "1K" {found = $4 == "0.00" && $NF > 100000} END {exit !found}' "$DIR/running" ||
			fail "$transport: $(cat "$DIR/running")"
	done
	stop_server
}

@test "options of operations: measured, and refused beyond the limits" {
	local most every=1 sge
	start_server any
	expect 3 client bandwidth write --inline 1024 "$ADDRESS" "$PORT"
	has "$ERR" "an option is not supported at both ends (--inline 1024: the max_inline_data of $VM_DEVICE of this host is "
	one_line "$ERR"
	most=$(most max_inline_data)
	expect 3 client latency send --inline $((most + 1)) "$ADDRESS" "$PORT"
	for MODE in write send; do
		document 0 latency --verify --inline "$most" --size "$most" --iterations 50
		assert_json ".asked.inline_bytes == $most and (.there.test_limits | startswith(\"inline $most sge \"))"
		document 0 bandwidth --verify --bidirectional --inline "$most" --size 1..1K --iterations 100
		document 0 bandwidth --verify --inline 0 --size 8 --iterations 100
	done
	iwarp || every=16
	sge=$(iwarp && echo 6 || echo 32)
	for MODE in write send read; do
		! iwarp || [ $MODE != read ] || continue
		# shellcheck disable=SC2086 # several words
		document 0 bandwidth --verify --size 32..64K --sge "$sge" --signal-every $every --iterations 200
		assert_json ".asked.sge == $sge and .asked.signal_every == $every and all(.results[]; .here.operations == 200)"
		document 0 bandwidth --bidirectional --signal-every $every --depth 17 --sge 3 --duration 0.3
		document 0 latency --verify --size 32..4K --sge "$sge" --iterations 50
	done
	if iwarp; then
		expect 3 client bandwidth write --sge 7 "$ADDRESS" "$PORT"
		has "$ERR" "(--sge 7: the max_sge of $VM_DEVICE of this host is 6)"
		expect 3 client latency read --sge 2 "$ADDRESS" "$PORT"
		has "$ERR" "(--sge 2: the max_sge_rd of $VM_DEVICE of this host is 1)"
		expect 3 client bandwidth send --signal-every 2 "$ADDRESS" "$PORT"
		has "$ERR" "(--signal-every 2: $VM_DEVICE of this host completes operations out of order, so each is signaled)"
	fi
	expect 2 client bandwidth compare-swap --sge 2 "$ADDRESS" "$PORT"
	has "$ERR" '--sge cannot be combined with compare-swap: it is one piece'
	expect 2 client bandwidth write --sge 9 --size 8 "$ADDRESS" "$PORT"
	expect 2 client bandwidth write --signal-every 9 --depth 8 "$ADDRESS" "$PORT"
	expect 2 client bandwidth read --inline 8 "$ADDRESS" "$PORT"
	has "$ERR" '--inline cannot be combined with read: only WRITEs and SENDs can be inline'
	expect 2 client latency fetch-add --inline 8 "$ADDRESS" "$PORT"
	stop_server
}

@test "iWARP refuses several queue pairs, and events in a latency test of WRITEs" {
	local status=0 reply='done' MODE=write KIND=measurement
	! iwarp || status=3 reply=refused
	start_server any
	control_peer --shape 3:64 command:region receive queue-pairs:8 receive disconnect >"$OUT"
	has "$OUT" "^received queue-pairs $reply\$"
	misbehaving_peer --hello measurement "$ADDRESS" "$PORT" command:region receive queue-pairs receive \
		begin:latency receive disconnect >"$OUT"
	has "$OUT" "^received begin $reply\$"
	measure $status bandwidth --qps 2 --iterations 5
	! iwarp || has "$ERR" 'an option is not supported at both ends (--qps: over iWARP, only rdmacm connects queue pairs)'
	measure $status latency --poll event --iterations 5
	! iwarp || has "$ERR" 'an option is not supported at both ends (--poll event: over iWARP, no WRITE wakes the other end)'
	MODE='read'
	measure 0 latency --poll event --iterations 5
	stop_server
}
