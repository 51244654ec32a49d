#!/usr/bin/env bats
# Data of any size from and to files and pipes, in each mode and direction.

load common
load streams

# exchange_files MODE UP DOWN: sends files of these sizes to the server and from it at the same
# time, and compares both.
exchange_files() {
	local mode=$1 up=$DIR/up.$2 down=$DIR/down
	[ -e "$up" ] || make_file "$up" "$2"
	make_file "$down" "$3"
	rm -f "$DIR/got" "$DIR/in/${up##*/}"
	expect 0 client "${RING_OPTIONS[@]}" --input "$up" --output "$DIR/got" "$mode" "$ADDRESS" "$PORT"
	cmp "$down" "$DIR/got"
	cmp "$up" "$DIR/in/${up##*/}"
	has "$OUT" "^sent $up to $ADDRESS:$PORT: $(with_commas "$2") byte.*, XXH3 $(hash_of "$up")\.\$"
	has "$OUT" "^received $DIR/got from $ADDRESS:$PORT: $(with_commas "$3") byte.*, XXH3 $(hash_of "$down")\.\$"
	count "$OUT" . 2
}

# exchange_sizes SIZE...: sends files of these sizes, and receives them in reverse order.
exchange_sizes() {
	local i n=$#
	mkdir "$DIR/in"
	touch "$DIR/down"
	start_server "${RING_OPTIONS[@]}" --force --input "$DIR/down" --output "$DIR/in/" any
	for ((i = 1; i <= n; i++)); do
		exchange_files write "${!i}" "${@:n-i+1:1}"
		exchange_files read "${!i}" "${@:n-i+1:1}"
	done
	stop_server
	is_empty "$ERRORS"
	# This must be the server's line for the last file.
	has "$LOG" "^received $DIR/in/up.${!n} from $ADDRESS:[0-9]*: $(with_commas "${!n}") byte.*, XXH3 $(hash_of "$DIR/up.${!n}")\.\$"
}

@test "sizes around chunk, ring and buffer, both directions and modes, small rings" {
	RING_OPTIONS=("${SMALL[@]}")
	exchange_sizes 0 1 1024 1025 4095 4096 4097 32767 32768 32769 65535 65537 200000
}

# bats test_tags=slow
@test "sizes around chunk, ring and buffer with the default ring and chunk" {
	RING_OPTIONS=()
	exchange_sizes 0 65536 65537 2097151 2097152 2097153 5000000
}

# one_way MODE SIZE: sends a file to the server, which sends its default message.
one_way() {
	make_file "$DIR/up" "$2"
	expect 0 client "${SMALL[@]}" --input "$DIR/up" "$1" "$ADDRESS" "$PORT"
	cmp "$DIR/up" "$DIR/in/up"
}

@test "one direction at a time: sizes around the whole buffer, each mode and end" {
	local size mode
	mkdir "$DIR/in"
	start_server "${SMALL[@]}" --force --output "$DIR/in/" any
	for size in 1 61439 61440 61441 65536; do
		one_way write $size
		one_way read $size
		one_way send $size
	done
	stop_server
	is_empty "$ERRORS"
	start_server "${SMALL[@]}" --input "$DIR/up" any
	for size in 1 61439 61440 61441 65536; do
		make_file "$DIR/up" $size
		for mode in write read send; do
			expect 0 client "${SMALL[@]}" --force --output "$DIR/got" $mode "$ADDRESS" "$PORT"
			cmp "$DIR/up" "$DIR/got"
		done
	done
	stop_server
	is_empty "$ERRORS"
}

@test "the ends may differ in chunk, buffer, depth and number of workers" {
	mkdir "$DIR/in"
	make_file "$DIR/data" 300000
	start_server --chunk 5000 --buffer 100K --depth 1 --workers 3 --force --input "$DIR/data" \
		--output "$DIR/in/" any
	local options mode
	for options in '--chunk 64K --buffer 4M --depth 64' '--chunk 1K --buffer 16K --depth 3 --workers 5'; do
		for mode in write read send; do
			# shellcheck disable=SC2086 # several words
			expect 0 client $options --force --input "$DIR/data" --output "$DIR/got" $mode \
				"$ADDRESS" "$PORT"
			cmp "$DIR/data" "$DIR/got"
			cmp "$DIR/data" "$DIR/in/data"
		done
	done
	stop_server
	is_empty "$ERRORS"
}

# refused_plans PATTERN CLIENT-ARGUMENT...: the server refuses the client in both one-sided modes
# before data moves.
refused_plans() {
	local pattern=$1 mode
	shift
	for mode in write read; do
		expect_error 3 "$pattern" client "$@" $mode "$ADDRESS" "$PORT"
	done
	[ ! -e "$DIR/got" ]
}

# stop_after_refusals PATTERN...: stops the server. It has printed why it refused the two clients of
# each refused_plans PATTERN: a line for the first, and that there was another one.
stop_after_refusals() {
	local pattern
	stop_server
	for pattern; do
		has "$LOG" "^refused $ADDRESS:[0-9]*: $pattern"
		count_repeated "$LOG" "^refused $ADDRESS\(:[0-9]*\)\?: $pattern" 2
	done
}

# bats test_tags=portable
@test "no data is verified and thrown away, and no greeting is stored" {
	make_file "$DIR/data" 5000
	mkdir "$DIR/in"
	start_server any
	refused_plans 'the server has no --output' --input "$DIR/data"
	refused_plans 'the server has no --input' --output "$DIR/got"
	stop_after_refusals 'the server has no --output' 'the server has no --input'
	start_server --input "$DIR/data" any
	refused_plans 'the server sends a file, but the client has no --output'
	refused_plans 'the server has no --output' --input "$DIR/data" --output "$DIR/got"
	stop_after_refusals 'the server sends a file, but the client has no --output' 'the server has no --output'
	start_server --output "$DIR/in/" any
	refused_plans 'the server has no --input' --output "$DIR/got"
	# A client that only greets is shown, and stores nothing.
	expect 0 client write "$ADDRESS" "$PORT"
	is_empty "$DIR/in"
	expect 0 client --message 'a note' write "$ADDRESS" "$PORT"
	printf 'a note\0' | cmp - "$DIR/in/"*
	stop_after_refusals 'the server has no --input'
	is_empty "$ERRORS"
	# A client that only fetches the server's file stores nothing there.
	rm "$DIR/in/"*
	start_server --input "$DIR/data" --output "$DIR/in/" any
	expect 0 client --output "$DIR/got" write "$ADDRESS" "$PORT"
	cmp "$DIR/data" "$DIR/got"
	stop_server
	is_empty "$DIR/in"
}

# bats test_tags=portable
@test "--discard accepts data without storing it, and says so" {
	local mode hash
	make_file "$DIR/data" 5000
	hash=$(hash_of "$DIR/data")
	for mode in write read send; do
		start_server --discard --input "$DIR/data" $mode
		expect 0 client --discard --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/data to $ADDRESS:$PORT: 5,000 bytes .*, XXH3 $hash\.\$"
		has "$OUT" "^discarded data from $ADDRESS:$PORT: 5,000 bytes .*, XXH3 $hash\.\$"
		stop_server
		has "$LOG" "^discarded data from $ADDRESS:[0-9]*: 5,000 bytes .*, XXH3 $hash\.\$"
	done
	# A text is printed.
	printf 'two\nlines' >"$DIR/short"
	start_server --discard any
	expect 0 client --input "$DIR/short" write "$ADDRESS" "$PORT"
	wait_line "$LOG" "^message from $ADDRESS:[0-9]*: two\\\\x0alines\$"
	stop_server
	is_empty "$ERRORS"
}

# bats test_tags=portable
@test "one line for each file; --verbose adds the tutorial's lines" {
	make_file "$DIR/data" 5000
	mkdir "$DIR/in"
	start_server --output "$DIR/in/" write
	expect 0 client --input "$DIR/data" write "$ADDRESS" "$PORT"
	[ "$(wc -l <"$OUT")" -eq 1 ]
	stop_server
	[ "$(wc -l <"$LOG")" -eq 5 ] # where it listens, and the totals
	start_server --force --output "$DIR/in/" write
	expect 0 client --verbose --input "$DIR/data" write "$ADDRESS" "$PORT"
	has "$OUT" '^received MSG_MR\. writing message to remote memory\.\.\.$'
	has "$OUT" '^remote buffer: message from passive/server side'
	has "$OUT" '^disconnected\.$'
	stop_server
}

@test "a pipe from client to server carries tar, each mode" {
	local mode
	for mode in write read send; do
		mkdir "$DIR/$mode"
		pipe_to tar -x -C "$DIR/$mode"
		LOG=$DIR/pipe start_server --output - --count 1 $mode
		tar -c exchange tests | expect 0 client "${SMALL[@]}" --input - $mode "$ADDRESS" "$PORT"
		server_exits 0
		exits_with 0 "$PIPE_READER"
		diff -r exchange "$DIR/$mode/exchange"
		diff -r tests "$DIR/$mode/tests"
		# The program's own lines are on standard error.
		has "$ERRORS" '^received data from .*, XXH3'
	done
}

@test "a pipe from server to client, each mode" {
	local mode
	make_file "$DIR/data" 300001
	mkfifo "$DIR/fifo"
	for mode in write read send; do
		cat "$DIR/data" >"$DIR/fifo" &
		STDIN=$DIR/fifo start_server --input - --count 1 $mode
		expect 0 client "${SMALL[@]}" --output - $mode "$ADDRESS" "$PORT"
		cmp "$OUT" "$DIR/data"
		has "$ERR" "^received data from .*: 300,001 bytes .*, XXH3 $(hash_of "$DIR/data")\.\$"
		server_exits 0
		has "$LOG" "^sent data to .*: 300,001 bytes .*, XXH3 $(hash_of "$DIR/data")\.\$"
	done
}

# bats test_tags=portable
@test "--output DIRECTORY: each file gets the client's sanitised name for it" {
	mkdir -p "$DIR/a/b/in"
	start_server --timeout 60 --output "$DIR/a/b/in/" any
	local long name
	long=$(printf '%255s' '' | tr ' ' n)
	for name in plain ../../up .hidden /etc/absolute -rf a/ .. "$long" $'new\nline' $'\e[31m' 'sp ace'; do
		misbehaving_peer --name "$name" "$ADDRESS" "$PORT" mr get write 'done' get verdict get \
			sent disconnect
	done
	# Two of them have no usable name, so their files are named after the peer.
	wait_until count "$LOG" "^received $DIR/a/b/in/.* from " 11
	find "$DIR/a/b/in" -name "$ADDRESS-*" -delete -print >"$DIR/nameless"
	count "$DIR/nameless" . 2
	folder_is "$DIR/a" b b/in b/in/{plain,up,_hidden,absolute,_rf,"$long",new_line,'_[31m','sp ace'}
	stop_server
	is_empty "$ERRORS"
}

# bats test_tags=portable
@test "--output DIRECTORY: standard input is named after the peer" {
	mkdir "$DIR/in"
	start_server --output "$DIR/in" any
	echo hello | expect 0 client --input - write "$ADDRESS" "$PORT"
	wait_line "$LOG" "^received $DIR/in/$ADDRESS-[0-9]* from "
	[ "$(cat "$DIR/in/$ADDRESS-"*)" = hello ]
	stop_server
}

# bats test_tags=portable
@test "an existing file is kept, and both ends report it; --force replaces it" {
	mkdir "$DIR/in"
	echo old >"$DIR/in/file"
	echo new >"$DIR/file"
	local mode
	for mode in write read send; do
		start_server --count 1 --output "$DIR/in/" $mode
		expect 4 client --input "$DIR/file" $mode "$ADDRESS" "$PORT"
		has "$ERR" 'the peer aborted: cannot write file: File exists (--force at the receiver replaces it)'
		one_line "$ERR"
		server_exits 1
		has "$ERRORS" "cannot write $DIR/in/file: File exists (--force at the receiver replaces it)"
		one_line "$ERRORS"
		folder_is "$DIR/in" file
		[ "$(cat "$DIR/in/file")" = old ]
		# The same applies to the client's output.
		start_server --count 1 --message data $mode
		expect 1 client --output "$DIR/in/file" $mode "$ADDRESS" "$PORT"
		server_exits 4
		has "$ERR" "cannot write $DIR/in/file: File exists (--force at the receiver replaces it)"
		[ "$(cat "$DIR/in/file")" = old ]
	done
	start_server --force --count 1 --output "$DIR/in/" write
	expect 0 client --input "$DIR/file" write "$ADDRESS" "$PORT"
	server_exits 0
	[ "$(cat "$DIR/in/file")" = new ]
}

# rnr: how often a message found no receive at this host.
rnr() { cat "/sys/class/infiniband/$VM_DEVICE/ports/1/hw_counters/"*rnr* | paste -s -d +; }

# Credit guarantees that each message finds a receive, which iWARP and the fast path depend on.
# bats test_tags=roce
@test "send mode: every message finds a receive" {
	local before options
	before=$(rnr)
	make_file "$DIR/data" 3000000
	mkdir "$DIR/in"
	for options in '' '--chunk 1K --depth 1' '--chunk 64K --depth 3 --buffer 400K' '--depth 64'; do
		# shellcheck disable=SC2086 # several words
		start_server $options --force --input "$DIR/data" --output "$DIR/in/" send
		expect 0 client --force --input "$DIR/data" --output "$DIR/got" send "$ADDRESS" "$PORT"
		# shellcheck disable=SC2086 # several words
		expect 0 client $options --force --input "$DIR/data" --output "$DIR/got" send "$ADDRESS" "$PORT"
		stop_server
		cmp "$DIR/data" "$DIR/in/data"
		cmp "$DIR/data" "$DIR/got"
	done
	[ "$(rnr)" = "$before" ]
}

# bats test_tags=portable
@test "20 concurrent clients into one directory" {
	mkdir "$DIR/in"
	local i n=$((PAIR_SCALE > 1 ? 5 : 20)) modes=(write read send)
	for ((i = 1; i <= n; i++)); do
		make_file "$DIR/noise.$i" $((100000 + 50000 * i))
	done
	start_server --timeout 60 --input "$DIR/noise.1" --output "$DIR/in/" any
	for ((i = 1; i <= n; i++)); do
		"$PAIR_BIN/rdma-client" --timeout 60 --input "$DIR/noise.$i" --output "$DIR/got.$i" \
			"${modes[i % 3]}" "$ADDRESS" "$PORT" >"$DIR/client.$i" 2>&1 &
		CLIENTS+=($!)
	done
	for i in "${CLIENTS[@]}"; do
		exits_with 0 "$i" || fail "$(cat "$DIR"/client.*)"
	done
	for ((i = 1; i <= n; i++)); do
		cmp "$DIR/noise.$i" "$DIR/in/noise.$i"
		cmp "$DIR/noise.1" "$DIR/got.$i"
	done
	stop_server
	is_empty "$ERRORS"
}

# bats test_tags=portable
@test "an output that cannot be written is reported before connecting" {
	expect_error 1 "cannot start: cannot write $DIR/nowhere/file: No such file or directory" \
		client --output "$DIR/nowhere/file" write "$ADDRESS" 7471
	expect 1 client --json --output "$DIR/nowhere/file" write "$ADDRESS" 7471
	has "$OUT" '"status":1,"verdict":"failed","message":"cannot start: cannot write [^:]*/nowhere/file: .*"side":"this host"'
	expect 1 "$PAIR_BIN/rdma-server" --output "$DIR/nowhere/" write
	one_line "$ERR"
	expect 1 client --input "$DIR/nothing" write "$ADDRESS" 7471
	has "$ERR" "cannot read $DIR/nothing: No such file or directory"
	expect 1 "$PAIR_BIN/rdma-server" --input / write
	has "$ERR" 'cannot read /: it has no name to send'
}

# bats test_tags=portable
@test "a server whose input disappeared reports it, and the client receives the reason" {
	make_file "$DIR/data" 5
	start_server --input "$DIR/data" write
	rm "$DIR/data"
	expect 3 client --discard write "$ADDRESS" "$PORT"
	has "$ERR" 'the server cannot read its input'
	has "$ERRORS" "cannot read $DIR/data: No such file or directory"
	make_file "$DIR/data" 2000
	expect 0 client --discard write "$ADDRESS" "$PORT"
	stop_server
}

# bats test_tags=portable
@test "an input that shrinks during the transfer: both ends report it" {
	mkdir "$DIR/in"
	make_file "$DIR/data" 300000
	open_fifo "$DIR/fifo"
	start_server "${SMALL[@]}" --count 1 --output "$DIR/fifo" write 7>&-
	"$PAIR_BIN/rdma-client" "${SMALL[@]}" --input "$DIR/data" write "$ADDRESS" "$PORT" \
		>"$OUT" 2>"$ERR" 7>&- &
	CLIENTS=($!)
	head -c 1 <&7 >/dev/null
	truncate -s 1 "$DIR/data"
	cat <&7 >/dev/null &
	PEER=$!
	exits_with 1 "${CLIENTS[0]}"
	has "$ERR" "cannot read $DIR/data: file was truncated while being read"
	server_exits 4
	has "$ERRORS" 'the peer aborted: cannot read data: file was truncated'
	exec 7>&-
	kill "$PEER"
}

# held_transfer CLIENT SERVER CHANGE OPTION...: changes the input while a server holds the transfer up, and expects these
# exit statuses.
held_transfer() {
	local client=$1 server=$2 change=$3
	shift 3
	open_fifo "$DIR/fifo"
	start_server "${SMALL[@]}" --count 1 --output "$DIR/fifo" write 7>&-
	"$PAIR_BIN/rdma-client" "${SMALL[@]}" "$@" --input "$DIR/data" write "$ADDRESS" "$PORT" \
		>"$OUT" 2>"$ERR" 7>&- &
	CLIENTS=($!)
	head -c 1 <&7 >/dev/null
	(cd "$DIR" && eval "$change")
	cat <&7 >/dev/null &
	PEER=$!
	exits_with "$client" "${CLIENTS[0]}"
	server_exits "$server"
	exec 7>&-
	kill "$PEER"
	rm "$DIR/fifo"
}

# bats test_tags=portable
@test "a single file that changes while it is sent is no whole file at the other end, but an error at both; of one that grows, the announced size is sent" {
	local change workers
	for workers in 1 4; do
		for change in 'printf x | dd of=data bs=1 seek=299999 conv=notrunc status=none' 'touch data'; do
			make_file "$DIR/data" 300000
			held_transfer 1 4 "$change" --workers $workers
			has "$ERR" "cannot read $DIR/data: it changed while being read"
			has "$ERRORS" 'the peer aborted: cannot read data: it changed while being read'
		done
		make_file "$DIR/data" 300000
		held_transfer 1 4 'truncate -s 1 data' --workers $workers
		has "$ERR" "cannot read $DIR/data: file was truncated while being read"
		has "$ERRORS" 'the peer aborted: cannot read data: file was truncated while being read'
		make_file "$DIR/data" 300000
		held_transfer 0 0 'echo more >>data' --workers $workers
	done
}

# arriving: a part of a file has arrived.
arriving() { [ -n "$(find "$DIR/in" -type f -size +1k)" ]; }

# bats test_tags=portable
@test "a single file that changed while it was sent is not stored; the same command sends it as it is then" {
	mkdir "$DIR/in"
	make_file "$DIR/data" 20000000
	start_server --output "$DIR/in/" write
	"$PAIR_BIN/rdma-client" "${SMALL[@]}" --input "$DIR/data" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_until arriving
	printf x | dd of="$DIR/data" bs=1 seek=19999999 conv=notrunc status=none
	exits_with 1 "${CLIENTS[0]}"
	has "$ERR" "cannot read $DIR/data: it changed while being read"
	[ ! -e "$DIR/in/data" ]
	expect 0 client --input "$DIR/data" write "$ADDRESS" "$PORT"
	cmp "$DIR/data" "$DIR/in/data"
	stop_server
}

@test "a server with files refuses a tutorial peer; a client with files recognises one" {
	start_server --verbose --output "$DIR/" any
	if tutorial_peer write "$ADDRESS" "$PORT" 2>"$ERR"; then
		fail 'it was accepted'
	fi
	has "$ERR" "$REJECTED"
	has "$ERRORS" 'refused .*, reason 11'
	stop_server
	listening_peer --hello none -- closed
	expect 4 client --output "$DIR/file" write "$ADDRESS" "$PEER_PORT"
	has "$ERR" 'the server is a tutorial program, which cannot exchange files'
	exits_with 0 "$PEER"
	folder_is "$DIR" errors err log out peer peer-port port
}

# bats test_tags=portable
@test "standard input and output serve one client at a time" {
	open_fifo "$DIR/fifo"
	start_server --output - any 7>&-
	"$PAIR_BIN/rdma-client" --input "$DIR/fifo" write "$ADDRESS" "$PORT" >"$DIR/first" 2>&1 7>&- &
	CLIENTS=($!)
	echo one >&7
	wait_until has_size "$LOG" 4
	expect_error 3 "the server's input or output serves one client at a time" \
		client --timeout 2 --message two write "$ADDRESS" "$PORT"
	# A client with a longer timeout is served.
	"$PAIR_BIN/rdma-client" --timeout 60 --message two write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 7>&- &
	CLIENTS+=($!)
	wait_line "$OUT" 'server is full; retrying.'
	exec 7>&-
	exits_with 0 "${CLIENTS[0]}" || fail "$(cat "$DIR/first")"
	exits_with 0 "${CLIENTS[1]}"
	stop_server
	printf 'one\ntwo\0' | cmp - "$LOG"
	# Standard input is consumed by the first client that requests it.
	echo three >"$DIR/three"
	STDIN=$DIR/three start_server --input - any
	misbehaving_peer "$ADDRESS" "$PORT" disconnect
	wait_line "$ERRORS" 'connection closed by the peer while waiting for MSG_MR'
	expect 0 client --timeout 60 --discard write "$ADDRESS" "$PORT"
	has "$OUT" "^message from $ADDRESS:$PORT: three"
	[ "$(wc -l <"$ERRORS")" -eq 1 ]
	expect_error 3 'the server cannot read its input' client --discard write "$ADDRESS" "$PORT"
	wait_line "$ERRORS" 'another client has consumed standard input'
	stop_server
}

# bats test_tags=portable
@test "--json prints one valid document per connection at both ends" {
	local hash mode
	mkdir "$DIR/in"
	start_server --json --force --message 'good bye' --output "$DIR/in/" any
	for mode in write read send; do
		make_file "$DIR/data" 200000
		hash=$(hash_of "$DIR/data")
		expect 0 client --json --input "$DIR/data" $mode "$ADDRESS" "$PORT"
		[ "$(wc -l <"$OUT")" -eq 1 ]
		is_empty "$ERR"
		has "$OUT" '"command":"'$mode'".*"status":0,"verdict":"verified","message":null,"error":null,"mode":"'$mode'"'
		has "$OUT" '"sent":{"bytes":200000,"resumed_at":0,"hash":"'"$hash"'"'
	done
	misbehaving_peer "$ADDRESS" "$PORT" mr mr closed
	expect 3 client --json write "$ADDRESS" 7471
	[ "$(wc -l <"$OUT")" -eq 1 ]
	one_line "$ERR"
	wait_until count "$LOG" . 4
	count "$LOG" '"received":{"bytes":200000,"resumed_at":0,"hash":"[0-9a-f]*"' 3
	has "$LOG" '"hash":"'"$hash"'"'
	count "$LOG" '"status":4,"verdict":"failed"' 1
	stop_server
}

# damaged MODE OPTION...: first the client, then the server corrupts one bit of its data after
# computing the digest. Both sides report it and exit with 5, and no file is written.
damaged() {
	local mode=$1 variant=$PAIR_BUILD/tests/one-host/damaging
	shift
	start_server "${SMALL[@]}" --count 1 --output "$DIR/in/" "$mode"
	expect 5 timeout 120 "$variant-client" "$@" "$mode" "$ADDRESS" "$PORT"
	has "$ERR" 'data sent to the peer arrived corrupted'
	one_line "$ERR"
	server_exits 5
	has "$ERRORS" "data from the peer arrived corrupted"
	one_line "$ERRORS"
	is_empty "$DIR/in"
	PAIR_SERVER=$variant-server start_server --count 1 "$@" "$mode"
	expect 5 client "${SMALL[@]}" --output "$DIR/in/" "$mode" "$ADDRESS" "$PORT"
	has "$ERR" "data from the peer arrived corrupted"
	one_line "$ERR"
	server_exits 5
	has "$ERRORS" 'data sent to the peer arrived corrupted'
	one_line "$ERRORS"
	is_empty "$DIR/in"
}

# bats test_tags=portable
@test "one flipped bit anywhere: exit 5 at both ends and no file, each mode" {
	local mode place
	mkdir "$DIR/in"
	make_file "$DIR/data" 200001
	for mode in write read send; do
		for place in 0 200000; do
			DAMAGE=$place damaged $mode --input "$DIR/data"
		done
		DAMAGE=7 damaged $mode --message 'something or other'
	done
	# Without damage the same programs succeed.
	start_server --count 1 --output "$DIR/in/" write
	expect 0 "$PAIR_BUILD/tests/one-host/damaging-client" --input "$DIR/data" write "$ADDRESS" \
		"$PORT"
	cmp "$DIR/data" "$DIR/in/data"
	server_exits 0
}

# on_disk KIND: makes a file system of this kind in a file, and mounts it on $DIR/disk.
on_disk() {
	command -v "mkfs.$1" >/dev/null || skip "mkfs.$1 is not installed"
	truncate -s 320M "$DIR/image"
	mkfs."$1" -q "$DIR/image"
	mkdir "$DIR/disk"
	modprobe -a loop "$1" || skip "this kernel lacks $1 or loop devices"
	mount -o loop "$DIR/image" "$DIR/disk" || skip "this kernel cannot mount $1 on a loop device"
}

# direct_transfers: sends a file of an odd size from and to that disk, in each mode, past the page cache.
direct_transfers() {
	local mode
	make_file "$DIR/disk/data" 3000001
	start_server --direct --workers 2 --force --input "$DIR/disk/data" --output "$DIR/disk/server" any
	for mode in write read send; do
		rm -f "$DIR/disk/server" "$DIR/disk/client"
		expect 0 client --direct --workers 3 --force --input "$DIR/disk/data" --output "$DIR/disk/client" "$mode" \
			"$ADDRESS" "$PORT"
		cmp "$DIR/disk/data" "$DIR/disk/client"
		cmp "$DIR/disk/data" "$DIR/disk/server"
		# Storage that was reserved is not kept.
		[ "$(stat -c '%b' "$DIR/disk/client")" -le $((3000001 / 512 + 16)) ] || false
	done
	stop_server
	is_empty "$ERRORS"
	umount "$DIR/disk"
}

@test "--direct moves files past the page cache: ext4" {
	on_disk ext4
	direct_transfers
}

@test "--direct moves files past the page cache: xfs" {
	on_disk xfs
	direct_transfers
}

@test "--direct is refused where it cannot work" {
	local excluded
	mkdir "$DIR/folder" "$DIR/store"
	make_file "$DIR/folder/a" 10
	start_server --input "$DIR/folder/a" --output "$DIR/store/" any
	for excluded in '' '--exclude=*.o'; do
		# shellcheck disable=SC2086 # none or one word
		expect 1 client --direct $excluded --input "$DIR/folder" write "$ADDRESS" "$PORT"
		has "$ERR" 'cannot read .*/folder: --direct needs a single regular file'
	done
	expect 1 client --direct --output /dev/null write "$ADDRESS" "$PORT"
	has "$ERR" '--direct needs a regular file'
}

@test "--workers and --direct are refused with a FIFO, with the reason" {
	local side
	mkfifo "$DIR/fifo"
	for side in --input --output; do
		expect_error 2 "--workers cannot be combined with a pipe: it has one reader and one writer" \
			client --workers 4 $side "$DIR/fifo" write "$ADDRESS" 7471
		expect_error 2 "--direct cannot be combined with a pipe: it has no page cache to bypass" \
			client --direct $side "$DIR/fifo" write "$ADDRESS" 7471
		expect_error 2 "--workers cannot be combined with a pipe: it has one reader and one writer" \
			"$PAIR_BIN/rdma-server" --workers 4 $side "$DIR/fifo" write
		expect_error 2 "--direct cannot be combined with a pipe: it has no page cache to bypass" \
			"$PAIR_BIN/rdma-server" --direct $side "$DIR/fifo" write
	done
}
