#!/usr/bin/env bats
# The systemd unit with all its restrictions, started by systemd as process 1 of a PID namespace in
# this guest.

load common
load systemd

# install_unit LINE...: installs the unit and the program under test, and adds these lines to the
# unit's [Service].
install_unit() {
	mkdir -p "$UNITS/$INSTANCE.d" /etc/rdma-server /usr/local/bin
	cp "$PAIR_BIN/rdma-server" /usr/local/bin
	cp systemd/rdma-server@.service "$UNITS"
	printf '%s\n' '[Service]' "$@" >"$UNITS/$INSTANCE.d/test.conf"
}

# bats test_tags=portable
@test "as a systemd service with the unit's permissions: secret, files, diagnosis, journal" {
	local mode secret=/etc/rdma-server/7471.secret
	install_unit "LoadCredential=secret:$secret" 'Environment=SECRET=--secret-file=%d/secret'
	(umask 077 && head -c 32 /dev/urandom | base64 >$secret)
	echo 'OPTIONS=--output ./ --handshake-timeout 60' >/etc/rdma-server/7471
	head -c 300000 /dev/urandom >"$DIR/data"
	systemd_up
	systemctl_there start "$INSTANCE" || fail "$(journal)"
	wait_until journal_has '^listening on port 7471' || fail "$(journal)"
	for mode in write read; do
		expect 0 client --secret-file $secret --input "$DIR/data" $mode "$ADDRESS" 7471
		cmp "$DIR/data" /var/lib/rdma-server/7471/data
		rm /var/lib/rdma-server/7471/data
	done
	expect 0 client --secret-file $secret diagnose "$ADDRESS" 7471
	expect 3 client write "$ADDRESS" 7471
	wait_until journal_has '^rdma-server: exchange with .* failed: the peer does not have the same secret'
	journal >"$DIR/journal"
	[ "$(LC_ALL=C grep -c '[^ -~]' "$DIR/journal")" -eq 0 ]
	# Each line has its priority, which is not part of it.
	has_not "$DIR/journal" '^<'
	journal_at 6 | grep -q '^listening on port 7471\.$'
	journal_at 6 | grep -q '^memory for all connections: .*B, half of what .* has available\.$'
	journal_at 4 | grep -q 'the peer does not have the same secret'
	[ -z "$(journal_at 3)" ]
	# It runs as its own user, without capabilities, and cannot gain any.
	pgrep -x rdma-server | sed 's|.*|/proc/&/status|' | xargs cat >"$OUT"
	has "$OUT" '^CapBnd:[[:space:]]*0*$'
	has "$OUT" '^NoNewPrivs:[[:space:]]*1$'
	[ "$(awk '/^Uid/ { print $3 }' "$OUT")" -ge 61184 ]
	systemctl_there stop "$INSTANCE"
	[ "$(systemctl_there show --property=Result --value "$INSTANCE")" = success ]
	wait_until no_clients
}

# bats test_tags=portable
@test "the unit allows exactly the devices that the server needs" {
	# An empty value clears the list.
	install_unit 'DeviceAllow=' 'Restart=no'
	rm -f /etc/rdma-server/7471
	systemd_up
	systemctl_there start "$INSTANCE" || true
	wait_until journal_has '^rdma-server: .*/dev/infiniband'
	journal_at 3 | grep -q '^rdma-server: .*/dev/infiniband'
}

server_pid() { pgrep -x rdma-server; }

# has_used TICKS: the server has used this much processor time.
has_used() { [ "$(processor_ticks "$(server_pid)")" -ge "$1" ]; }

# Over iWARP, each connection request needs a queue pair, so the peer cannot send as many.
# bats test_tags=roce
@test "a flood of refused clients adds two lines a minute to the journal" {
	local before
	install_unit
	echo 'OPTIONS=--discard' >/etc/rdma-server/7471
	systemd_up
	systemctl_there start "$INSTANCE" || fail "$(journal)"
	wait_until journal_has '^listening on port 7471' || fail "$(journal)"
	before=$(processor_ticks "$(server_pid)")
	"$PAIR_PEERS/tests/one-host/misbehaving-peer" --hello version --flood-requests "$ADDRESS" 7471 100 \
		>"$DIR/peer" 2>&1 &
	wait_until journal_has "^refused $ADDRESS:[0-9]*: it speaks another version of the protocol\.\$" ||
		fail "$(journal)"
	wait_until has_used $((before + 50))
	kill_peers
	expect 0 client write "$ADDRESS" 7471
	systemctl_there stop "$INSTANCE"
	wait_until journal_has \
		"^refused $ADDRESS: it speaks another version of the protocol, and [0-9,]*[0-9]\{3\} more in the last minute\.\$" ||
		fail "$(journal)"
	# The flood lasted less than three minutes, and added nothing else.
	journal_at 4 >"$DIR/journal"
	[ "$(grep -c "^refused $ADDRESS" "$DIR/journal")" -le 6 ] || fail "$(cat "$DIR/journal")"
	journal_at 6 >"$DIR/journal"
	has_not "$DIR/journal" 'connection request'
	wait_until no_clients
}
