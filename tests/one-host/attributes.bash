# Directories with owners, groups, ACLs and extended attributes, for the tests that keep them.

# shellcheck shell=bash

# on_ext4 FOLDER: makes a file system that keeps everything, and mounts it there. That of the guest,
# a tmpfs of Linux 6.1, refuses extended attributes of users.
on_ext4() {
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	command -v setfattr >/dev/null || skip "setfattr is not installed"
	command -v setfacl >/dev/null || skip "setfacl is not installed"
	modprobe -a loop ext4 || skip "this kernel lacks ext4 or loop devices"
	mkdir -p "$1"
	truncate -s 64M "$1.image"
	mkfs.ext4 -q -b 4096 "$1.image"
	mount -o loop "$1.image" "$1" || skip "this kernel cannot mount ext4 on a loop device"
	undo umount "$1"
}

# make_tree FOLDER: files, a directory and a link with all attributes.
make_tree() {
	mkdir -p "$1/inner" "$1/plain"
	printf 'one\n' >"$1/inner/one"
	printf 'two\n' >"$1/two"
	: >"$1/nothing"
	make_file "$1/big" 1000000
	ln "$1/two" "$1/plain/second name"
	ln -s two "$1/link"
	setfattr -n user.comment -v 'a comment' "$1/two"
	setfattr -n user.binary -v 0x000102ff00 "$1/two"
	setfattr -n user.empty "$1/nothing"
	setfattr -n user.of.directory -v yes "$1/inner"
	setfattr -n user.large -v "$(head -c 3000 /dev/zero | tr '\0' x)" "$1/big"
	setfattr -n trusted.private -v no "$1/two"
	setfacl -m u:daemon:rw,g:bin:r,u:54321:x "$1/inner/one"
	setfacl -m u:daemon:rwx,m::rx -d -m g:bin:rx "$1/inner"
	chmod 400 "$1/big"
	touch -d '2001-02-03 04:05:06.789' "$1/inner/one" "$1/inner" "$1"
}

# own_tree FOLDER: gives parts of it to other users.
own_tree() {
	chown daemon:bin "$1/two"
	chown 54321:54322 "$1/inner/one"
	chown -h games "$1/link"
	chgrp mail "$1/plain"
	chmod 4755 "$1/two"
	chmod 2775 "$1/plain"
	chmod 1777 "$1/inner"
	touch -d '2001-02-03 04:05:06.789' "$1/plain" "$1/inner" "$1"
}

# acls: lists the ACLs of all files and directories below the current one.
acls() { find . -mindepth 1 ! -type l -print0 | sort -z | xargs -0 getfacl -n -p; }

# Lists what is kept on request, below the folder.
attributes() {
	(
		cd "$1" || exit
		find . -mindepth 1 -printf '%p %U:%G %m %T@\n' | sort
		find . -mindepth 1 -print0 | sort -z | xargs -0 getfattr -d -m '^user' -e hex -h --absolute-names
		acls
	)
}

# same_attributes A B
same_attributes() {
	diff <(attributes "$1") <(attributes "$2") || fail "attributes of $1 and $2 differ"
	diff -r --no-dereference "$1" "$2" || fail "the contents of $1 and $2 differ"
}
