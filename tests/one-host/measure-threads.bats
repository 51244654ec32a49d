#!/usr/bin/env bats
# Measurements with several client threads.

load common
load measure

@test "--threads: the results of all threads add up" {
	local option queue_pairs
	queue_pairs=$(queue_pairs 2)
	start_server any
	for MODE in write read; do
		for option in '' --verify --bidirectional; do
			# shellcheck disable=SC2086 # may be empty
			document 0 bandwidth --duration 0.5 --size 4K --threads 3 --qps $queue_pairs $option
			assert_json ".asked.threads == 3 and
				(.results[0] | .threads == 3 and .queue_pairs == $queue_pairs)"
			assert_json '.results[0].here | .bytes == 4096 * .operations and .seconds >= 0.5 and
				.worst_interval_bytes_per_second <= .best_interval_bytes_per_second'
			assert_json "$NONE_WRONG"
		done
		# With several threads, the intervals of the reverse direction are unknown.
		assert_json '.results[0].there | .operations > 0 and .best_interval_bytes_per_second == null'
		# Each thread occupies a slot of the server, which is soon free again.
		measure 0 bandwidth --duration 0.05 --threads 4
		measure 0 bandwidth --duration 0.05 --threads 4
		has "$OUT" '^counters of this host: '
	done
	stop_server
	# Each measurement is one for the server, whatever its threads: 6 documents and 4 lines.
	[ "$(grep -c '^measurement by ' "$LOG")" -eq 10 ]
	has "$LOG" '^served 10 measurements in .*; moved .* in measurements\.$'
}
