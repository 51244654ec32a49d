#!/usr/bin/env bats
# rdma-client diagnose between two hosts: healthy and lossy links, PAIR_DIAGNOSES times each, and
# faults that need a network.

load common

# diagnose STATUS ARGUMENT...: a diagnosis must exit with STATUS in time, with one verdict.
diagnose() {
	local status=$1
	shift
	MARK=$SECONDS
	expect "$status" client diagnose "$@"
	in_time
	count "$OUT" '^verdict: ' 1
}

clean() {
	count "$OUT" '^[a-z ]\{11\} ok ' 11
	has_not "$OUT" '^[a-z ]\{11\} failed '
	has "$OUT" '^verdict: RDMA works between the two hosts: [0-9.]* MB/s to the server, [0-9.]* MB/s from it'
}

# Prints the bandwidths of the last diagnosis: to the server, and from it.
speeds() { sed -n 's|^bandwidth *ok *\([0-9.]*\) MB/s to the server, \([0-9.]*\) MB/s from it.*|\1 \2|p' "$OUT"; }

@test "healthy hosts: every run passes and shows both hosts" {
	start_far_server any
	local i n=${PAIR_DIAGNOSES:-3} slowest=0 start
	for i in $(seq "$n"); do
		start=$SECONDS
		diagnose 0 "$HOST1" "$PORT"
		clean || fail "run $i: $(cat "$OUT")"
		[ $((SECONDS - start)) -le $slowest ] || slowest=$((SECONDS - start))
		[ "$i" -lt "$n" ] || echo "# $n runs, at most $slowest s each; MB/s of the last: $(speeds)" >&3
	done
	has "$OUT" "^ *gid  *::ffff:$VM_ADDRESS  *::ffff:$HOST1\$"
	has "$OUT" "^ *device  *$VM_DEVICE  *$VM_DEVICE *\$"
	has "$OUT" "^ *interface mtu  *4200  *4200 *\$"
	has "$OUT" "^neighbour   ok  *$HOST1"
	has "$OUT" '^path        ok  *datagrams of 4200 bytes arrive$'
	has "$OUT" '^counters    ok  *local: no errors; remote: no errors$'
	diagnose 0 "${VM_ADDRESSES6%% *}" "$PORT"
	clean
	stop_on_host1 server
	count "$FAR/server.out" '^received connection request.$' $((n + 1))
	[ ! -s "$FAR/server.err" ] || fail "$(cat "$FAR/server.err")"
}

@test "an absent host" {
	# No host of this network has this address.
	diagnose 3 "${HOST1%.*}.250" 7471
	has "$OUT" '^neighbour   failed  probably: the host does not reply to ARP or neighbour discovery'
	has "$OUT" '^verdict: RDMA does not work: probably the host does not reply to ARP or neighbour discovery'
}

@test "the other host has no RDMA" {
	on_host1 "rdma link delete $VM_DEVICE"
	local failed=0
	{
		diagnose 3 "$HOST1" 7471 && has "$OUT" '^path        ok ' &&
			has "$OUT" '^connection  failed  probably: the host is up but does not respond to RDMA' &&
			diagnose 3 "$HOST1" &&
			has "$OUT" '^connection  failed  probably: the host is up but does not respond to RDMA'
	} || failed=1
	on_host1 "rdma link add $VM_DEVICE type rxe netdev $VM_INTERFACE"
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	[ $failed -eq 0 ]
}

@test "the wrong port and no port" {
	diagnose 3 "$HOST1" 7471
	has "$OUT" '^connection  failed  nothing is listening on this port'
	diagnose 0 "$HOST1"
	has "$OUT" '^connection  ok      RDMA responds'
}

# Repairs the network; then a diagnosis must pass.
repair_and_diagnose() {
	repair_network
	wait_until ping -c 1 -W 1 "$HOST1"
	diagnose 0 "$HOST1" "$PORT"
	clean
	stop_on_host1 server
}

# The network forwards packets of any size; an interface accepts packets up to its MTU.
@test "1,400-byte MTU at the other host" {
	start_far_server any
	on_host1 "ip link set $VM_INTERFACE mtu 1400"
	diagnose 4 "$HOST1" "$PORT"
	has "$OUT" 'failed  \(packets as large as\|the network interfaces at the two ends have different MTUs\)'
	has "$OUT" '^verdict: .*\(packets as large as\|different MTUs\)'
	repair_and_diagnose
}

@test "1,400-byte MTU at this host" {
	start_far_server any
	ip link set "$VM_INTERFACE" mtu 1400
	diagnose 4 "$HOST1" "$PORT"
	has "$OUT" '^both ends   failed  the network interfaces at the two ends have different MTUs'
	has "$OUT" '^ *seen: local 1400, remote 4200; RDMA MTU: local 1024, remote 4096$'
	has "$OUT" '^verdict: .*different MTUs'
	repair_and_diagnose
}

# Creates VLAN interfaces of MTU 1400. The RDMA devices keep the MTU of the underlying interface.
vlans_up() {
	local common="ip link add link $VM_INTERFACE name vlan7 type vlan id 7; ip link set vlan7 mtu 1400 up"
	on_host1 "$common; ip address add 10.97.0.1/24 dev vlan7"
	bash -c "$common; ip address add 10.97.0.2/24 dev vlan7"
}

vlans_down() {
	on_host1 'ip link delete vlan7'
	ip link delete vlan7
}

@test "equal interface MTUs, different RDMA MTUs" {
	start_far_server any
	vlans_up
	on_host1 "ip link set $VM_INTERFACE mtu 1500"
	local failed=0
	{
		diagnose 4 10.97.0.1 "$PORT" &&
			has "$OUT" '^both ends   failed  the RDMA devices at the two ends have different active MTUs' &&
			has "$OUT" '^ *seen: local 4096, remote 1024$' &&
			has "$OUT" '^verdict: RDMA works, but not well: the RDMA devices at the two ends'
	} || failed=1
	vlans_down
	[ $failed -eq 0 ] || fail "$(output_so_far)"
	repair_and_diagnose
}

@test "5 % loss in both directions" {
	start_far_server any
	lose 5
	local i
	for i in $(seq "${PAIR_DIAGNOSES:-3}"); do
		diagnose 4 "$HOST1" "$PORT"
		# Soft-RoCE may give up on a large message whose packets are lost repeatedly.
		has "$OUT" '^\(data       \|bandwidth  \|counters   \) failed  probably: packets are lost on the path'
		has "$OUT" '^verdict: RDMA .*: probably packets are lost on the path'
	done
	repair_and_diagnose
}

@test "the link is cut before the diagnosis" {
	start_far_server any
	cut_host1
	# The kernel trusts a confirmed neighbour entry for a while.
	ip neighbour flush dev "$VM_INTERFACE"
	diagnose 3 "$HOST1" "$PORT"
	has "$OUT" '^neighbour   failed  probably: the host does not reply to ARP or neighbour discovery'
	repair_and_diagnose
}

# start_diagnosis: starts a diagnosis, and returns once it transfers data.
start_diagnosis() {
	"$PAIR_BIN/rdma-client" diagnose "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_line "$OUT" '^data        ok '
	MARK=$SECONDS
}

# during COMMAND...: runs it while the diagnosis measures. The diagnosis is stopped during the
# command, so that it does not finish first.
during() {
	kill -STOP "${CLIENTS[0]}"
	"$@"
	kill -CONT "${CLIENTS[0]}"
	MARK=$SECONDS
}

# diagnosis_fails CAUSE: the diagnosis reports this cause in time, and exits with 4.
diagnosis_fails() {
	exits_with 4 "${CLIENTS[0]}"
	in_time
	has "$OUT" "^bandwidth   failed  .*$1"
	has "$OUT" '^verdict: RDMA does not work: '
}

@test "the link is cut during a diagnosis: the client reports it, the server keeps serving" {
	start_far_server --timeout 6 any
	start_diagnosis
	during cut_host1
	diagnosis_fails '\(stopped acknowledging\|stopped responding\)'
	wait_line "$FAR/server.out" '^peer disconnected.$'
	repair_and_diagnose
}

# ended_by SIGNAL: prints the cause that a diagnosis reports when its server receives SIGNAL.
ended_by() {
	case $1 in
	KILL) echo 'the peer closed the connection' ;;
	STOP) echo 'the peer stopped responding' ;;
	esac
}

@test "the other host's server is killed or stopped during a diagnosis" {
	local signal
	for signal in KILL STOP; do
		rm -f "$FAR/port"
		start_far_server any
		start_diagnosis
		during on_host1 "kill -$signal $(cat "$FAR/server.pid")"
		diagnosis_fails "$(ended_by $signal)"
		on_host1 "kill -CONT $(cat "$FAR/server.pid") || true"
		stop_on_host1 server
	done
}

# Soft-RoCE cannot delete a device that is open.
delete_far_device() {
	start_on_host1 deletion "timeout 60 rdma link delete $VM_DEVICE"
	wait_line "$FAR/server.err" 'stopping the server'
}

@test "the other host's RDMA device is removed during a diagnosis: both ends report it" {
	start_far_server any
	start_diagnosis
	during delete_far_device
	diagnosis_fails '\(closed the connection\|stopped acknowledging\|stopped responding\)'
	stop_on_host1 server
	wait_until on_host1 "! rdma link show | grep -q 'link $VM_DEVICE/'"
	on_host1 "rdma link add $VM_DEVICE type rxe netdev $VM_INTERFACE"
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	rm -f "$FAR/port"
	start_far_server any
	repair_and_diagnose
}
