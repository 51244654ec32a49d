#!/usr/bin/env bats
# The exchange: printed lines, modes, options, exit statuses.

load common

# The first lines of a client: those of the tutorial's programs, or how TCP connects.
connecting_lines() {
	if [ "${PAIR_BOOTSTRAP:-}" = tcp ]; then
		printf '%s\n' 'TCP connected.' 'path chosen.'
	else
		printf '%s\n' 'address resolved.' 'route resolved.'
	fi
}

# The lines of the tutorial's programs, in order.
client_lines() { # VERB TEXT MODE
	connecting_lines
	cat <<-END
	send completed successfully.
	received MSG_MR. $1 remote memory...
	send completed successfully.
	remote buffer: $2
	disconnected.
	verified both ways by ${3^^} in TIME: $VM_DEVICE/1 here, $VM_DEVICE/1 at $ADDRESS:$PORT.
	END
}

server_lines() { # VERB TEXT MODE
	cat <<-END
	listening on port $PORT.
	addresses: $ADDRESS ($VM_DEVICE, $VM_INTERFACE), fd77::1 ($VM_DEVICE, $VM_INTERFACE).
	on another host: rdma-client $3 $ADDRESS $PORT
	client CLIENT:
	received connection request.
	send completed successfully.
	received MSG_MR. $1 remote memory...
	send completed successfully.
	remote buffer: $2
	verified both ways by ${3^^} in TIME: $VM_DEVICE/1 here, $VM_DEVICE/1 at CLIENT.
	peer disconnected.
	END
}

# Prints a file without the time it took and the client's port, and with the peer's message moved after the
# completion of the local MSG_DONE, because the two directions are independent.
in_order() {
	awk '
		/^remote buffer/ && sent < 2 { held = $0; next }
		{ print }
		/^send completed/ && ++sent == 2 && held != "" { print held }' "$1" |
		sed "s/ in [0-9.]* m*s: / in TIME: /; /:${PORT}[. ]/! s/ $ADDRESS:[0-9]*\([.:]\)/ CLIENT\1/"
}

default_run() { # MODE VERB
	start_server "$1"
	"$PAIR_BIN/rdma-client" "$1" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	exits_with 0 "$pid"
	wait_line "$OUT" '^verified'
	diff <(client_lines "$2" "message from passive/server side with pid $SERVER" "$1") <(in_order "$OUT")
	wait_line "$LOG" 'peer disconnected.'
	diff <(server_lines "$2" "message from active/client side with pid $pid" "$1") <(in_order "$LOG")
	is_empty "$ERR"
	is_empty "$ERRORS"
	stop_server
}

@test "write mode: every line, in order, at both ends" {
	default_run write 'writing message to'
}

@test "read mode: every line, in order, at both ends" {
	default_run read 'reading message from'
}

@test "send mode: every line, in order, at both ends" {
	default_run send 'sending message to'
}

@test "an 'any' server, which is the default, serves each mode" {
	local mode
	for mode in any ''; do
		# shellcheck disable=SC2086 # no argument if empty
		start_server $mode
		expect 0 client write "$ADDRESS" "$PORT"
		expect 0 client read "$ADDRESS" "$PORT"
		expect 0 client send "$ADDRESS" "$PORT"
		stop_server
	done
}

@test "IPv6 to a server on all addresses" {
	start_server any
	expect 0 client write "$VM_ADDRESS6" "$PORT"
	expect 0 client read "$VM_ADDRESS6" "$PORT"
	stop_server
}

@test "IPv4 to a server on all addresses when sysctl bindv6only is set" {
	sysctl -qw net.ipv6.bindv6only=1
	start_server any
	sysctl -qw net.ipv6.bindv6only=0
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
}

@test "a link-local IPv6 address with its scope" {
	start_server any
	local link
	link=$(ip -6 -o address show dev "$VM_INTERFACE" scope link | awk '{ sub("/.*", "", $4); print $4 }')
	expect 0 client write "$link%$VM_INTERFACE" "$PORT"
	stop_server
}

@test "--bind: an IPv4 address, an IPv6 address, a host name" {
	start_server --bind "$ADDRESS" any
	expect 0 client write "$ADDRESS" "$PORT"
	expect 3 client write "$VM_ADDRESS6" "$PORT"
	stop_server
	start_server --bind "$VM_ADDRESS6" any
	expect 0 client write "$VM_ADDRESS6" "$PORT"
	stop_server
	echo "$ADDRESS pair.test" >>/etc/hosts
	start_server --bind pair.test any
	expect 0 client write pair.test "$PORT"
	stop_server
}

# bats test_tags=portable
@test "a host name with several addresses: addresses without RDMA are skipped" {
	printf '%s\n' '127.0.0.1 two.test' "$ADDRESS two.test" >>/etc/hosts
	start_server any
	expect 0 client write two.test "$PORT"
	is_empty "$ERR"
	stop_server
}

# bats test_tags=portable
@test "--port and -p set the port" {
	start_server --port 7471 write
	[ "$PORT" = 7471 ]
	wait_line "$LOG" '^listening on port 7471\.$'
	stop_server
	start_server -p 7472 write
	[ "$PORT" = 7472 ]
	stop_server
}

# bats test_tags=portable
@test "--message at both ends; control characters are escaped" {
	start_server --message $'good\tbye \\ \x1b[31m' write
	expect 0 client --message "it's \"hello\"" write "$ADDRESS" "$PORT"
	has "$OUT" '^remote buffer: good\\x09bye \\\\ \\x1b\[31m$'
	wait_line "$LOG" "^remote buffer: it's \"hello\"\$"
	stop_server
}

@test "the shortest and longest messages in each mode" {
	local long
	long=$(printf '%1023s' '' | tr ' ' m)
	start_server --message "$long" any
	for mode in write read send; do
		expect 0 client --message '' "$mode" "$ADDRESS" "$PORT"
		has "$OUT" "^remote buffer: $long\$"
		expect 0 client --message "$long" "$mode" "$ADDRESS" "$PORT"
	done
	wait_until count "$LOG" "^remote buffer: $long\$" 3
	count "$LOG" '^remote buffer: $' 3
	stop_server
}

@test "--count: the server exits after N clients with their status" {
	start_server --count 2 any
	expect 0 client write "$ADDRESS" "$PORT"
	kill -0 "$SERVER"
	expect 0 client read "$ADDRESS" "$PORT"
	server_exits 0
	start_server --count 1 any
	misbehaving_peer "$ADDRESS" "$PORT" mr mr closed
	server_exits 4
}

# bats test_tags=portable
@test "--quiet prints nothing to standard output" {
	start_server --quiet write
	expect 0 client --quiet write "$ADDRESS" "$PORT"
	[ ! -s "$OUT" ]
	is_empty "$ERR"
	stop_server
	[ ! -s "$LOG" ]
	is_empty "$ERRORS"
}

# bats test_tags=portable
@test "with --quiet, every failure is one line on standard error" {
	local command
	start_server --quiet --count 1 write
	expect 1 "$PAIR_BIN/rdma-server" --quiet --port "$PORT" any
	[ ! -s "$OUT" ]
	one_line "$ERR"
	has "$ERR" 'another program is listening on this port'
	misbehaving_peer "$ADDRESS" "$PORT" mr get exit >/dev/null 2>&1 || true
	server_exits 4
	[ ! -s "$LOG" ]
	one_line "$ERRORS"
	for command in write read send 'bandwidth write' 'latency read' diagnose; do
		# shellcheck disable=SC2086 # several words
		expect 3 client --quiet $command "$ADDRESS" "$PORT"
		[ ! -s "$OUT" ]
		one_line "$ERR"
		has "$ERR" "$NOT_LISTENING"
	done
}

# bats test_tags=portable
@test "--verbose adds details on standard error only" {
	start_server --verbose write
	expect 0 client --verbose write "$ADDRESS" "$PORT"
	has "$ERR" "write mode on $VM_DEVICE port 1, queue pair"
	count "$OUT" . 8
	stop_server
}

@test "--source and --device select the path; invalid values are reported" {
	start_server any
	expect 0 client --source "$ADDRESS" write "$ADDRESS" "$PORT"
	expect 0 client --device "$VM_DEVICE" write "$ADDRESS" "$PORT"
	expect 0 client -d "$VM_DEVICE" write "$VM_ADDRESS6" "$PORT"
	expect 3 client --source 10.1.2.3 write "$ADDRESS" "$PORT"
	one_line "$ERR"
	expect 3 client --device mlx5_9 write "$ADDRESS" "$PORT"
	has "$ERR" 'no such RDMA device (--device mlx5_9)'
	stop_server
	start_server --device "$VM_DEVICE" any
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
}

# bats test_tags=portable
@test "SIGINT stops an idle server as SIGTERM does" {
	start_server write
	stop_server INT
}

@test "rdma-server status: clients, totals and memory; the lines of measurements and diagnoses; totals at the end" {
	local date='[0-9]*-[0-9]*-[0-9]* [0-9]*:[0-9]*:[0-9]*\.[0-9]*'
	start_server --discard any
	start_good write
	expect 0 client diagnose "$ADDRESS" "$PORT"
	expect 0 client bandwidth write --duration 0.2 --size 4K..8K "$ADDRESS" "$PORT"
	expect 0 client latency read --iterations 10 "$ADDRESS" "$PORT"
	wait_line "$LOG" "^diagnosis by $ADDRESS:[0-9]* in [0-9.]* m*s: .*B, best rate .*B/s\.$"
	wait_line "$LOG" "^measurement by $ADDRESS:[0-9]* in .*: WRITE bandwidth of 4K to 8K, [0-9.]* .B, best rate [0-9.]* .*B/s\.$"
	wait_line "$LOG" "^measurement by $ADDRESS:[0-9]* in .*: READ latency of 8 B, [0-9.]* k*B, best median [0-9.]* us\.$"
	client bandwidth write --duration 2 --size 4K "$ADDRESS" "$PORT" >/dev/null &
	wait_until status_has "^  $ADDRESS:[0-9]* *write $VM_DEVICE  *bandwidth  *4K$"
	wait $!
	wait_until status_has '^served 3 measurements and 1 diagnosis in .*; moved .* in measurements\.$'
	has "$OUT" "^rdma-server [0-9.]*, port $PORT, pid $SERVER, mode any, up [0-9.]* m*s: 1 client\.$"
	has "$OUT" "^  $ADDRESS:[0-9]* *write $VM_DEVICE  *exchanging 2\.0 kB$"
	has "$OUT" '^memory for connections: .*B of .*B\.$'
	expect 0 "$PAIR_BIN/rdma-server" status --json
	has "$OUT" "\"verdict\":\"running\".*\"pid\":$SERVER,\"port\":$PORT,.*\"clients\":\[{\"peer\":\"$ADDRESS:"
	expect 3 "$PAIR_BIN/rdma-server" status 1
	one_line "$ERR"
	good_was_served
	kill -STOP "$SERVER"
	expect 1 "$PAIR_BIN/rdma-server" status "$PORT"
	has "$ERR" 'does not answer: it is stopped or very busy$'
	kill -CONT "$SERVER"
	stop_server
	has "$LOG" '^served 1 exchange, 3 measurements and 1 diagnosis in .*; exchanged 2\.0 kB; moved .* in measurements\.$'
	start_server --timestamps --count 1 write
	expect 0 client write "$ADDRESS" "$PORT"
	server_exits 0
	[ "$(grep -c "^$date " "$LOG")" -eq "$(wc -l <"$LOG")" ]
	has "$LOG" "^$date verified both ways by WRITE in .* at $ADDRESS:"
	has_not "$LOG" ' served '
}

status_has() { "$PAIR_BIN/rdma-server" status "$PORT" >"$OUT" && grep -q -e "$1" "$OUT"; }

@test "over iWARP, silence of the server's TCP port ends at --timeout" {
	local start
	iwarp || skip 'over software iWARP only'
	start_server any
	nft add table inet only
	undo nft delete table inet only
	nft add chain inet only input '{ type filter hook input priority 0; }'
	nft add rule inet only input tcp dport "$PORT" drop
	start=$SECONDS
	expect_error 3 "no reply came from the server's TCP port (no answer within 3 s)" client --timeout 3 write "$ADDRESS" "$PORT"
	[ $((SECONDS - start)) -le 20 ] || fail "took $((SECONDS - start)) s"
	expect 3 client diagnose "$ADDRESS" "$PORT"
	has "$OUT" "^connection  failed  no reply came from the server's TCP port"
	stop_server
}

@test "SIGTERM: a running exchange finishes, new clients are refused" {
	start_server write
	misbehaving_peer "$ADDRESS" "$PORT" mr get say:there pause >"$OUT" &
	PEER=$!
	wait_line "$OUT" there
	local first=$SERVER
	kill -TERM "$SERVER"
	wait_line "$LOG" '^finishing 1 exchange; another signal aborts\.$'
	wait_until client_is_refused
	kill -0 "$SERVER"
	kill_peers
	SERVER=''
	exits_with 143 "$first"
}

client_is_refused() {
	! client write "$ADDRESS" "$PORT" 2>"$ERR" && grep -q "$NOT_LISTENING" "$ERR"
}

@test "a port on which nothing listens, and that of a TCP program" {
	local reset='nothing is listening on this port'
	[ "${PAIR_BOOTSTRAP:-}" != tcp ] || reset='it is overloaded, or not an rdma-server with --bootstrap tcp'
	! iwarp || reset='the peer reset the connection'
	expect 3 client write "$ADDRESS" 7999
	has "$ERR" "$NOT_LISTENING"
	! iwarp || has "$ERR" 'Connection refused'
	perl -MIO::Socket -MSocket -e '$| = 1;
		$listener = IO::Socket::INET->new(Listen => 1);
		print $listener->sockport, "\n";
		$client = $listener->accept;
		setsockopt $client, SOL_SOCKET, SO_LINGER, pack("ii", 1, 0);' >"$DIR/tcp" &
	local program=$!
	wait_line "$DIR/tcp" .
	expect 3 client write "$ADDRESS" "$(cat "$DIR/tcp")"
	has "$ERR" "$reset"
	kill "$program" 2>/dev/null || true # where TCP connected, it has ended
}

@test "a second SIGTERM aborts a running exchange" {
	start_server --timeout 80 write
	misbehaving_peer "$ADDRESS" "$PORT" mr get say:there closed >"$OUT" &
	wait_line "$OUT" there
	kill -TERM "$SERVER"
	wait_until client_is_refused
	stop_server
	has "$ERRORS" 'interrupted by a signal'
}

# bats test_tags=portable
@test "SIGINT ends a waiting client at once" {
	listening_peer -- say:there pause
	"$PAIR_BIN/rdma-client" --timeout 80 write "$ADDRESS" "$PEER_PORT" >"$OUT" 2>"$ERR" &
	local pid=$!
	wait_line "$DIR/peer" there
	kill -INT "$pid"
	exits_with 130 "$pid"
	has "$ERR" 'interrupted by a signal'
}

# bats test_tags=portable
@test "SIGINT ends a shell loop of any command" {
	listening_peer -- say:there pause
	loop --timeout 80 write "$ADDRESS" "$PEER_PORT"
	wait_line "$DIR/peer" there
	interrupt_loop
	kill_peers
	# The peer makes the diagnosis wait: if it ended by itself just before the signal, bash would go on.
	listening_peer --hello diagnosis -- say:there pause
	loop diagnose "$ADDRESS" "$PEER_PORT"
	wait_line "$DIR/peer" there
	interrupt_loop
	kill_peers
	start_server any
	loop bandwidth write --duration 80 "$ADDRESS" "$PORT"
	wait_line "$OUT" 'average'
	interrupt_loop
	loop latency read --duration 80 "$ADDRESS" "$PORT"
	wait_line "$OUT" 'median'
	interrupt_loop
	stop_server
	loop diagnose --watch
	wait_line "$OUT" ': watching$'
	interrupt_loop
}

# bats test_tags=portable
@test "usage errors: one line, exit 2" {
	local arguments
	while read -r arguments; do
		# shellcheck disable=SC2086 # several words
		expect 2 "$PAIR_BIN"/rdma-$arguments
		one_line "$ERR"
		[ ! -s "$OUT" ]
	done <<-END
	server sideways
	server --port 65536 write
	server --port x write
	server --count 0 write
	server --timeout 0 write
	server --nonsense write
	server --port
	server --bind= write
	server --device= write
	server --port-file= write
	client --source= write $ADDRESS 1
	client
	client any $ADDRESS 1
	client bandwith write $ADDRESS 1
	client bandwidth $ADDRESS 1
	client diagnose --depth 4 $ADDRESS 1
	client write --iput f $ADDRESS 1
	client write
	client write $ADDRESS:1 1
	client write $ADDRESS --timeout 1 --timeout 2
	client write $ADDRESS 0
	client write $ADDRESS 99999
	client write $ADDRESS 1 2
	client --quiet=yes write $ADDRESS 1
	END
	expect 2 client --message "$(printf '%1024s' x)" write "$ADDRESS" 1
	has "$ERR" 'at most 1023'
}

# bats test_tags=portable
@test "--help and --version" {
	for program in server client; do
		expect 0 "$PAIR_BIN/rdma-$program" --help
		has "$OUT" "^Usage: rdma-$program"
		has "$OUT" 'Exit status'
		expect 0 "$PAIR_BIN/rdma-$program" --version
		has "$OUT" "^rdma-$program [0-9]"
	done
	for command in write read send bandwidth latency diagnose; do
		expect 0 client $command --help
		has "$OUT" "^Usage: rdma-client .*$command"
	done
}

# bats test_tags=portable
@test "lost standard output is reported, exit 1" {
	start_server write
	local status=0
	client write "$ADDRESS" "$PORT" >/dev/full 2>"$ERR" || status=$?
	[ "$status" -eq 1 ]
	has "$ERR" 'cannot write to standard output'
	stop_server
}

# bats test_tags=portable
@test "a reader that never reads loses lines but does not block the server" {
	mkfifo "$DIR/fifo"
	sleep 500 <>"$DIR/fifo" &
	local reader=$!
	rm -f "$DIR/port"
	"$PAIR_BIN/rdma-server" --timeout 60 --port 0 --port-file "$DIR/port" any >"$DIR/fifo" 2>"$ERRORS" &
	SERVER=$!
	wait_until test -s "$DIR/port"
	generate_load write "$ADDRESS" "$(cat "$DIR/port")" $((400 / PAIR_SCALE)) 10 >"$OUT"
	has "$OUT" "^$((400 / PAIR_SCALE)) verified, 0 failed\$"
	stop_server
	# Only with the unscaled number of clients are there more lines than the pipe can hold.
	[ "$PAIR_SCALE" -gt 1 ] || has "$ERRORS" 'cannot write to standard output'
	kill "$reader"
}

# bats test_tags=portable
@test "closed standard descriptors are not reused for other files" {
	rm -f "$DIR/port"
	"$PAIR_BIN/rdma-server" --port 0 --port-file "$DIR/port" --count 1 any <&- >&- 2>&- &
	SERVER=$!
	wait_until test -s "$DIR/port"
	expect 0 client write "$ADDRESS" "$(cat "$DIR/port")"
	# Its lines were lost, so its exit status is 1.
	server_exits 1
	# A closed standard input is not an empty file.
	start_server --output "$DIR/" any
	expect_error 1 'cannot start: cannot read standard input: it is closed' \
		bash -c 'exec "$@" <&-' sh "$PAIR_BIN/rdma-client" --input - write "$ADDRESS" "$PORT"
	stop_server
}

@test "--bind with a host name: the first address with RDMA; a loopback address is refused" {
	printf '%s\n' '127.0.1.1 near.test' "$ADDRESS near.test" >>/etc/hosts
	start_server --bind near.test any
	expect 0 client write "$ADDRESS" "$PORT"
	stop_server
	expect 3 "$PAIR_BIN/rdma-server" --bind 127.0.0.1 any
	has "$ERR" 'the network interface of this address has no RDMA device'
	[ "${PAIR_BOOTSTRAP:-}" = tcp ] || expect_error 3 'this is a loopback address' client write 127.0.0.1 "$PORT"
}

@test "a host name with several addresses: only a later one has a server" {
	printf '%s\n' "$VM_ADDRESS6 both.test" "$ADDRESS both.test" >>/etc/hosts
	start_server --bind "$ADDRESS" any
	expect 0 client write both.test "$PORT"
	stop_server
	start_server --bind "$VM_ADDRESS6" any
	expect 0 client write both.test "$PORT"
	stop_server
}

# bats test_tags=portable
@test "a port file that cannot be written is reported, exit 1" {
	expect 1 "$PAIR_BIN/rdma-server" --port 0 --port-file /nowhere/port write
	has "$ERR" 'cannot write the port file /nowhere/port: No such file or directory'
}
