#!/usr/bin/env bats
# Every failure of a connection that soft-RoCE can show: one line that names the cause, and the
# exit status that belongs to it.

load common

no_device_is_said() {
	says 3 'this host has no RDMA device (.*holds none); load the driver' \
		client write "$ADDRESS" 7471 &&
		says 1 'this host has no RDMA device' "$PAIR_BIN/rdma-server" write
}

@test "no RDMA device" {
	without_device no_device_is_said
}

@test "rdma_ucm is not loaded" {
	without_rdma_ucm says 3 \
		"device $VM_DEVICE is there, /dev/infiniband/rdma_cm is not); modprobe rdma_ucm" \
		client write "$ADDRESS" 7471
}

@test "no right to open the RDMA device files" {
	without_rights says 3 'this user may not open the RDMA device files' \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
}

@test "8 MiB of locked memory are enough for an ordinary user to serve 1,000 clients at once" {
	local file=/tmp/port-of-nobody n=$((1000 / PAIR_SCALE))
	rm -f $file
	"${AS_NOBODY[@]}" 8192 "$PAIR_BIN/rdma-server" --quiet --timeout 120 --handshake-timeout 120 --port-file $file any \
		2>"$ERRORS" &
	SERVER=$!
	wait_until test -s $file
	swarm write "$ADDRESS" "$(cat $file)" $n $n >"$OUT" 2>"$ERR" || fail "$(sort "$ERR" | uniq -c)"
	has "$OUT" "^$n verified, 0 failed\$"
	stop_server
	rm -f $file
}

@test "locked memory too small, at the client and at the server" {
	start_server any
	says 1 'the locked-memory limit is too low (.*the limit is 4 KiB)' \
		"${AS_NOBODY[@]}" 4 "$PAIR_BIN/rdma-client" write "$ADDRESS" "$PORT"
	stop_server
	local file=/tmp/port-of-nobody
	rm -f $file
	"${AS_NOBODY[@]}" 4 "$PAIR_BIN/rdma-server" --port-file $file any >"$LOG" 2>"$ERRORS" &
	SERVER=$!
	wait_until test -s $file
	says 3 'the server could not get the memory or the queue pair for another client' \
		client write "$ADDRESS" "$(cat $file)"
	has "$ERRORS" 'the locked-memory limit is too low'
	stop_server
}

@test "too few file descriptors" {
	# shellcheck disable=SC2016 # for the inner shell
	says 1 'this process has too many open files' \
		bash -c 'exec 3>&- 4>&- && ulimit -n 5 && exec "$@"' sh "$PAIR_BIN/rdma-client" write "$ADDRESS" 7471
}

@test "a host name that does not exist" {
	says 3 'cannot find the host no.such.host.invalid:7471' \
		client --timeout 4 write no.such.host.invalid 7471
}

@test "no network route" {
	says 3 'this host has no network route to that address' client write 10.99.0.1 7471
}

@test "a route that prohibits the address, a route into a black hole" {
	ip route add prohibit 10.98.0.0/24
	ip route add blackhole 10.97.0.0/24
	local failed=0
	says 3 "this host's routes prohibit that address" client write 10.98.0.1 7471 || failed=1
	says 3 'the address cannot be used from here' client write 10.97.0.1 7471 || failed=1
	ip route delete prohibit 10.98.0.0/24
	ip route delete blackhole 10.97.0.0/24
	[ $failed -eq 0 ]
}

@test "a route through an interface without an RDMA device" {
	ip link add plain0 type dummy
	ip address add 10.96.0.1/24 dev plain0
	ip link set plain0 up
	local failed=0
	says 3 "RDMA device (the route leaves through plain0; RDMA addresses of this host: $ADDRESS ($VM_DEVICE, $VM_INTERFACE)" \
		client write 10.96.0.2 7471 || failed=1
	says 1 'the network interface of that address has no RDMA device' \
		"$PAIR_BIN/rdma-server" --bind 10.96.0.1 write || failed=1
	ip link delete plain0
	[ $failed -eq 0 ]
}

@test "loopback" {
	says 3 "this is a loopback address.*RDMA addresses of this host: $ADDRESS ($VM_DEVICE" \
		client write 127.0.0.1 7471
}

@test "a host that does not answer ARP; one that is there but has no RDMA" {
	ethernet_up
	local failed=0
	says 3 'the host does not answer address resolution' client write 10.95.0.9 7471 || failed=1
	says 3 '(ARP or neighbour discovery) in time (no answer within 1 s)' \
		client --timeout 1 write 10.95.0.8 7471 || failed=1
	says 3 'the host is up, but no RDMA answers there.*no answer within 3 s' \
		client --timeout 3 write 10.95.0.2 7471 || failed=1
	ethernet_down
	[ $failed -eq 0 ]
}

@test "a host without RDMA, until the connection manager gives it up" {
	only_in_release
	ethernet_up
	local failed=0
	# It asks 15 times, which takes longer than a minute.
	says 3 'the host is up, but no RDMA answers there.*(Connection timed out)' \
		timeout 300 "$PAIR_BIN/rdma-client" --timeout 300 write 10.95.0.2 7471 || failed=1
	ethernet_down
	[ $failed -eq 0 ]
}

@test "a peer whose queue pair allows no WRITE, or that receives into memory that it does not have" {
	listening_odd_peer -- get deny mr pause
	says 4 "the peer's device refused the request: no READ depth left" \
		client write "$ADDRESS" "$PEER_PORT"
	kill -KILL "$PEER"
	wait "$PEER" || true
	listening_odd_peer --fault 1 -- pause
	says 4 "the peer's device could not complete the request" client write "$ADDRESS" "$PEER_PORT"
}

@test "nothing listens on the port" {
	says 3 'nothing listens on that port; start rdma-server there' client write "$ADDRESS" 7471
}

@test "a server whose program is stopped, and what it says of the client later" {
	start_server any
	kill -STOP "$SERVER"
	says 3 'no RDMA answers there, or its program is stuck' \
		client --timeout 2 write "$ADDRESS" "$PORT"
	kill -CONT "$SERVER"
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	has "$ERRORS" 'the peer went away during the connection handshake (its request was given up before'
}

@test "mode mismatch, both ways" {
	start_server read
	says 3 "the server at $ADDRESS:$PORT runs in read mode" client write "$ADDRESS" "$PORT"
	stop_server
	start_server write
	says 3 "the server at $ADDRESS:$PORT runs in write mode" client read "$ADDRESS" "$PORT"
	stop_server
}

@test "our server refuses what it cannot agree to" {
	start_server any
	start_good write
	local kind
	for kind in version mode session garbage; do
		if odd_peer --intro "$kind" "$ADDRESS" "$PORT" closed 2>"$ERR"; then
			fail "$kind was accepted"
		fi
		has "$ERR" 'REJECTED, status 28'
		feed_good
	done
	good_was_served
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	[ ! -s "$ERRORS" ]
}

@test "a server that refuses: each reason as a sentence" {
	local reason pattern
	while read -r reason pattern; do
		start_peer "$PAIR_PEERS/tests/soft-roce/misbehaving-peer" --refuse "$reason" "$ADDRESS" \
			"$DIR/peer-port"
		says 3 "$pattern" client write "$ADDRESS" "$PEER_PORT"
		wait "$PEER"
	done <<-END
	0 its program refused without a reason that we know
	1 runs in read mode
	2 speaks protocol version 99, this program version 2
	3 does not know this kind of session
	4 could not get the memory or the queue pair
	6 does not serve on the RDMA device behind that address
	7 could not make sense of our introduction
	8 is stopping and takes no more clients
	9 this host's RDMA device allows the server no RDMA READ
	12 the server cannot read its own input
	17 takes at most 0 bytes from a client
	99 for a reason that this version does not know
	END
}

@test "ports that cannot be had, addresses that are not there" {
	start_server --port 7471 any
	says 1 'another program listens on that port' "$PAIR_BIN/rdma-server" --port 7471 any
	says 1 'another program listens on that port' \
		"$PAIR_BIN/rdma-server" --bind "$ADDRESS" --port 7471 any
	stop_server
	says 1 'does not have that address' "$PAIR_BIN/rdma-server" --bind 10.1.2.3 any
	says 1 'ports below 1024 need more rights' \
		"${AS_NOBODY[@]}" 64 "$PAIR_BIN/rdma-server" --port 80 any
	says 1 'no RDMA device of that name' "$PAIR_BIN/rdma-server" --device nothing0 any
}

@test "--verbose adds the library's names and numbers" {
	expect 3 client --verbose write "$ADDRESS" 7471
	has "$ERR" '\[RDMA_CM_EVENT_REJECTED: invalid service ID 8\]'
	expect 3 client --verbose write 10.99.0.1 7471
	has "$ERR" '\[rdma_resolve_addr: ENETUNREACH 101\]'
}
