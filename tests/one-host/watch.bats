#!/usr/bin/env bats
# rdma-client diagnose --watch: events of this host's devices.

load common

# The watched device, which no other test uses.
setup_file() {
	ip link add watched0 type dummy
	ip address add 10.93.0.1/24 dev watched0
	ip link set watched0 mtu 4200 up
	add_device
}

teardown_file() {
	rdma link delete watched1 || true
	ip link delete watched0
}

add_device() { rdma link add watched1 type "${VM_DEVICE%0}" netdev watched0; }

start_watching() {
	"$PAIR_BIN/rdma-client" diagnose --watch >"$OUT" 2>"$ERR" &
	WATCHER=$!
	CLIENTS+=("$WATCHER")
	wait_line "$OUT" " watched1: watching\$"
}

stop_watching() {
	kill -INT "$WATCHER"
	exits_with 0 "$WATCHER"
	[ ! -s "$ERR" ]
}

# says N WORDS: N lines with a timestamp and these words have been printed.
says() {
	wait_until count "$OUT" "^20[0-9-]* [0-9:]*\.[0-9]\{3\} watched1$2\$" "$1"
}

@test "--watch prints changes of a link, an address and a device" {
	start_watching
	ip link set watched0 down
	says 1 ' port 1: port error'
	ip link set watched0 up
	says 1 ' port 1: port active'
	ip address add 10.93.9.1/24 dev watched0
	# iWARP's addresses are not those of its interface.
	iwarp || wait_line "$OUT" " watched1 port 1: address change\$"
	ip address delete 10.93.9.1/24 dev watched0
	rdma link delete watched1
	says 1 ': removed'
	add_device
	says 2 ': watching'
	stop_watching
}

@test "--watch without a device, or with another command's options" {
	expect 1 client diagnose --watch --device nothing
	has "$ERR" 'no such RDMA device'
	expect 2 client diagnose --watch "$ADDRESS"
	has "$ERR" '^rdma-client: --watch takes no HOST'
	expect 2 client diagnose --watch --json
	has "$ERR" '^rdma-client: --watch cannot be combined with --json'
}
