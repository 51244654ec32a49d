# Common functions of the tests of measurements.

# shellcheck shell=bash

# defaults OPTION VALUE... -- ARGUMENT...: sets `options` to the options that are not among the
# arguments.
defaults() {
	local given=" ${*} "
	given=${given#* -- }
	options=()
	while [ "$1" != -- ]; do
		[[ " $given" == *" $1 "* ]] || options+=("$1" "$2")
		shift 2
	done
}

# The ways in which a latency test in mode $MODE can wait: on iWARP, a WRITE cannot wake up its
# receiver.
polls() {
	if iwarp && [ "$MODE" = write ]; then echo spin; else echo spin event; fi
}

# queue_pairs N...: prints those of these numbers that the device supports: on iWARP, only rdmacm
# connects queue pairs, one for each connection.
queue_pairs() {
	if iwarp; then echo 1; else echo "$@"; fi
}

# measure STATUS bandwidth|latency OPTION...: measures in mode $MODE; prints to $OUT and $ERR.
measure() {
	local status=$1 command=$2 options poll
	shift 2
	poll=$(polls)
	[ "$command" = latency ] || poll=event
	defaults --warm-up 0 --poll "${poll##* }" -- "$@"
	expect "$status" client "$command" "$MODE" "${options[@]}" "$@" "$ADDRESS" "$PORT"
}

# A test's documents and the claims about them are collected and checked together when it ends,
# because jq and the validator take longer to start than most measurements run.
DOCUMENTS=() CLAIMS=()

# document STATUS bandwidth|latency OPTION...: measures with a JSON document in $OUT, which must
# match its schema.
document() {
	measure "$@" --json
	DOCUMENTS+=("$(<"$OUT")")
}

# assert_json FILTER...: each of these jq filters must be true for the last document.
assert_json() {
	local filter
	for filter; do
		CLAIMS+=("(.[$((${#DOCUMENTS[@]} - 1))] | $filter)")
	done
}

# wrong_operations [CLIENT,SERVER]: prints a filter for the total numbers of wrong operations at the client and
# at the server.
wrong_operations() {
	echo "[.results | map(.here.wrong_operations), map(.there.wrong_operations) | add] == $1"
}
NONE_WRONG=$(wrong_operations '[0,0]')

check_documents() {
	local claim
	[ ${#DOCUMENTS[@]} -gt 0 ] || return 0
	printf '%s\n' "${DOCUMENTS[@]}" >"$DIR/documents"
	[ ${#CLAIMS[@]} -gt 0 ] || return 0
	if jq -s -e "$(printf '%s and ' "${CLAIMS[@]}") true" "$DIR/documents" >"$DIR/result"; then
		return
	fi
	for claim in "${CLAIMS[@]}"; do
		jq -s -e "$claim" "$DIR/documents" >"$DIR/result" || fail "does not hold: $claim" || true
	done
	fail "$(nl -v 0 "$DIR/documents")"
}

teardown() {
	clean_up
	check_documents
}

# start_measurement bandwidth|latency OPTION...: starts a long measurement in the background,
# appends it to ${CLIENTS[@]}, and returns once it is running. Its output is in $DIR/running.
start_measurement() {
	local command=$1 options poll=event
	shift
	rm -f "$DIR/running"
	[ "$command" = bandwidth ] || poll=$(polls)
	defaults --warm-up 0 --poll "${poll##* }" --duration 100 -- "$@"
	"$PAIR_BIN/rdma-client" "$command" "$MODE" "${options[@]}" "$@" "$ADDRESS" "$PORT" \
		>"$DIR/running" 2>"$ERR" &
	CLIENTS+=($!)
	# The table header is printed once both ends are ready.
	wait_line "$DIR/running" '^size '
}

kill_clients() {
	local pid
	for pid in "${CLIENTS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	wait_until no_control_session
}
