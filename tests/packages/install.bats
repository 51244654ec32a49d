#!/usr/bin/env bats
# The Debian package on a bare system, in a guest: installed, running as a service, removed. PAIR_BARE is the
# archive of the system (tests/packages/bare-debian), PAIR_DEB the package.

load ../one-host/common
load ../one-host/systemd

# Unpacks the system into memory, with the devices and the kernel's files of the guest.
unpack_bare() {
	ROOT=/bare
	mkdir -p $ROOT
	mount -t tmpfs tmpfs $ROOT
	tar -xf "$PAIR_BARE" -C $ROOT
	mount --rbind /dev $ROOT/dev
	mount --rbind /sys $ROOT/sys
	mount -t tmpfs -o mode=755 tmpfs $ROOT/run
	cp /etc/hosts $ROOT/etc
	cp "$PAIR_DEB" $ROOT/root
}

# Lists the files of the system, except runtime files and the records of dpkg.
files() {
	(cd $ROOT && find . -xdev \( -path ./tmp -o -path ./var/tmp -o -path ./var/log -o -path ./var/lib/dpkg -o \
		-path ./var/lib/systemd -o -path ./var/cache \) -prune -o -print | sort)
}

# added BEFORE AFTER: prints the files that are only in the second list.
added() { comm -13 "$1" "$2"; }

server_is_gone() { ! pgrep -x rdma-server >/dev/null; }

@test "the package on a bare system: dependencies, service, exchanges, removal" {
	local mode
	mount --make-rprivate /
	unpack_bare
	systemd_up
	[ ! -e $ROOT/usr/bin/rdma-client ]
	# Unlike in other tests, the programs load Debian's drivers of all devices.
	[ "$(count_files $ROOT/etc/libibverbs.d)" -gt 10 ]
	files >"$DIR/before"

	# All dependencies are installed; no unit is enabled or started.
	there dpkg --install "/root/${PAIR_DEB##*/}" >"$OUT" 2>&1 || fail "$(cat "$OUT")"
	files >"$DIR/installed"
	added "$DIR/before" "$DIR/installed" >"$DIR/added"
	# /lib is a link to /usr/lib.
	there dpkg --listfiles rdma-pair | sed -e 's|^/lib/|/usr/lib/|' -e 's|^/|./|' | sort >"$DIR/listed"
	[ -z "$(added "$DIR/listed" "$DIR/added")" ] || fail "not of the package: $(added "$DIR/listed" "$DIR/added")"
	has "$DIR/added" '^\./usr/bin/rdma-server$'
	has "$DIR/added" '^\./etc/rdma-server$'
	server_is_gone
	[ "$(there rdma-client --version)" = "rdma-client $(dpkg-deb --field "$PAIR_DEB" Version)" ]

	# Configure the service as an administrator would.
	echo 'OPTIONS=--output ./ --handshake-timeout 60' >$ROOT/etc/rdma-server/7471
	head -c 300000 /dev/urandom >$ROOT/root/data
	systemctl_there enable "$INSTANCE"
	systemctl_there start "$INSTANCE" || fail "$(journal)"
	wait_until journal_has '^listening on port 7471' || fail "$(journal)"
	for mode in write read; do
		expect 0 there rdma-client --input /root/data $mode "$ADDRESS" 7471
		cmp $ROOT/root/data $ROOT/var/lib/private/rdma-server/7471/data
		rm $ROOT/var/lib/private/rdma-server/7471/data
	done

	# An upgrade restarts the instance.
	pid=$(pgrep -x rdma-server)
	there dpkg --install "/root/${PAIR_DEB##*/}" >"$OUT" 2>&1 || fail "$(cat "$OUT")"
	wait_until systemctl_there is-active "$INSTANCE"
	[ "$(pgrep -x rdma-server)" != "$pid" ]
	expect 0 there rdma-client write "$ADDRESS" 7471

	# Removing it stops the instance; files created by administrators and clients remain.
	systemctl_there disable "$INSTANCE"
	there dpkg --purge rdma-pair >"$OUT" 2>&1 || fail "$(cat "$OUT")"
	wait_until server_is_gone
	wait_until no_clients
	[ -e $ROOT/etc/rdma-server/7471 ]
	rm -r $ROOT/etc/rdma-server $ROOT/root/data
	files | grep -v -e '^\./var/lib/private/rdma-server' -e '^\./var/lib/rdma-server' >"$DIR/after"
	diff -u "$DIR/before" "$DIR/after"
}
