#!/usr/bin/env bats
# rdma-client mesh over soft-RoCE in several guests. How fast these are says little, so the tests look at what is measured and
# at failures; tests/scripts/mesh.bats and the unit tests judge rates.

load common

@test "each launcher starts the agents, every pair is measured, and the documents are the same" {
	local via count=0
	for via in ssh clush pdsh mpirun; do
		command -v $via >/dev/null || continue
		mesh --via $via --json >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
		is_complete "$OUT"
		[ "$(jq -r 'select(.type == "summary").via' "$OUT")" = $via ]
		tests/validate-report "$OUT"
		shape "$OUT" >"$DIR/shape"
		[ $count -gt 0 ] || cp "$DIR/shape" "$DIR/first"
		diff "$DIR/first" "$DIR/shape"
		# shellcheck disable=SC2144 # one folder
		[ ! -e "${TMPDIR:-/tmp}"/rdma-mesh-* ]
		count=$((count + 1))
	done
	[ $count -gt 0 ]
}

@test "the token appears in no list of arguments" {
	start_mesh --via ssh
	wait_until has "$OUT" latency
	# Anything of 64 hexadecimal digits would be one.
	run grep -a -s -q -E '[0-9a-f]{64}' /proc/[0-9]*/cmdline
	[ "$status" -ne 0 ]
	kill -TERM "$MESH"
	local status=0
	wait "$MESH" || status=$?
	[ "$status" -ne 0 ]
}

@test "a host that does not come, and one without RDMA: the rest is measured" {
	HOSTS+=,absent
	ssh host2 'rdma link delete rxe0'
	undo ssh host2 'rdma link add rxe0 type rxe netdev eth0'
	expect 1 mesh --via ssh --json
	jq -s -e --argjson hosts "$VM_HOSTS" '
		(map(select(.type == "host")) | map({(.host): .state}) | add) as $states |
		$states.absent == "absent" and $states.host2 == "unusable" and $states.host1 == "ready" and
		.[-1].not_measured == 2 * ($hosts + $hosts - 1) and
		.[-1].healthy + .[-1].slow == ($hosts - 1) * ($hosts - 2)' "$OUT" >/dev/null
	jq -s -e 'map(select(.type == "finding") | .text) | any(startswith("host2 was not tested: cannot use RDMA: this host has no RDMA device"))' "$OUT" >/dev/null
	jq -s -e 'map(select(.type == "finding") | .text) | any(startswith("absent was not tested: no agent has connected: ssh: "))' "$OUT" >/dev/null
}

@test "RDMA packets between two hosts are dropped: the pair is named" {
	local address
	read -r _ address _ <<<"$VM_ADDRESSES"
	# Where they arrive: soft-RoCE of Linux 6.1 connects to no host any more if sending to one fails.
	# shellcheck disable=SC2029 # the address is known here
	ssh host3 "nft add table t; nft add chain t i '{ type filter hook input priority 0; }'; nft add rule t i ip saddr $address udp dport 4791 drop"
	undo ssh host3 'nft delete table t'
	expect 1 mesh --via ssh --json
	jq -s -e 'map(select(.type == "finding" and .failed > 0)) | length == 1 and ([.[0].host, .[0].other] | sort) == ["host2", "host3"]' "$OUT" >/dev/null
	jq -s -e '.[-1].failed == 2' "$OUT" >/dev/null
}

@test "an agent dies: its pairs are counted, and the rest is measured" {
	start_mesh --via ssh
	wait_until has "$OUT" latency
	# shellcheck disable=SC2016 # for the other host
	ssh host2 'for file in /proc/[0-9]*/cmdline; do ! grep -a -q mesh-agent "$file" || kill -KILL "$(basename "$(dirname "$file")")"; done' 2>/dev/null || true
	local status=0
	wait "$MESH" || status=$?
	[ "$status" -ne 0 ]
	has "$OUT" '^bad: host2 was not tested completely: its agent was lost: '
}

@test "the coordinator is killed at any moment: nothing keeps running" {
	local i
	for ((i = 0; i < 5 / FEWER + 1; i++)); do
		start_mesh --via ssh
		sleep "$((RANDOM % 8)).$((RANDOM % 10))"
		kill -KILL "$MESH" || true
		wait "$MESH" || true
		wait_until nothing_runs
	done
}

@test "Ctrl-C ends everything, and shows what was measured" {
	start_mesh --via ssh
	wait_until has "$OUT" latency
	kill -INT "$MESH"
	local status=0
	wait "$MESH" || status=$?
	[ $status -eq 130 ]
	tail -n 1 "$OUT" | grep -q '^incomplete: '
}

@test "two meshes at once: both measure every pair" {
	local status=0
	start_mesh --via ssh --json
	mesh --via ssh --json >"$DIR/other" 2>"$ERR" || [ $? -eq 1 ]
	wait "$MESH" || status=$?
	[ $status -le 1 ]
	is_complete "$OUT"
	is_complete "$DIR/other"
}

@test "the examples for the textfile collector: the node exporter serves their figures" {
	local file port=$((20000 + RANDOM % 20000)) status=0
	command -v prometheus-node-exporter >/dev/null || skip 'prometheus-node-exporter is not installed'
	mkdir "$DIR/folder"
	PATH=$(readlink -f "$PAIR_BIN"):$PATH
	export TEXTFILE_FOLDER=$DIR/folder
	examples/mesh-metrics.sh "$HOSTS" --duration 0.3 --size 16K --concurrency 1 --via ssh \
		--agent-path "$(readlink -f "$PAIR_BIN/rdma-client")" || [ $? -eq 1 ]
	start_server any
	# shellcheck disable=SC2153 # start_server sets PORT
	examples/diagnose-metrics.sh "$ADDRESS" "$PORT" || [ $? -eq 4 ]
	client bandwidth write --duration 0.3 --metrics "$DIR/folder/bandwidth.prom" "$ADDRESS" "$PORT"
	client latency write --duration 0.3 --metrics "$DIR/folder/latency.prom" "$ADDRESS" "$PORT"
	stop_server
	for file in "$DIR"/folder/*; do
		! command -v promtool || promtool check metrics <"$file"
	done
	prometheus-node-exporter --web.listen-address="127.0.0.1:$port" --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$DIR/folder" 2>"$DIR/exporter" &
	undo kill $!
	wait_until curl -s -f -o "$DIR/metrics" "http://127.0.0.1:$port/metrics"
	has "$DIR/metrics" '^node_textfile_scrape_error 0$'
	has "$DIR/metrics" '^rdma_mesh_host_up{host="host1"} 1$'
	has "$DIR/metrics" '^rdma_diagnose_verdict{.*peer="'"$ADDRESS"'",verdict="broken"} 0$'
	has "$DIR/metrics" '^rdma_diagnose_round_trip_seconds{'
	has "$DIR/metrics" '^rdma_bandwidth_bytes_per_second{.*size="65536"} [1-9]'
	has "$DIR/metrics" '^rdma_latency_median_seconds{.*size="8"} [0-9]'
}
