#!/usr/bin/env bats
# rdma-client copy: it starts the server at the other host, here through a program that runs the
# command as sshd(8) does, by a shell in the home directory.

load common
load measure
load streams

setup() {
	prepare
	mkdir "$DIR/home" "$DIR/here"
	cat >"$DIR/rsh" <<-END
		#!/bin/sh
		# Words before the host are options of --rsh.
		while [ "\$1" != there ] && [ "\$1" != me@there ]; do shift; done
		shift
		echo "Welcome to a host with a banner"
		echo "rdma-server listens: to no one"
		printf 'no end of line'
		cd "$DIR/home" && exec sh -c "\$*"
	END
	chmod +x "$DIR/rsh"
	PATH=$(readlink -f "$PAIR_BIN"):$PATH
	export RDMA_RSH=$DIR/rsh
}

copy() { client copy "$@"; }

# server_arguments: prints the arguments of the servers that run, one per line.
server_arguments() {
	local process
	for process in /proc/[0-9]*; do
		! grep -qsxz -e '--stdi[o]' "$process/cmdline" || tr '\0' '\n' <"$process/cmdline"
	done 2>/dev/null
}

none_runs() { [ -z "$(server_arguments)" ]; }

one_runs() { ! none_runs; }

# arrives: a part of a file is at the other host.
arrives() { [ -n "$(ls -A "$DIR/home")" ]; }

@test "copy sends files and directories, and fetches them, by each operation" {
	local mode
	make_file "$DIR/here/big" 3000000
	mkdir "$DIR/here/photos"
	make_file "$DIR/here/photos/a" 2000
	ln -s a "$DIR/here/photos/link"
	for mode in write read send; do
		expect 0 copy --mode $mode "$DIR/here/big" me@there:big.$mode
		has "$OUT" "^sent $DIR/here/big to $ADDRESS:[0-9]*: 3,000,000 bytes .*, verified, Poly1305"
		cmp "$DIR/here/big" "$DIR/home/big.$mode"
		expect 0 copy --mode $mode there:big.$mode "$DIR/here/back.$mode"
		cmp "$DIR/here/big" "$DIR/here/back.$mode"
		is_empty "$ERR"
	done
	expect 0 copy "$DIR/here/photos" "$DIR/here/big" there:
	diff -r --no-dereference "$DIR/here/photos" "$DIR/home/photos"
	mkdir "$DIR/in"
	expect 0 copy --exclude link there:photos there:big "$DIR/in"
	[ "$(cd "$DIR/in" && find . | sort | paste -s -d ' ')" = '. ./big ./photos ./photos/a' ]
	wait_until none_runs
}

@test "copy replaces files, and sends what has not changed only once" {
	make_file "$DIR/here/big" 3000000
	expect 0 copy "$DIR/here/big" there:
	expect 0 copy --json "$DIR/here/big" there:
	assert_json '.sent.bytes == 0 and .sent.resumed_at == 3000000 and .secret'
	echo changed >"$DIR/here/big"
	expect 0 copy "$DIR/here/big" there:
	cmp "$DIR/here/big" "$DIR/home/big"
	echo more >>"$DIR/home/big"
	expect 0 copy there:big "$DIR/here/"
	cmp "$DIR/here/big" "$DIR/home/big"
	mkdir "$DIR/here/tree" "$DIR/home/tree"
	expect 4 copy "$DIR/here/tree" there:
	has "$ERR" 'cannot write tree: Is a directory (with --update at the receiver, directories are merged)'
	echo ours >"$DIR/here/tree/ours"
	echo theirs >"$DIR/home/tree/theirs"
	expect 0 copy --update "$DIR/here/tree" there:
	expect 0 copy --update there:tree "$DIR/here/"
	has "$OUT" '^received .* (2 files, 1 already there, 7 B) from '
	[ "$(cat "$DIR/here/tree/theirs" "$DIR/home/tree/ours" | tr '\n' ' ')" = 'theirs ours ' ]
	wait_until none_runs
}

@test "copy keeps any path whole" {
	local path
	make_file "$DIR/here/x" 1000
	# shellcheck disable=SC2016,SC1003 # not for this shell
	for path in 'a b' "it's" '$HOME `id` "x" ; & | * \' -dash 'c:d' $'new\nline' 'caf\303\251'; do
		expect 0 copy "$DIR/here/x" "there:$path"
		cmp "$DIR/here/x" "$DIR/home/$path"
		expect 0 copy "there:$path" "$DIR/here/y"
		cmp "$DIR/here/x" "$DIR/here/y"
		rm "$DIR/here/y" "$DIR/home/$path"
	done
	HOME=$DIR/home expect 0 copy "$DIR/here/x" "there:~/tilde"
	cmp "$DIR/here/x" "$DIR/home/tilde"
	cd "$DIR/here"
	cp x a:b
	expect 0 timeout 60 rdma-client copy ./a:b there:
	cmp x "$DIR/home/a:b"
	folder_is "$DIR/home" a:b tilde
}

@test "copy says what is wrong with the other host" {
	make_file "$DIR/here/x" 1000
	expect 3 copy --server-path /nowhere/rdma-server "$DIR/here/x" there:
	has "$ERR" '^rdma-client: rdma-server is not installed at there, or not in its PATH; install it there, or name it with --server-path$'
	expect 3 copy there:missing "$DIR/here/"
	has "$ERR" '^rdma-server: cannot start: cannot read missing: No such file or directory'
	has "$ERR" '^rdma-client: rdma-server at there has not started (exit status 1 of .*/rsh); see above$'
	printf '#!/bin/sh\nexit 255\n' >"$DIR/unreachable"
	chmod +x "$DIR/unreachable"
	expect 3 copy --rsh "$DIR/unreachable -p 22" "$DIR/here/x" there:
	has "$ERR" "^rdma-client: cannot reach there by $DIR/unreachable -p 22; see above$"
	expect 1 copy --rsh "$DIR/no-such-program -x" "$DIR/here/x" there:
	has "$ERR" '^rdma-client: cannot run .*no-such-program -x: No such file or directory$'
	one_line "$ERR"
	expect 0 copy --rsh "$DIR/rsh -p 22" "$DIR/here/x" there:
	rm "$DIR/home/x"
	expect 1 copy "$DIR/here/missing" there:
	has "$ERR" "^rdma-client: cannot read $DIR/here/missing: No such file or directory$"
	expect 2 copy /dev/null there:
	has "$ERR" "SOURCE must be a file or a directory, not '/dev/null'"
	expect 2 copy "$DIR/here/x" "$DIR/here/y"
	has "$ERR" "one of them needs HOST:, for example: rdma-client copy big.iso host:/data/$"
	one_line "$ERR"
	expect 2 copy there:x elsewhere:y "$DIR/here"
	has "$ERR" "^rdma-client: 'there:x' and 'elsewhere:y' are at different hosts; copy from one host at a time, for example: rdma-client copy host:/data/big.iso .$"
	expect 2 copy there:x here "$DIR/here"
	has "$ERR" "^rdma-client: 'there:x' is at another host, but 'here' at this one, as is DESTINATION; copy from one host at a time, for example: rdma-client copy host:/data/big.iso .$"
	expect 2 copy there:x
	has "$ERR" '^rdma-client: DESTINATION is missing; for example: rdma-client copy there:x \.$'
	[ ! -e "$DIR/home/x" ]
}

@test "copy to a host without a common network, or of an earlier release, says so" {
	make_file "$DIR/here/x" 1000
	printf '#!/bin/sh\n%s\n' 'echo rdma-server listens: 7471 192.0.2.77 192.0.2.78; exec cat >/dev/null' >"$DIR/rsh"
	expect 3 copy "$DIR/here/x" there:
	has "$ERR" "^rdma-client: no common RDMA network with there: its RDMA addresses are 192.0.2.77, 192.0.2.78, those of this host .*$ADDRESS ([a-z0-9]*, [a-z0-9]*).*; give a device at each host an address of one network, or add a route$"
	one_line "$ERR"
	printf '#!/bin/sh\n%s\n' "echo \"rdma-server: unknown option '--stdio'\" >&2; exit 2" >"$DIR/rsh"
	expect 3 copy "$DIR/here/x" there:
	has "$ERR" '^rdma-client: rdma-server at there does not know the options of this copy, as older releases do not; see above, and install the same release at both hosts$'
}

@test "the secret of copy is no argument, and a copy that is interrupted ends both sides" {
	local signal
	truncate -s 300M "$DIR/here/large"
	for signal in INT TERM KILL; do
		env --default-signal=INT "$PAIR_BIN/rdma-client" copy "$DIR/here/large" there: >"$OUT" 2>"$ERR" &
		CLIENTS=($!)
		wait_until one_runs
		server_arguments >"$DIR/arguments"
		has_not "$DIR/arguments" '[0-9a-f]\{32\}'
		has_not "/proc/${CLIENTS[0]}/cmdline" '[0-9a-f]\{32\}'
		wait_until arrives
		kill -$signal "${CLIENTS[0]}"
		exits_with $((128 + $(kill -l $signal))) "${CLIENTS[0]}"
		wait_until none_runs
		[ ! -e "$DIR/home/large" ]
		find "$DIR/home" -mindepth 1 -delete
	done
}
