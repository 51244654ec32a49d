#!/usr/bin/env bats
# What the client measures: bandwidth and latency, in both modes, and that what it says of them is true.

load common

# measure STATUS OPTION...: in the mode $MODE, with $OUT and $ERR.
measure() {
	local status=$1
	shift
	expect "$status" client "$MODE" --warm-up 0.05 "$@" "$ADDRESS" "$PORT"
}

@test "bandwidth and latency, in both modes" {
	start_server any
	for MODE in write read; do
		measure 0 --bandwidth --duration 0.3
		has "$OUT" '^here : rxe0 port 1 (rdma_rxe), link .*, RDMA MTU [0-9]*, GID RoCE v2, '
		has "$OUT" '^ *65536  *[1-9][0-9]*  *[1-9][0-9.]* '
		measure 0 --latency --iterations 200
		has "$OUT" '^ *8  *200  *[0-9.]* '
	done
	stop_server
}

@test "less than --expect wants: exit 1, and how much it was" {
	MODE=write
	start_server any
	measure 0 --bandwidth --duration 0.2 --expect 1kB/s
	measure 1 --bandwidth --duration 0.2 --expect 900GB/s
	has "$ERR" 'it is slower than expected ([0-9.]* MB/s of 900000.0 MB/s)'
	stop_server
}
