#!/usr/bin/env bats
# Whole screens of failures that need no RDMA device, at 80 and 40 columns: wrong usage, files that cannot be
# used, and hosts without a device. PAIR_BIN is the folder of the programs, or the top of the source tree.

load ../screens

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	DIR=$BATS_TEST_TMPDIR
	OUT=$DIR/out ADDRESS=192.0.2.1
	PAIR_BIN=$(realpath "${PAIR_BIN:-.}")
	[ -x "$PAIR_BIN/rdma-client" ] || make -s rdma-server rdma-client
}

fail() {
	echo "$*" >&2
	return 1
}

# screen COLUMNS STATUS ARGUMENT...: of the client.
screen() {
	on_terminal "$1" "$2" "$PAIR_BIN/rdma-client" "${@:3}"
}

server_screen() {
	on_terminal "$1" "$2" "$PAIR_BIN/rdma-server" "${@:3}"
}

@test "screens: wrong usage is one sentence, with the right spelling or an example" {
	screen 80 2 wrte 192.0.2.1
	shows "rdma-client: unknown command 'wrte'; did you mean 'write'?"
	screen 80 2 write
	shows 'rdma-client: HOST is missing; for example: rdma-client write HOST 7471'
	screen 80 2 bandwidth write --size 3Q 192.0.2.1
	shows 'rdma-client: --size must be a size from 1 to 16M, or an ascending range, such as' \
		"  2..8M, not '3Q'; see rdma-client bandwidth --help"
	screen 40 2 bandwidth write --size 3Q 192.0.2.1
	shows 'rdma-client: --size must be a size from' '  1 to 16M, or an ascending range, such' \
		"  as 2..8M, not '3Q'; see rdma-client" '  bandwidth --help'
	server_screen 80 2 --ouput in
	shows "rdma-server: unknown option '--ouput'; did you mean '--output'?"
}

@test "screens: files that cannot be read or written" {
	screen 80 1 write --input nothing 192.0.2.1
	shows 'rdma-client: cannot start: cannot read nothing: No such file or directory.'
	screen 80 1 write no/thing 192.0.2.1:
	shows 'rdma-client: cannot start: cannot read no/thing: No such file or directory.'
	screen 40 1 write --input nothing 192.0.2.1
	shows 'rdma-client: cannot start: cannot read' '  nothing: No such file or directory.'
	screen 80 1 write --secret-file nothing 192.0.2.1
	shows 'rdma-client: cannot start: cannot use secret file nothing: No such file or' '  directory.'
	server_screen 80 1 --output nothing/
	shows 'rdma-server: cannot start: cannot write to directory nothing/: No such file or' '  directory.'
	screen 80 1 compare nothing other
	shows 'rdma-client: cannot compare nothing: No such file or directory'
}

NO_DEVICE="cannot use RDMA: this host has no RDMA device (no entries in /sys/class/infiniband); load the \
adapter's driver, or create a soft-RoCE device: rdma link add rxe0 type rxe netdev INTERFACE."

@test "screens: a host without an RDMA device" {
	! compgen -G '/sys/class/infiniband/*' || skip 'this host has RDMA devices'
	local command
	for command in write 'bandwidth read' 'latency send'; do
		# shellcheck disable=SC2086 # several words
		screen 80 3 $command 192.0.2.1
		shows 'rdma-client: cannot use RDMA: this host has no RDMA device (no entries in' \
			"  /sys/class/infiniband); load the adapter's driver, or create a soft-RoCE" \
			'  device: rdma link add rxe0 type rxe netdev INTERFACE.'
	done
	server_screen 40 3 any
	says "rdma-server: $NO_DEVICE"
	awk 'length > 40 { wide = 1 } END { exit wide }' "$OUT"
	screen 80 3 diagnose 192.0.2.1
	# What follows depends on the kernel.
	sed -i -E '/^ {12}(rdma_cm|ib_core|no )/,$d' "$OUT"
	shows 'verdict: RDMA does not work: this host has no RDMA device; look at this host.' \
		'this host   failed  this host has no RDMA device' \
		'                    seen: no entries in /sys/class/infiniband' \
		'                    where: this host' \
		"                    next: load the adapter's driver, or create a soft-RoCE" \
		'                      device: rdma link add rxe0 type rxe netdev INTERFACE' \
		'                    look: rdma link'
}
