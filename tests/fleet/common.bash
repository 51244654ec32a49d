# Common functions of the tests of meshes, which run on host 1 of several guests: see run.

# shellcheck shell=bash

load ../one-host/common

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
# guests share few processors.
mesh_words() {
	MESH_WORDS=("$PAIR_BIN/rdma-client" mesh --hosts "$HOSTS" --agent-path "$(readlink -f "$PAIR_BIN/rdma-client")" --duration 0.3
		--size 16K --concurrency "${CONCURRENCY:-1}" --timeout 4 "$@")
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

# Prints the programs that run at all hosts, except the shells that look.
running() {
	local host
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# shellcheck disable=SC2016 # for the other host
		ssh "host$host" 'for file in /proc/[0-9]*/comm; do read -r name <"$file" && case $name in rdma-client | rdma-server) echo "$name" ;; esac; done' 2>/dev/null
	done
}
nothing_runs() { [ -z "$(running)" ]; }
