#!/usr/bin/env bats
# Every connection failure that can be provoked on one host. An exchange reports the cause in one
# line; a diagnosis reports the failed check, the cause and the side; both exit with the
# corresponding status.

load common
load diagnose

@test "no RDMA device" {
	rdma link delete "$VM_DEVICE"
	undo rdma link add "$VM_DEVICE" type rxe netdev "$VM_INTERFACE"
	expect_error 3 'this host has no RDMA device (no entries in /sys/class/infiniband); load the adapter.s driver' client write "$ADDRESS" 7471
	expect_error 3 'this host has no RDMA device' "$PAIR_BIN/rdma-server" write
	diagnose 3
	check_failed 'this host' 'this host has no RDMA device' 'this host'
	diagnose 3 "$ADDRESS" 7471
	check_failed 'this host' 'this host has no RDMA device' 'this host'
	has "$OUT" '^ *seen: no entries in /sys/class/infiniband'
	has "$OUT" '^ *next: load the adapter.s driver'
	has_not "$OUT" ' skipped not reached$'
	diagnose 3 --verbose "$ADDRESS" 7471
	has "$OUT" '^manager     skipped not reached$'
}

# Keep the kernel from loading the module on demand.
@test "rdma_ucm is not loaded" {
	undo sysctl -qw "kernel.modprobe=$(sysctl -n kernel.modprobe)"
	undo modprobe rdma_ucm
	sysctl -qw kernel.modprobe=/bin/false
	modprobe -r rdma_ucm
	expect_error 3 "found $VM_DEVICE, but /dev/infiniband/rdma_cm is missing); modprobe rdma_ucm" \
		client write "$ADDRESS" 7471
	diagnose 3 "$ADDRESS" 7471
	check_failed 'this host' "the RDMA connection manager's device file is missing" 'this host'
	has "$OUT" '^ *next: modprobe rdma_ucm; without it, --bootstrap tcp at both ends$'
}

@test "no permission to open the RDMA device files" {
	undo chmod "$(stat -c %a /dev/infiniband/rdma_cm)" /dev/infiniband/rdma_cm
	chmod 600 /dev/infiniband/rdma_cm
	expect_error 3 'this user cannot open the RDMA device files' \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
	expect_error 3 'this user cannot open the RDMA device files' \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --port 0
	diagnose_as 3 "${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" 7471
	check_failed 'this host' 'this user cannot open the RDMA device files' 'this host'
	undo_all
	local file
	file=$(echo /dev/infiniband/uverbs*)
	undo chmod "$(stat -c %a "$file")" "$file"
	chmod 600 "$file"
	expect_error 3 "cannot use RDMA: this user cannot open the RDMA device files (no read/write permission on $file)" \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --port 0
	expect 3 "${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --json --port 0
	has "$OUT" '"status":3,"verdict":"failed","message":"cannot use RDMA: this user cannot open.*"mode":"any"'
}

@test "the locked memory limit: too low at the client, too low at the server, sufficient at 8 MiB" {
	local file=/tmp/port-of-nobody kib
	start_server any
	expect_error 1 'the locked-memory limit is too low (.*the limit is 4 KiB)' \
		"${AS_NOBODY[@]}" 4 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	diagnose_as 3 "${AS_NOBODY[@]}" 4 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	check_failed 'this host' 'the locked-memory limit is too low for a queue pair' 'this host'
	has "$OUT" '^ *next: raise .ulimit -l.'
	# This is sufficient for a queue pair, but not for the data.
	diagnose_as 1 "${AS_NOBODY[@]}" 1024 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	check_failed connection 'the locked-memory limit is too low' 'this host'
	has "$OUT" '^ *seen: .*needed .* KiB more, the limit is 1024 KiB'
	diagnose_as 0 "${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	clean
	stop_server
	for kib in 0 4; do
		expect_error 3 'the locked-memory limit is too low for a queue pair (the limit is .*B); raise .ulimit -l' \
			"${AS_NOBODY[@]}" $kib "$PAIR_BIN/rdma-server" --port 0 any
	done
	# Sufficient to start, but not to serve.
	rm -f $file
	"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --port 0 --port-file $file any >"$LOG" 2>"$ERRORS" &
	SERVER=$!
	wait_until test -s $file
	diagnose 3 "$ADDRESS" "$(cat $file)"
	check_failed connection 'the server could not allocate memory or a queue pair' 'this host'
	wait_line "$ERRORS" 'the locked-memory limit is too low'
	# A message needs one page.
	expect 0 client write "$ADDRESS" "$(cat $file)"
	stop_server
	rm -f $file
}

# bats test_tags=slow
@test "8 MiB of locked memory let an ordinary user serve 1,000 clients at once" {
	local file=/tmp/port-of-nobody n=$((1000 / PAIR_SCALE))
	rm -f $file
	"${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-server" --quiet --timeout 120 --handshake-timeout 120 --port 0 --port-file $file any \
		2>"$ERRORS" &
	SERVER=$!
	wait_until test -s $file
	generate_load write "$ADDRESS" "$(cat $file)" $n $n >"$OUT" 2>"$ERR" || fail "$(sort "$ERR" | uniq -c)"
	has "$OUT" "^$n verified, 0 failed\$"
	stop_server
	rm -f $file
}

@test "too few file descriptors" {
	# shellcheck disable=SC2016 # for the inner shell
	expect_error 1 'this process has reached its open-file limit' \
		bash -c 'exec 3>&- 4>&- && ulimit -n 5 && exec "$@"' sh "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
}

@test "a device that does not exist" {
	diagnose 3 --device nothing0
	check_failed 'this host' 'no such RDMA device' 'this host'
}

# Creates a second device on an interface that is up and has no address.
plain_up() {
	ip link add plain0 type dummy
	undo ip link delete plain0
	ip link set plain0 addrgenmode none
	ip address flush dev plain0
	ip link set plain0 up
	rdma link add rxe3 type rxe netdev plain0
	undo rdma link delete rxe3
}

@test "the interface of the device has no address, or only a link-local one" {
	plain_up
	diagnose 3 --device rxe3
	check_failed 'this host' 'interface has no suitable address' 'this host'
	has "$OUT" '^ *seen: port rxe3/1: network interface plain0 has no address$'
	ip address add fe80::77/64 dev plain0 nodad
	diagnose 3 --device rxe3
	check_failed 'this host' 'interface has only link-local IPv6 addresses' 'this host'
	has "$OUT" '^ *seen: port rxe3/1 has only link-local address fe80::77%plain0$'
	ip address add 10.96.0.1/24 dev plain0
	diagnose 0 --device rxe3
}

@test "the interface is down" {
	plain_up
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 down
	diagnose 3 --device rxe3
	check_failed 'this host' 'no usable RDMA port is active' 'this host'
	diagnose 3 10.96.0.2 7471
	has "$OUT" '^route       failed  '
	# A server starts, because the link may come up later.
	start_server --device rxe3
	has "$ERRORS" 'no usable RDMA port is active'
	stop_server
}

@test "the uverbs device file is missing" {
	local file
	file=$(echo /dev/infiniband/uverbs*)
	mv "$file" /dev/infiniband/away
	undo mv /dev/infiniband/away "$file"
	diagnose 3 "$ADDRESS" 7471
	check_failed 'this host' "the RDMA device's uverbs file is missing" 'this host'
	has "$OUT" "^ *seen: found $VM_DEVICE, but $file is missing\$"
	expect_error 3 "the RDMA device's uverbs file is missing" "$PAIR_BIN/rdma-server" --port 0
	undo_all
	diagnose 0
}

# Devices can be shared again only after the kernel has freed the namespace.
@test "the device is in another network namespace" {
	rdma system set netns exclusive
	undo wait_until rdma system set netns shared
	ip netns add bare
	undo ip netns delete bare
	diagnose_as 3 ip netns exec bare "$PAIR_BIN/rdma-client" diagnose
	check_failed 'this host' 'this network namespace has no RDMA device, and none is shared' 'this host'
	has "$OUT" '^ *seen: .*ib_core netns_mode is exclusive$'
	diagnose 0
	expect_error 3 'this network namespace has no RDMA device, and none is shared (.*exclusive)' \
		ip netns exec bare "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
}

@test "another network namespace: the interface and the device apart, and together" {
	ip netns add apart
	undo ip netns delete apart
	diagnose_as 3 ip netns exec apart "$PAIR_BIN/rdma-client" diagnose
	check_failed 'this host' "the RDMA device's network interface is in another network namespace" 'this host'
	ip link add plain1 netns apart type dummy
	ip -n apart address add 10.99.0.1/24 dev plain1
	ip -n apart link set plain1 up
	ip netns exec apart rdma link add second1 type rxe netdev plain1
	diagnose_as 3 ip netns exec apart "$PAIR_BIN/rdma-client" --device second1 diagnose
	check_failed 'this host' 'soft-RoCE receives nothing in this network namespace' 'this host'
	diagnose 0
}

@test "an interface in a VRF" {
	vrf_device
	expect 3 client --device second1 diagnose
	check_failed 'this host' "the soft-RoCE device's network interface is in a VRF" 'this host'
	ip route add 10.98.0.0/24 via 10.99.0.2 table 10
	diagnose 3 10.98.0.1
	check_failed route "the soft-RoCE device's network interface is in a VRF" 'this host'
	has "$OUT" '^ *seen: device second1, network interface plain1, VRF blue$'
	# Outside the VRF, the device passes.
	ip link set plain1 nomaster
	expect 0 client --device second1 diagnose
}

@test "an address of another host on a dummy interface" {
	diagnose 3 10.77.0.99
	check_failed neighbour 'the route to this address uses an interface that leads to no other host' 'this host'
	has "$OUT" "^ *seen: through $VM_INTERFACE (dummy)\$"
	has_not "$OUT" 'firewall'
}

@test "a routing rule for one source address" {
	ip route add 10.97.0.0/24 via 10.77.0.9 dev "$VM_INTERFACE" table 11
	undo ip route flush table 11
	ip rule add from "$VM_ADDRESS" lookup 11
	undo ip rule delete from "$VM_ADDRESS" lookup 11
	diagnose 3 10.97.0.1
	check_failed route "the routing rules of this host choose an RDMA device's route to this address only for certain source addresses" 'this host'
	has "$OUT" "^ *seen: there is a route from $VM_ADDRESS ($VM_DEVICE, $VM_INTERFACE)\$"
	diagnose 3 --source "$VM_ADDRESS" 10.97.0.1
	has "$OUT" '^route       ok '
}

@test "a host name that does not exist" {
	expect_error 3 'cannot resolve no.such.host.invalid:7471' \
		client --timeout 4 write no.such.host.invalid 7471
	diagnose 3 no.such.host.invalid 7471
	has "$OUT" '^name        failed  '
	has "$OUT" '^ *look: getent ahosts no.such.host.invalid$'
	has "$OUT" "^verdict: $UNKNOWN: .*; look at this host\\.\$"
}

# no_route ADDRESS CAUSE SIDE: an exchange and a diagnosis report this cause for an address without
# a usable route.
no_route() {
	expect_error 3 "$2" client write "$1" 7471
	diagnose 3 "$1" 7471
	check_failed route "$2" "$3"
}

@test "no network route, and routes that prohibit, discard or are unreachable" {
	local kind
	no_route 10.99.0.1 'this host has no route to this address' 'this host'
	has "$OUT" '^ *look: ip route get 10.99.0.1$'
	for kind in 'prohibit 10.98.0.0/24' 'blackhole 10.97.0.0/24' 'unreachable 10.92.0.0/24'; do
		# shellcheck disable=SC2086 # several words
		ip route add $kind
		undo ip route delete "$kind"
	done
	no_route 10.98.0.1 "a prohibit route on this host blocks this address" 'this host'
	no_route 10.97.0.1 'this address cannot be used' 'this host'
	no_route 10.92.0.1 'the network reports this address as unreachable' \
		'the other host or the path to it'
}

forget_box() { sed -i '/ box$/d' /etc/hosts; }

@test "a route through an interface without an RDMA device; a loopback address" {
	ip link add plain0 type dummy
	undo ip link delete plain0
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 up
	expect_error 3 "RDMA device (the route uses plain0 (dummy); RDMA addresses of this host: $ADDRESS ($VM_DEVICE, $VM_INTERFACE)" \
		client write 10.96.0.2 7471
	expect_error 3 "the network interface of this address has no RDMA device (RDMA addresses of this host: $ADDRESS ($VM_DEVICE" \
		"$PAIR_BIN/rdma-server" --bind 10.96.0.1 write
	# As Debian's installer names a host.
	echo '127.0.1.1 box' >>/etc/hosts
	undo forget_box
	expect_error 3 "^rdma-server: cannot listen on box: .* (box is 127.0.1.1; RDMA addresses of this host: $ADDRESS ($VM_DEVICE" \
		"$PAIR_BIN/rdma-server" --bind box write
	diagnose 3 10.96.0.2 7471
	check_failed route 'uses a network interface without an RDMA device' 'this host'
	has "$OUT" "^ *seen: .*plain0.*$ADDRESS ($VM_DEVICE"
	undo_all
	# Tunnels.
	local kind
	modprobe -a wireguard tun
	for kind in wireguard tun; do
		ip link add plain0 type $kind 2>/dev/null || ip tuntap add dev plain0 mode tun
		ip address add 10.96.0.1/24 dev plain0
		ip link set plain0 up
		expect_error 3 "RDMA device (the route uses plain0 ($kind); RDMA addresses" client write 10.96.0.2 7471
		ip link delete plain0
	done
	expect_error 3 "this is a loopback address.*RDMA addresses of this host: $ADDRESS ($VM_DEVICE" \
		client write 127.0.0.1 7471
	diagnose 3 127.0.0.1 7471
	has "$OUT" '^route       failed  '
	has "$OUT" "^ *seen: .*$ADDRESS ($VM_DEVICE"
}

@test "the outgoing interface has no carrier" {
	ethernet_up
	ip -n far link set far0 down
	# Linux 6.1: lowerlayerdown; 6.12, which cannot see the other end in its namespace: down.
	wait_until grep -q 'down$' /sys/class/net/near0/operstate
	diagnose 3 10.95.0.2 7471
	check_failed route 'the network interface to this address is down' 'this host'
	has "$OUT" '^ *seen: through near0, which has no carrier$'
}

@test "an absent host, a host without RDMA, a smaller MTU on the path" {
	ethernet_up
	expect_error 3 'the host does not reply to ARP or neighbour discovery' client write 10.95.0.9 7471
	expect_error 3 'ARP or neighbour discovery in time (no answer within 1 s)' \
		client --timeout 1 write 10.95.0.8 7471
	# A guest that stood still may learn first that the host does not reply.
	wait_until expect_error 3 'the --timeout is shorter than connecting usually takes (no answer within 0.01 s); raise it' \
		client --timeout 0.01 write 10.95.0.7 7471
	loop --verbose write 10.95.0.6
	wait_line "$ERR" 'trying 10.95.0.6'
	interrupt_loop
	has_not "$OUT" 'address resolved'
	diagnose 3 10.95.0.7 7471
	check_failed neighbour 'the host does not reply to ARP or neighbour discovery' 'the other host or the path to it'
	has "$OUT" '^ *look: ip neighbour show to 10.95.0.7$'
	has "$OUT" '^ *after: [0-9.]* s$'
	expect_error 3 'no reply to the RDMA connection request arrived.*no answer within 3 s' \
		client --timeout 3 write 10.95.0.2 7471
	diagnose 3 10.95.0.2 7471
	check_failed connection 'no reply to the RDMA connection request arrived' 'this host, the other host or the path between them'
	has "$OUT" '^neighbour   ok '
	has "$OUT" '^path        ok '
	diagnose 3 10.95.0.2
	check_failed connection 'no reply to the RDMA connection request arrived' 'this host, the other host or the path between them'
	# RDMA packets, which have at most 1,128 bytes here, fit 1,400 bytes.
	ip -n far link set far0 mtu 1400
	diagnose 3 10.95.0.2 7471
	has "$OUT" '^path        ok      datagrams of [0-9]* bytes arrive, those of 1500 are lost'
	has "$OUT" '^ *warning: packets as large as the MTU of this host do not reach the other host, but RDMA packets of up to 1128 bytes fit$'
	ip -n far link set far0 mtu 1100
	diagnose 3 10.95.0.2 7471
	has "$OUT" '^path        failed  probably: packets as large as the MTU of this host'
	has "$OUT" '^ *seen: datagrams of [0-9]* bytes arrive, those of 1500 are lost'
	has "$OUT" '^verdict: RDMA does not work: no reply to the RDMA connection request arrived'
}

@test "a host without RDMA: the connection manager times out" {
	ethernet_up
	# The connection manager sends 15 requests, which takes longer than a minute.
	expect_error 3 'no reply to the RDMA connection request arrived.*(Connection timed out)' \
		timeout 300 "$PAIR_BIN/rdma-client" --timeout 300 write 10.95.0.2 7471
}

@test "multicast and broadcast addresses, a link-local address without scope, an absent gateway" {
	ethernet_up
	ip route add 10.93.0.0/24 via 10.95.0.77
	expect_error 3 'cannot reach 10.95.0.255:7471: this is a broadcast address' client write 10.95.0.255
	expect_error 3 'cannot reach 224.0.0.5:7471: this is a multicast address' client write 224.0.0.5
	expect_error 3 'cannot reach .ff02::1.:7471: this is a multicast address' client write ff02::1
	expect_error 3 'cannot reach .fe80::1.:7471: a link-local address needs the name of a local interface.*append it' \
		client write fe80::1
	expect_error 3 'this host has no network interface of that name (eth9)' client write 'fe80::1%eth9'
	diagnose 3 10.95.0.255 7471
	check_failed route 'a broadcast or multicast address' 'this host'
	diagnose 3 fe80::1 7471
	check_failed route 'this address cannot be used' 'this host'
	has "$OUT" '^ *seen: a link-local address needs its interface'
	diagnose 3 10.93.0.1 7471
	has "$OUT" '^ *seen: the gateway 10.95.0.77 does not answer ARP'
	has "$OUT" '^ *look: ip neighbour show to 10.95.0.77$'
}

@test "nothing listens on the port" {
	expect_error 3 'nothing is listening on this port; start rdma-server on that host' client write "$ADDRESS" 7471
	diagnose 3 "$ADDRESS" 7471
	VERDICT=$UNKNOWN check_failed connection 'nothing is listening on this port' 'this host'
	has "$OUT" '^ *next: start rdma-server on that host'
}

refusing_peer() { # REASON
	start_peer "$PAIR_PEERS/tests/one-host/misbehaving-peer" --refuse "$1" "$ADDRESS" "$DIR/peer-port"
}

# Each case: the refused session, the reason, the message.
@test "a server that refuses: a message for each reason" {
	local who reason pattern verdict
	while read -r who reason pattern; do
		verdict=$UNKNOWN
		[ "$reason" != 4 ] || verdict='RDMA does not work'
		[ "$who" = diagnosis ] || {
			refusing_peer "$reason"
			expect_error 3 "$pattern" client write "$ADDRESS" "$PEER_PORT"
			exits_with 0 "$PEER"
		}
		[ "$who" = exchange ] || {
			refusing_peer "$reason"
			diagnose 3 "$ADDRESS" "$PEER_PORT"
			has "$OUT" "^connection *failed  .*$pattern"
			has "$OUT" "^verdict: $verdict: .*$pattern"
			exits_with 0 "$PEER"
		}
	done <<-END
	both 0 refused without a known reason
	exchange 1 runs in read mode
	both 2 speaks protocol version 99, this client speaks 2
	both 3 does not support this kind of session
	both 4 could not allocate memory or a queue pair
	both 6 does not use the RDMA device with this address
	both 7 could not parse the client's hello
	both 8 is shutting down
	exchange 9 this host's RDMA device does not accept RDMA READs
	exchange 12 the server cannot read its input
	diagnosis 13 slots for diagnoses and measurements are taken
	exchange 17 accepts at most 0 bytes from a client
	both 99 for a reason unknown to this version
	END
}

@test "a peer whose queue pair permits no WRITE, or that receives into invalid memory" {
	listening_peer -- get deny mr pause
	expect_error 4 "the peer's device rejected the request: not permitted, READ depth exceeded" \
		client write "$ADDRESS" "$PEER_PORT"
	kill -KILL "$PEER"
	wait "$PEER" || true
	listening_peer --fault 1 -- pause
	expect_error 4 "the peer's device could not complete the request" client write "$ADDRESS" "$PEER_PORT"
}

@test "a server whose process is stopped, and what it reports when it continues" {
	start_server any
	kill -STOP "$SERVER"
	expect_error 3 'no reply to the RDMA connection request arrived' \
		client --timeout 2 write "$ADDRESS" "$PORT"
	kill -CONT "$SERVER"
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	has "$ERRORS" 'the peer went away during the connection handshake (the client gave up before'
}

@test "mode mismatch in both directions" {
	start_server read
	expect_error 3 "the server runs in read mode" client write "$ADDRESS" "$PORT"
	# A diagnosis of the same server passes: it does not depend on the mode.
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
	start_server write
	expect_error 3 "the server runs in write mode" client read "$ADDRESS" "$PORT"
	stop_server
}

@test "our server refuses incompatible clients" {
	start_server --discard any
	start_good write
	local kind
	for kind in version mode session garbage; do
		if misbehaving_peer --hello "$kind" "$ADDRESS" "$PORT" closed 2>"$ERR"; then
			fail "$kind was accepted"
		fi
		has "$ERR" "$REJECTED"
		feed_good
	done
	good_was_served
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	is_empty "$ERRORS"
}

@test "unavailable ports and addresses" {
	start_server --port 7471 any
	expect_error 1 'another program is listening on this port' "$PAIR_BIN/rdma-server" --port 7471 any
	expect_error 1 'another program is listening on the port' \
		"$PAIR_BIN/rdma-server" --bind "$ADDRESS" --port 7471 any
	stop_server
	expect_error 1 'does not have this address' "$PAIR_BIN/rdma-server" --bind 10.1.2.3 any
	expect_error 1 'ports below 1024 require privileges' \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --port 80 any
	expect_error 3 'no such RDMA device' "$PAIR_BIN/rdma-server" --device nothing0 any
}

@test "--verbose adds library names and error numbers" {
	expect 3 client --verbose write "$ADDRESS" 7471
	has "$ERR" '\[RDMA_CM_EVENT_REJECTED: invalid service ID 8\]'
	expect 3 client --verbose write 10.99.0.1 7471
	has "$ERR" '\[rdma_resolve_addr: ENETUNREACH 101\]'
}
