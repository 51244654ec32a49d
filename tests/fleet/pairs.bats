#!/usr/bin/env bats
# The pairs of 2 to 16 guests: scripts/vm --hosts N.

load common

@test "every pair is measured once in both directions, several at a time, and no host is in two tests at a time" {
	CONCURRENCY=16 TIMEOUT=60 mesh --via ssh --json >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	is_complete "$OUT"
	# Pairs of a round overlap, so that the intervals say something.
	[ "$VM_HOSTS" -lt 4 ] || jq -s -e '[.[] | select(.stage == "bandwidth")] | sort_by(.start_ms) | . as $all |
		[range(1; length) | $all[.].start_ms < $all[. - 1].end_ms] | any' "$OUT" >/dev/null
	jq -r -s '"# \(.[-1].hosts) hosts: \(map(select(.stage == "bandwidth")) | length) directions in \(.[-1].rounds) rounds, \(
		map(select(.stage == "bandwidth")) | (map(.end_ms) | max) - (map(.start_ms) | min)) ms; \(.[-1].message)"' "$OUT" >&3
}

two_hosts() { [ "$VM_HOSTS" -eq 2 ] || skip 'needs two hosts'; }

# is_undecided: the only finding does not say which host it is.
is_undecided() {
	jq -s -e 'map(select(.type == "finding")) | length == 1 and .[0].culprit == "undecided" and
		(.[0].text | contains("cannot tell which end or what between them"))' "$OUT" >/dev/null
}

@test "two hosts, one of which drops RDMA packets: cannot tell which" {
	two_hosts
	at 2 "nft add table t; nft add chain t i '{ type filter hook input priority 0; }'; nft add rule t i udp dport 4791 drop"
	undo at 2 'nft delete table t'
	expect 1 mesh --via ssh --json
	is_undecided
}

@test "two hosts, one of which sends slowly: cannot tell which" {
	two_hosts
	at 1 'tc qdisc add dev eth0 root handle 1: htb default 10; tc class add dev eth0 parent 1: classid 1:10 htb rate 8mbit'
	undo at 1 'tc qdisc delete dev eth0 root'
	expect 1 mesh --via ssh --json
	is_undecided
	jq -s -e '.[-1].verdict == "undecided" and .[-1].slow == 1' "$OUT" >/dev/null
}
