#!/usr/bin/env bats
# rdma-client diagnose: what it says of healthy hosts, and of every fault that one host can show.

load common
load diagnose

@test "a healthy run: every rung holds, both ends are shown beside each other" {
	start_server any
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	[ ! -s "$ERR" ]
	has "$OUT" "^this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096\$"
	has "$OUT" "^ *$VM_DEVICE/1 GID [0-9]*: ::ffff:$ADDRESS, RoCE v2, $VM_INTERFACE\$"
	has "$OUT" "^route       ok .*RDMA device $VM_DEVICE\$"
	has "$OUT" '^data        ok      WRITE and READ of 1 to 1048576 bytes, both ways'
	has "$OUT" "^ *device  *$VM_DEVICE  *$VM_DEVICE *\$"
	has "$OUT" '^ *rdma mtu  *4096  *4096 *$'
	has "$OUT" "^ *gid  *::ffff:$ADDRESS  *::ffff:$ADDRESS *\$"
	has_not "$OUT" ' differs$'
	wait_line "$LOG" '^peer disconnected.$'
	stop_server
	count "$LOG" '^received connection request.$' 1
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
}

@test "a server whose --timeout is too short for exchanges is diagnosed all the same" {
	start_server --timeout 0.001 --handshake-timeout 0.001 any
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
	[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
}

@test "IPv6" {
	start_server any
	diagnose 0 "$VM_ADDRESS6" "$PORT"
	clean
	stop_server
}

@test "a server in any mode, with files or without, is diagnosed without an option" {
	local options
	head -c 100000 /dev/urandom >"$DIR/file"
	for options in write read "--input $DIR/file --output $DIR/in/ any"; do
		mkdir -p "$DIR/in"
		# shellcheck disable=SC2086 # words
		start_server $options
		diagnose 0 "$ADDRESS" "$PORT"
		clean
		has "$OUT" "^ *mode  *-  *${options##* } *\$"
		has "$OUT" '^ *clients  *-  *0 of 2048 *$'
		has_not "$OUT" '^ *max size '
		stop_server
		[ ! -s "$ERRORS" ] || fail "$(cat "$ERRORS")"
	done
	start_server --max-size 10K any
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	has "$OUT" '^ *max size  *-  *10240 *$'
	stop_server
	# An exchange does care.
	start_server read
	expect 3 client write "$ADDRESS" "$PORT"
	has "$ERR" 'runs in read mode'
	diagnose 0 "$ADDRESS" "$PORT"
	clean
	stop_server
}


@test "--json is one document, --quiet says nothing" {
	start_server any
	expect 0 client --json diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	jq -e '.status == 0 and .program == "rdma-client" and .schema == 1 and (.rungs | length) == 11
		and ([.rungs[] | select(.state == "ok")] | length) == 11
		and .here.device == .there.device and (.inventory.devices | length) == 1
		and (.verdict | startswith("RDMA works between the two hosts"))
		and .bandwidth.there > 0 and .bandwidth.back > 0 and .path_mtu >= 4200
		and .here.rdma_mtu == 4096 and .there.interface_mtu == 4200
		and .inventory.devices[0].ports[0].rdma_mtu == 4096
		and .here.megabits == .inventory.devices[0].ports[0].megabits
		and .counters.here.out_of_order == 0 and .counters.there.all.rcvd_pkts > 0' "$OUT" >/dev/null ||
		fail "$(cat "$OUT")"
	has "$ERR" '^verdict: RDMA works'
	cat "$OUT" >"$DIR/documents"
	expect 0 client --json --quiet diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	[ ! -s "$ERR" ]
	expect 0 client --quiet diagnose "$ADDRESS" "$PORT"
	[ ! -s "$OUT" ] && [ ! -s "$ERR" ]
	stop_server
	expect 3 client --json --quiet diagnose "$ADDRESS" "$PORT"
	jq -e '.status == 3 and .rungs[5].state == "failed" and .rungs[5].guess == false
		and .rungs[5].side == "the other host" and .rungs[6].state == "skipped"
		and .there == {} and (.rungs[5].cause | contains("nothing listens"))
		and .bandwidth == {"there": null, "back": null}
		and .counters == {"here": null, "there": null}' "$OUT" >/dev/null ||
		fail "$(cat "$OUT")"
	cat "$OUT" >>"$DIR/documents"
	expect 3 client --quiet diagnose "$ADDRESS" "$PORT"
	[ ! -s "$OUT" ] && [ ! -s "$ERR" ]
	expect 0 client --json --quiet diagnose
	jq -e '.status == 0 and .host == null and .verdict == "This host is ready for RDMA."' "$OUT"
	cat "$OUT" >>"$DIR/documents"
	count "$DIR/documents" . 3
	tests/validate-report --diagnosis "$DIR/documents"
}

@test "without a host: this host alone; without a port: that RDMA answers there" {
	diagnose 0
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	has "$OUT" "^ *rdma_cm usable, ib_core loaded, rdma_ucm loaded"
	count "$OUT" ' skipped no HOST was given$' 10
	diagnose 0 "$ADDRESS"
	has "$OUT" '^connection  ok      RDMA answers there (in [0-9]* ms)'
	count "$OUT" ' skipped no PORT was given$' 5
	has "$OUT" '^verdict: No fault as far as was looked, up to: connection\.$'
}

no_device_is_said() {
	diagnose 3 && broke 'this host' 'this host has no RDMA device' 'this host' &&
		diagnose 3 "$ADDRESS" 7471 &&
		broke 'this host' 'this host has no RDMA device' 'this host' &&
		has "$OUT" '^ *seen: .*holds none' && has "$OUT" '^ *next: load the driver' &&
		has "$OUT" '^connection  skipped it was not reached$'
}

@test "no RDMA device" {
	without_device no_device_is_said
}

no_module_is_said() {
	diagnose 3 "$ADDRESS" 7471 &&
		broke 'this host' "the RDMA connection manager's device file is missing" 'this host' &&
		has "$OUT" '^ *next: modprobe rdma_ucm$'
}

@test "rdma_ucm is not loaded" {
	without_rdma_ucm no_module_is_said
}

no_rights_are_said() {
	diagnose_as 3 "${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" 7471 &&
		broke 'this host' 'this user may not open the RDMA device files' 'this host'
}

@test "no right to open the RDMA device files" {
	without_rights no_rights_are_said
}

@test "locked memory too small, at the client and at the server; an ordinary user has enough" {
	local file=/tmp/port-of-nobody kib
	start_server any
	diagnose_as 3 "${AS_NOBODY[@]}" 4 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	broke 'this host' 'this process may lock too little memory' 'this host'
	has "$OUT" '^ *next: raise .ulimit -l.'
	# Enough for a queue pair, but not for the data.
	diagnose_as 1 "${AS_NOBODY[@]}" 1024 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	broke connection 'the locked-memory limit is too low' 'this host'
	has "$OUT" '^ *seen: .*needed .* KiB more, the limit is 1024 KiB'
	diagnose_as 0 "${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-client" diagnose "$ADDRESS" "$PORT"
	clean
	stop_server
	for kib in 4 1024; do
		rm -f $file
		"${AS_NOBODY[@]}" $kib "$PAIR_BIN/rdma-server" --port-file $file any >"$LOG" 2>"$ERRORS" &
		SERVER=$!
		wait_until test -s $file
		diagnose 3 "$ADDRESS" "$(cat $file)"
		broke connection 'the server could not get the memory or the queue pair' 'the other host'
		wait_line "$ERRORS" 'the locked-memory limit is too low'
		stop_server
	done
	rm -f $file
}

@test "a device that there is not" {
	diagnose 3 --device nothing0
	broke 'this host' 'this host has no RDMA device of that name' 'this host'
}

@test "a host name that does not exist" {
	diagnose 3 no.such.host.invalid 7471
	has "$OUT" '^name        failed  '
	has "$OUT" '^ *look: getent ahosts no.such.host.invalid$'
	has "$OUT" '^verdict: RDMA does not work: .*; look at this host\.$'
}

@test "no network route, one that prohibits, a black hole" {
	ip route add prohibit 10.98.0.0/24
	ip route add blackhole 10.97.0.0/24
	local failed=0
	{
		diagnose 3 10.99.0.1 7471 &&
			broke route 'this host has no network route to that address' 'this host' &&
			has "$OUT" '^ *look: ip route get 10.99.0.1$' &&
			diagnose 3 10.98.0.1 7471 &&
			broke route "this host's routes prohibit that address" 'this host' &&
			diagnose 3 10.97.0.1 7471 &&
			broke route 'the address cannot be used from here' 'this host'
	} || failed=1
	ip route delete prohibit 10.98.0.0/24
	ip route delete blackhole 10.97.0.0/24
	[ $failed -eq 0 ]
}

@test "a way through an interface without an RDMA device, loopback" {
	ip link add plain0 type dummy
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 up
	local failed=0
	{
		diagnose 3 10.96.0.2 7471 &&
			broke route 'through a network interface without an RDMA device' 'this host' &&
			has "$OUT" "^ *seen: .*plain0.*$ADDRESS ($VM_DEVICE"
	} || failed=1
	ip link delete plain0
	[ $failed -eq 0 ]
	diagnose 3 127.0.0.1 7471
	has "$OUT" '^route       failed  '
	has "$OUT" "^ *seen: .*$ADDRESS ($VM_DEVICE"
}

@test "the interface is down" {
	ip link add plain0 type dummy
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 up
	rdma link add rxe3 type rxe netdev plain0
	ip link set plain0 down
	local failed=0
	{
		diagnose 3 --device rxe3 && broke 'this host' 'no RDMA port that may be used is active' 'this host' &&
			diagnose 3 10.96.0.2 7471 && has "$OUT" '^route       failed  '
	} || failed=1
	rdma link delete rxe3
	ip link delete plain0
	[ $failed -eq 0 ]
}

@test "a host that is absent; one that is there but has no RDMA; one behind a smaller MTU" {
	ethernet_up
	local failed=0
	{
		diagnose 3 10.95.0.9 7471 &&
			broke neighbour 'the host does not answer address resolution' \
				'the other host, or the way to it' &&
			has "$OUT" '^ *look: ip neighbour show to 10.95.0.9$' &&
			diagnose 3 10.95.0.2 7471 &&
			broke connection 'the host is up, but no RDMA answers there' \
				'the other host, or the way to it' &&
			has "$OUT" '^neighbour   ok ' && has "$OUT" '^path        ok ' &&
			diagnose 3 10.95.0.2 &&
			broke connection 'the host is up, but no RDMA answers there' \
				'the other host, or the way to it' &&
			ip -n far link set far0 mtu 1400 &&
			diagnose 3 10.95.0.2 7471 &&
			has "$OUT" '^path        failed  packets as large as this host.s interface allows' &&
			has "$OUT" '^ *seen: datagrams of 1[34][0-9][0-9] bytes arrive, those of 1500 are' &&
			has "$OUT" '^verdict: RDMA does not work: probably the host is up, but no RDMA answers'
	} || failed=1
	ethernet_down
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "a name with several addresses: one that answers is taken, as for an exchange" {
	ethernet_up
	ip -6 address add fd95::1/64 dev near0 nodad
	printf 'fd95::9 twin\n%s twin\n' "$ADDRESS" >"$DIR/hosts"
	mount --bind "$DIR/hosts" /etc/hosts
	local failed=0
	start_server any
	{
		expect 0 client write twin "$PORT" && diagnose 0 twin "$PORT" && clean &&
			has "$OUT" "^name        ok      fd95::9, $ADDRESS" &&
			printf 'fd95::9 twin\n10.95.0.9 twin\n' >"$DIR/hosts" &&
			diagnose 3 twin "$PORT" &&
			broke neighbour 'the host does not answer address resolution' \
				'the other host, or the way to it'
	} || failed=1
	umount /etc/hosts
	stop_server
	ethernet_down
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "addresses of many hosts, or without their interface; a gateway that is absent" {
	ethernet_up
	ip route add 10.93.0.0/24 via 10.95.0.77
	local failed=0
	{
		diagnose 3 10.95.0.255 7471 &&
			broke route 'an address of many hosts' 'this host' &&
			diagnose 3 fe80::1 7471 &&
			broke route 'the address cannot be used from here' 'this host' &&
			has "$OUT" '^ *seen: a link-local address needs its interface' &&
			diagnose 3 10.93.0.1 7471 &&
			has "$OUT" '^ *seen: the gateway 10.95.0.77 does not answer ARP' &&
			has "$OUT" '^ *look: ip neighbour show to 10.95.0.77$'
	} || failed=1
	ethernet_down
	[ $failed -eq 0 ] || fail "$(said)"
}

@test "nothing listens on the port" {
	diagnose 3 "$ADDRESS" 7471
	broke connection 'nothing listens on that port' 'the other host'
	has "$OUT" '^ *next: start rdma-server there'
	has "$OUT" '^ *after: [0-9]* ms$'
}

@test "--source and --device choose the way" {
	ip address add 10.94.0.1/24 dev "$VM_INTERFACE"
	local failed=0
	start_server any
	{
		diagnose 0 --source 10.94.0.1 "$ADDRESS" "$PORT" && clean &&
			has "$OUT" '^ *gid  *::ffff:10.94.0.1  *::ffff:'"$ADDRESS" &&
			diagnose 0 --device "$VM_DEVICE" "$ADDRESS" "$PORT" && clean &&
			diagnose 3 --source 10.1.2.3 "$ADDRESS" "$PORT" &&
			broke route 'this host does not have the source address' 'this host' &&
			diagnose 3 --source ::1 "$ADDRESS" "$PORT" &&
			broke route 'the address cannot be used from here' 'this host' &&
			diagnose 3 --source no.such.host.invalid "$ADDRESS" "$PORT" &&
			has "$OUT" '^ *seen: .*--source no.such.host.invalid\|failed .*--source no.such'
	} || failed=1
	ip address delete 10.94.0.1/24 dev "$VM_INTERFACE"
	stop_server
	[ $failed -eq 0 ]
}

@test "a server that refuses: each reason as a sentence" {
	local reason pattern
	while read -r reason pattern; do
		start_peer "$PAIR_PEERS/tests/soft-roce/misbehaving-peer" --refuse "$reason" "$ADDRESS" \
			"$DIR/peer-port"
		diagnose 3 "$ADDRESS" "$PEER_PORT"
		has "$OUT" "^connection *failed  .*$pattern"
		has "$OUT" "^verdict: RDMA does not work: .*$pattern"
		ends_with 0 "$PEER"
	done <<-END
	0 its program refused without a reason that we know
	2 speaks protocol version 99, this program version 2
	3 does not know this kind of session
	4 could not get the memory or the queue pair
	6 does not serve on the RDMA device behind that address
	7 could not make sense of our introduction
	8 is stopping and takes no more clients
	13 the server serves as many diagnoses as it can
	99 for a reason that this version does not know
	END
}

@test "another program at the port, one of the tutorial" {
	start_peer "$PAIR_PEERS/tests/soft-roce/tutorial-peer" write --listen "$ADDRESS" "$DIR/peer-port"
	diagnose 3 "$ADDRESS" "$PEER_PORT"
	broke connection 'what listens on that port is not rdma-server' 'the other host'
	kill -KILL "$PEER"
	wait "$PEER" || true
	listening_odd_peer --intro none -- closed
	diagnose 3 "$ADDRESS" "$PEER_PORT"
	broke connection 'what listens on that port is not rdma-server' 'the other host'
	ends_with 0 "$PEER"
}
