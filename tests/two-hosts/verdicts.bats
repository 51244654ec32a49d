#!/usr/bin/env bats
# One and the same true answer, however often a diagnosis is repeated: PAIR_DIAGNOSES times for each
# state of the two hosts, of which a firewall's is the most common.

load common

# always STATUS PATTERN ARGUMENT...: every diagnosis exits with STATUS, and the pattern matches its
# connection line or its verdict.
always() {
	local i status=$1 pattern=$2
	shift 2
	for i in $(seq "${PAIR_DIAGNOSES:-1}"); do
		expect "$status" client diagnose "$@"
		has "$OUT" "$pattern" || fail "run $i of '$*': $(cat "$OUT")"
		count "$OUT" '^verdict: ' 1
	done
}

# Prepares an interface for filters. While it is prepared, it drops the packets to be sent, for which soft-RoCE
# of Linux 6.12 breaks their queue pair.
PREPARE="tc qdisc add dev $VM_INTERFACE clsact 2>/dev/null || true"

# filter here|there ingress|egress MATCH...: that host drops the packets that match: tc-u32(8).
filter() {
	local command="$PREPARE; tc filter add dev $VM_INTERFACE $2 protocol ip u32 ${*:3} action drop"
	case $1 in
	here) bash -c "$command" ;;
	there) on_host1 "$command" ;;
	esac
}

pass_all() {
	local command="tc qdisc delete dev $VM_INTERFACE clsact 2>/dev/null || true"
	bash -c "$command"
	on_host1 "$command"
}

roce='match ip protocol 17 0xff match ip dport 4791 0xffff'

WORKS='^verdict: RDMA works between the two hosts: '
NO_SERVER='^verdict: No problems found in the checks up to connection; no rdma-server found, so no data was exchanged\.$'
SECRET='^verdict: Whether RDMA works is unknown: client and server do not have the same secret; look at either host\.$'
MTUS='^verdict: RDMA does not work: the network interfaces of the two hosts have different MTUs; look at either host\.$'
LARGE='^verdict: RDMA .*: probably packets as large as the MTU of this host do not reach the other host; '
ANYWHERE='^verdict: RDMA does not work: no reply to the RDMA connection request arrived; look at this host, the other host'
LOSS='^verdict: RDMA .*\(probably packets are lost on the path\|packets .* host are lost\)'
ARRIVING="^verdict: RDMA does not work: this host drops the peer's packets: .*; look at this host\.\$"

@test "healthy hosts with and without a server, also if ICMP is dropped" {
	start_far_server any
	always 0 "$WORKS" "$HOST1" "$PORT"
	always 0 "$NO_SERVER" "$HOST1"
	filter there egress match ip protocol 1 0xff
	always 0 "$WORKS" "$HOST1" "$PORT"
	always 0 "$NO_SERVER" "$HOST1"
	has "$OUT" '^path        skipped the host does not reply to probes'
	pass_all
	stop_on_host1 server
}

@test "a server with a secret" {
	head -c 32 /dev/urandom >"$FAR/secret"
	head -c 32 /dev/urandom >"$FAR/wrong"
	chmod 600 "$FAR/secret" "$FAR/wrong"
	start_on_host1 server "$PAIR_BIN/rdma-server --port 7471 --secret-file '$FAR/secret'"
	wait_line "$FAR/server.out" '^listening'
	always 0 "$WORKS" --secret-file "$FAR/secret" "$HOST1"
	always 3 "$SECRET" "$HOST1"
	always 3 "$SECRET" --secret-file "$FAR/wrong" "$HOST1:7471"
	# So do an exchange and a measurement.
	local i command
	for i in $(seq "${PAIR_DIAGNOSES:-1}"); do
		for command in write read 'bandwidth write' 'latency read'; do
			# shellcheck disable=SC2086 # several words
			expect 3 client $command --secret-file "$FAR/wrong" "$HOST1"
			has "$ERR" 'client and server do not have the same secret' || fail "run $i of $command"
		done
	done
	stop_on_host1 server
}

@test "large packets are lost, or the MTUs differ" {
	start_far_server any
	# Of IP packets up to 8,191 bytes, those of 4,096 and more.
	filter there ingress match u16 0x1000 0x1000 at 2
	always 4 "$LARGE" "$HOST1" "$PORT"
	always 4 "$LARGE" "$HOST1"
	pass_all
	on_host1 "ip link set $VM_INTERFACE mtu 1400"
	always 4 "$MTUS" "$HOST1" "$PORT"
	repair_network
	stop_on_host1 server
}

@test "either host drops the RoCE packets that arrive" {
	start_far_server any
	filter here ingress "$roce"
	always 3 "$ARRIVING" "$HOST1" "$PORT"
	pass_all
	filter there ingress "$roce"
	always 3 "$ANYWHERE" "$HOST1" "$PORT"
	has "$OUT" 'packets to the peer that left this host: [1-9][0-9]*, from it: none$'
	pass_all
	stop_on_host1 server
}

# more_interfaces: adds the interfaces more1 and more2 to host 1, with the addresses 10.78.0.11 and
# 10.78.0.12 and a device each. A bridge connects them with the hosts' link; macvlan interfaces would
# add their addresses to the device of the link, too.
more_interfaces() {
	undo less_interfaces
	on_host1 "set -e
		modprobe -a bridge veth
		ip link add bridge0 type bridge
		ip link set bridge0 arp off
		ip link set bridge0 up
		ip link set $VM_INTERFACE master bridge0
		for i in 1 2; do
			ip link add more\$i type veth peer name port\$i
			ip link set port\$i mtu 4200 master bridge0 up
			ip link set more\$i mtu 4200 up
			ip address add 10.78.0.1\$i/24 dev more\$i
			rdma link add second\$i type rxe netdev more\$i
		done"
	ip address add 10.78.0.2/24 dev "$VM_INTERFACE"
}

less_interfaces() {
	on_host1 'rdma link delete second1; rdma link delete second2
		ip link delete more1; ip link delete more2; ip link delete blue 2>/dev/null; ip link delete bridge0
		sysctl -q net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0 net.ipv4.conf.all.rp_filter=0'
	ip neighbour delete 10.78.0.11 dev "$VM_INTERFACE" 2>/dev/null || true
	ip address delete 10.78.0.2/24 dev "$VM_INTERFACE"
}

FLUX='^verdict: RDMA does not work: probably packets reach the wrong interface or host, because several MAC addresses answer ARP for this address; look at the other host'
BOTH='warning: more1 (second1, 10.78.0.11) and more2 (second2, 10.78.0.12) are in one subnet'

# Which answer comes first is a matter of chance, so that the wrong choice is made here.
@test "two interfaces of the other host in one subnet: ARP flux" {
	more_interfaces
	start_far_server any
	ip neighbour replace 10.78.0.11 lladdr "$(on_host1 'cat /sys/class/net/more2/address')" nud permanent dev "$VM_INTERFACE"
	always 3 "$FLUX" 10.78.0.11 "$PORT"
	always 3 "$FLUX" 10.78.0.11
	has "$OUT" '^ *warning: several MAC addresses answer ARP for it: '
	on_host1 "'$PAIR_BIN/rdma-client' diagnose" >"$OUT"
	has "$OUT" "$BOTH"
	has "$OUT" '^verdict: This host is ready for RDMA, but see the warning\.$'
	on_host1 "'$PAIR_BIN/rdma-client' diagnose --json 2>/dev/null" >"$OUT"
	has "$OUT" '"warning":"more1 '
	# The advice of the warning.
	on_host1 'sysctl -q net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2'
	ip neighbour delete 10.78.0.11 dev "$VM_INTERFACE"
	always 0 "$WORKS" 10.78.0.11 "$PORT"
	always 0 "$WORKS" 10.78.0.12 "$PORT"
	has_not "$OUT" 'warning:'
	on_host1 "'$PAIR_BIN/rdma-client' diagnose" >"$OUT"
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	stop_on_host1 server
}

@test "an interface of the other host in a VRF" {
	more_interfaces
	on_host1 'sysctl -q net.ipv4.conf.all.arp_ignore=1
		modprobe vrf; ip link add blue type vrf table 10; ip link set blue up; ip link set more1 master blue'
	start_far_server any
	always 3 "$ANYWHERE" 10.78.0.11 "$PORT"
	always 3 "$ANYWHERE" 10.78.0.11
	on_host1 "'$PAIR_BIN/rdma-client' diagnose --device second1 || true" >"$OUT"
	has "$OUT" "^verdict: RDMA does not work: the soft-RoCE device's network interface is in a VRF, .*; look at this host\.\$"
	always 0 "$WORKS" 10.78.0.12 "$PORT"
	# The advice.
	on_host1 'ip link set more1 nomaster'
	always 0 "$WORKS" 10.78.0.11 "$PORT"
	stop_on_host1 server
}

# bats test_tags=slow
@test "5 % of the packets are lost in each direction" {
	start_far_server any
	lose 5
	always 4 "$LOSS" "$HOST1" "$PORT"
	always 0 "$NO_SERVER" "$HOST1"
	repair_network
	stop_on_host1 server
}

# A diagnosis prints its results on standard output.
has_line_of_either() { grep -q -e "$1" "$OUT" "$ERR" || fail "no '$1': $(cat "$OUT" "$ERR")"; }

@test "the server knows that its replies are lost, and the client why" {
	local command
	start_far_server any
	filter here ingress "$roce"
	for command in 'write --timeout 8' diagnose 'latency read --timeout 8'; do
		: >"$FAR/server.err"
		# shellcheck disable=SC2086 # several words
		expect 3 client $command "$HOST1" "$PORT"
		has_line_of_either "this host drops the peer's packets"
		wait_line "$FAR/server.err" "this server's replies do not arrive at the client"
	done
	pass_all
	stop_on_host1 server
}

LOST='large packets between the two hosts are lost (test data in packets of 4096 bytes was not acknowledged for [0-9.]* s, small messages before it were); '
DIFFER='the RDMA devices at the two ends have different active MTUs (path 4096, this host 4096, the other host 1024 bytes); '
FAR_DIFFER='the RDMA devices at the two ends have different active MTUs (path 4096, this host 1024, the other host 4096 bytes); '

# messages STATUS PATTERN FAR-PATTERN: the outcome of an exchange of messages in this mode; "" matches no output.
messages() {
	: >"$FAR/server.err"
	expect "$1" client --timeout 5 "$mode" "$HOST1" "$PORT"
	[ -z "$2" ] || has "$ERR" "$2"
	if [ -n "$3" ]; then
		wait_line "$FAR/server.err" "$3"
	fi
}

@test "an exchange of messages fails if the MTUs differ or large packets are lost" {
	local mode
	start_far_server --timeout 5 any
	for mode in write read; do
		on_host1 "ip link set $VM_INTERFACE mtu 1400"
		messages 4 "$DIFFER" "$FAR_DIFFER"
		repair_network
		# The client chooses the path MTU, so that its own is never too small.
		ip link set "$VM_INTERFACE" mtu 1400
		messages 0 '' ''
		repair_network
		# Of IP packets up to 8,191 bytes, those of 4,096 and more.
		filter there ingress match u16 0x1000 0x1000 at 2
		case $mode in
		write) messages 4 "$LOST" . ;;
		read) messages 4 . "$LOST" ;;
		esac
		pass_all
		filter here ingress match u16 0x1000 0x1000 at 2
		case $mode in
		write) messages 4 . "$LOST" ;;
		read) messages 4 "$LOST" . ;;
		esac
		pass_all
		messages 0 '' ''
	done
	stop_on_host1 server
}

# cut_while_moving WHERE CLIENT-ARGUMENT...: starts a client, and drops the packets that arrive at
# that host once many have been sent.
cut_while_moving() {
	local where=$1
	shift
	on_host1 "$PREPARE"
	bash -c "$PREPARE"
	"$PAIR_BIN/rdma-client" "$@" "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	ENOUGH=$(($(sent_packets) + 2000))
	wait_until has_sent
	filter "$where" ingress "$roce"
}
sent_packets() { cat "/sys/class/infiniband/$VM_DEVICE/ports/1/hw_counters/sent_pkts"; }
has_sent() { [ "$(sent_packets)" -ge "$ENOUGH" ]; }

# A sender whose timeout is longer learns from the end of the connection that packets were lost.
@test "a firewall that begins to drop packets during a transfer" {
	local gave_up='stopped acknowledging\|timed out waiting'
	local lost='packets between the two hosts were lost, or late because a host was too busy, until the peer gave up (for [0-9.]* s, nothing'
	start_far_server --discard --timeout 6
	cut_while_moving there --timeout 50 --input /dev/zero write
	exits_with 4 "${CLIENTS[0]}"
	has "$ERR" "$lost"
	wait_line "$FAR/server.err" "$gave_up"
	pass_all
	stop_on_host1 server
	rm "$FAR/port"
	start_far_server --discard --timeout 50
	cut_while_moving here --timeout 6 --input /dev/zero write
	exits_with 4 "${CLIENTS[0]}"
	has "$ERR" "$gave_up"
	wait_line "$FAR/server.err" "$lost\|$gave_up"
	pass_all
	stop_on_host1 server
}

# measurements_cut WHERE COMMAND...: a firewall at that host begins to drop packets during each measurement.
measurements_cut() {
	local where=$1 command
	for command in "${@:2}"; do
		# shellcheck disable=SC2086 # several words
		cut_while_moving "$where" $command --duration 100 --warm-up 0
		exits_with 4 "${CLIENTS[0]}"
		has "$ERR" 'the peer stopped acknowledging\|packets between the two hosts were lost\|the peer did not respond in time'
		pass_all
	done
}

# bats test_tags=slow
@test "a firewall that begins to drop packets during a measurement" {
	start_far_server any
	measurements_cut there 'bandwidth write'
	measurements_cut here 'latency write'
	stop_on_host1 server
}

# bats test_tags=slow
@test "a firewall of either host that begins to drop packets during each kind of measurement" {
	start_far_server any
	measurements_cut there 'bandwidth read' 'latency write'
	measurements_cut here 'bandwidth write' 'bandwidth read'
	stop_on_host1 server
}
