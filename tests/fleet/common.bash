# Common functions of the tests of meshes, which run on host 1 of several guests: see run.

# shellcheck shell=bash

load ../one-host/common
load hosts

setup() {
	prepare
	HOSTS="host[1-$VM_HOSTS]"
	# shellcheck disable=SC2034 # the tests use it
	PAIRS=$((VM_HOSTS * (VM_HOSTS - 1) / 2))
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

teardown() {
	[ -n "$BATS_TEST_COMPLETED" ] || tail -n 20 "$OUT" "$ERR" || true
	undo_all
	kill_peers
	wait_until nothing_runs || fail "still running: $(running)"
}

# mesh_words OPTION...: sets MESH_WORDS to a command with short tests of all hosts, one at a time or CONCURRENCY, because the
# guests share few processors. TIMEOUT is its --timeout.
mesh_words() {
	MESH_WORDS=("$PAIR_BIN/rdma-client" mesh --hosts "$HOSTS" --agent-path "$(readlink -f "$PAIR_BIN/rdma-client")" --duration 0.3
		--size 16K --concurrency "${CONCURRENCY:-1}" --timeout "${TIMEOUT:-4}" "$@")
}

mesh() {
	mesh_words "$@"
	timeout 300 "${MESH_WORDS[@]}"
}

# start_mesh OPTION...: starts one whose pid is MESH.
start_mesh() {
	mesh_words "$@"
	"${MESH_WORDS[@]}" >"$OUT" 2>"$ERR" &
	MESH=$!
	CLIENTS+=("$MESH")
}

# shape FILE: prints a document in a fixed order, without times, rates and what follows from them: the same for all launchers.
shape() {
	jq -s -S -c 'map(select(.type != "finding" and .stage != "retest") |
		if .type == "summary" then {type, hosts, rounds, directions, failed, not_measured, left_out}
		else del(.start_ms, .end_ms, .median_ns, .p99_ns, .bytes_per_second) end) | sort_by(tojson) | .[]' "$1"
}

# is_complete FILE: every direction was measured once, besides repeated tests, and the latency of every pair; no host was in two
# tests at a time; all succeeded.
is_complete() {
	jq -s -e --argjson hosts "$VM_HOSTS" '
		[.[] | select(.stage == "bandwidth")] as $tests | [.[] | select(.stage == "latency")] as $latencies |
		($tests | length) == $hosts * ($hosts - 1) and ($tests | unique_by(.from, .to) | length) == ($tests | length) and
		($latencies | length) == $hosts * ($hosts - 1) / 2 and
		($latencies | unique_by([.from, .to] | sort) | length) == ($latencies | length) and
		([.[] | select(.type == "bandwidth" or .type == "latency")] | [range(1; $hosts + 1) as $i |
			[.[] | select(.from == "host\($i)" or .to == "host\($i)")] | sort_by(.start_ms) | . as $own |
			range(1; length) | $own[.].start_ms >= $own[. - 1].end_ms] | all) and
		([.[] | select(.type == "host") | .state] | unique) == ["ready"] and
		.[-1].failed == 0 and .[-1].not_measured == 0' "$1" >/dev/null
}
