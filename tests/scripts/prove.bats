#!/usr/bin/env bats
# scripts/prove without another host: usage, the report of a run that cannot connect, and hostile or
# crashing programs, which scripts replace here. Needs no RDMA. tests/two-hosts/prove.bats runs it between two hosts.

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
	refused 2 "--limit needs a number of at least 1, not '0'" --limit 0 host
	refused 2 "--port needs a number up to 65527, not '65528'" --port 65528 host
	refused 2 '--ssh needs a command' --ssh '' host
	refused 2 '--serve takes no HOST' --serve host
}

@test "a folder that cannot be written, and a command that does not start the servers" {
	refused 1 'cannot write to the folder /proc/none' --output /proc/none/report host
	refused 1 'cannot start the servers on host' --ssh false host
	refused 1 'no-such-shell is missing; install it' --ssh 'no-such-shell -p 22' host
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

# Makes scripts that replace our programs and those of perftest, in the folder $DIR/programs. The client
# succeeds. With --output back/, it receives $DIR/back. `client` adds cases before these.
replace_programs() {
	local name
	mkdir -p "$DIR/programs" "$DIR/back/about" "$DIR/back/inbox"
	touch "$DIR/back/about/inventory"
	cat >"$DIR/programs/rdma-client" <<-END
		#!/bin/bash
		case " \$* " in
		*' --version '*) echo 'rdma-client 1.0.0' ; exit ;;
		${client:-}
		*' --output back/ '*) rm -rf back && cp -r "$DIR/back" back ;;
		*' --input gate '*) echo 'received MSG_MR' >&2 && head -c 100000 gate >/dev/null ;;
		esac
		echo '{"schema": 1, "program": "rdma-client", "version": "1.0.0", "status": 0, "verdict": "healthy",
			"results": [{"bytes_per_second": 1e9, "latency_ns": {"median": 5000}}]}'
	END
	for name in rdma-server ib_{write,read}_{bw,lat}; do
		printf '#!/bin/bash\necho "Version: 6.06"; echo 65536 1 1 200; echo 8 1 1 1 3\n' >"$DIR/programs/$name"
	done
	chmod +x "$DIR/programs"/*
}

prove_replaced() {
	prove --programs "$DIR/programs" --exchanges 2 --clients 1 --seconds 1 --size 10 --output "$DIR/report" "$@"
}

# report_has FILTER: the report exists and matches its schema, and the filter is true.
report_has() {
	jq -c . "$DIR/report.json" | tests/validate-report --proof
	jq -e "$1" "$DIR/report.json" >/dev/null || { cat "$DIR/report.txt" "$DIR/err" && false; }
}

# facts LINE...: the facts that the client receives, with `|` instead of tabs.
facts() { printf '%b\n' "$@" | tr '|' '\t' >"$DIR/back/about/facts"; }

# facts_refused LINE...: scripts/prove neither uses nor reports any of these facts.
facts_refused() {
	facts 'host|there' 'perftest|6.06' "$@"
	! prove_replaced --no-ssh host || return
	report_has '.there == {} and .inventory == null and ([.checks[].figures | select(.) | .perftest] == [null, null, null, null])'
	grep -q '^facts of the other host  *failed .*received ' "$DIR/report.txt"
	[ ! -e "$DIR/executed" ]
}

@test "facts of the other host are used if they are valid, and perftest if it runs as long there" {
	local status=0
	replace_programs
	facts 'host|there' 'kernel|6' 'perftest|6.06' 'seconds|1' 'devices|a|limits|max_qp|9' 'devices|a|pci_id|0x15b3:0x1017'
	echo '{"a": 1}' >"$DIR/back/about/inventory"
	prove_replaced --no-ssh host || status=$?
	[ $status -eq 1 ] # nobody kills this client
	report_has '.there.devices.a.limits.max_qp == "9" and .inventory.a == 1'
	report_has '[.checks[].figures | select(.) | .ours, .perftest] == [1000, 209.72, 5, 3, 1000, 209.72, 5, 3]'
	facts 'host|there' 'perftest|6.06' 'seconds|2'
	prove_replaced --no-ssh host || status=$?
	report_has '[.checks[] | select(.detail | test("perftest needs the same --seconds on both hosts"))] | length == 4'
}

@test "facts of the other host are refused if they are invalid, and nothing in them is executed" {
	replace_programs
	facts_refused "seconds|SECONDS[\$(touch $DIR/executed)]"
	facts_refused "reply_sha256|\$(touch $DIR/executed)"
	facts_refused 'system|\033]0;title\007'
	facts_refused 'devices|a' 'devices|a|limits|max_qp|9'
	facts_refused "kernel|$(printf '%201s' 6)"
	echo '{"a": 1}{"b"' >"$DIR/back/about/inventory"
	facts_refused 'seconds|1'
	echo '{"a": 1}' >"$DIR/back/about/inventory"
	mv "$DIR/back/about" "$DIR/back/elsewhere"
	ln -s elsewhere "$DIR/back/about"
	facts_refused 'seconds|1'
}

# The secret is the last line of the input of `ssh`.
@test "through ssh: only addresses are tried, and the clients use a secret that no command line shows" {
	local secret
	client="esac
		stat -c %a secret >>'$DIR/modes'
		case \" \$* \" in
		*' --timeout 3 '*) echo \"\$*\" >>'$DIR/tried'; exit 3 ;;" replace_programs
	cat >"$DIR/far" <<-END
		#!/bin/bash
		echo "\$*" >'$DIR/command'
		echo 'addresses: --output=/x * 198.51.100.7 \$(id) 2001:db8::1 -v 10.0.0.1;id'
		echo ready
		cat >'$DIR/input'
	END
	chmod +x "$DIR/far"
	! prove_replaced --ssh "$DIR/far" host || return
	report_has '.address == "host"'
	[ "$(sed 's/.* --timeout 3 //' "$DIR/tried")" = $'host 7500\n198.51.100.7 7500\n2001:db8::1 7500' ]
	[ "$(sort -u "$DIR/modes")" = 600 ]
	secret=$(tail -n 1 "$DIR/input")
	[ ${#secret} -eq 44 ]
	[ "$(cat "$DIR/command" "$DIR/tried" "$DIR/out" "$DIR"/report.* | grep -c -F "$secret")" -eq 0 ]
}

@test "clients that die while they print their documents: the checks fail, and the report says so" {
	client="*' --json '*) echo -n '{\"verdict\": \"RDMA'; kill -SEGV \$\$ ;;" replace_programs
	! prove_replaced --no-ssh host || return
	report_has '.checks[0].result == "failed" and all(.checks[]; .documents == [])'
	report_has '[.checks[] | select(.detail == "exit status 139, invalid document: {\"verdict\": \"RDMA")] | length > 8'
	grep -q '^diagnosis  *failed .*{"verdict": "RDMA$' "$DIR/report.txt"
}

@test "--limit ends a run: checks that have not finished or started are failed" {
	client="*' diagnose '*) exec sleep 100 ;;" replace_programs
	! prove_replaced --no-ssh --limit 6 host || return
	report_has '.verdict == "failed" and .seconds < 60 and .options.limit == 6'
	report_has '.checks[0].detail == "stopped by --limit 6: timed out"'
	report_has 'all(.checks[1:][]; .result == "failed" and .detail == "not started: --limit 6 reached")'
	client="*' --json '*) ;;
		*' --quiet write host '*) exec sleep 100 ;;" replace_programs
	! prove_replaced --no-ssh --limit 20 host || return
	report_has '.seconds < 60 and (.checks[] | select(.check == "2 exchanges") |
		.result == "failed" and (.detail | startswith("stopped by --limit 20: 1 of 2 verified")))'
}

@test "durations are correct where numbers have a decimal comma" {
	localedef -i de_DE -f UTF-8 "$DIR/de_DE.UTF-8" 2>/dev/null || skip 'localedef cannot make a German locale'
	client="*' diagnose '*) sleep 1.1 ;;" replace_programs
	! LOCPATH=$DIR LC_ALL=de_DE.UTF-8 prove_replaced --no-ssh host || return
	report_has '.checks[0].seconds >= 1.1'
}
