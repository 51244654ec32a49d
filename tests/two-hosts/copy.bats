#!/usr/bin/env bats
# rdma-client copy from and to another host, through ssh(1) and an SSH server.

load common
load ../one-host/streams
load ../one-host/attributes

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

# far_attributes FOLDER: attributes() of a folder on host 1.
far_attributes() { on_host1 ". '$PWD/tests/one-host/attributes.bash'; attributes '$1'"; }

# same_far_attributes FOLDER FAR-FOLDER
same_far_attributes() { diff <(attributes "$1") <(far_attributes "$2") || fail "attributes of $1 and $2 on host 1 differ"; }

# On host 1, a file system that keeps everything, in /root/disk.
make_far_disk() {
	on_host1 'cd /root && modprobe -a loop ext4 && truncate -s 64M image && mkfs.ext4 -q -b 4096 image && mkdir disk &&
		mount -o loop image disk && mkdir disk/in disk/out'
	undo remove_far_disk
}
remove_far_disk() { on_host1 'umount /root/disk'; }

# On host 1, the user daemon has another number.
renumber_far_daemon() {
	on_host1 "sed 's/^daemon:x:1:/daemon:x:4321:/' /etc/passwd >/root/passwd && mount --bind /root/passwd /etc/passwd"
	undo restore_far_users
}
restore_far_users() { on_host1 'umount /etc/passwd'; }

far_owner() { on_host1 "stat -c %u '$1'"; }

@test "copy through ssh: owners, groups, ACLs and extended attributes, there and back; names or numbers" {
	local all='--xattrs --acls --owner --group'
	on_ext4 "$DIR/disk"
	make_far_disk
	make_tree "$DIR/disk/tree"
	own_tree "$DIR/disk/tree"
	# shellcheck disable=SC2086 # several words
	expect 0 copy $all "$DIR/disk/tree" "$HOST1:disk/in/"
	same_far_attributes "$DIR/disk/tree" /root/disk/in/tree
	# In files that are there, only the attributes change.
	chmod 640 "$DIR/disk/tree/big"
	chown games "$DIR/disk/tree/big"
	setfattr -x user.comment "$DIR/disk/tree/two"
	# shellcheck disable=SC2086
	expect 0 copy $all --update "$DIR/disk/tree" "$HOST1:disk/in/"
	has "$OUT" ', 0 B) to '
	same_far_attributes "$DIR/disk/tree" /root/disk/in/tree
	mkdir "$DIR/disk/back"
	# shellcheck disable=SC2086
	expect 0 copy $all "$HOST1:disk/in/tree" "$DIR/disk/back/"
	same_attributes "$DIR/disk/tree" "$DIR/disk/back/tree"
	renumber_far_daemon
	expect 0 copy --owner --update "$DIR/disk/tree" "$HOST1:disk/in/"
	[ "$(far_owner /root/disk/in/tree/two)" = 4321 ]
	expect 0 copy --owner --numeric-ids --update "$DIR/disk/tree" "$HOST1:disk/in/"
	[ "$(far_owner /root/disk/in/tree/two)" = 1 ]
}

@test "a server on the other host keeps owners, groups, ACLs and extended attributes, with and without a secret" {
	local all='--xattrs --acls --owner --group' secret
	on_ext4 "$DIR/disk"
	make_far_disk
	make_tree "$DIR/disk/tree"
	own_tree "$DIR/disk/tree"
	printf 'a secret of one line' >"$FAR/secret"
	chmod 600 "$FAR/secret"
	for secret in '' "--secret-file $FAR/secret"; do
		# shellcheck disable=SC2086 # several words
		start_far_server $all --update $secret --output /root/disk/out/ any
		# shellcheck disable=SC2086 # several words
		expect 0 client $all $secret --input "$DIR/disk/tree" write "$HOST1" "$PORT"
		same_far_attributes "$DIR/disk/tree" /root/disk/out/tree
		setfattr -n user.comment -v 'it changes' "$DIR/disk/tree/two"
		chmod 4700 "$DIR/disk/tree/two"
		# shellcheck disable=SC2086
		expect 0 client $all $secret --input "$DIR/disk/tree" send "$HOST1" "$PORT"
		has "$OUT" ', 0 B) to '
		same_far_attributes "$DIR/disk/tree" /root/disk/out/tree
		stop_on_host1 server
		: >"$FAR/port"
		on_host1 'rm -r /root/disk/out/tree'
	done
}
