#!/usr/bin/env bats
# Directories and several files in one exchange.

load common
load streams

# make_tree FOLDER: creates files, directories and links with unusual permissions and times.
make_tree() {
	mkdir -p "$1/inner/deep" "$1/empty"
	make_file "$1/big" 3000000
	printf 'one\n' >"$1/inner/one"
	: >"$1/inner/deep/nothing"
	printf 'secret\n' >"$1/.hidden"
	ln -s inner/one "$1/link"
	ln -s /nonexistent "$1/dangling"
	truncate -s 20M "$1/sparse"
	ln "$1/big" "$1/inner/another name"
	chmod 640 "$1/inner/one"
	chmod 555 "$1/inner/deep"
	touch -d '2001-02-03 04:05:06.789' "$1/inner/one" "$1/inner"
	touch -h -d '1999-12-31 23:59:59' "$1/link"
}

# Lists names, types, permissions, times, sizes, hard links and targets of everything below a folder.
list() {
	(cd "$1" && find . -mindepth 1 \
		\( -type d -printf '%p %y %m %T@\n' -o -printf '%p %y %m %T@ %s %n %l\n' \) | sort)
}

# same_tree A B
same_tree() {
	diff <(list "$1") <(list "$2") || fail "$1 and $2 differ"
	diff -r --no-dereference "$1" "$2" || fail "the contents of $1 and $2 differ"
}

@test "a directory and two files arrive with permissions, times and links, in each mode and direction" {
	local mode
	make_tree "$DIR/from/tree"
	make_file "$DIR/from/file" 12345
	: >"$DIR/from/empty file"
	mkdir "$DIR/in"
	for mode in write read send; do
		start_server --output "$DIR/in" --count 1 $mode
		expect 0 client --input "$DIR/from/tree" --input "$DIR/from/file" -i "$DIR/from/empty file" \
			$mode "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/from/tree and 2 more (10 files, 24.0 MB; 3.0 MB without holes) to $ADDRESS:$PORT by [A-Z]* in .*, verified, XXH3 [0-9a-f]*\\.\$"
		server_exits 0
		has "$LOG" "^received $DIR/in/tree and 2 more (10 files, 24.0 MB; 3.0 MB without holes) from $ADDRESS:[0-9]* by [A-Z]* in .*, verified, XXH3 "
		same_tree "$DIR/from" "$DIR/in"
		[ "$(stat -c %b "$DIR/in/tree/sparse")" -eq 0 ]
		rm -r "$DIR/in"
		mkdir "$DIR/in"
		start_server --input "$DIR/from/tree/" --input "$DIR/from/file" --input "$DIR/from/empty file" --count 1 $mode
		expect 0 client --json --output "$DIR/in/" $mode "$ADDRESS" "$PORT"
		has "$OUT" '"name":"tree","path":"'"$DIR/in/tree"'","entries":3,'
		server_exits 0
		same_tree "$DIR/from" "$DIR/in"
		rm -r "$DIR/in"
		mkdir "$DIR/in"
	done
}

# data_at FILE OFFSET-IN-MB: prints a megabyte of the file.
data_at() { dd if="$1" bs=1M skip="$2" count=1 status=none; }

@test "holes of files in a directory are not sent: 100 GB with 2 MB of data, in each mode" {
	local options
	make_file "$DIR/data" 1048576
	mkdir -p "$DIR/from/tree" "$DIR/in"
	truncate -s 50G "$DIR/from/tree/a" "$DIR/from/tree/b"
	dd if="$DIR/data" of="$DIR/from/tree/a" bs=1M seek=40000 conv=notrunc status=none
	dd if="$DIR/data" of="$DIR/from/tree/b" bs=1M seek=51199 conv=notrunc status=none
	printf 'a secret of one line' >"$DIR/secret"
	chmod 600 "$DIR/secret"
	while read -r MODE options; do
		# shellcheck disable=SC2086 # several words
		start_server --output "$DIR/in" --count 1 $options "$MODE"
		# shellcheck disable=SC2086
		expect 0 client --input "$DIR/from/tree" $options "$MODE" "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/from/tree (2 files, 107.37 GB; 2.1 MB without holes) to "
		server_exits 0
		diff <(list "$DIR/from") <(list "$DIR/in")
		data_at "$DIR/in/tree/a" 40000 | cmp - "$DIR/data"
		data_at "$DIR/in/tree/b" 51199 | cmp - "$DIR/data"
		[ "$(du -m "$DIR/in" | tail -n 1 | cut -f 1)" -le 3 ]
		rm -r "$DIR/in/tree"
	done <<-END
		write
		read --workers 4
		send --secret-file $DIR/secret
	END
}

@test "--exclude omits what matches, as rsync does, at either end, also if it could not be read" {
	local mode
	mkdir -p "$DIR/from/tree/cache/deep" "$DIR/from/tree/src/cache" "$DIR/in" "$DIR/expected"
	make_file "$DIR/from/tree/src/a.c" 2000
	make_file "$DIR/from/tree/src/a.o" 3000
	make_file "$DIR/from/tree/cache/deep/x" 4000
	: >"$DIR/from/tree/src/cache/kept"
	mkfifo "$DIR/from/tree/cache/fifo" "$DIR/from/tree/src/fifo.o"
	make_file "$DIR/from/b.o" 10
	make_file "$DIR/from/b" 20
	cp -a "$DIR/from/." "$DIR/expected"
	rm -r "$DIR/expected/b.o" "$DIR/expected/tree/src/"*.o "$DIR/expected/tree/cache"
	touch -r "$DIR/from/tree" "$DIR/expected/tree"
	touch -r "$DIR/from/tree/src" "$DIR/expected/tree/src"
	for mode in write read; do
		start_server --output "$DIR/in" --count 1 $mode
		expect 0 client --exclude '*.o' --exclude '/tree/cache/' --input "$DIR/from/tree" --input "$DIR/from/b" \
			--input "$DIR/from/b.o" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/from/tree and 2 more (3 files, 2.0 kB) to "
		has_not "$ERR" 'skipped'
		server_exits 0
		same_tree "$DIR/expected" "$DIR/in"
		rm -r "$DIR/in"
		mkdir "$DIR/in"
	done
	# What --dry-run lists is what arrived. It needs no server.
	expect 0 client --dry-run --exclude '*.o' --exclude '/tree/cache/' --input "$DIR/from/tree" \
		--input "$DIR/from/b" --input "$DIR/from/b.o" write "$ADDRESS" "$PORT"
	[ "$(cut -c 12- "$OUT" | sed '$d; s:/$::' | sort)" = \
		"$(cd "$DIR/expected" && find . -mindepth 1 -printf '%P\n' | sort)" ]
	has "$OUT" '^would send 3 files, 2.0 kB.$'
	is_empty "$ERR"
	start_server --exclude '*.o' --exclude cache/deep --exclude 'f*o' --input "$DIR/from/tree" --count 1 write
	expect 0 client --output "$DIR/in/" write "$ADDRESS" "$PORT"
	server_exits 0
	[ "$(cd "$DIR/in" && find . -type f | sort | paste -s -d ' ')" = './tree/src/a.c ./tree/src/cache/kept' ]
	[ -d "$DIR/in/tree/cache" ]
	expect 2 client --exclude x --input "$DIR/from/b" write "$ADDRESS" "$PORT"
	has "$ERR" '--exclude cannot be combined with a single file to send'
}

@test "several threads read and store the files of a directory, and the stream is the same" {
	local i workers
	make_tree "$DIR/from/tree"
	mkdir "$DIR/from/tree/many"
	for i in {1..300}; do
		head -c $((i * 97 % 9000)) "$DIR/from/tree/big" >"$DIR/from/tree/many/$i"
	done
	printf 'a secret of 16 bytes or more\n' >"$DIR/secret"
	chmod 600 "$DIR/secret"
	for workers in 1 4; do
		mkdir "$DIR/in" "$DIR/back"
		start_server --workers "$workers" --input "$DIR/from/tree" --output "$DIR/in" --count 1 any
		expect 0 client --workers "$workers" --input "$DIR/from/tree" --output "$DIR/back/" write "$ADDRESS" "$PORT"
		server_exits 0
		same_tree "$DIR/from" "$DIR/in"
		same_tree "$DIR/from" "$DIR/back"
		grep -o 'XXH3 [0-9a-f]*' "$OUT" | sort -u >"$DIR/digest.$workers"
		rm -r "$DIR/in" "$DIR/back"
	done
	cmp "$DIR/digest.1" "$DIR/digest.4"
	[ "$(wc -l <"$DIR/digest.1")" -eq 1 ]
	mkdir "$DIR/in"
	start_server --workers 4 --secret-file "$DIR/secret" --output "$DIR/in" --count 1 read
	expect 0 client --workers 4 --secret-file "$DIR/secret" --input "$DIR/from/tree" read "$ADDRESS" "$PORT"
	server_exits 0
	same_tree "$DIR/from" "$DIR/in"
}

@test "files are named before HOST, as by a glob" {
	mkdir -p "$DIR/from/dir" "$DIR/in"
	printf 1 >"$DIR/from/1.jpg"
	printf 22 >"$DIR/from/dir/2.jpg"
	printf 333 >"$DIR/from/3 3.jpg"
	start_server --output "$DIR/in" write
	expect 0 client write "$DIR/from"/* "$ADDRESS:$PORT"
	has "$OUT" "^sent $DIR/from/1.jpg and 2 more (3 files, 6 B) to $ADDRESS:$PORT by WRITE in "
	same_tree "$DIR/from" "$DIR/in"
	expect 2 client write "$DIR/from"/* "$ADDRESS" "$PORT"
	has "$ERR" "^rdma-client: after files, HOST needs a colon: $ADDRESS:$PORT\$"
	stop_server
}

# on_terminal COLUMNS COMMAND...: runs the command on a terminal, whose output goes to $DIR/screen, and its
# process ID to $DIR/pid.
on_terminal() {
	local columns=$1
	shift
	script -qefc "stty cols $columns && echo \$\$ >${DIR@Q}/pid && exec ${*@Q}" "$DIR/screen" >/dev/null </dev/null
}

# lines FILE PATTERN N: at least N lines in the file match.
lines() { [ "$(grep -c -e "$2" "$1")" -ge "$3" ]; }

# The test ends the transfers, which would take long. A hole would take no time.
@test "progress of a directory shows the total and the current file, on a terminal or on request" {
	local total='of 524\.3 MB .* left  3 of 4: tree/large$'
	mkdir -p "$DIR/from/tree" "$DIR/in"
	head -c 500M /dev/zero >"$DIR/from/tree/large"
	: >"$DIR/from/tree/a"
	ln -s a "$DIR/from/tree/b"
	: >"$DIR/from/tree/z"
	start_server --progress --output "$DIR/in" write
	on_terminal 80 "$PAIR_BIN/rdma-client" --input "$DIR/from/tree" write "$ADDRESS" "$PORT" &
	CLIENTS=($!)
	wait_line "$DIR/screen" "[0-9] % .*$(printf '\r')"'.* % .*B '"${total%\$}"
	wait_line "$ERRORS" "^rdma-server: [0-9]* %  .*B $total"
	kill -INT "$(<"$DIR/pid")"
	exits_with 130 "${CLIENTS[0]}"
	# A pipe and a file get none.
	wait_until has "$LOG" ', incomplete; kept for the client to resume\.$'
	: >"$ERRORS"
	"$PAIR_BIN/rdma-client" --input "$DIR/from/tree" write "$ADDRESS" "$PORT" > >(cat >"$OUT") 2> >(cat >"$ERR") &
	CLIENTS=($!)
	wait_until lines "$ERRORS" "^rdma-server: [0-9]* %  .*B $total" 3
	is_empty "$ERR"
	kill -INT "${CLIENTS[0]}"
	exits_with 130 "${CLIENTS[0]}"
	has_not "$ERR" ' left'
	has_not "$OUT" ' left'
	stop_server
}

@test "directories and several files need a directory at the receiver" {
	mkdir -p "$DIR/a" "$DIR/in"
	printf 1 >"$DIR/a/f"
	printf 2 >"$DIR/b"
	start_server --output "$DIR/file" any
	expect_error 3 'the server cannot store a directory or several files; start rdma-server with --output DIRECTORY/; release 0.1 stores single files only' \
		client --input "$DIR/a" write "$ADDRESS" "$PORT"
	wait_until has "$LOG" "^refused $ADDRESS:[0-9]*: the server cannot store a directory or several files"
	expect_error 3 'the server cannot store a directory or several files' \
		client --input "$DIR/b" --input "$DIR/a/f" read "$ADDRESS" "$PORT"
	[ ! -e "$DIR/file" ]
	stop_server
	start_server any
	expect_error 3 'the server has no --output' client --input "$DIR/a" write "$ADDRESS" "$PORT"
	stop_server
	start_server --discard any
	expect 0 client --input "$DIR/a" write "$ADDRESS" "$PORT"
	wait_until has "$LOG" "^discarded data from $ADDRESS"
	stop_server
	start_server --input "$DIR/a" any
	expect_error 3 "the server sends a directory or several files, but the client's --output is a file; use --output DIRECTORY/" \
		client --output "$DIR/file" write "$ADDRESS" "$PORT"
	expect_error 3 'the server sends a file, but the client has no --output' client write "$ADDRESS" "$PORT"
	expect 0 client --output "$DIR/in/" write "$ADDRESS" "$PORT"
	diff -r "$DIR/a" "$DIR/in/a"
	stop_server
}

@test "an existing directory is kept, and a failed transfer leaves nothing" {
	mkdir -p "$DIR/a" "$DIR/in/a"
	make_file "$DIR/a/data" 2000000
	printf old >"$DIR/in/a/data"
	start_server --output "$DIR/in/" any
	expect_error 4 'the peer aborted: cannot write a: Is a directory (with --update at the receiver, directories are merged)' \
		client --input "$DIR/a" write "$ADDRESS" "$PORT"
	[ "$(cat "$DIR/in/a/data")" = old ]
	rm -r "$DIR/in/a"
	mkdir "$DIR/a/self"
	mount --bind "$DIR/a" "$DIR/a/self"
	undo umount "$DIR/a/self"
	expect_error 1 "cannot read $DIR/a/self: the directory contains itself" \
		client --input "$DIR/a" write "$ADDRESS" "$PORT"
	wait_until is_empty "$DIR/in"
	undo_all
	expect 0 client --input "$DIR/a" write "$ADDRESS" "$PORT"
	cmp "$DIR/a/data" "$DIR/in/a/data"
	stop_server
}

@test "FIFOs, sockets and devices of a directory are skipped, named and counted; all else arrives" {
	local i
	make_tree "$DIR/from/tree"
	mkdir "$DIR/in" "$DIR/back"
	cp -a "$DIR/from/tree" "$DIR/wanted"
	mkfifo "$DIR/from/tree/a fifo"
	mknod "$DIR/from/tree/inner/null" c 1 3
	touch -r "$DIR/wanted/inner" "$DIR/from/tree/inner"
	touch -r "$DIR/wanted" "$DIR/from/tree"
	start_server --output "$DIR/in/" --input "$DIR/from/tree" any
	expect 0 client --output "$DIR/back/" write "$DIR/from/tree" "$ADDRESS:$PORT"
	has "$ERR" '^rdma-client: skipped tree/a fifo: a FIFO, socket or device$'
	has "$ERR" '^rdma-client: skipped tree/inner/null: a FIFO, socket or device$'
	has "$OUT" "^sent $DIR/from/tree (8 files, 24.0 MB; 3.0 MB without holes, 2 skipped) to .*, verified, XXH3 "
	same_tree "$DIR/wanted" "$DIR/in/tree"
	same_tree "$DIR/wanted" "$DIR/back/tree"
	wait_until has "$ERRORS" '^rdma-server: skipped tree/inner/null: a FIFO, socket or device$'
	has "$LOG" "^sent $DIR/from/tree (8 files, 24.0 MB; 3.0 MB without holes, 2 skipped) to "
	# Of many, the first ones are named.
	for i in {1..30}; do mkfifo "$DIR/from/tree/empty/$i"; done
	rm -r "$DIR/in/tree" "$DIR/back/tree"
	expect 0 client --workers 4 --quiet --json --output "$DIR/back/" write "$DIR/from/tree" "$ADDRESS:$PORT"
	has "$OUT" '"name":"tree",.*"skipped":32,.*"received":.*"skipped":null,'
	has "$ERR" '^rdma-client: and 12 more like these$'
	[ "$(grep -c ': skipped tree/' "$ERR")" -eq 20 ]
	stop_server
}

@test "what cannot be read is left out and named, everything else arrives, and the exit status says so" {
	local folder=/tmp/left-out options
	mkdir -p "$DIR/in" "$folder"
	undo rm -r "$folder"
	make_tree "$folder/tree"
	mkdir "$folder/tree/closed"
	cp "$folder/tree/.hidden" "$folder/tree/closed/"
	cp "$folder/tree/.hidden" "$folder/tree/private"
	chown -hR 65534:65534 "$folder"
	cp -a "$folder/tree" "$DIR/wanted"
	rm -r "$DIR/wanted/closed" "$DIR/wanted/private"
	chmod 0 "$folder/tree/closed" "$folder/tree/private"
	touch -r "$folder/tree" "$DIR/wanted"
	start_server --output "$DIR/in/" write
	for options in --workers=1 --workers=4 --json; do
		expect 1 "${AS_NOBODY[@]}" unlimited "$PAIR_BIN/rdma-client" "$options" write "$folder/tree" "$ADDRESS:$PORT"
		has "$ERR" '^rdma-client: cannot read tree/closed: Permission denied$'
		has "$ERR" '^rdma-client: cannot read tree/private: Permission denied$'
		has "$ERR" "^rdma-client: exchange with $ADDRESS:$PORT is incomplete: 2 of the files and directories could not be read; all others were sent and verified\.\$"
		if [ "$options" = --json ]; then
			has "$OUT" '"status":1,"verdict":"incomplete",'
			has "$OUT" '"skipped":0,"unreadable":2,'
		else
			has "$OUT" "^sent $folder/tree (8 files, 24.0 MB; 3.0 MB without holes, 2 unreadable) to .*, incomplete: all else verified, XXH3 "
		fi
		same_tree "$DIR/wanted" "$DIR/in/tree"
		wait_until has "$LOG" "^received $DIR/in/tree (8 files, 24.0 MB; 3.0 MB without holes) from .*, verified, XXH3 "
		rm -r "$DIR/in/tree"
		: >"$LOG"
	done
	# What is named on the command line must be there.
	expect_error 1 'cannot read private: Permission denied' \
		"${AS_NOBODY[@]}" unlimited "$PAIR_BIN/rdma-client" write "$folder/tree" "$folder/tree/private" "$ADDRESS:$PORT"
	stop_server
}

# arrives PATTERN: a path below the output matches.
arrives() { [ -n "$(find "$DIR/in" -path "$DIR/in/$1")" ]; }

@test "a client that is killed while it sends a directory: a retry sends the rest of what there is" {
	mkdir -p "$DIR/a" "$DIR/in"
	make_file "$DIR/a/1" 1000000
	cp "$DIR/a/1" "$DIR/a/2"
	head -c 300M /dev/zero >"$DIR/a/3"
	start_server --output "$DIR/in/" any
	"$PAIR_BIN/rdma-client" --input "$DIR/a" write "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_until arrives .a.??????/1/a/3
	kill -KILL "${CLIENTS[0]}"
	wait_until has "$LOG" ', incomplete; kept for the client to resume\.$'
	[ ! -e "$DIR/in/a" ]
	rm "$DIR/a/3"
	expect 0 client --input "$DIR/a" write "$ADDRESS" "$PORT"
	has "$OUT" "^sent $DIR/a (2 files, 2 already there, 0 B) to "
	diff -r "$DIR/a" "$DIR/in/a"
	[ "$(ls -A "$DIR/in")" = a ]
	stop_server
}

@test "what does not fit is refused before any data is stored" {
	mkdir "$DIR/small" "$DIR/a"
	mount -t tmpfs -o size=1M tmpfs "$DIR/small"
	undo umount "$DIR/small"
	make_file "$DIR/data" 2000000
	make_file "$DIR/a/data" 2000000
	start_server --output "$DIR/small/" any
	expect_error 4 'the peer aborted: cannot write data: No space left on device (2.0 MB needed, ' \
		client --input "$DIR/data" write "$ADDRESS" "$PORT"
	expect_error 4 'the peer aborted: cannot write a: No space left on device (2.0 MB needed, ' \
		client --input "$DIR/a" write "$ADDRESS" "$PORT"
	# A sparse file needs less than its size.
	truncate -s 100M "$DIR/sparse"
	expect 0 client --input "$DIR/sparse" write "$ADDRESS" "$PORT"
	wait_until has_size "$DIR/small/sparse" 104857600
	stop_server
}

@test "a peer with the hello of an earlier release sends and gets directories without what it does not know" {
	local older=$PAIR_BUILD/tests/one-host/older mode
	make_tree "$DIR/from/tree"
	mkdir "$DIR/in"
	for mode in write read; do
		PAIR_SERVER=$older-server start_server --output "$DIR/in/" --count 1 $mode
		expect 0 client --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		server_exits 0
		diff -r --no-dereference "$DIR/from" "$DIR/in"
		[ "$(stat -c %h "$DIR/in/tree/big")" = 1 ]
		rm -r "$DIR/in/tree"
		# What is there, the older client does not ask for.
		start_server --update --xattrs --output "$DIR/in/" --count 2 $mode
		expect 0 "$older-client" --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		expect 0 "$older-client" --input "$DIR/from/tree" $mode "$ADDRESS" "$PORT"
		has "$OUT" "^sent $DIR/from/tree (8 files, "
		! grep 'already there' "$OUT" || false
		server_exits 0
		diff -r --no-dereference "$DIR/from" "$DIR/in"
		rm -r "$DIR/in/tree"
		start_server --input "$DIR/from/tree" --count 1 $mode
		expect 0 "$older-client" --output "$DIR/in/" $mode "$ADDRESS" "$PORT"
		server_exits 0
		diff -r --no-dereference "$DIR/from" "$DIR/in"
		rm -r "$DIR/in/tree"
	done
	PAIR_SERVER=$older-server start_server --xattrs --output "$DIR/in/" write
	expect_error 3 'the server keeps no owners, groups, ACLs or extended attributes; start rdma-server with the same options; release 0.1 has none of them' \
		client --xattrs --input "$DIR/from/tree" write "$ADDRESS" "$PORT"
	stop_server
}
