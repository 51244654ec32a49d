#!/usr/bin/env bats
# rdma-client diagnose: healthy hosts, options, names, kinds of servers. Failures: symptoms.bats.

load common
load diagnose

@test "a healthy link: every check passes in one line; --verbose shows both ends side by side" {
	# Linux 6.12, unlike 6.1, knows the network interface of an iWARP device's GID.
	local interface
	interface=$(cat "/sys/class/infiniband/$VM_DEVICE/ports/1/gid_attrs/ndevs/0") || true
	start_server any
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	is_empty "$ERR"
	[ "$(wc -l <"$OUT")" -eq 15 ] || fail "$(cat "$OUT")"
	has_not "$OUT" 'GID\| rdma mtu \|rdma_cm'
	diagnose 0 --verbose "$ADDRESS" "$PORT"
	clean
	has "$OUT" "^this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, .*, \(rdma_rxe\|siw\)\$"
	iwarp || has "$OUT" "^ *$VM_DEVICE/1 GID [0-9]*: ::ffff:$ADDRESS, RoCE v2, $VM_INTERFACE\$"
	! iwarp || has "$OUT" "^ *$VM_DEVICE/1 GID 0: .*, iWARP${interface:+, $interface}\$"
	has "$OUT" "^route       ok .*RDMA device $VM_DEVICE\$"
	has "$OUT" '^data        ok      WRITE and READ of 1 to 1,048,576 bytes in both directions'
	has "$OUT" "^ *device  *$VM_DEVICE  *$VM_DEVICE *\$"
	has "$OUT" '^ *rdma mtu  *4096  *4096 *$'
	iwarp || has "$OUT" "^ *gid  *::ffff:$ADDRESS  *::ffff:$ADDRESS *\$"
	has_not "$OUT" ' differs$'
	stop_server
	count "$LOG" '^diagnosis by .* in .*: .*B, best rate .*B/s\.$' 2
	count "$LOG" '^received connection request.$' 0
	is_empty "$ERRORS"
}

@test "a server whose --timeout is too short for exchanges can still be diagnosed" {
	start_server --timeout 0.001 --handshake-timeout 0.001 any
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
	is_empty "$ERRORS"
}

@test "a diagnosis over IPv6" {
	start_server any
	diagnose 0 "$VM_ADDRESS6" "$PORT"
	clean
	stop_server
}

# bats test_tags=portable
@test "servers in every mode, with and without files, are diagnosed without options" {
	local options
	head -c 100000 /dev/urandom >"$DIR/file"
	for options in write read "--input $DIR/file --output $DIR/in/ any"; do
		mkdir -p "$DIR/in"
		# shellcheck disable=SC2086 # several words
		start_server $options
		diagnose 0 --verbose "$ADDRESS" "$PORT"
		clean
		has "$OUT" "^ *mode  *-  *${options##* } *\$"
		has "$OUT" '^ *clients  *-  *0 of 2048 *$'
		has_not "$OUT" '^ *max size '
		stop_server
		is_empty "$ERRORS"
	done
	start_server --max-size 10K any
	diagnose 0 --verbose "$ADDRESS" "$PORT"
	clean
	has "$OUT" '^ *max size  *-  *10240 *$'
	stop_server
}

# bats test_tags=roce
@test "one of each operation works that soft-RoCE has, on one line, or with --verbose on one each" {
	local operation
	start_server any
	diagnose 0 "$ADDRESS" "$PORT"
	has "$OUT" '^operations  ok      15 ok, 1 unsupported: alternate path$'
	has_not "$OUT" 'compare-and-swap'
	diagnose 0 --verbose "$ADDRESS" "$PORT"
	for operation in SEND 'SEND with immediate' 'WRITE with immediate' 'WRITE of 0 bytes' 'READ of 0 bytes' 'SEND of 0 bytes' \
		'scatter and gather' 'inline data' 'fence after a READ' fetch-and-add compare-and-swap 'shared receive queue' \
		'memory window' 'unreliable connection' datagram; do
		has "$OUT" "^            $operation ok\$"
	done
	has "$OUT" '^            alternate path unsupported, this host: Linux has it on InfiniBand only$'
	is_empty "$ERRORS"
	stop_server
}

@test "over iWARP, operations have connections of their own; without them, they are not tried" {
	local operation
	iwarp || skip 'over software iWARP only'
	start_server any
	diagnose 0 --verbose "$ADDRESS" "$PORT"
	has "$OUT" '^operations  ok      8 ok, 8 unsupported$'
	for operation in SEND 'WRITE of 0 bytes' 'READ of 0 bytes' 'SEND of 0 bytes' 'scatter and gather' 'inline data' \
		'fence after a READ' 'shared receive queue'; do
		has "$OUT" "^            $operation ok\$"
	done
	has "$OUT" '^            fetch-and-add unsupported, this host: atomic_cap is IBV_ATOMIC_NONE$'
	has "$OUT" '^            memory window unsupported, other host: no IBV_DEVICE_MEM_WINDOW$'
	has "$OUT" '^            datagram unsupported, this host: iWARP has only reliable connections$'
	# A client that does not connect leaves nothing.
	misbehaving_peer --hello diagnosis "$ADDRESS" "$PORT" command:operations:nowhere receive command:operations-link:wanted receive command:facts receive disconnect >"$OUT"
	count "$OUT" '^received operations\(-link\)\? done$' 2
	[ "$(tail -n 1 "$OUT")" = 'received facts done' ]
	# A firewall lets only the server's port through.
	nft add table inet only
	undo nft delete table inet only
	nft add chain inet only input '{ type filter hook input priority 0; }'
	nft add rule inet only input tcp dport != "$PORT" 'tcp flags & (syn | ack) == syn' drop
	diagnose 0 --verbose "$ADDRESS" "$PORT"
	has "$OUT" '^operations  skipped no second connection$'
	has "$OUT" '^            SEND unknown, .*: its own connection, at another port, was not made'
	is_empty "$ERRORS"
	stop_server
}

# bats test_tags=portable
@test "--json prints one document, --quiet only the verdict of a failure" {
	local guess=false probably=''
	start_server any
	expect 0 client --json diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	jq -e '.status == 0 and .program == "rdma-client" and .schema == 5 and .command == "diagnose" and (.checks | length) == 15
		and all(.checks[]; .state == "ok" or (.state == "skipped" and (.check | IN("manager", "multicast", "other way"))))
		and .here.device == .there.device and (.inventory.devices | length) == 1
		and .verdict == "healthy" and (.message | startswith("RDMA works within this host"))
		and .error == null
		and .bandwidth.there > 0 and .bandwidth.back > 0 and .path_mtu >= 4200
		and .here.rdma_mtu == 4096 and .there.interface_mtu == 4200
		and .inventory.devices[0].ports[0].rdma_mtu == 4096
		and .here.megabits == .inventory.devices[0].ports[0].megabits' "$OUT" >/dev/null ||
		fail "$(cat "$OUT")"
	iwarp || jq -e '.checks[1].state == "ok"
		and [.operations[] | select(.state != "ok")] == [{"operation": "alternate path", "state": "unsupported",
			"reason": "this host: Linux has it on InfiniBand only"}]
		and .counters.here.out_of_order == 0 and .counters.there.all.rcvd_pkts > 0' "$OUT" >/dev/null ||
		fail "$(cat "$OUT")"
	is_empty "$ERR"
	expect 0 client --json --verbose diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	has "$ERR" '^verdict: RDMA works'
	expect 0 client --json --quiet diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	is_empty "$ERR"
	expect 0 client --quiet diagnose "$ADDRESS" "$PORT"
	[ ! -s "$OUT" ]
	is_empty "$ERR"
	stop_server
	expect 3 client --json --quiet diagnose "$ADDRESS" "$PORT"
	# TCP's refusal, which is all that iWARP has, may be a firewall's.
	! iwarp || guess=true probably='probably '
	jq -e --argjson guess $guess --arg probably "$probably" '.status == 3
		and .checks[6].state == "failed" and .checks[6].guess == $guess
		and .checks[6].side == "this host" and .checks[7].state == "skipped"
		and .verdict == "unknown" and (.message | startswith("Whether RDMA works is unknown: " + $probably + "nothing is listening"))
		and .error.side == "this host" and .error.cause == .checks[6].cause
		and .error.fix == .checks[6].next
		and .there == {} and (.checks[6].cause | contains("nothing is listening"))
		and .bandwidth == {"there": null, "back": null}
		and .counters == {"here": null, "there": null}' "$OUT" >/dev/null ||
		fail "$(cat "$OUT")"
	failure_is_on_one_line
	expect 3 client --quiet diagnose "$ADDRESS" "$PORT"
	[ ! -s "$OUT" ]
	failure_is_on_one_line
	expect 0 client --json --quiet diagnose
	jq -e '.status == 0 and .host == null and .verdict == "ready"
		and .message == "This host is ready for RDMA."' "$OUT"
}

failure_is_on_one_line() {
	one_line "$ERR"
	has "$ERR" "^rdma-client: $ADDRESS: Whether RDMA works is unknown: \(probably \)\?nothing is listening"
}

@test "without HOST only the local host is checked; without PORT, no server is needed" {
	diagnose 0
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	has "$OUT" "^ *rdma_cm usable, ib_core loaded, rdma_ucm loaded"
	has_not "$OUT" ' skipped no HOST given$'
	diagnose 0 --verbose
	count "$OUT" ' skipped no HOST given$' 13
	diagnose 0 --verbose "$ADDRESS"
	count "$OUT" ' skipped no rdma-server found$' 7
	diagnose 0 "$ADDRESS"
	has_not "$OUT" ' skipped no rdma-server found$'
	if iwarp; then
		has "$OUT" '^connection  skipped nothing is listening on port 7471, and over iWARP, only a server'
		has "$OUT" '^verdict: No problems found in the checks up to \(path\|neighbour\|route\); no rdma-server found, so no data was exchanged\.$'
	else
		has "$OUT" '^connection  ok      RDMA responds (in [0-9]* ms)'
		has "$OUT" '^verdict: No problems found in the checks up to connection; no rdma-server found, so no data was exchanged\.$'
	fi
	start_server --port 7471
	diagnose 0 "$ADDRESS"
	clean
	stop_server
	# A server that refuses is not a missing one.
	local form
	head -c 32 /dev/urandom >"$DIR/secret"
	chmod 600 "$DIR/secret"
	start_server --port 7471 --secret-file "$DIR/secret"
	for form in "$ADDRESS" "$ADDRESS:7471" "[$ADDRESS]:7471" "$ADDRESS 7471"; do
		# shellcheck disable=SC2086 # two words
		diagnose 3 $form
		has "$OUT" '^connection  failed  client and server do not have the same secret$'
		has "$OUT" '^verdict: Whether RDMA works is unknown: client and server do not have the same secret; look at this host\.$'
	done
	stop_server
}

# bats test_tags=portable
@test "a host name with several addresses: the first that responds is used, as for an exchange" {
	ethernet_up
	ip -6 address add fd95::1/64 dev near0 nodad
	printf 'fd95::9 twin\n%s twin\n' "$ADDRESS" >"$DIR/hosts"
	mount --bind "$DIR/hosts" /etc/hosts
	undo umount /etc/hosts
	start_server any
	expect 0 client write twin "$PORT"
	diagnose 0 twin "$PORT"
	clean
	has "$OUT" "^name        ok      fd95::9, $ADDRESS"
	printf 'fd95::9 twin\n10.95.0.9 twin\n' >"$DIR/hosts"
	diagnose 3 twin "$PORT"
	check_failed neighbour 'the host does not reply to ARP or neighbour discovery' 'the other host or the path to it'
	stop_server
}

@test "--source and --device select the path of a diagnosis" {
	ip address add 10.94.0.1/24 dev "$VM_INTERFACE"
	undo ip address delete 10.94.0.1/24 dev "$VM_INTERFACE"
	start_server any
	diagnose 0 --verbose --source 10.94.0.1 "$ADDRESS" "$PORT"
	clean
	iwarp || has "$OUT" '^ *gid  *::ffff:10.94.0.1  *::ffff:'"$ADDRESS"
	diagnose 0 --device "$VM_DEVICE" "$ADDRESS" "$PORT"
	clean
	diagnose 3 --source 10.1.2.3 "$ADDRESS" "$PORT"
	check_failed route 'no RDMA device of this host has the source address' 'this host'
	diagnose 3 --source ::1 "$ADDRESS" "$PORT"
	check_failed route 'this address cannot be used' 'this host'
	diagnose 3 --source no.such.host.invalid "$ADDRESS" "$PORT"
	has "$OUT" '^ *seen: .*--source no.such.host.invalid\|failed .*--source no.such'
	stop_server
}

@test "software iWARP in a VRF: only a program in the VRF can use it" {
	iwarp || skip 'soft-RoCE receives nothing in a VRF'
	vrf_device
	ip route add 10.98.0.0/24 via 10.99.0.2 table 10
	diagnose 3 10.98.0.1
	check_failed route 'the route of an RDMA device to this address is in a VRF' 'this host'
	has "$OUT" '^ *seen: address 10.99.0.1, device second1, network interface plain1, VRF blue$'
	diagnose 3 --source 10.99.0.1 10.98.0.1
	check_failed route 'the route of an RDMA device to this address is in a VRF' 'this host'
	diagnose_as 0 ip vrf exec blue "$PAIR_BIN/rdma-client" diagnose --source 10.99.0.1 10.99.0.1
	has "$OUT" '^route       ok  *.*, VRF blue; RDMA device second1$'
	rdma link delete second1
}

@test "a tutorial program listens on the port" {
	start_peer "$PAIR_PEERS/tests/one-host/tutorial-peer" write --listen "$ADDRESS" "$DIR/peer-port"
	diagnose 3 "$ADDRESS" "$PEER_PORT"
	VERDICT=$UNKNOWN check_failed connection 'the program on this port is not rdma-server' 'this host'
	exits_with 1 "$PEER"
	has "$DIR/peer" 'the peer disconnected'
	listening_peer --hello none -- closed
	diagnose 3 "$ADDRESS" "$PEER_PORT"
	VERDICT=$UNKNOWN check_failed connection 'the program on this port is not rdma-server' 'this host'
	exits_with 0 "$PEER"
}

# libibverbs reads this variable only if it loads the providers itself.
@test "RDMAV_DRIVERS adds a provider" {
	RDMAV_DRIVERS=absent client diagnose >"$OUT" 2>"$ERR"
	has "$ERR" "couldn't load driver 'libabsent"
}
