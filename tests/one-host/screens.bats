#!/usr/bin/env bats
# Whole screens as a user sees them, on terminals of several widths, with times, rates, ports and digests
# masked: what is printed, in which order, and where lines are broken.

load common
load streams
load ../screens

# screen COLUMNS STATUS ARGUMENT...: the client's screen.
screen() {
	on_terminal "$1" "$2" "$(realpath "$PAIR_BIN/rdma-client")" "${@:3}"
}

# start_screen COLUMNS ARGUMENT...: starts the client on a terminal. Sets $CLIENT to its process.
start_screen() {
	rm -f "$DIR/pid"
	start_on_terminal "$1" "$(realpath "$PAIR_BIN/rdma-client")" "${@:2}"
	wait_until test -s "$DIR/pid"
	CLIENT=$(<"$DIR/pid")
}

# start_fed_screen COLUMNS ARGUMENT...: the same, and it has sent a part of its input, a FIFO.
start_fed_screen() {
	open_fifo "$DIR/fifo"
	start_screen "$1" --timeout 60 --input fifo "${@:2}" 7>&-
	printf first >&7
	wait_until partial_file_has "$DIR/in" 5
}

# ends_with STATUS: the client that was started on a terminal exits.
ends_with() {
	exits_with "$1" "$TERMINAL" || fail "$(cat "$DIR/screen")"
	mask <"$DIR/screen" >"$OUT"
	exec 7>&-
	rm -f "$DIR/fifo"
}

# served LINE...: what the server has printed, which has ended: first on standard output, after the three
# lines about its addresses, then on standard error.
served() {
	{
		sed "1,3d; s|$DIR/||g" "$LOG"
		sed "s|$DIR/||g" "$ERRORS"
	} | mask >"$OUT"
	shows "$@"
}

CHECKS_80=(
	"manager     ok      $VM_DEVICE answers connection requests"
	"name        ok      HOST"
	"route       ok      this host, through lo; RDMA device $VM_DEVICE"
	"neighbour   ok      this host"
	"path        ok      datagrams of 65535 bytes arrive"
)

# bats test_tags=roce
@test "screens: a healthy diagnosis has one line for each check at 80, 60 and 40 columns" {
	start_server any
	screen 80 0 diagnose "$ADDRESS" "$PORT"
	sed -i -E 's/239\.255\.[0-9N]+\.[0-9N]+/GROUP/; /^counters/s/(nothing harmful.*|this host: no errors.*|no errors.*)$/COUNTED/' "$OUT"
	shows 'verdict: RDMA works within this host: N MB/s to it, N MB/s from it.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  ok      address and route resolved in N s, connected in N s' \
		'message     ok      round trip in N s' \
		'both ends   ok      compatible' \
		'data        ok      WRITE and READ of up to 1 MiB, both ways: all bytes correct' \
		'bandwidth   ok      N MB/s to the server, N MB/s from it (software RDMA)' \
		'counters    ok      COUNTED' \
		'operations  ok      15 ok, 1 unsupported: alternate path' \
		'multicast   ok      joined GROUP, and received a datagram from itself'
	screen 60 0 diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 15 ] || fail "$(cat "$OUT")"
	has "$OUT" '^verdict: RDMA works within this host\(: to N from N MB/s\)\?\.$'
	has "$OUT" '^data        ok WRITE and READ, both ways: all bytes correct$'
	has "$OUT" '^bandwidth   ok N MB/s to the server, N MB/s from it$'
	screen 40 0 diagnose "$ADDRESS" "$PORT"
	sed -i -E '/^counters/s/(nothing harmful|no errors.*)$/COUNTED/' "$OUT"
	shows 'verdict: RDMA works within this host.' \
		"this host   ok $VM_DEVICE/1 ACTIVE, MTU 4096" \
		"manager     ok $VM_DEVICE answers" \
		'name        ok HOST' \
		"route       ok lo, RDMA device $VM_DEVICE" \
		'neighbour   ok this host' \
		'path        ok 65535 bytes arrive' \
		'connection  ok connected in N s' \
		'message     ok round trip in N s' \
		'both ends   ok compatible' \
		'data        ok all bytes correct' \
		'bandwidth   ok to N from N MB/s' \
		'counters    ok COUNTED' \
		'operations  ok 15 ok, 1 unsupported' \
		'multicast   ok joined a group'
	stop_server
}

# bats test_tags=roce
@test "screens: diagnoses of this host alone, without a server, and of a port without a listener" {
	screen 80 0 diagnose "$ADDRESS"
	shows 'verdict: No problems found in the checks up to connection; no rdma-server found,' \
		'         so no data was exchanged.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  ok      RDMA responds (in N s); to continue, start rdma-server on' \
		'                    this host, or give its PORT'
	screen 80 3 diagnose "$ADDRESS" 999
	shows 'verdict: Whether RDMA works is unknown: nothing is listening on this port; look' \
		'         at this host.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  failed  nothing is listening on this port' \
		'                    where: this host' \
		'                    next: start rdma-server on that host, or check the port' \
		'                      number'
	screen 80 0 diagnose
	has "$OUT" '^verdict: This host is ready for RDMA\.$'
	has "$OUT" "^            $VM_DEVICE/1: ACTIVE, LinkUp, Ethernet, N Gb/sec (1X SDR), rdma_rxe,\$"
	has_not "$OUT" 'unknown\|skipped'
}

# bats test_tags=roce
@test "screens: an exchange of messages, a file, a directory, bandwidth and latency" {
	mkdir -p "$DIR/in" "$DIR/tree"
	start_server --output "$DIR/in/" any
	printf '%0100000d' 7 >"$DIR/file"
	cp "$DIR/file" "$DIR/tree/a"
	screen 80 0 write --input file "$ADDRESS" "$PORT"
	# Where the line is broken depends on the numbers.
	[ "$(wc -l <"$OUT")" -eq 2 ] || fail "$(cat "$OUT")"
	[ "$(tr -s ' \n' ' ' <"$OUT")" = 'sent file to PEER: 100,000 bytes (100.0 kB) by WRITE in N s, N MB/s, verified, XXH3 HASH. ' ] ||
		fail "$(cat "$OUT")"
	screen 80 0 write --input tree "$ADDRESS" "$PORT"
	[[ "$(tr -s ' \n' ' ' <"$OUT")" == 'sent tree (1 file, N kB) to PEER by WRITE in N s, N MB/s, verified, XXH3 HASH. ' ]] ||
		fail "$(cat "$OUT")"
	screen 80 0 bandwidth write --duration 0.1 --size 4K "$ADDRESS" "$PORT"
	sed -i -E '/^(counters of|no packet)/d' "$OUT"
	shows "WRITE bandwidth from $(uname -n) ($VM_DEVICE/1) to HOST ($VM_DEVICE/1), DATE TIME" \
		'both ends:  rdma_rxe, N Gb/sec (1X SDR), RDMA MTU 4096, RoCE v2, poll METHOD' \
		'size  average    worst     best messages this host    other' \
		'   B     MB/s     MB/s     MB/s      1/s  CPU s/GB CPU s/GB' \
		"$(sed -n 5p "$OUT")" \
		'best rate: N MB/s at size 4K'
	has "$OUT" '^  4K N '
	screen 80 0 latency write --duration 0.1 --size 8 "$ADDRESS" "$PORT"
	sed -i -E '/^(counters of|no packet)/d' "$OUT"
	shows "WRITE latency from $(uname -n) ($VM_DEVICE/1) to HOST ($VM_DEVICE/1), DATE TIME" \
		'both ends:  rdma_rxe, N Gb/sec (1X SDR), RDMA MTU 4096, RoCE v2, poll METHOD' \
		'size   minimum   median     90 %     99 %   99.9 %  99.99 %   maximum' \
		'   B        us       us       us       us       us       us        us' \
		"$(sed -n 5p "$OUT")" \
		'best median: N s at size 8, half the round trip'
	# Of few operations, high percentiles are unknown.
	has "$OUT" '^   8 N N N N.* N$'
	stop_server
	start_server any
	screen 80 0 write "$ADDRESS" "$PORT"
	shows 'address resolved.' 'route resolved.' 'send completed successfully.' \
		'received MSG_MR. writing message to remote memory...' "$(sed -n 5,6p "$OUT")" 'disconnected.' \
		"verified both ways by WRITE in N s: $VM_DEVICE/1 here, $VM_DEVICE/1 at PEER."
	screen 40 3 write "$ADDRESS" 999
	awk 'length > 40 { wide = 1 } END { exit wide }' "$OUT" || fail "$(cat "$OUT")"
	[[ "$(tr -s ' \n' ' ' <"$OUT")" == *' rdma-client: cannot connect to PEER: nothing is listening on this port; start rdma-server '* ]] ||
		fail "$(cat "$OUT")"
	stop_server
}

# Each kind of failure.

REFUSED='rdma-client: cannot connect to PEER: the server'

# bats test_tags=roce
# shellcheck disable=SC2016 # no command
@test "screens: clients that a server refuses, and what it prints" {
	echo data >"$DIR/file"
	start_server write
	screen 80 3 read "$ADDRESS" "$PORT"
	shows 'address resolved.' 'route resolved.' "$REFUSED runs in write mode;" \
		'  use the same mode at both ends, or run the server with `any`.'
	screen 40 3 read "$ADDRESS" "$PORT"
	shows 'address resolved.' 'route resolved.' 'rdma-client: cannot connect to' '  PEER: the server runs in' \
		'  write mode; use the same mode at both' '  ends, or run the server with `any`.'
	screen 80 3 write file "$ADDRESS:$PORT"
	shows "$REFUSED has no --output, so" '  it would not keep the data of --input; start rdma-server with --output' \
		'  DIRECTORY/ or, to test only the path, --discard.'
	stop_server
	served 'refused PEER: it requested the other mode.' \
		'refused PEER: the server has no --output, so it would not keep the data of --input.' \
		'refused HOST: it requested the other mode, and 1 more in the last minute.' \
		'served no client in N s; refused 3 clients.'
	start_server --output "$DIR" --max-size 4 any
	screen 80 3 write --input file "$ADDRESS" "$PORT"
	shows "$REFUSED accepts at most 4" "  bytes from a client; send less, or raise the server's --max-size."
	stop_server
	served 'refused PEER: its data exceeds --max-size.' 'served no client in N s; refused 1 client.'
}

SECRET='do not have the same secret'

# bats test_tags=roce
@test "screens: another secret, in each command" {
	local command here='the peer does not have the same secret; give both programs the same --secret-file'
	umask 077
	head -c 32 /dev/urandom | base64 >"$DIR/ours"
	head -c 32 /dev/urandom | base64 >"$DIR/theirs"
	start_server --secret-file "$DIR/theirs" any
	screen 80 3 write --secret-file ours "$ADDRESS" "$PORT"
	shows 'address resolved.' 'route resolved.' 'rdma-client: cannot connect to PEER: client and server do not have' \
		'  the same secret; use the same --secret-file at both ends, or none.'
	for command in 'bandwidth write' 'latency read'; do
		# shellcheck disable=SC2086 # several words
		screen 80 3 $command --secret-file ours "$ADDRESS" "$PORT"
		shows 'rdma-client: cannot connect to PEER: client and server do not have' \
			'  the same secret; use the same --secret-file at both ends, or none.'
	done
	screen 80 3 diagnose --secret-file ours "$ADDRESS" "$PORT"
	shows "verdict: Whether RDMA works is unknown: client and server ${SECRET% secret}" \
		'         secret; look at this host.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		"connection  failed  client and server $SECRET" \
		'                    where: this host' \
		'                    next: use the same --secret-file at both ends, or none'
	stop_server
	# How many of their steps are printed depends on what is counted.
	sed -i '/^client /d; /^received connection/d; /^peer /d' "$LOG"
	served 'served 1 exchange (1 failed), 2 measurements (2 failed) and 1 diagnosis (1 failed) in N s.' \
		"rdma-server: exchange with PEER failed: $here." \
		"rdma-server: measurement with PEER failed: $here." \
		"rdma-server: diagnosis with PEER failed: $here." \
		"rdma-server: measurement with HOST failed: $here; and 1 more in the last minute."
}

# bats test_tags=roce
@test "screens: a port without a listener, in each command" {
	local command
	echo data >"$DIR/file"
	for command in 'write file HOST:999' 'bandwidth write HOST 999' 'latency read HOST 999'; do
		# shellcheck disable=SC2086 # several words
		screen 80 3 ${command/HOST/$ADDRESS}
		shows 'rdma-client: cannot connect to PEER: nothing is listening on this port;' \
			'  start rdma-server on that host, or check the port number.'
	done
}

TWO_DEVICES="this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096; rxe1/1 ACTIVE, MTU 1024"

# bats test_tags=roce
@test "screens: an absent host" {
	ethernet_up
	screen 80 3 diagnose 10.95.0.9 7471
	shows 'verdict: RDMA does not work: probably the host does not reply to ARP or' \
		'         neighbour discovery; look at the other host or the path to it.' \
		"$TWO_DEVICES" \
		"manager     ok      $VM_DEVICE, rxe1 answer connection requests" \
		'name        ok      10.95.0.9' \
		'route       ok      through near0, from 10.95.0.1, MTU 1500; RDMA device rxe1' \
		'neighbour   failed  probably: the host does not reply to ARP or neighbour' \
		'                    discovery' \
		'                    seen: 10.95.0.9 does not answer ARP' \
		'                    after: N s' \
		'                    where: the other host or the path to it' \
		'                    next: check that it is up and on the same subnet and VLAN' \
		'                    look: ip neighbour show to 10.95.0.9'
	screen 80 3 bandwidth write 10.95.0.8 7471
	shows 'rdma-client: cannot reach 10.95.0.8:7471: the host does not reply to ARP or' \
		'  neighbour discovery (Connection timed out); check that it is up and on the' \
		'  same subnet and VLAN.'
}

# bats test_tags=roce
# shellcheck disable=SC2016 # no command
@test "screens: a host without RDMA behind a path with a smaller MTU" {
	ethernet_up
	ip -n far link set far0 mtu 1100
	screen 80 3 diagnose 10.95.0.2 7471
	shows 'verdict: RDMA does not work: no reply to the RDMA connection request arrived;' \
		'         look at this host, the other host or the path between them.' \
		"$TWO_DEVICES" \
		"manager     ok      $VM_DEVICE, rxe1 answer connection requests" \
		'name        ok      10.95.0.2' \
		'route       ok      through near0, from 10.95.0.1, MTU 1500; RDMA device rxe1' \
		'neighbour   ok      10.95.0.2 is MAC (N s)' \
		'path        failed  probably: packets as large as the MTU of this host do not' \
		'                    reach the other host' \
		'                    seen: datagrams of 576 bytes arrive, those of 1500 are lost;' \
		'                      RDMA packets of up to 1128 bytes may not fit' \
		'                    after: N s' \
		'                    where: the other host or the path to it' \
		'                    next: set the same MTU at both ends and on every switch and' \
		'                      router between them; a firewall that drops only large' \
		'                      datagrams has the same effect' \
		'                    look: tracepath 10.95.0.2' \
		'connection  failed  no reply to the RDMA connection request arrived' \
		'                    seen: packets to the peer that left this host: 1, from it:' \
		'                      none' \
		'                    after: N s' \
		'                    where: this host, the other host or the path between them' \
		"                    next: check that both hosts' firewalls and the path pass UDP" \
		'                      port 4791 (RoCE v2) both ways, that `rdma link` on the' \
		'                      peer shows an active device for this address, that both' \
		'                      ends use the same RoCE version, and that the server is not' \
		'                      stuck' \
		'                    look: rdma link'
}

ABORTED='rdma-client: exchange with PEER failed: the peer aborted: cannot'

# bats test_tags=roce
@test "screens: files that are there, full disks and damaged data, at both ends" {
	local exchange='rdma-server: exchange with PEER failed:' moved='by WRITE in N s, N MB/s, incomplete.'
	make_file "$DIR/data" 3000000
	mkdir "$DIR/full" "$DIR/tree"
	mount -t tmpfs -o size=1m none "$DIR/full"
	undo umount "$DIR/full"
	mkdir "$DIR/full/tree"
	echo other >"$DIR/full/file"
	echo data | tee "$DIR/file" "$DIR/same" "$DIR/new" >"$DIR/full/same"
	start_server --timeout 60 --output "$DIR/full/" write
	screen 80 4 write --timeout 60 --input file "$ADDRESS" "$PORT"
	shows "$ABORTED" '  write file: File exists (--force at the receiver replaces it).'
	screen 80 4 write --timeout 60 --input tree "$ADDRESS" "$PORT"
	says "$ABORTED write tree: Is a directory (with --update at the receiver, directories are merged)."
	screen 80 4 write --timeout 60 --input data "$ADDRESS" "$PORT"
	shows "$ABORTED" '  write data: No space left on device (3.0 MB needed, N MB free).'
	screen 80 0 write --timeout 60 --input same "$ADDRESS" "$PORT"
	shows 'already there: same at PEER:' '  5 bytes, XXH3 HASH.'
	DAMAGE=3 on_terminal 80 5 "$(realpath "$PAIR_BUILD/tests/one-host/damaging-client")" write --input new "$ADDRESS" "$PORT"
	shows 'rdma-client: exchange with PEER failed: data sent to the peer arrived' \
		'  corrupted; check the memory and RDMA devices of both hosts.' \
		"sent new to PEER: 5 bytes $moved"
	stop_server
	served 'already there: full/same from PEER: 5 bytes, XXH3 HASH.' \
		"received full/new from PEER: 5 bytes $moved" 'served 5 exchanges (4 failed) in N s; exchanged N B.' \
		"$exchange cannot write full/file: File exists (--force at the receiver replaces it)." \
		"$exchange cannot write full/tree: Is a directory (with --update at the receiver, directories are merged)." \
		"$exchange cannot write full/data: No space left on device (3.0 MB needed, N MB free)." \
		"$exchange data from the peer arrived corrupted (digest mismatch); check the memory and RDMA devices of both hosts."
	start_server --input "$DIR/data" any
	screen 80 1 write --timeout 60 --output full/mine "$ADDRESS" "$PORT"
	shows 'rdma-client: exchange with PEER failed: cannot write full/mine: No' \
		'  space left on device (3.0 MB needed, N MB free).'
	stop_server
	served 'served 1 exchange (1 failed) in N s.' \
		"$exchange the peer aborted: cannot write mine: No space left on device (3.0 MB needed, N MB free)."
}

# bats test_tags=roce
@test "screens: interrupted and killed transfers, at both ends" {
	local part='5 bytes by WRITE in N s, N MB/s, incomplete.'
	mkdir "$DIR/in"
	start_server --timeout 60 --output "$DIR/in/" any
	start_fed_screen 80 write "$ADDRESS" "$PORT"
	kill -INT "$CLIENT"
	ends_with 130
	shows 'rdma-client: exchange with PEER failed: interrupted by a signal.' "sent fifo to PEER: $part"
	wait_line "$ERRORS" 'interrupted by a signal'
	start_fed_screen 80 write "$ADDRESS" "$PORT"
	kill -KILL "$CLIENT"
	ends_with 137
	wait_until count "$ERRORS" failed 2
	start_fed_screen 80 write "$ADDRESS" "$PORT"
	kill -TERM "$SERVER"
	wait_line "$LOG" finishing
	stop_server
	ends_with 4
	shows 'rdma-client: exchange with PEER failed: the peer aborted: interrupted' '  by a signal.' \
		"sent fifo to PEER: $part"
	served "received in/fifo from PEER: $part" "received in/fifo from PEER: $part" \
		'finishing 1 exchange; another signal aborts.' "received in/fifo from PEER: $part" \
		'served 3 exchanges (3 failed) in N s; exchanged N B.' \
		'rdma-server: exchange with PEER failed: the peer aborted: interrupted by a signal.' \
		'rdma-server: exchange with PEER failed: connection closed by the peer while waiting for MSG_DONE, the end of its data; check whether the peer is still running and what it reports.' \
		'rdma-server: exchange with PEER failed: interrupted by a signal.'
	start_server --timeout 60 --output "$DIR/in/" any
	start_fed_screen 40 write "$ADDRESS" "$PORT"
	kill -KILL "$SERVER"
	server_exits 137
	ends_with 4
	says 'rdma-client: exchange with PEER failed: connection closed by the peer while waiting for the next' \
		'message; check whether the peer is still running and what it reports.' "sent fifo to PEER: $part"
	awk 'length > 40 { wide = 1 } END { exit wide }' "$OUT" || fail "$(cat "$OUT")"
}

# bats test_tags=roce
@test "screens: an interrupted measurement shows what was measured" {
	start_server any
	start_screen 80 bandwidth send --size 4K --warm-up 0 --duration 60 "$ADDRESS" "$PORT"
	wait_line "$DIR/screen" '[0-9]  [0-9.]* of 60.0 s'
	kill -INT "$CLIENT"
	ends_with 130
	tail -n 2 "$OUT" >"$DIR/end"
	has "$DIR/end" '^  4K N .*[0-9] N of N s$'
	has "$DIR/end" '^rdma-client: measurement with PEER failed: interrupted by a signal\.$'
	start_screen 80 latency write --histogram --size 8 --iterations 10000000 "$ADDRESS" "$PORT"
	wait_line "$DIR/screen" '[0-9]  [0-9]* of 10000000'
	kill -INT "$CLIENT"
	ends_with 130
	has "$OUT" '^   8 N .* [0-9]* of 10000000$'
	has "$OUT" '^latency up to  '
	has "$OUT" '^ *N s .*#$'
	stop_server
}

# bats test_tags=roce
@test "screens: a server: its addresses, an exchange of messages, its totals and its state" {
	start_server any
	screen 80 0 write "$ADDRESS" "$PORT"
	screen 80 0 latency write --duration 0.1 --size 8 "$ADDRESS" "$PORT"
	wait_until no_control_session
	on_terminal 80 0 "$(realpath "$PAIR_BIN/rdma-server")" status "$PORT"
	shows 'rdma-server VERSION, port PORT, pid N, mode any, up N s: 0 clients.' \
		'served 1 exchange and 1 measurement in N s; exchanged N B;' \
		'  moved N kB in measurements.' \
		'memory for connections: 0 B of N GB.'
	stop_server
	served 'client PEER:' 'received connection request.' 'send completed successfully.' \
		'received MSG_MR. writing message to remote memory...' "$(sed -n 8,9p "$LOG" | mask)" \
		"verified both ways by WRITE in N s: $VM_DEVICE/1 here, $VM_DEVICE/1 at PEER." \
		'peer disconnected.' \
		'measurement by PEER in N s: WRITE latency of 8 B, N kB, best median N s.' \
		'served 1 exchange and 1 measurement in N s; exchanged N B; moved N kB in measurements.'
	head -n 3 "$LOG" | mask >"$OUT"
	shows 'listening on port PORT.' "addresses: HOST ($VM_DEVICE, eth0), fd77::1 ($VM_DEVICE, eth0)." \
		"on another host: rdma-client write HOST $PORT"
}
