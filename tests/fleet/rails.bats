#!/usr/bin/env bats
# rdma-client mesh over the rails of several guests that have two networks each: scripts/vm --interfaces 2.

load common

setup_file() {
	[[ ${VM_DEVICES:-} == *' '* ]] || skip 'needs scripts/vm --interfaces 2'
}

# Every direction of both rails was measured once, besides repeated tests.
both_are_complete() {
	jq -s -e --argjson hosts "$VM_HOSTS" '
		[.[] | select(.stage == "bandwidth")] as $tests |
		($tests | map(.rail) | unique) == ["rxe0", "rxe1"] and
		($tests | length) == 2 * $hosts * ($hosts - 1) and ($tests | unique_by(.rail, .from, .to) | length) == ($tests | length) and
		.[-1].rails == 2 and .[-1].failed == 0 and .[-1].not_measured == 0' "$OUT" >/dev/null
}

# drop HOST INTERFACE: drops the RDMA packets that arrive at an interface.
drop() {
	# shellcheck disable=SC2029 # the interface is known here
	ssh "$1" "nft add table t; nft add chain t i '{ type filter hook input priority 0; }'; nft add rule t i iifname $2 udp dport 4791 drop"
}

@test "two rails: each is measured, alone and together with the other" {
	mesh --via ssh --json >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	both_are_complete
	tests/validate-report "$OUT"
	CONCURRENCY=2 mesh --via ssh --json --together >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	both_are_complete
	# Both rails of a pair at a time.
	jq -s -e '[.[] | select(.stage == "latency")] | . as $all | any(. as $one | $all | any(
		.from == $one.from and .to == $one.to and .rail != $one.rail and .start_ms < $one.end_ms and .end_ms > $one.start_ms))' "$OUT" >/dev/null
	tests/validate-report "$OUT"
}

@test "one rail of a host is broken: only that is named" {
	drop host3 eth1
	undo ssh host3 'nft delete table t'
	expect 1 mesh --via ssh --json
	jq -s -e '[.[] | select(.type == "finding" and .failed > 0)] |
		length > 0 and all(.rail == "rxe1" and (.text | contains("host3/rxe1")))' "$OUT" >/dev/null
	jq -s -e 'map(select(.type == "rail") | {(.rail): .failed}) | add == {"rxe0": 0, "rxe1": (2 * ($hosts - 1))}' \
		--argjson hosts "$VM_HOSTS" "$OUT" >/dev/null
}

@test "a device is missing at one host, and its port is down at another: it is left out, or counted" {
	ssh host2 'rdma link delete rxe1'
	undo ssh host2 'rdma link add rxe1 type rxe netdev eth1'
	ssh host3 'ip link set eth1 down'
	undo ssh host3 "ip link set eth1 up; ip address add fd77:0:0:1::3/64 dev eth1 nodad"
	mesh --via ssh >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	has "$OUT" '^rxe1 is left out: host2: it has no such device; host3: cannot use RDMA: no usable RDMA port is active'
	has_not "$OUT" '/rxe0'
	expect 1 mesh --via ssh --device rxe0,rxe1
	has "$OUT" '^bad: host2/rxe1 was not tested: it has no such device$'
	has "$OUT" '^bad: host3/rxe1 was not tested: cannot use RDMA: '
}

# The addresses of the second network move into the subnet of the first.
@test "both rails in one subnet: ARP flux is named, and the cure works" {
	local host
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# shellcheck disable=SC2029 # the addresses and the command are known here
		ssh "host$host" "ip address delete 10.77.1.$host/24 dev eth1; ip address add 10.77.0.10$host/24 dev eth1"
		undo ssh "host$host" "ip address delete 10.77.0.10$host/24 dev eth1; ip address add 10.77.1.$host/24 dev eth1
			sysctl -q net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0 net.ipv4.conf.all.rp_filter=0"
	done
	mesh --via ssh >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	has "$OUT" "^$VM_HOSTS of $VM_HOSTS hosts have ARP flux, so peers may reach the wrong interface: at host1, eth0 (rxe0, 10.77.0.1) and eth1 (rxe1, 10.77.0.101) are in one subnet, and arp_ignore is 0 and 0; there: sysctl -w net.ipv4.conf.all.arp_ignore=1 "
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# The command of the message.
		# shellcheck disable=SC2029
		ssh "host$host" "$(sed -n 's/^.* hosts have ARP flux, .*; there: //p' "$OUT") >/dev/null; ip neighbour flush all"
	done
	mesh --via ssh --json >"$OUT" 2>"$ERR" || [ $? -eq 1 ]
	both_are_complete
	jq -s -e 'map(select(.type == "host") | .warning) | unique == [null]' "$OUT" >/dev/null
}
