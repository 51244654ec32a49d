#!/usr/bin/env bats
# The DSCP of packets between two hosts, counted by the kernel's packet filter where they arrive.

load common

# Counts arriving RoCE v2 packets (UDP port 4791): with DSCP 26 by filter 1, all others by filter 2.
count_packets() {
	local udp='match ip protocol 17 0xff match ip dport 4791 0xffff'
	echo "tc qdisc add dev $VM_INTERFACE clsact
		tc filter add dev $VM_INTERFACE ingress protocol ip prio 1 u32 match ip dsfield 104 0xfc $udp action ok
		tc filter add dev $VM_INTERFACE ingress protocol ip prio 2 u32 $udp action ok"
}

# counted FILTER: prints how many packets the filter of this host has seen.
counted() {
	tc -s filter show dev "$VM_INTERFACE" ingress prio "$1" | awk '$1 == "Sent" { print $4 }'
}
far_counted() { on_host1 "$(declare -f counted); VM_INTERFACE=$VM_INTERFACE counted $1"; }

teardown() {
	tc qdisc delete dev "$VM_INTERFACE" clsact
	on_host1 "tc qdisc delete dev $VM_INTERFACE clsact"
	clean_up
}

@test "--tos marks the packets of both directions, of every queue pair" {
	bash -ec "$(count_packets)"
	on_host1 "$(count_packets)"
	start_far_server --tos EF any
	expect 0 client --tos AF31 write "$HOST1" "$PORT"
	expect 0 client --tos 26 bandwidth read --iterations 100 --qps 2 "$HOST1" "$PORT"
	[ "$(counted 1)" -gt 0 ]
	[ "$(far_counted 1)" -gt 0 ]
	[ "$(counted 2) $(far_counted 2)" = '0 0' ]
	expect 0 client diagnose "$HOST1" "$PORT" --tos 26 --json
	jq -e '.here.dscp == 26 and .there.dscp == 26' "$OUT"
	expect 0 client write "$HOST1" "$PORT"
	[ "$(counted 2)" -gt 0 ]
	stop_on_host1 server
	has "$FAR/server.out" 'packets carry DSCP 26, not 46: on RoCE'
}
