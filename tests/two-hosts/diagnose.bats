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
	count "$OUT" '^[a-z ]\{11\} ok ' "$(iwarp && echo 13 || echo 14)"
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
		diagnose 0 --verbose "$HOST1" "$PORT"
		clean || fail "run $i: $(cat "$OUT")"
		[ $((SECONDS - start)) -le $slowest ] || slowest=$((SECONDS - start))
		[ "$i" -lt "$n" ] || echo "# $n runs, at most $slowest s each; MB/s of the last: $(speeds)" >&3
	done
	has "$OUT" "^ *gid  *::ffff:$VM_ADDRESS  *::ffff:$HOST1\$"
	has "$OUT" "^ *device  *$VM_DEVICE  *$VM_DEVICE *\$"
	has "$OUT" "^ *interface mtu  *4200  *4200 *\$"
	has "$OUT" "^neighbour   ok  *$HOST1"
	has "$OUT" '^path        ok  *datagrams of 4200 bytes arrive$'
	has "$OUT" '^counters    ok  *\(nothing harmful; \)*this host: .*; the other host: .*[^;]$'
	diagnose 0 "${VM_ADDRESSES6%% *}" "$PORT"
	clean
	stop_on_host1 server
	count "$FAR/server.out" '^diagnosis by .*: .*B, best rate .*B/s\.$' $((n + 1))
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
			has "$OUT" '^connection  failed  no reply to the RDMA connection request arrived' &&
			diagnose 3 "$HOST1" &&
			has "$OUT" '^connection  failed  no reply to the RDMA connection request arrived'
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
	has "$OUT" '^both ends   failed  the network interfaces of the two hosts have different MTUs$'
	has "$OUT" '^verdict: .*different MTUs'
	repair_and_diagnose
}

# bats test_tags=slow
@test "1,400-byte MTU at this host" {
	start_far_server any
	ip link set "$VM_INTERFACE" mtu 1400
	diagnose 4 "$HOST1" "$PORT"
	has "$OUT" '^both ends   failed  the network interfaces of the two hosts have different MTUs'
	has "$OUT" '^ *rdma mtu  *1024  *4096$'
	has "$OUT" '^ *interface mtu  *1400  *4200$'
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
			has "$OUT" '^ *rdma mtu  *4096  *1024$' &&
			has "$OUT" '^verdict: RDMA works, but not well: the RDMA devices at the two ends'
	} || failed=1
	vlans_down
	[ $failed -eq 0 ] || fail "$(output_so_far)"
	repair_and_diagnose
}

# bats test_tags=slow
@test "loss in both directions" {
	start_far_server any
	lose 1
	local i
	for i in $(seq "${PAIR_DIAGNOSES:-3}"); do
		diagnose 4 "$HOST1" "$PORT"
		# Nothing can be told apart from a host that is too busy to move a MB in 8 s.
		! grep -q '^verdict: Whether RDMA works is unknown: data moves, but too slowly' "$OUT" || continue
		# If a transfer ends early, only one direction may have been seen to lose packets.
		has "$OUT" '^\(data       \|bandwidth  \|counters   \) failed  .*packets .* lost'
		has "$OUT" '^verdict: RDMA .*\(probably packets are lost on the path\|packets .* host are lost\)'
	done
	repair_and_diagnose
}

# impair here|there WORD...: applies this tc(8) queueing discipline to the packets that one host sends.
impair() {
	repair_network
	case $1 in
	here) tc qdisc replace dev "$VM_INTERFACE" root "${@:2}" ;;
	there) on_host1 "tc qdisc replace dev $VM_INTERFACE root ${*:2}" ;;
	esac
}

# impaired here|there VERDICT WORD...: with this discipline, PAIR_IMPAIRED diagnoses have this verdict.
impaired() {
	local i where=$1 verdict=$2
	shift 2
	impair "$where" "$@"
	for i in $(seq "${PAIR_IMPAIRED:-1}"); do
		expect 4 client diagnose "$HOST1" "$PORT"
		has "$OUT" "^verdict: $verdict" || fail "run $i of $* $where: $(cat "$OUT")"
	done
}

LOSS_HERE='RDMA .*: packets from this host to the other host are lost; look at this host'
LOSS_THERE='RDMA .*: packets from the other host to this host are lost; look at the other host'
SLOW_HERE='RDMA works, but slowly: data to the other host is several times slower .*; look at this host'
SLOW_THERE='RDMA works, but slowly: data from the other host is several times slower .*; look at the other host'
DELAY='RDMA works, but slowly: each message takes long, although none is lost; look at either host'

@test "loss, a low rate and delay: the cause and the direction are named" {
	start_far_server --discard any
	impaired here "$LOSS_HERE" netem loss 5%
	head -c 3000000 /dev/urandom >"$DIR/up"
	expect 0 client --timeout 60 --input "$DIR/up" write "$HOST1" "$PORT"
	has "$OUT" "^packets were sent again [0-9]* times; to find the cause: rdma-client diagnose $HOST1:$PORT\$"
	impaired there "$SLOW_THERE" netem rate 14mbit
	impaired here "$DELAY" netem delay 60ms
	has "$OUT" '^message     failed  each message takes long'
	has "$OUT" '^ *seen: shortest of [0-9]* round trips: [6-9][0-9]\.[0-9] ms'
	repair_and_diagnose
}

# bats test_tags=slow
@test "loss at either host: the direction is named" {
	local loss
	start_far_server any
	for loss in 1 5 20; do
		impaired here "$LOSS_HERE" netem loss $loss%
		impaired there "$LOSS_THERE" netem loss $loss%
	done
	repair_and_diagnose
}

# bats test_tags=slow
@test "a rate of 20 Mbit/s at either host: works, but slowly, and the direction is named" {
	local shaper
	start_far_server any
	for shaper in 'netem rate 20mbit' 'tbf rate 20mbit burst 32k latency 400ms'; do
		# shellcheck disable=SC2086
		impaired here "$SLOW_HERE" $shaper
		# shellcheck disable=SC2086
		impaired there "$SLOW_THERE" $shaper
	done
	repair_and_diagnose
}

# bats test_tags=slow
@test "200 ms of delay at either host: works, but slowly, without loss" {
	start_far_server any
	impaired here "$DELAY" netem delay 200ms
	has "$OUT" '^ *seen: shortest of [0-9]* round trips: 2[0-9][0-9]\.[0-9] ms'
	impaired there "$DELAY" netem delay 200ms
	repair_and_diagnose
}

# own_exchange: succeeds if a client on this host can connect to a server on this host.
own_exchange() {
	local status=0
	rm -f "$DIR/port"
	"$PAIR_BIN/rdma-server" --port 0 --port-file "$DIR/port" --timeout 5 >/dev/null 2>&1 &
	SERVER=$!
	wait_until test -s "$DIR/port"
	"$PAIR_BIN/rdma-client" --timeout 5 write "$VM_ADDRESS" "$(<"$DIR/port")" >"$DIR/own" 2>&1 || status=$?
	kill -KILL "$SERVER"
	SERVER=''
	return $status
}

# In about half of the cases, soft-RoCE does not survive that its link goes down during traffic.
# bats test_tags=slow
@test "a connection manager that died is recognised: diagnose agrees with an exchange on this host" {
	local try died=no
	start_far_server --discard any
	for try in 1 2 3 4 5 6 7 8; do
		"$PAIR_BIN/rdma-client" --timeout 2 --input /dev/zero write "$HOST1" "$PORT" >"$OUT" 2>&1 &
		CLIENTS=($!)
		sleep 1
		ip link set "$VM_INTERFACE" down
		wait_until gone "${CLIENTS[0]}"
		ip link set "$VM_INTERFACE" up
		wait_until grep -q ACTIVE "/sys/class/infiniband/$VM_DEVICE/ports/1/state"
		if own_exchange; then
			diagnose 0
			has "$OUT" "^manager     ok      $VM_DEVICE answers connection requests"
			continue
		fi
		died=yes
		diagnose 3 || fail "$(cat "$DIR/own")"
		has "$OUT" "^manager     failed  this host's soft-RoCE device no longer answers connection requests"
		has "$OUT" "^ *seen: $VM_DEVICE, interface $VM_INTERFACE\$"
		renew_link
		diagnose 0
		break
	done
	wait_until ping -c 1 -W 1 "$HOST1"
	stop_on_host1 server
	[ $died = yes ] || skip 'the connection manager survived eight times'
}

# bats test_tags=slow
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
	"$PAIR_BIN/rdma-client" diagnose --verbose "$HOST1" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_line "$ERR" 'checking bandwidth'
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
	has "$OUT" '^verdict: \(RDMA does not work: \(probably \)\?the peer stopped\|Whether RDMA works is unknown: the peer \(did not respond in time\|closed the connection\)\)'
}

@test "the link is cut during a diagnosis: the client reports it, the server keeps serving" {
	start_far_server --verbose --timeout 6 any
	start_diagnosis
	during cut_host1
	diagnosis_fails '\(stopped acknowledging\|did not respond in time\)'
	wait_line "$FAR/server.out" '^peer disconnected.$'
	repair_and_diagnose
}

# ended_by SIGNAL: prints the cause that a diagnosis reports when its server receives SIGNAL.
ended_by() {
	case $1 in
	KILL) echo 'the peer closed the connection' ;;
	STOP) echo 'the peer did not respond in time' ;;
	esac
}

# bats test_tags=slow
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
	diagnosis_fails '\(closed the connection\|stopped acknowledging\|did not respond in time\)'
	stop_on_host1 server
	wait_until on_host1 "! rdma link show | grep -q 'link $VM_DEVICE/'"
	on_host1 "rdma link add $VM_DEVICE type rxe netdev $VM_INTERFACE"
	FAR_RESOURCES=$(on_host1 'rdma resource show')
	rm -f "$FAR/port"
	start_far_server any
	repair_and_diagnose
}
