# What the tests of measurements share.

# shellcheck shell=bash

# measure STATUS bandwidth|latency OPTION...: in the mode $MODE, with $OUT and $ERR.
measure() {
	local status=$1 command=$2
	shift 2
	expect "$status" client "$command" "$MODE" --warm-up 0 --poll event "$@" "$ADDRESS" "$PORT"
}

# The documents of a test, and what each must say, are collected and checked at its end, all at once: jq and
# the validator take longer to start than most measurements take.
DOCUMENTS=() CLAIMS=()

# document STATUS bandwidth|latency OPTION...: the same, with a JSON document in $OUT that is as its schema says.
document() {
	measure "$@" --json
	DOCUMENTS+=("$(<"$OUT")")
}

# tells FILTER...: to each of these jq says true of the last document.
tells() {
	local filter
	for filter; do
		CLAIMS+=("(.[$((${#DOCUMENTS[@]} - 1))] | $filter)")
	done
}

# wrong WRONG: a filter; so many operations are wrong in all runs together, at this end and at the server's.
wrong() {
	echo "[.results | map(.here.wrong_operations), map(.there.wrong_operations) | add] == $1"
}
NONE_WRONG=$(wrong '[0,0]')

documents_are_right() {
	local claim
	[ ${#DOCUMENTS[@]} -gt 0 ] || return 0
	printf '%s\n' "${DOCUMENTS[@]}" >"$DIR/documents"
	tests/validate-report --measurement "$DIR/documents" || fail "$(cat "$DIR/documents")" || return 1
	[ ${#CLAIMS[@]} -gt 0 ] || return 0
	if jq -s -e "$(printf '%s and ' "${CLAIMS[@]}") true" "$DIR/documents" >"$DIR/result"; then
		return
	fi
	for claim in "${CLAIMS[@]}"; do
		jq -s -e "$claim" "$DIR/documents" >"$DIR/result" || fail "not $claim" || true
	done
	fail "$(nl -v 0 "$DIR/documents")"
}

teardown() {
	clean_up
	documents_are_right
}

# begins bandwidth|latency OPTION...: a long one in the background, the last of ${CLIENTS[@]}, with its lines in
# $DIR/running. It goes on when this returns.
begins() {
	local command=$1
	shift
	rm -f "$DIR/running"
	"$PAIR_BIN/rdma-client" "$command" "$MODE" --warm-up 0 --poll event --duration 100 "$@" \
		"$ADDRESS" "$PORT" >"$DIR/running" 2>"$ERR" &
	CLIENTS+=($!)
	# The table's head comes when both ends are ready.
	wait_line "$DIR/running" '^ *bytes  *operations '
}

kill_clients() {
	local pid
	for pid in "${CLIENTS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	wait_until quiet
}
