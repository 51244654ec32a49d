#!/usr/bin/env bats
# Measurements between two hosts: each end reports its own host, and network faults are visible.

# shellcheck disable=SC2034 # variables that measure.bash reads

load common
load ../one-host/measure

setup_far() {
	ADDRESS=$HOST1
	start_far_server --timeout 30 any
}

@test "bandwidth and latency in both modes with --verify" {
	setup_far
	for MODE in write read; do
		document 0 bandwidth --verify --qps 2 --bidirectional --iterations 100
		assert_json '.results[0] | [.here.operations, .there.operations] == [200, 200]'
		assert_json "$NONE_WRONG"
		assert_json '.counters | .here.all.sent_pkts > 0 and .there.all.sent_pkts > 0'
		assert_json '.here.gid != .there.gid'
		document 0 latency --verify --iterations 100
		assert_json '.results[0].latency_ns | .minimum > 0 and .minimum <= .median'
	done
	stop_on_host1 server
}

@test "lost packets are counted" {
	setup_far
	for MODE in write read; do
		lose 1
		document 0 bandwidth --duration 3 --timeout 30
		repair_network
		assert_json '[.counters[] | .retransmissions, .duplicates, .out_of_order] | add > 0'
	done
	stop_on_host1 server
}

# Datagrams have no sequence numbers that the devices check, and software devices do not check those of UC either.
@test "unreliable queue pairs: what is lost, repeated or late on the way is counted, and no data is wrong" {
	local transport disturbance pings
	setup_far
	MODE='send'
	for disturbance in 2 '0 duplicate 20%' '0 delay 3ms 2ms'; do
		# So many that some are lost.
		pings=$([ "$disturbance" = 2 ] && echo 300 || echo 50)
		# shellcheck disable=SC2086 # several words
		lose $disturbance
		for transport in uc ud; do
			document 0 bandwidth --transport $transport --size 1K --verify --qps 2 --bidirectional --iterations 1000
			assert_json 'all(.results[] | .here, .there; .wrong_operations == 0 and .operations > 0 and
				.operations + .lost_operations == 2000)'
			[ "$disturbance" != 2 ] || assert_json 'all(.results[] | .here, .there; .lost_operations > 0)'
			document 0 latency --transport $transport --size 1K --verify --iterations "$pings"
			assert_json ".results[0].here | .wrong_operations == 0 and .operations + .lost_operations == $pings and
				(.lost_operations > 0) == ($pings == 300)"
		done
		repair_network
	done
	stop_on_host1 server
}

# The counter rises each half second without an acknowledgement: TRANSPORT_ACK_TIMEOUT.
retransmissions() { cat "/sys/class/infiniband/$VM_DEVICE/ports/1/hw_counters/completer_retry_err"; }
have_risen_by() { [ "$(retransmissions)" -ge $(($2 + $1)) ]; }

# A measurement survives CONTROL_RETRIES retransmissions without an acknowledgement, about 3.7 s.
# bats test_tags=slow
@test "a link failure of one second shows in the worst interval" {
	local before
	MODE='write'
	setup_far
	start_measurement bandwidth --duration 12 --size 64K --timeout 30
	cut_link
	before=$(retransmissions)
	wait_until have_risen_by 2 "$before"
	mend_link
	exits_with 0 "${CLIENTS[0]}"
	awk '$1 == "64K" && $3 * 4 < $4 { found = 1 } END { exit !found }' "$DIR/running" ||
		fail "$(cat "$DIR/running")"
	has "$DIR/running" '^counters of this host: .*completer_retry_err [1-9]'
	stop_on_host1 server
}
