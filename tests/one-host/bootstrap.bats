#!/usr/bin/env bats
# Connections without rdmacm: the two ends exchange their GIDs and queue pair numbers over TCP.

load common

setup() {
	prepare
	! iwarp || [[ $BATS_TEST_DESCRIPTION == *iWARP* ]] || skip 'queue pairs of iWARP need rdmacm'
}

tcp_server() { start_server --bootstrap tcp "$@"; }
tcp_client() { client "$1" --bootstrap tcp "${@:2}"; }

# A second port, whose interface has no IP address but its link-local one.
second_port() {
	ip link add nearby type dummy
	undo ip link delete nearby
	ip link set nearby up
	rdma link add second type rxe netdev nearby
	undo rdma link delete second
	wait_until grep -q '[1-9a-f]' /sys/class/infiniband/second/ports/1/gids/0
}

@test "every command works without rdmacm, by TCP to any address of the server" {
	local command
	mkdir "$DIR/in"
	tcp_server --verbose --output "$DIR/in/" any
	head -c 3000000 /dev/urandom >"$DIR/data"
	for command in write read send; do
		expect 0 tcp_client "$command" "$ADDRESS" "$PORT"
		has "$OUT" '^TCP connected\.$'
		has "$OUT" "^verified both ways by ${command^^} in "
	done
	expect 0 tcp_client write --verbose --input "$DIR/data" 127.0.0.1 "$PORT"
	cmp "$DIR/data" "$DIR/in/data"
	has "$ERR" "^rdma-client: queue pair [0-9]* to INIT: $VM_DEVICE port 1, P_Key index 0 (0xffff)$"
	has "$ERR" '^rdma-client: queue pair [0-9]* to RTR: from .* (RoCE v2, index [0-9]*), LID 0, to .*, QP [0-9]*, PSN [0-9]*, path MTU [0-9]*, SL 0, '
	has "$ERR" '^rdma-client: queue pair [0-9]* to RTS: PSN [0-9]*, timeout 17, retries 7, RNR retries 7, READs [1-9]'
	has "$ERRORS" '^rdma-server: 127.0.0.1:[0-9]*: path from .* of '
	has "$ERR" ', SL 0, traffic class 0, '
	expect 0 tcp_client write --verbose --traffic-class 96 --mtu 512 127.0.0.1 "$PORT"
	has "$ERR" ' to RTR: .*, path MTU 512, SL 0, traffic class 96, '
	has "$ERRORS" ' to RTR: .*, path MTU 512, SL 0, traffic class 96, '
	for command in 'bandwidth write' 'latency read' 'bandwidth send --threads 2 --qps 2' 'bandwidth write --transport ud' 'latency fetch-add'; do
		[[ $command != *ud ]] || command='bandwidth send --transport ud'
		# shellcheck disable=SC2086 # words
		expect 0 client $command --duration 0.1 --warm-up 0 --verify --bootstrap tcp "$ADDRESS" "$PORT"
	done
	expect 0 tcp_client diagnose 127.0.0.1 "$PORT"
	has "$OUT" '^verdict: RDMA works within this host: '
	has "$OUT" '^connection  ok      connected by TCP in '
	stop_server
}

@test "a port whose interface has no IP address: rdmacm cannot use it, TCP can" {
	second_port
	tcp_server --device second any
	has "$LOG" "^on another host: rdma-client write --bootstrap tcp $ADDRESS $PORT$"
	expect 0 tcp_client write --device second "$ADDRESS" "$PORT"
	has "$OUT" '^verified both ways by WRITE in .*: second/1 here, second/1 at '
	expect 0 tcp_client diagnose --device second "$ADDRESS" "$PORT"
	has "$OUT" '^verdict: RDMA works within this host: '
	expect 0 tcp_client diagnose --verbose --device second "$ADDRESS" "$PORT"
	has "$OUT" "^other way   skipped not by rdmacm: the RDMA device's network interface has no suitable address$"
	expect 3 client write --device second "$ADDRESS" "$PORT"
	stop_server
	# The server takes the port on the same link, although another one carries the TCP connection.
	tcp_server any
	expect 0 tcp_client write --device second "$ADDRESS" "$PORT"
	has "$OUT" '^verified both ways by WRITE in .*: second/1 here, second/1 at '
	stop_server
	tcp_server --device "$VM_DEVICE" any
	expect 3 tcp_client write --device second "$ADDRESS" "$PORT"
	has "$ERR" "the server's routes to this host's GID do not use its RDMA port (here fe80:.*, there fe80:"
	stop_server
}

@test "a device can be removed under a server that only TCP clients have used" {
	local _
	second_port
	tcp_server any
	timeout 20 rdma link delete second
	for _ in 1 2; do
		rdma link add second type rxe netdev nearby
		wait_until grep -q '[1-9a-f]' /sys/class/infiniband/second/ports/1/gids/0
		wait_until tcp_client write --device second "$ADDRESS" "$PORT"
		timeout 20 rdma link delete second
	done
	expect 0 tcp_client write "$ADDRESS" "$PORT"
	rdma link add second type rxe netdev nearby # for teardown
	stop_server
}

# mistake CAUSE EVIDENCE OPTION...: the client's message.
mistake() {
	expect 3 tcp_client write "${@:3}" "$ADDRESS" "$PORT"
	has "$ERR" "$1 (.*$2"
	one_line "$ERR"
}

@test "mistakes with GIDs, ports and partitions are named, with the GIDs of both ends" {
	local index
	tcp_server any
	mistake 'this entry of the GID table is empty' "entry 200 of $VM_DEVICE port 1; it has 0 (" --gid-index 200
	mistake 'this entry of the GID table is empty' "entry 9 of $VM_DEVICE port 1" --gid-index 9
	mistake 'one end has no active InfiniBand or RoCE port' "port 2 of $VM_DEVICE" --device "$VM_DEVICE" --ib-port 2
	mistake 'this entry of the partition table is empty' "$VM_DEVICE port 1: index 7 of " --pkey-index 7
	expect 3 tcp_client write --device nowhere "$ADDRESS" "$PORT"
	has "$ERR" 'no such RDMA device (--device nowhere'
	mistake 'this host does not have the source address' 'Cannot assign requested address' --source 10.1.1.1
	expect 3 tcp_client write 224.0.0.1 "$PORT"
	has "$ERR" 'this is a multicast address'
	stop_server
	# A server with such a mistake does not start.
	expect 3 "$PAIR_BIN/rdma-server" --bootstrap tcp --port 0 --gid-index 200 any
	has "$ERR" "this entry of the GID table is empty (.*entry 200 of "
	expect 3 "$PAIR_BIN/rdma-server" --bootstrap both --port 0 --pkey-index 7 any
	has "$ERR" "this entry of the partition table is empty (.*index 7 of "
	# The index of an address that has gone.
	tcp_server any
	ip address add 10.99.0.1/24 dev "$VM_INTERFACE"
	index=$(gid_index 10.99.0.1)
	expect 0 tcp_client write --gid-index "$index" "$ADDRESS" "$PORT"
	ip address delete 10.99.0.1/24 dev "$VM_INTERFACE"
	wait_until gid_is_gone 10.99.0.1
	mistake 'this entry of the GID table is empty' "entry $index of " --gid-index "$index"
	stop_server
	# IPv4 at one end, IPv6 at the other; one that has both takes what fits.
	index=$(gid_index fd77:)
	tcp_server --verbose any
	expect 0 tcp_client write --gid-index "$index" "$ADDRESS" "$PORT"
	has "$ERRORS" ": path from fd77:.* to fd77:"
	stop_server
	tcp_server --gid-index "$index" any
	expect 0 tcp_client write "$ADDRESS" "$PORT"
	mistake 'one end has only a GID of IPv4, the other only one of IPv6' "here $ADDRESS .*, there fd77:" \
		--gid-index "$(gid_index "$ADDRESS")"
	stop_server
	# A link-local GID at one end only.
	index=$(gid_index fe80:)
	tcp_server --gid-index "$(gid_index "$ADDRESS")" any
	mistake 'one end has only a link-local GID' "here fe80:.*, there $ADDRESS (RoCE v2, index" --gid-index "$index"
	stop_server
	tcp_server --gid-index "$index" any
	expect 0 tcp_client write --gid-index "$index" "$ADDRESS" "$PORT"
	mistake 'one end has only a link-local GID' "here $ADDRESS .*, there fe80:" --gid-index "$(gid_index "$ADDRESS")"
	expect 0 tcp_client write "$ADDRESS" "$PORT" # it offers all that it has
	stop_server
	second_port
	ip link set nearby down
	tcp_server any
	expect 3 tcp_client write --device second "$ADDRESS" "$PORT"
	has "$ERR" 'no usable RDMA port is active (port second/1 is DOWN'
	stop_server
}

# gid_index ADDRESS|PREFIX: the index of the first GID of this IPv4 address, or that begins like this.
gid_index() {
	local prefix=$1 file
	if [[ $1 == *.* ]]; then
		# shellcheck disable=SC2046,SC2183 # four numbers
		prefix=$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' $(tr . ' ' <<<"$1"))
	fi
	file=$(grep -l "^$prefix" /sys/class/infiniband/"$VM_DEVICE"/ports/1/gids/* | head -1)
	[ -n "$file" ] && echo "${file##*/}"
}
gid_is_gone() { ! gid_index "$1"; }

@test "a server that accepts one way only, and a client of the other" {
	start_server any
	expect 3 tcp_client write "$ADDRESS" "$PORT"
	has "$ERR" 'nothing accepts TCP connections on this port'
	has "$ERR" 'start rdma-server there with --bootstrap tcp or both'
	stop_server
	tcp_server any
	expect 3 client write "$ADDRESS" "$PORT"
	has "$ERR" 'the rdma-server on this port accepts connections by TCP only; use --bootstrap tcp'
	stop_server
	start_server --bootstrap both any
	expect 0 client write "$ADDRESS" "$PORT"
	expect 0 tcp_client write "$ADDRESS" "$PORT"
	stop_server
}

@test "a port in use is named for the way that cannot have it" {
	local program
	perl -MIO::Socket -e '$| = 1; $listener = IO::Socket::INET->new(Listen => 1);
		print $listener->sockport, "\n"; sleep' >"$DIR/tcp" &
	program=$!
	CLIENTS+=("$program")
	wait_line "$DIR/tcp" .
	expect 1 "$PAIR_BIN/rdma-server" --bootstrap both --port "$(cat "$DIR/tcp")" any
	has "$ERR" 'another program is listening on this port (TCP: Address already in use)'
	expect 3 tcp_client write --timeout 2 "$ADDRESS" "$(cat "$DIR/tcp")"
	has "$ERR" 'the program on this TCP port does not answer: it is overloaded, or not an rdma-server with --bootstrap tcp'
	# The TCP port does not matter to rdmacm, and a program that speaks something else is recognized.
	start_server --port "$(cat "$DIR/tcp")" any
	stop_server
	perl -MIO::Socket -e '$| = 1; $listener = IO::Socket::INET->new(Listen => 1);
		print $listener->sockport, "\n"; $client = $listener->accept; print $client "HTTP/1.1 400 Bad Request\r\n"; sleep' >"$DIR/web" &
	CLIENTS+=($!)
	wait_line "$DIR/web" .
	expect 3 tcp_client write "$ADDRESS" "$(cat "$DIR/web")"
	has "$ERR" 'the program on this TCP port is not an rdma-server with --bootstrap tcp (it sent something else); check the port number'
	kill "$program" "${CLIENTS[-1]}"
}

# Frames of docs/protocol.md: an offer of version 2 without GIDs; the refusal of a path for reason 999.
@test "another release is recognized by TCP" {
	local fd
	tcp_server any
	exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"
	printf '\1\0\14\0RDMApair\2\0\0\0' >&"$fd"
	[ "$(head -c 6 <&"$fd" | od -An -tx1)" = ' 02 00 08 00 09 00' ]
	exec {fd}>&-
	stop_server
	perl -MIO::Socket -e '$| = 1; $listener = IO::Socket::INET->new(Listen => 1);
		print $listener->sockport, "\n"; $client = $listener->accept; $client->recv($offer, 1000);
		print $client pack("v6", 2, 8, 999, 0, 0, 0); sleep' >"$DIR/later" &
	CLIENTS+=($!)
	wait_line "$DIR/later" .
	expect 3 tcp_client write "$ADDRESS" "$(cat "$DIR/later")"
	has "$ERR" 'the other end is of a release with which this one cannot connect by TCP '
	kill "${CLIENTS[-1]}"
}

@test "diagnose tries both ways, and says which one works" {
	start_server --bootstrap both any
	expect 0 client diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^other way   ok      by TCP, too: connected and message exchanged in '
	expect 0 client diagnose --verbose "$ADDRESS" "$PORT"
	has "$OUT" "^ *GID here: port 1, index [0-9]*: $ADDRESS, RoCE v2, $VM_INTERFACE; used by rdmacm and TCP$"
	has "$OUT" "^ *GID there: port 1, index [0-9]*: $ADDRESS, RoCE v2, $VM_INTERFACE; used by rdmacm and TCP$"
	has "$OUT" "^ *GID there: port 1, index [0-9]*: fe80:[0-9a-f:]*, RoCE v2, $VM_INTERFACE$"
	expect 0 tcp_client diagnose --verbose "$ADDRESS" "$PORT"
	has "$OUT" '^other way   ok      by rdmacm, too: '
	has "$OUT" "^ *GID there: port 1, index [0-9]*: $ADDRESS, RoCE v2, $VM_INTERFACE; used by rdmacm and TCP$"
	stop_server
	tcp_server any
	expect 3 client diagnose "$ADDRESS" "$PORT"
	has "$OUT" '^verdict: RDMA works if connected by TCP, but not by rdmacm: the rdma-server on this port accepts connections by TCP only; '
	stop_server
}

@test "without the device file of rdma_cm, TCP works, and diagnose says so" {
	undo sysctl -qw "kernel.modprobe=$(sysctl -n kernel.modprobe)"
	undo modprobe rdma_ucm
	sysctl -qw kernel.modprobe=/bin/false
	modprobe -r rdma_ucm
	tcp_server any
	expect 0 tcp_client write "$ADDRESS" "$PORT"
	expect 3 client write "$ADDRESS" "$PORT"
	has "$ERR" "device file is missing .*; modprobe rdma_ucm; without it, --bootstrap tcp at both ends"
	expect 3 client diagnose "$ADDRESS" "$PORT"
	has "$OUT" "^verdict: RDMA works if connected by TCP, but not by rdmacm: the RDMA connection manager's device file is missing; "
	stop_server
}

@test "over iWARP, TCP is refused at both ends" {
	iwarp || skip 'over software iWARP only'
	start_server any
	expect 3 tcp_client write "$ADDRESS" "$PORT"
	stop_server
	start_server --bootstrap tcp --port 0 any
	expect 3 tcp_client write "$ADDRESS" "$PORT"
	has "$ERR" "queue pairs of iWARP can only be connected by rdmacm ($VM_DEVICE); use --bootstrap rdmacm"
	stop_server
}

@test "what a client that connects by TCP never says holds up nobody" {
	local fd _
	SILENT=()
	tcp_server any
	for _ in {1..20}; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"
		SILENT+=("$fd")
	done
	printf 'GET / HTTP/1.0' >&"${SILENT[1]}" # in one write: what follows is not read
	expect 0 tcp_client write "$ADDRESS" "$PORT"
	wait_until stranger_is_gone
	stop_server
}
stranger_is_gone() {
	local answer
	! read -r -t 1 -u "${SILENT[1]}" answer && [ $? -lt 128 ]
}
