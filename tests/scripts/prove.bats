#!/usr/bin/env bats
# scripts/prove without another host: usage, and the report of a run that cannot connect. Needs no
# RDMA. tests/two-hosts/prove.bats runs it between two hosts.

setup() { DIR=$BATS_TEST_TMPDIR; }

prove() { scripts/prove --programs "${PAIR_BIN:-.}" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }

# refused STATUS TEXT ARGUMENT...: scripts/prove exits with STATUS, and prints one line with TEXT.
refused() {
	local wanted=$1 text=$2 got=0
	shift 2
	prove "$@" || got=$?
	[ "$got" -eq "$wanted" ]
	[ "$(wc -l <"$DIR/err")" -eq 1 ]
	grep -F "prove: $text" "$DIR/err" || { cat "$DIR/err" && false; }
}

@test "wrong usage is one line and exit status 2" {
	refused 2 'HOST is missing'
	refused 2 "unknown option '--far'" --far host
	refused 2 "unexpected argument 'other'" host other
	refused 2 "--clients needs a number of at least 1, not '0'" --clients 0 host
	refused 2 "--seconds needs a number of at least 1, not ''" --seconds
	refused 2 "--port needs a number up to 65528, not '65529'" --port 65529 host
	refused 2 '--ssh needs a command' --ssh '' host
	refused 2 '--serve takes no HOST' --serve host
}

@test "a folder that cannot be written, and a command that does not start the servers" {
	refused 1 'cannot write to the folder /proc/none' --output /proc/none/report host
	refused 1 'cannot start the servers on host' --ssh false host
}

@test "without a connection the other checks are skipped, and the report says why" {
	local status=0
	prove --no-ssh --output "$DIR/report" someone@192.0.2.77 || status=$?
	[ $status -eq 1 ]
	[ ! -s "$DIR/err" ]
	jq -c . "$DIR/report.json" | tests/validate-report --proof
	jq -e '.verdict == "failed" and .host == "192.0.2.77" and (.checks[0].documents | length) == 1 and
		.checks[0].result == "failed" and all(.checks[1:][]; .result == "skipped")' "$DIR/report.json"
	grep -q '^diagnosis  *failed .*RDMA does not work: ' "$DIR/report.txt"
	grep -q '192.0.2.77: 0 passed, 1 failed, [0-9]* skipped' "$DIR/report.txt"
	[ "$(cat "$DIR"/report.* | grep -c someone)" -eq 0 ]
}
