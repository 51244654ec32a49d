#!/usr/bin/env bats
# rdma-client mesh with simulated agents, which need no RDMA: that the coordinator tests every pair once and no host in two
# pairs at a time, what it accuses, and what it refuses.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	CLIENT=${PAIR_BIN:-.}/rdma-client
	BUILD=${PAIR_BUILD:-${PAIR_BIN:-build}}
	AGENTS=$BUILD/tests/compare/simulated-agents
	[ -x "$AGENTS" ] || skip 'simulated-agents is not built'
	DIR=$BATS_TEST_TMPDIR
	TOKEN=$DIR/token
	(umask 077 && echo 0123456789abcdef0123456789abcdef >"$TOKEN")
}

teardown() {
	[ -z "${MESH:-}" ] || kill "$MESH" 2>/dev/null || true
}

# start_mesh OPTION...: starts a coordinator whose hosts the caller names. Sets PORT once it listens.
start_mesh() {
	PORT=$((20000 + RANDOM % 20000))
	"$CLIENT" mesh --via none --listen "127.0.0.1:$PORT" --secret-file "$TOKEN" "$@" >"$DIR/out" 2>"$DIR/err" &
	MESH=$!
	local i
	for ((i = 0; i < 200; i++)); do
		(exec 7<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && return
		kill -0 "$MESH" || return
		read -r -t 0.05 <> <(:) || true
	done
}

# mesh STATUS HOSTS [SLOW-HOST] OPTION...: runs a mesh of simulated agents, and checks its exit status.
mesh() {
	local expected=$1 hosts=$2 slow=$3 status=0
	shift 3
	start_mesh --hosts "h[1-$hosts]" "$@"
	"$AGENTS" "$PORT" "$TOKEN" "$hosts" 5 "$slow"
	wait "$MESH" || status=$?
	[ "$status" -eq "$expected" ] || {
		cat "$DIR/out" "$DIR/err"
		echo "exit status $status"
		return 1
	}
}

@test "every pair is measured once in both directions, and no host is in two pairs at a time" {
	local hosts
	for hosts in 2 3 5 8 17; do
		mesh 0 $hosts 0 --json
		# shellcheck disable=SC2016
		jq -s -e --argjson hosts $hosts '
			[.[] | select(.type == "bandwidth" and .stage == "bandwidth")] as $tests |
			([$tests[] | .from + ">" + .to] | unique | length) == $hosts * ($hosts - 1) and
			($tests | length) == $hosts * ($hosts - 1) and
			([.[] | select(.type == "latency" and .stage == "latency") | [.from, .to] | sort] | unique | length) ==
				$hosts * ($hosts - 1) / 2 and
			([.[] | select(.type == "bandwidth" or .type == "latency")] | [range(1; $hosts + 1) as $i |
				[.[] | select(.from == "h\($i)" or .to == "h\($i)")] | sort_by(.start_ms) |
				. as $own | range(1; length) | $own[.].start_ms >= $own[. - 1].end_ms] | all)' "$DIR/out" >/dev/null
		tests/validate-report "$DIR/out"
	done
}

@test "a slow host is named, and nothing else; scontrol commands are suggested" {
	mesh 1 8 3 --suggest-drain
	grep -x 'bad: h3 is slow when it sends: 7 of 7 directions at 3[0-9] % of the typical 2[23].[0-9]* GB/s' "$DIR/out"
	[ "$(grep -c '^bad: ' "$DIR/out")" -eq 2 ]
	grep -q '^scontrol update nodename=h3 state=drain reason="h3 is slow when it sends: ' "$DIR/out"
	mesh 1 8 3 --json
	jq -s -e '[.[] | select(.type == "finding")] | length == 1 and .[0].culprit == "egress" and .[0].host == "h3"' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
}

@test "two hosts: cannot tell which" {
	mesh 1 2 1
	grep -q '^bad: the direction h1 -> h2 is slow: at 3[0-9] % .*; cannot tell which end' "$DIR/out"
	tail -n 1 "$DIR/out" | grep -q '^undecided: 1 of 2 directions are healthy, 1 slow'
}

@test "--expect is absolute, or a part of the link rate" {
	mesh 0 6 0 --expect 20GB/s
	mesh 1 6 0 --expect 30GB/s
	tail -n 1 "$DIR/out" | grep -q '^bad: 0 of 30 directions are healthy, 30 slow'
	mesh 0 6 0 --expect 80%
	mesh 1 6 0 --expect 99%
}

@test "--quick needs few rounds, and names the slow host" {
	mesh 1 64 9 --quick --json
	jq -s -e '[.[] | select(.type == "bandwidth" and .stage == "bandwidth")] | length == 7 * 64' "$DIR/out" >/dev/null
	jq -s -e '.[-1] | .rounds == 7 and .not_measured == 0 and .left_out == 64 * 63 - 7 * 64' "$DIR/out" >/dev/null
	jq -s -e '[.[] | select(.type == "finding")] | length == 1 and .[0].host == "h9"' "$DIR/out" >/dev/null
}

@test "--concurrency limits the tests at a time" {
	mesh 0 8 0 --json --concurrency 1
	jq -s -e '[.[] | select(.type == "bandwidth" or .type == "latency")] | sort_by(.start_ms) | . as $all |
		[range(1; length) | $all[.].start_ms >= $all[. - 1].end_ms] | all' "$DIR/out" >/dev/null
}

@test "a host that connects to none is left out after four tries, and named" {
	start_mesh --hosts 'h[1-12]'
	"$AGENTS" "$PORT" "$TOKEN" 12 5 0 5
	local status=0
	wait "$MESH" || status=$?
	[ $status -eq 1 ]
	grep -x 'bad: h5 is broken in both directions: 8 of 8 directions failed: cannot connect: no reply' "$DIR/out"
	grep -q '^bad: 110 of 132 directions are healthy, 8 failed, 14 not measured' "$DIR/out"
}

@test "hosts that do not come are counted, and the rest is tested" {
	start_mesh --hosts 'h[1-5]' --start-timeout 1 --json
	"$AGENTS" "$PORT" "$TOKEN" 4 5
	local status=0
	wait "$MESH" || status=$?
	[ $status -eq 1 ]
	jq -s -e '.[-1] | .directions == 20 and .healthy == 12 and .not_measured == 8 and .status == 1 and .findings == 1' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
	start_mesh --hosts 'h[1-5]' --start-timeout 0.2
	status=0
	wait "$MESH" || status=$?
	[ $status -eq 3 ]
}

@test "strangers, garbage and a wrong token do no harm" {
	start_mesh --hosts 'h[1-3]' --verbose
	head -c 100000 /dev/zero >"/dev/tcp/127.0.0.1/$PORT" || true
	echo garbage >"/dev/tcp/127.0.0.1/$PORT" || true
	echo '{"mesh":1,"name":"h1","nonce":"00"}' >"/dev/tcp/127.0.0.1/$PORT" || true
	(umask 077 && echo another-token-of-somebody >"$DIR/wrong")
	run "$CLIENT" mesh-agent --secret-file "$DIR/wrong" --name h1 "$PORT" 127.0.0.1
	[ "$status" -eq 3 ]
	[ "$output" = 'rdma-client: the coordinator of the mesh refused h1: it has another token' ]
	run "$CLIENT" mesh-agent --secret-file "$TOKEN" --name h9 "$PORT" 127.0.0.1
	[ "$output" = 'rdma-client: the coordinator of the mesh refused h9: no host of the mesh has this name; use --name' ]
	"$AGENTS" "$PORT" "$TOKEN" 3 5
	wait "$MESH"
	grep -q 'a connection to the coordinator was closed: a line that is no JSON object' "$DIR/err"
	grep -q 'a connection to the coordinator was closed: it has another token' "$DIR/err"
}

@test "a signal ends the mesh and its agents, and what was measured is shown" {
	start_mesh --hosts 'h[1-16]'
	"$AGENTS" "$PORT" "$TOKEN" 16 300 &
	local agents=$! status=0 i
	for ((i = 0; i < 400; i++)); do
		! grep -q latency "$DIR/out" || break
		read -r -t 0.05 <> <(:) || true
	done
	kill -INT "$MESH"
	wait "$MESH" || status=$?
	[ $status -eq 130 ]
	wait "$agents"
	tail -n 1 "$DIR/out" | grep -q '^incomplete: '
}

@test "the page shows every direction, and works in a browser" {
	mesh 1 64 7 --html "$DIR/page.html"
	[ "$(grep -o '<td class="' "$DIR/page.html" | wc -l)" -eq $((64 * 63)) ]
	[ "$(grep -o '<td class="low"' "$DIR/page.html" | wc -l)" -eq 63 ]
	run grep -qE 'https?://|src=|<link' "$DIR/page.html"
	[ "$status" -eq 1 ]
	command -v chromium >/dev/null || skip 'chromium is not installed'
	# The script sorts the list of hosts by its second column, so that the slow one comes first.
	sed -i 's,</script>,document.querySelectorAll("#hosts th")[1].click();document.title=document.querySelector("#hosts tbody td").textContent+" "+document.querySelectorAll(".map tbody tr").length+" "+(document.querySelector(".map").offsetWidth<1100);</script>,' "$DIR/page.html"
	chromium --headless --no-sandbox --disable-gpu --user-data-dir="$DIR/profile" --dump-dom "file://$DIR/page.html" 2>/dev/null >"$DIR/dom"
	grep -q '<title>h7 64 true</title>' "$DIR/dom"
}

# rails STATUS HOSTS SLOW-HOST DEVICES SLOW-DEVICE LACKING-HOST OPTION...: runs a mesh of agents with several devices.
rails() {
	local expected=$1 hosts=$2 slow=$3 devices=$4 slow_device=$5 lacking=$6 status=0
	shift 6
	start_mesh --hosts "h[1-$hosts]" "$@"
	"$AGENTS" "$PORT" "$TOKEN" "$hosts" 5 "$slow" 0 "$devices" "$slow_device" "$lacking"
	wait "$MESH" || status=$?
	[ "$status" -eq "$expected" ] || {
		cat "$DIR/out" "$DIR/err"
		echo "exit status $status"
		return 1
	}
}

# Of each of these rails, every direction was measured once.
is_complete() {
	# shellcheck disable=SC2016
	jq -s -e --argjson hosts "$1" --argjson rails "$2" '
		[.[] | select(.type == "bandwidth" and .stage == "bandwidth")] as $tests |
		($tests | map(.rail) | unique) == ($rails | sort) and
		($tests | length) == ($rails | length) * $hosts * ($hosts - 1) and
		($tests | unique_by(.rail, .from, .to) | length) == ($tests | length)' "$DIR/out" >/dev/null
}

# The largest number of tests in which a host was at a time.
at_a_time() {
	jq -s '[.[] | select(.type == "bandwidth" or .type == "latency")] as $all |
		[$all[] | . as $one | [$all[] | select((.from == $one.from or .to == $one.from) and
			.start_ms <= $one.start_ms and .end_ms > $one.start_ms)] | length] | max' "$DIR/out"
}

@test "rails: each is measured once, one after another, and with --together at the same time" {
	rails 0 4 0 3 0 0 --json
	is_complete 4 '["mlx5_0", "mlx5_1", "mlx5_2"]'
	[ "$(at_a_time)" -eq 1 ]
	jq -s -e '[.[] | select(.type == "rail") | .healthy] == [12, 12, 12] and .[-1].rails == 3 and .[-1].healthy == 36' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
	rails 0 4 0 3 0 0 --json --together
	is_complete 4 '["mlx5_0", "mlx5_1", "mlx5_2"]'
	[ "$(at_a_time)" -eq 3 ]
	# One test of each device at a time.
	jq -s -e '[.[] | select(.type == "bandwidth" or .type == "latency")] | [["h1", "h2", "h3", "h4"][] as $host |
		["mlx5_0", "mlx5_1", "mlx5_2"][] as $rail | [.[] | select(.rail == $rail and (.from == $host or .to == $host))] |
		sort_by(.start_ms) | . as $own | range(1; length) | $own[.].start_ms >= $own[. - 1].end_ms] | all' "$DIR/out" >/dev/null
	rails 0 3 0 2 0 0
	grep -q '^mlx5_1: h[1-3] -> h[1-3] 2[0-9.]* GB/s, h[1-3] -> h[1-3] 2[0-9.]* GB/s, latency ' "$DIR/out"
}

@test "rails: a host is named with its device, or alone if all of its rails are bad" {
	rails 1 6 3 2 2 0 --suggest-drain --html "$DIR/page.html" --metrics "$DIR/metrics"
	grep -x 'bad: h3/mlx5_1 is slow when it sends: 5 of 5 directions at 3[0-9] % of the typical 2[23].[0-9]* GB/s' "$DIR/out"
	[ "$(grep -c '^bad: ' "$DIR/out")" -eq 2 ]
	grep -q '^rail mlx5_1:$' "$DIR/out"
	grep -q '^scontrol update nodename=h3 state=drain reason="h3/mlx5_1 is slow when it sends: ' "$DIR/out"
	[ "$(grep -o '<table class=map' "$DIR/page.html" | wc -l)" -eq 2 ]
	grep -q '<tr><td>h3/mlx5_1</td><td>egress</td>' "$DIR/page.html"
	grep -x 'rdma_mesh_host_findings{host="h3",rail="mlx5_0"} 0' "$DIR/metrics"
	grep -x 'rdma_mesh_host_findings{host="h3",rail="mlx5_1"} 1' "$DIR/metrics"
	rails 1 6 3 2 0 0
	grep -x 'bad: h3 is slow when it sends, on all its rails: mlx5_0: 5 of 5 directions at 3[0-9] % of the typical 2[23].[0-9]* GB/s; mlx5_1: 5 of 5 directions at 3[0-9] % of the typical 2[23].[0-9]* GB/s' "$DIR/out"
	[ "$(grep -c '^bad: ' "$DIR/out")" -eq 2 ]
	rails 1 6 3 2 2 0 --json
	jq -s -e '[.[] | select(.type == "finding")] | length == 1 and .[0].host == "h3" and .[0].rail == "mlx5_1"' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
	rails 1 6 3 2 0 0 --json
	jq -s -e '[.[] | select(.type == "finding")] | length == 1 and .[0].host == "h3" and .[0].rail == null and .[0].of == 10' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
}

@test "rails: a device that is missing at one host is left out, or with --device not measured" {
	rails 0 4 0 3 0 2
	grep -x 'mlx5_2 is left out: h2: it has no such device' "$DIR/out"
	tail -n 1 "$DIR/out" | grep -q '^healthy: 24 of 24 directions are healthy; typical: mlx5_0: '
	rails 1 4 0 3 0 2 --device mlx5_1,mlx5_2
	grep -x 'bad: h2/mlx5_2 was not tested: it has no such device' "$DIR/out"
	tail -n 1 "$DIR/out" | grep -q '^bad: 18 of 24 directions are healthy, 6 not measured'
	# A single common device is no rail that needs a name.
	rails 0 3 0 2 0 2
	grep -x 'mlx5_1 is left out: h2: it has no such device' "$DIR/out"
	[ "$(grep -c 'mlx5_0' "$DIR/out")" -eq 0 ]
}

@test "rails: --cross-rail adds pairs of different devices" {
	rails 1 5 2 2 2 0 --cross-rail --json
	is_complete 5 '["mlx5_0", "mlx5_1", "mlx5_0->mlx5_1", "mlx5_1->mlx5_0"]'
	[ "$(at_a_time)" -eq 1 ]
	# What h2/mlx5_1 sends is slow, whichever device receives it.
	jq -s -e '[.[] | select(.type == "finding") | .culprit + " " + .host + " " + .rail] | sort == ["egress h2 mlx5_1", "egress h2 mlx5_1->mlx5_0"]' "$DIR/out" >/dev/null
	tests/validate-report "$DIR/out"
	run "$CLIENT" mesh --hosts 'h[1-3]' --device mlx5_0 --cross-rail
	[ "$status" -eq 2 ]
	[ "$output" = 'rdma-client: --cross-rail needs several devices; see rdma-client mesh --help' ]
	for list in 'a,,b' 'a,b,' 'a,a' ',' ''; do
		run "$CLIENT" mesh --hosts 'h[1-3]' --device "$list"
		[ "$status" -eq 2 ]
	done
}

@test "wrong options and hosts are refused" {
	run "$CLIENT" mesh
	[ "$status" -eq 2 ] || [ -n "${SLURM_JOB_NODELIST:-}" ]
	run "$CLIENT" mesh --hosts h1
	[ "$status" -eq 2 ]
	[ "$output" = 'rdma-client: a mesh needs at least two hosts' ]
	run "$CLIENT" mesh --hosts 'h1,-oProxyCommand=x'
	[ "$status" -eq 2 ]
	run "$CLIENT" mesh --hosts 'h[1-3]' --via none
	[ "$status" -eq 2 ]
	run "$CLIENT" mesh --hosts 'h[1-3]' --listen nowhere:
	[ "$status" -eq 2 ]
}

@test "--topology: groups are read from topology.conf" {
	printf 'SwitchName=leaf1 Nodes=h[1-4]\nSwitchName=leaf2 Nodes=h[5-8] # the second\nSwitchName=top Switches=leaf[1-2]\n' >"$DIR/topology"
	mesh 1 8 3 --topology "$DIR/topology"
	grep -q '^bad: h3 is slow when it sends: 7 of 7 ' "$DIR/out"
	echo 'SwitchName=top Switches=leaf[1-2]' >"$DIR/topology"
	run "$CLIENT" mesh --hosts 'h[1-3]' --topology "$DIR/topology"
	[ "$status" -eq 2 ]
	[ "$output" = 'rdma-client: --topology has no line with SwitchName= and Nodes= of these hosts' ]
}

@test "--metrics: the node exporter reads the figures of each host" {
	mkdir "$DIR/folder"
	mesh 1 6 3 --metrics "$DIR/folder/rdma.prom"
	[ "$(ls "$DIR/folder")" = rdma.prom ]
	grep -qx 'rdma_mesh_host_findings{host="h3"} 1' "$DIR/folder/rdma.prom"
	grep -qx 'rdma_mesh_host_findings{host="h2"} 0' "$DIR/folder/rdma.prom"
	grep -qx 'rdma_mesh_directions{state="slow"} 5' "$DIR/folder/rdma.prom"
	command -v prometheus-node-exporter >/dev/null || skip 'prometheus-node-exporter is not installed'
	local port=$((20000 + RANDOM % 20000)) i
	prometheus-node-exporter --web.listen-address="127.0.0.1:$port" --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$DIR/folder" 2>"$DIR/exporter" &
	MESH=$!
	for ((i = 0; i < 200; i++)); do
		(exec 7<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		read -r -t 0.05 <> <(:) || true
	done
	exec 7<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&7
	cat <&7 >"$DIR/metrics"
	exec 7>&-
	grep -q '^node_textfile_scrape_error 0' "$DIR/metrics"
	grep -q '^rdma_mesh_host_send_bytes_per_second{host="h3"} 7' "$DIR/metrics"
}
