# Common functions of the tests of control sessions. KIND is diagnosis or measurement.

# shellcheck shell=bash

# shellcheck disable=SC2034 # used by the tests
MALFORMED='the peer sent a malformed message of [0-9]* bytes'

# has_only FILES THREADS: the server has these numbers of descriptors and threads.
has_only() { has_descriptors "$1" && [ "$(threads)" -eq "$2" ]; }
threads() { count_files "/proc/$SERVER/task"; }

# control_peer [OPTION VALUE]... STEP...: runs a misbehaving peer against the server. Over iWARP, a
# latency test of WRITEs spins, because there is no immediate data.
control_peer() {
	local options=(--hello "$KIND") steps
	if iwarp; then
		steps=("${@/#begin:latency/begin:latency:spin}")
		set -- "${steps[@]/#begin:latency:spin:read/begin:latency:read}"
	fi
	while [ "${1#--}" != "$1" ]; do
		options+=("$1" "$2")
		shift 2
	done
	misbehaving_peer "${options[@]}" "$ADDRESS" "$PORT" "$@"
}

# Each session ends with a line: on standard output or, if it failed, on standard error.
sessions_ended() { cat "$LOG" "$ERRORS" | grep -c -e " by $ADDRESS:" -e "^rdma-server: .* $ADDRESS:"; }
more_sessions_ended() { [ "$(sessions_ended)" -gt "$1" ]; }

# Each case: the steps of the peer, and a pattern that the server's line on standard error must
# match; "-": no line; "?": at most one line.
server_survives() { # OPTIONS... reads cases from standard input: STEPS => PATTERN
	local steps pattern before ended files tasks lines
	start_server --discard "$@" any
	start_good write
	# The first client causes the server to open the device, which then stays open.
	control_peer command:region receive disconnect >"$OUT"
	wait_until no_control_session
	files=$(descriptors "$SERVER") tasks=$(threads)
	while IFS='>' read -r steps pattern; do
		steps=${steps%=} pattern=${pattern# }
		# A session that the client's device ends has no failure of the server to report.
		! iwarp || [ "$pattern" = "${pattern%"$ENDED"}" ] || pattern='?'
		before=$(wc -l <"$ERRORS")
		ended=$(sessions_ended)
		# shellcheck disable=SC2086 # several words
		control_peer $steps >"$OUT" 2>&1 || fail "$steps: $(cat "$OUT")"
		wait_until more_sessions_ended "$ended" || fail "$steps: $(output_so_far)"
		wait_until no_control_session || return 1
		lines=$(($(wc -l <"$ERRORS") - before))
		case $pattern in
		-) [ $lines -eq 0 ] || fail "$steps: $(cat "$ERRORS")" ;;
		'?') [ $lines -le 1 ] || fail "$steps: $(cat "$ERRORS")" ;;
		*)
			[ $lines -eq 1 ] || fail "$steps: $(cat "$ERRORS")"
			tail -n 1 "$ERRORS" | grep -q -e "$pattern" || fail "$steps: $(cat "$ERRORS")"
			;;
		esac
		wait_until has_only "$files" "$tasks" ||
			fail "$steps: $(ls -l "/proc/$SERVER/fd"; cat /proc/"$SERVER"/task/*/comm)"
		feed_good
	done
	good_was_served
	expect 0 client write "$ADDRESS" "$PORT"
	expect 0 client latency write --size 8 --iterations 10 --warm-up 0 "$ADDRESS" "$PORT"
	stop_server
}
