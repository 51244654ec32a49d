#!/usr/bin/env bats
# Whole screens as a user sees them, on terminals of several widths, with times, rates, ports and digests
# masked: what is printed, in which order, and where lines are broken.

load common


# screen COLUMNS STATUS ARGUMENT...: runs the client in $DIR on a terminal, and masks what differs each time.
screen() {
	local columns=$1 wanted=$2 status=0 client
	shift 2
	client=$(realpath "$PAIR_BIN/rdma-client")
	NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8 script -qefc "stty cols $columns && cd ${DIR@Q} && exec ${client@Q} ${*@Q}" \
		/dev/null </dev/null >"$DIR/screen" || status=$?
	[ $status -eq "$wanted" ] || fail "status $status: $(cat "$DIR/screen")"
	mask <"$DIR/screen" >"$OUT"
}

# The progress is erased. N: a number; a number with its unit is N, too, so that the width is no matter.
mask() {
	sed -E 's/\r*$//; s/.*\x1b\[K//' | sed -E "
		/^Script /d
		s/$ADDRESS:[0-9]+/PEER/g; s/$ADDRESS/HOST/g
		s/[0-9]+(:[0-9]{2})+/TIME/g
		s/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g
		s/[0-9a-f]{32}/HASH/g
		s/pid [0-9]+/pid N/
		s/poll (spin|event)/poll METHOD/
		s/[0-9.]+ (ms|s|us|[kMG]?B\/s)\b/N \1/g
		/^size/!s/ +[0-9]+\.[0-9]+/ N/g
		s/(from|to) N from/\1 N from/"
}

# shows LINE...: the screen consists of these lines.
shows() {
	printf '%s\n' "$@" >"$DIR/wanted"
	diff "$DIR/wanted" "$OUT" >"$DIR/difference" || fail "$(cat "$DIR/difference")"
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
	sed -i -E '/^counters/s/(nothing harmful.*|this host: no errors.*|no errors.*)$/COUNTED/' "$OUT"
	shows 'verdict: RDMA works: N MB/s to the server, N MB/s from it (software RDMA).' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  ok      address and route resolved in N ms, connected in N ms' \
		'message     ok      round trip in N ms' \
		'both ends   ok      compatible' \
		'data        ok      WRITE and READ of up to 1 MiB, both ways: all bytes correct' \
		'bandwidth   ok      N MB/s to the server, N MB/s from it (software RDMA)' \
		'counters    ok      COUNTED' \
		'operations  ok      15 ok, 1 unsupported'
	screen 60 0 diagnose "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 14 ] || fail "$(cat "$OUT")"
	has "$OUT" '^verdict: RDMA works: to N from N MB/s\.$'
	has "$OUT" '^data        ok WRITE and READ, both ways: all bytes correct$'
	has "$OUT" '^bandwidth   ok N MB/s to the server, N MB/s from it$'
	screen 40 0 diagnose "$ADDRESS" "$PORT"
	sed -i -E '/^counters/s/(nothing harmful|no errors.*)$/COUNTED/' "$OUT"
	shows 'verdict: RDMA works.' \
		"this host   ok $VM_DEVICE/1 ACTIVE, MTU 4096" \
		"manager     ok $VM_DEVICE answers" \
		'name        ok HOST' \
		"route       ok lo, RDMA device $VM_DEVICE" \
		'neighbour   ok this host' \
		'path        ok 65535 bytes arrive' \
		'connection  ok connected in N ms' \
		'message     ok round trip in N ms' \
		'both ends   ok compatible' \
		'data        ok all bytes correct' \
		'bandwidth   ok to N from N MB/s' \
		'counters    ok COUNTED' \
		'operations  ok 15 ok, 1 unsupported'
	stop_server
}

# bats test_tags=roce
@test "screens: diagnoses of this host alone, without a server, and of a port without a listener" {
	screen 80 0 diagnose "$ADDRESS"
	shows 'verdict: No problems found in the checks up to connection; no rdma-server found,' \
		'         so no data was exchanged.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  ok      RDMA responds (in N ms); to continue, start rdma-server on' \
		'                    the other host, or give its PORT'
	screen 80 3 diagnose "$ADDRESS" 999
	shows 'verdict: RDMA does not work: nothing is listening on this port; look at the' \
		'         other host.' \
		"this host   ok      $VM_DEVICE/1 ACTIVE, MTU 4096, N Gb/sec (1X SDR), rdma_rxe" \
		"${CHECKS_80[@]}" \
		'connection  failed  nothing is listening on this port' \
		'                    after: N ms' \
		'                    where: the other host' \
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
	[ "$(tr -s ' \n' ' ' <"$OUT")" = 'sent file to PEER: 100,000 bytes (100.0 kB) by WRITE in N ms, N MB/s, verified, XXH3 HASH. ' ] ||
		fail "$(cat "$OUT")"
	screen 80 0 write --input tree "$ADDRESS" "$PORT"
	[[ "$(tr -s ' \n' ' ' <"$OUT")" == 'sent tree (1 file, N kB) to PEER: 100,'???' bytes by WRITE in N ms, N MB/s, verified, XXH3 HASH. ' ]] ||
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
		'   8 N N N N N N N' \
		'best median: N us at size 8'
	stop_server
	start_server any
	screen 80 0 write "$ADDRESS" "$PORT"
	shows 'address resolved.' 'route resolved.' 'send completed successfully.' \
		'received MSG_MR. writing message to remote memory...' "$(sed -n 5,6p "$OUT")" 'disconnected.' \
		"verified both ways by WRITE in N ms: $VM_DEVICE/1 here, $VM_DEVICE/1 at PEER."
	screen 40 3 write "$ADDRESS" 999
	awk 'length > 40 { wide = 1 } END { exit wide }' "$OUT" || fail "$(cat "$OUT")"
	[[ "$(tr -s ' \n' ' ' <"$OUT")" == *' rdma-client: cannot connect to PEER: nothing is listening on this port; start rdma-server '* ]] ||
		fail "$(cat "$OUT")"
	stop_server
}
