#!/usr/bin/env bats
# rdma-client copy from and to another host, through ssh(1) and an SSH server.

load common

# The other host's shell greets.
setup() {
	prepare_hosts
	{ command -v ssh && command -v dropbear; } >/dev/null || skip 'ssh or dropbear is not installed'
	undo restore_home
	start_far_sshd "$DIR/key" "echo 'echo Welcome to host 1; printf %s no-end-of-line' >/root/.bashrc"
	export RDMA_RSH=$FAR_SSH
}

restore_home() { on_host1 'umount -l /root'; }

copy() { client copy --timeout 60 --server-path "$(readlink -f "$PAIR_BIN/rdma-server")" "$@"; }

no_far_server() { on_host1 '! pidof rdma-server >/dev/null'; }

@test "copy through ssh: files and directories, there and back, and what is there is not sent again" {
	# shellcheck disable=SC2016
	local name='a b "c" $d' mode
	mkdir -p "$DIR/photos/$name"
	head -c 3000000 /dev/urandom >"$DIR/photos/big"
	echo small >"$DIR/photos/$name/-x"
	mkdir "$DIR/write" "$DIR/read" "$DIR/send"
	on_host1 'cd /root && mkdir write read send'
	for mode in write read send; do
		expect 0 copy --mode $mode "$DIR/photos" "root@$HOST1:$mode/"
		expect 0 copy --mode $mode "$HOST1:$mode/photos" "$DIR/$mode/"
		diff -r "$DIR/photos" "$DIR/$mode/photos"
	done
	is_empty "$ERR"
	echo more >>"$DIR/photos/$name/-x"
	expect 0 copy --update "$DIR/photos" "$HOST1:write/"
	has "$OUT" "^sent $DIR/photos (2 files, 1 already there, 11 B) to "
	expect 0 copy "$HOST1:write/photos/$name/-x" "$DIR/"
	[ "$(cat "$DIR/_x")" = "$(cat "$DIR/photos/$name/-x")" ]
	expect 3 client copy --server-path /none/rdma-server "$DIR/photos" "$HOST1:"
	has "$ERR" "^rdma-client: rdma-server is not installed at $HOST1, or not in its PATH; install it there"
	wait_until no_far_server
}

@test "copy through ssh: a client that is killed leaves no server, and the same command sends the rest" {
	mkdir -p "$DIR/photos"
	head -c 70000000 /dev/urandom >"$DIR/photos/big"
	copy "$DIR/photos" "$HOST1:" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_until on_host1 'find /root -name big -size +5000k | grep -q .'
	pkill -KILL -f "rdma-client cop[y]"
	wait "${CLIENTS[0]}" || true
	wait_until no_far_server
	on_host1 '[ ! -e /root/photos ]'
	expect 0 copy --json "$DIR/photos" "$HOST1:"
	[ "$(jq .sent.bytes "$OUT")" -lt 65500000 ]
	[ "$(xxhsum -H2 <"$DIR/photos/big")" = "$(on_host1 'xxhsum -H2 </root/photos/big')" ]
	rm -r "$DIR/photos"
	wait_until no_far_server
}
