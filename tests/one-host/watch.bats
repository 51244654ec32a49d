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
	explain_messages
}

add_device() { rdma link add watched1 type "${VM_DEVICE%0}" netdev watched0; }

# start_watching [DEVICE]: watches all devices, and waits until it watches this one.
start_watching() {
	WATCHED=${1:-watched1}
	"$PAIR_BIN/rdma-client" diagnose --watch >"$OUT" 2>"$ERR" &
	WATCHER=$!
	CLIENTS+=("$WATCHER")
	wait_line "$OUT" " $WATCHED: watching\$"
}

stop_watching() {
	kill -INT "$WATCHER"
	exits_with 130 "$WATCHER"
	is_empty "$ERR"
}

# says N WORDS: N lines with a timestamp and these words have been printed.
says() {
	wait_until count "$OUT" "^20[0-9-]* [0-9:]*\.[0-9]\{3\} $WATCHED$2\$" "$1"
}

# mark: sets BEGAN to the time and LIMIT to that in 1 s, in the format of the timestamps.
mark() {
	local now=$EPOCHREALTIME fraction
	fraction=${now#*.}
	printf -v BEGAN '%(%F %T)T.%s' "${now%.*}" "${fraction:0:3}"
	printf -v LIMIT '%(%F %T)T.%s' $((${now%.*} + 1)) "${fraction:0:3}"
}

# says_in_time WORDS: a line with these words has been printed since mark, and its timestamp is at
# most 1 s later.
says_in_time() {
	wait_until has_said "$1" || fail "no '$1' since $BEGAN: $(cat "$OUT")"
	[[ ! $SAID > $LIMIT ]] || fail "'$1' after $LIMIT: $(cat "$OUT")"
}

has_said() {
	local day time words
	while read -r day time words; do
		SAID="$day $time"
		[[ $words != "$WATCHED$1" || $SAID < $BEGAN ]] || return 0
	done <"$OUT"
	return 1
}

@test "--watch prints changes of a link, an address and a device within 1 s" {
	start_watching
	mark
	ip link set watched0 down
	says_in_time ' port 1: port error'
	mark
	ip link set watched0 up
	says_in_time ' port 1: port active'
	mark
	ip address add 10.93.9.1/24 dev watched0
	says_in_time ' port 1: address change'
	mark
	ip address delete 10.93.9.1/24 dev watched0
	says_in_time ' port 1: address change'
	mark
	ip address add 10.93.9.2/24 dev watched0 label watched0:1
	says_in_time ' port 1: address change'
	mark
	rdma link delete watched1
	says_in_time ': removed'
	mark
	add_device
	says_in_time ': watching'
	stop_watching
	says 1 ' port 1: port error'
	says 1 ' port 1: port active'
	says 1 ': removed'
	says 2 ': watching'
}

@test "--watch prints increases of error counters within 1 s" {
	! iwarp || skip "software iWARP has no error counters"
	start_watching
	mark
	ip link set watched0 down
	undo ip link set watched0 up
	says_in_time ' port 1: counters: link_downed 1'
	stop_watching
}

# The kernel waits for programs that use a software device, and cannot ask them to close it.
@test "--watch does not delay the removal of a device without an address" {
	local deletion
	ip link add bare0 type dummy
	undo ip link delete bare0
	ip link set bare0 addrgenmode none
	ip link set bare0 mtu 4200 up
	rdma link add bare1 type "${VM_DEVICE%0}" netdev bare0
	start_watching bare1
	mark
	rdma link delete bare1 &
	deletion=$!
	says_in_time ': removed'
	exits_with 0 "$deletion"
	stop_watching
}

# Prints the page faults of the watcher's processes that have exited, which each exit increases.
exited() { cut -d ' ' -f 11 "/proc/$WATCHER/stat"; }

has_exited_since() { [ "$(exited)" != "$1" ]; }

@test "--watch says once that it may not open a device, and watches it when it may" {
	local file faults WATCHED=watched1
	file=$(grep -l -x watched1 /sys/class/infiniband_verbs/*/ibdev)
	file=/dev/infiniband/$(basename "${file%/ibdev}")
	chmod 600 "$file"
	undo chmod 666 "$file"
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$PAIR_BIN/rdma-client" diagnose --watch --device watched1 >"$OUT" 2>"$ERR" &
	WATCHER=$!
	CLIENTS+=("$WATCHER")
	says 1 ": cannot open the device: no read/write permission on $file"
	for ((i = 0; i < 2; i++)); do
		faults=$(exited)
		wait_until has_exited_since "$faults"
	done
	[ "$(wc -l <"$OUT")" -eq 1 ]
	chmod 666 "$file"
	says 1 ': watching'
	[ "$(wc -l <"$OUT")" -eq 2 ]
	stop_watching
}

# bats test_tags=portable
@test "--watch ends when its output is lost" {
	local status=0
	client diagnose --watch >/dev/full 2>"$ERR" || status=$?
	[ "$status" -eq 1 ]
	one_line "$ERR"
	has "$ERR" '^rdma-client: cannot write to standard output'
	# The reader ends after the first line.
	{ client diagnose --watch 2>"$ERR" || echo $? >"$DIR/status"; } | head -n 1 >"$OUT"
	has "$OUT" ': watching$'
	[ "$(cat "$DIR/status")" -eq 1 ]
	one_line "$ERR"
}

# bats test_tags=portable
@test "--watch without a device, or with another command's options" {
	expect 3 client diagnose --watch --device nothing
	has "$ERR" 'no such RDMA device'
	expect 2 client diagnose --watch "$ADDRESS"
	has "$ERR" '^rdma-client: --watch takes no HOST'
	expect 2 client diagnose --watch --json
	has "$ERR" '^rdma-client: --watch cannot be combined with --json'
	expect 2 client diagnose --watch --quiet
	has "$ERR" '^rdma-client: --watch cannot be combined with --quiet'
}
