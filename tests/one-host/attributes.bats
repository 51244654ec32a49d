#!/usr/bin/env bats
# Owners, groups, ACLs and extended attributes of directories.

load common
load streams
load attributes

@test "extended attributes and ACLs are kept in each mode and direction, with a secret and with workers" {
	local mode options
	on_ext4 "$DIR/disk"
	make_tree "$DIR/disk/from/tree"
	printf 'a secret of one line' >"$DIR/secret"
	chmod 600 "$DIR/secret"
	mkdir "$DIR/disk/in"
	while read -r mode options; do
		# shellcheck disable=SC2086 # several words
		start_server --xattrs -A --output "$DIR/disk/in/" --count 1 $options "$mode"
		# shellcheck disable=SC2086
		expect 0 client --acls -X $options --input "$DIR/disk/from/tree" "$mode" "$ADDRESS" "$PORT"
		server_exits 0
		same_attributes "$DIR/disk/from" "$DIR/disk/in"
		! getfattr -m - "$DIR/disk/in/tree/two" | grep trusted
		rm -r "$DIR/disk/in/tree"
		# shellcheck disable=SC2086
		start_server --xattrs -A --input "$DIR/disk/from/tree" --count 1 $options "$mode"
		# shellcheck disable=SC2086
		expect 0 client --acls -X $options --output "$DIR/disk/in/" "$mode" "$ADDRESS" "$PORT"
		server_exits 0
		same_attributes "$DIR/disk/from" "$DIR/disk/in"
		rm -r "$DIR/disk/in/tree"
	done <<-END
		write
		read --secret-file $DIR/secret
		write --workers 4 --secret-file $DIR/secret
		send --workers 2
	END
}

@test "owners, groups and setuid bits are kept as root, by name or by number" {
	on_ext4 "$DIR/disk"
	make_tree "$DIR/disk/from/tree"
	own_tree "$DIR/disk/from/tree"
	mkdir "$DIR/disk/in"
	start_server --owner --group -X -A --update --output "$DIR/disk/in/" write
	expect 0 client --owner --group -X -A write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	same_attributes "$DIR/disk/from" "$DIR/disk/in"
	# What changed in what is there is changed there, too; an attribute too many is removed.
	chown bin "$DIR/disk/from/tree/two"
	chmod 4750 "$DIR/disk/from/tree/two"
	setfattr -n user.comment -v 'another comment' "$DIR/disk/from/tree/two"
	setfattr -x user.binary "$DIR/disk/from/tree/two"
	setfacl -b "$DIR/disk/from/tree/inner/one"
	setfacl -m g:bin:w "$DIR/disk/from/tree/inner"
	setfattr -n user.extra -v 1 "$DIR/disk/in/tree/inner/one"
	expect 0 client --owner --group -X -A --json write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	has "$OUT" '"there":3,.*"attributes_lost":0,'
	same_attributes "$DIR/disk/from" "$DIR/disk/in"
	# Without these options, they are not: the receiver's user owns everything.
	rm -r "$DIR/disk/in/tree"
	expect 0 client write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	[ -z "$(find "$DIR/disk/in/tree" ! -user root -o ! -group root -o -perm /7000)" ]
	stop_server
	is_empty "$ERRORS"
}

@test "names of users decide, unless --numeric-ids says otherwise" {
	on_ext4 "$DIR/disk"
	mkdir -p "$DIR/disk/from/tree" "$DIR/disk/in"
	echo data >"$DIR/disk/from/tree/file"
	# The server has other numbers for some of the names.
	sed 's/^daemon:x:1:/daemon:x:4321:/' /etc/passwd >"$DIR/passwd"
	sed 's/^bin:x:2:/bin:x:4322:/' /etc/group >"$DIR/group"
	chown daemon:bin "$DIR/disk/from/tree/file"
	setfacl -m u:daemon:rw "$DIR/disk/from/tree/file"
	cat >"$DIR/inner" <<-END
		mount --bind "$DIR/passwd" /etc/passwd && mount --bind "$DIR/group" /etc/group &&
		exec "$(readlink -f "$PAIR_BIN")/rdma-server" "\$@"
	END
	printf '#!/bin/sh\nexec unshare --mount sh "%s" "$@"\n' "$DIR/inner" >"$DIR/elsewhere"
	chmod +x "$DIR/elsewhere"
	PAIR_SERVER=$DIR/elsewhere start_server --owner --group --acls --update --output "$DIR/disk/in/" write
	expect 0 client --owner --group --acls write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	[ "$(stat -c '%u %g' "$DIR/disk/in/tree/file")" = '4321 4322' ]
	getfacl -n "$DIR/disk/in/tree/file" >"$DIR/acl"
	has "$DIR/acl" '^user:4321:rw-'
	expect 0 client --owner --group --acls --numeric-ids write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	[ "$(stat -c '%u %g' "$DIR/disk/in/tree/file")" = '1 2' ]
	getfacl -n "$DIR/disk/in/tree/file" >"$DIR/acl"
	has "$DIR/acl" '^user:1:rw-'
	stop_server
}

@test "what the receiver's file system refuses is named and counted, and the exit status says so" {
	on_ext4 "$DIR/disk"
	make_tree "$DIR/disk/from/tree"
	mkdir "$DIR/in"
	setfattr -n user.a -v b "$DIR/in" 2>/dev/null && skip "this tmpfs keeps extended attributes"
	start_server --xattrs --acls --output "$DIR/in/" write
	expect 1 client --xattrs --acls write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	has "$ERR" "^rdma-client: exchange with $ADDRESS:$PORT is incomplete: the peer could not set all attributes, and names the files; all data was verified"
	has "$OUT" "^sent $DIR/disk/from/tree (6 files, .*) to .*, incomplete: all data verified, XXH3 "
	wait_until has "$ERRORS" '^rdma-server: cannot keep the extended attributes of tree/plain/second name: Operation not supported$'
	has "$ERRORS" '^rdma-server: cannot keep the extended attributes of tree/inner: Operation not supported$'
	wait_until has "$LOG" "^received $DIR/in/tree (6 files, .*; 4 without all attributes) from .*, incomplete: all data verified, XXH3 "
	diff -r --no-dereference "$DIR/disk/from" "$DIR/in"
	diff <(cd "$DIR/disk/from/tree" && acls) <(cd "$DIR/in/tree" && acls)
	stop_server
	# The client as the receiver.
	rm -r "$DIR/in/tree"
	start_server --xattrs --input "$DIR/disk/from/tree" --count 1 read
	expect 1 client --xattrs --json --output "$DIR/in/" read "$ADDRESS" "$PORT"
	has "$OUT" '"verdict":"incomplete",'
	has "$OUT" '"received":.*"attributes_lost":4,'
	has "$ERR" '^rdma-client: cannot keep the extended attributes of tree/nothing: Operation not supported$'
	has "$ERR" "is incomplete: 4 of the files and directories lack attributes; all data was verified"
	server_exits 1
}

@test "a server keeps only what it was started with, and says so before any data moves" {
	mkdir -p "$DIR/tree" "$DIR/in"
	echo data >"$DIR/tree/file"
	start_server --output "$DIR/in/" write
	expect 3 client --xattrs write "$DIR/tree" "$ADDRESS:$PORT"
	has "$ERR" 'the server keeps no owners, groups, ACLs or extended attributes; start rdma-server with the same options'
	stop_server
	start_server --acls --output "$DIR/in/" write
	expect 3 client --xattrs --group --acls write "$DIR/tree" "$ADDRESS:$PORT"
	has "$ERR" 'the server was started without --xattrs, --group; start rdma-server with the same options'
	# A client that asks for nothing is served.
	[ -z "$(ls -A "$DIR/in")" ]
	expect 0 client write "$DIR/tree" "$ADDRESS:$PORT"
	stop_server
	expect 1 "${AS_NOBODY[@]}" unlimited "$PAIR_BIN/rdma-server" --owner --output /tmp/ write
	has "$ERR" 'cannot keep owners: only root may give files to other users'
	expect 1 client --xattrs --output "$DIR/file" read "$ADDRESS:$PORT"
	has "$ERR" 'cannot keep attributes: --output must be a directory'
}

@test "a single file is sent with its attributes, also by rdma-client copy" {
	on_ext4 "$DIR/disk"
	mkdir "$DIR/disk/from" "$DIR/disk/in" "$DIR/disk/back"
	echo data >"$DIR/disk/from/file"
	setfattr -n user.comment -v 'a comment' "$DIR/disk/from/file"
	setfacl -m u:daemon:rw "$DIR/disk/from/file"
	chown daemon "$DIR/disk/from/file"
	touch -d '2001-02-03 04:05:06.789' "$DIR/disk/from/file"
	cat >"$DIR/rsh" <<-END
		#!/bin/sh
		shift
		exec sh -c "\$*"
	END
	chmod +x "$DIR/rsh"
	PATH=$(readlink -f "$PAIR_BIN"):$PATH
	expect 0 client copy --rsh "$DIR/rsh" -X -A --owner --numeric-ids "$DIR/disk/from/file" there:"$DIR/disk/in/"
	same_attributes "$DIR/disk/from" "$DIR/disk/in"
	expect 0 client copy --rsh "$DIR/rsh" -X -A --owner there:"$DIR/disk/in/file" "$DIR/disk/back/"
	same_attributes "$DIR/disk/from" "$DIR/disk/back"
}

# staged BYTES: more than this much of the large file has arrived.
staged() { [ -n "$(find "$DIR/disk/in" -path "$DIR/disk/in/.tree.??????/*/tree/zz" -size "+$(($1 / 1000))k")" ]; }

@test "an interrupted directory is resumed with its attributes" {
	on_ext4 "$DIR/disk"
	make_tree "$DIR/disk/from/tree"
	own_tree "$DIR/disk/from/tree"
	make_file "$DIR/disk/from/tree/zz" 20000000
	setfattr -n user.last -v 'of all' "$DIR/disk/from/tree/zz"
	chown daemon "$DIR/disk/from/tree/zz"
	mkdir "$DIR/disk/in"
	start_server --owner --group -X -A --output "$DIR/disk/in/" write
	"$PAIR_BIN/rdma-client" --owner --group -X -A write "$DIR/disk/from/tree" "$ADDRESS:$PORT" >"$OUT" 2>"$ERR" &
	CLIENTS=($!)
	wait_until staged 5000000
	kill -KILL "${CLIENTS[0]}"
	wait "${CLIENTS[0]}" || true
	wait_until has "$LOG" ', incomplete; kept for the client to resume\.$'
	expect 0 client --json --owner --group -X -A write "$DIR/disk/from/tree" "$ADDRESS:$PORT"
	[ "$(jq .sent.bytes "$OUT")" -lt 16000000 ]
	same_attributes "$DIR/disk/from" "$DIR/disk/in"
	stop_server
}
