#!/usr/bin/env bats
# scripts/prove from host 2 to host 1, with small numbers. far-shell stands in for ssh.

load common

# The servers of scripts/prove and their files, which must not exist on host 1 without it.
left_on_host1() { on_host1 'ps -e -o comm= | grep -E "rdma-server|ib_read|timeout"; ls -d /tmp/tmp.* 2>/dev/null'; }
none_left() { [ -z "$(left_on_host1)" ]; }

# For a subshell, whose process id is then that of the script.
prove() {
	exec scripts/prove --programs "$PAIR_BIN" --exchanges 16 --clients 6 --seconds 1 --size 500000 --limit 3000 \
		--output "$DIR/report" "$@"
}

# Starts the shell that far-shell connects to.
start_shell() { start_on_host1 shell 'busybox nc -ll -p 2222 -e /bin/bash'; }

report_has() { jq -e "$1" "$DIR/report.json" >"$DIR/result" || fail "not true: $1"$'\n'"$(cat "$DIR/report.txt")"; }

# The report and every document in it match their schemas.
valid() {
	jq -c . "$DIR/report.json" | tests/validate-report --proof
	jq -c '.inventory, .checks[].documents[] | select(.schema)' "$DIR/report.json" >"$DIR/documents"
}

# bats test_tags=slow
@test "prove: every check passes, both hosts are described, and nothing is left behind" {
	start_shell
	(prove --ssh tests/two-hosts/far-shell host1 >"$OUT" 2>"$ERR") || fail "$(cat "$OUT" "$ERR")"
	is_empty "$ERR"
	report_has '.verdict == "passed" and all(.checks[]; .result == "passed")'
	report_has '[.checks[].documents[] | select(.sent) | .secret] | length > 4 and all'
	report_has '.here.host == "host2" and .there.host == "host1" and .host == "host1"'
	report_has "[.here, .there | .rdma_core, .kernel, .devices.$VM_DEVICE.limits.max_qp] | all(length > 0)"
	report_has '[.checks[].figures | select(.) | .ours] | length == 4 and all(. > 0)'
	# On a busy machine or over software iWARP, some tests of perftest do not finish.
	report_has '[.checks[].figures | select(.) | .perftest | numbers] | length > 0 and all(. > 0)'
	has "$DIR/report.txt" "^driver  *[a-z_]*  *[a-z_]*$"
	has "$DIR/report.txt" '^6 clients at once  .*[0-6] connected at once, 6 of 6 verified'
	has "$DIR/report.txt" '^killed server  *passed .*exit status 4: '
	has "$DIR/report.txt" '^bandwidth, write, MB/s  *[0-9]'
	valid
	none_left || fail "$(left_on_host1)"
	stop_on_host1 shell
}

# bats test_tags=slow
@test "prove: an interrupted run stops the servers on the other host, and removes its files" {
	local pid
	start_shell
	prove --ssh tests/two-hosts/far-shell host1 >"$OUT" 2>"$ERR" &
	pid=$!
	wait_line "$OUT" '^message, write '
	kill -TERM $pid
	exits_with 143 $pid
	none_left || fail "$(left_on_host1)"
	[ ! -e "$DIR/report.json" ]
	stop_on_host1 shell
}

# Few and small, and without perftest, which needs the same --seconds on both hosts.
prove_by_hand() { prove --no-ssh --exchanges 1 --clients 1 --size 10 "$HOST1"; }

# The input of --serve must not end.
# bats test_tags=slow
@test "prove: by hand on both hosts, every check passes; a server that does not listen is a failure, and is named" {
	on_host1 'mkfifo /tmp/never'
	start_on_host1 hand "bash -c 'exec <>/tmp/never scripts/prove --serve --programs $PAIR_BIN --size 10'"
	wait_line "$FAR/hand.out" '^ready'
	has "$FAR/hand.out" 'scripts/prove --no-ssh --port 7500 --seconds 5 --size 10 HOST$'
	has "$FAR/hand.out" "^addresses: .*$HOST1"
	(prove_by_hand >"$OUT" 2>"$ERR") || fail "$(cat "$OUT" "$ERR")"
	is_empty "$ERR"
	report_has '.verdict == "passed" and all(.checks[]; .result == "passed")'
	report_has '[.checks[].documents[] | select(.sent) | .secret] | length > 4 and (any | not)'
	report_has '.here.host == "host2" and .there.host == "host1" and .host == .address'
	has "$DIR/report.txt" '^directory  *passed .*2 stored files sent back, digests equal'
	has "$DIR/report.txt" '^killed server  *passed .*exit status 4: '
	has "$DIR/report.txt" '^1 exchanges  *passed .*1 of 1 verified'
	mv "$DIR/report.json" "$DIR/passed.json"
	on_host1 'pkill -f -- "--port 7500 "'
	(prove_by_hand >"$OUT" 2>"$ERR") && fail "$(cat "$OUT")"
	report_has '.verdict == "failed" and .checks[0].result == "failed" and all(.checks[1:][]; .result == "skipped")'
	has "$DIR/report.txt" '^diagnosis  *failed .*nothing is listening on this port'
	jq -c . "$DIR/passed.json" "$DIR/report.json" | tests/validate-report --proof
	stop_on_host1 hand
	none_left || fail "$(left_on_host1)"
	on_host1 'rm /tmp/never'
}
