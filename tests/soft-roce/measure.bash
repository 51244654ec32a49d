# What the tests of measurements share.

# shellcheck shell=bash

# measure STATUS OPTION...: in the mode $MODE, with $OUT and $ERR.
measure() {
	local status=$1
	shift
	expect "$status" client "$MODE" --warm-up 0 --poll event "$@" "$ADDRESS" "$PORT"
}

# document STATUS OPTION...: the same, with a JSON document in $OUT that is like its schema.
document() {
	measure "$@" --json
	tests/validate-report --measurement "$OUT" || fail "$(cat "$OUT")"
}

# tells FILTER: that document does, to jq.
tells() { jq -e "$1" "$OUT" >"$DIR/told" || fail "not $1: $(cat "$OUT")"; }

# What is not right of all runs together, at this end and at the server's.
wrong() { jq -c '[.results | map(.here.wrong_operations), map(.there.wrong_operations) | add]' "$OUT"; }

# begins OPTION...: a long one in the background, the last of ${CLIENTS[@]}, with its lines in
# $DIR/running. It goes on when this returns.
begins() {
	rm -f "$DIR/running"
	"$PAIR_BIN/rdma-client" "$MODE" --warm-up 0 --poll event --duration 100 "$@" "$ADDRESS" \
		"$PORT" >"$DIR/running" 2>"$ERR" &
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
