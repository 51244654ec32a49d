# Common functions of the tests between two hosts, which run on host 2. Host 1 runs agent.bash,
# which executes the requests of on_host1. They communicate through a shared folder, because the
# tests break the network.

# shellcheck shell=bash

load ../one-host/common

# shellcheck disable=SC2034 # the tests use HOST1
read -r HOST1 _ <<<"$VM_ADDRESSES"
REQUESTS=$VM_SHARED/requests

# ask_host1 COMMAND: requests that host 1 run it, without waiting. Sets $request to its name.
ask_host1() {
	request=$(mktemp -u "$REQUESTS/XXXXXXXX")
	printf '%s\n' "$1" >"$request.new"
	mv "$request.new" "$request.request"
}

# on_host1 COMMAND: runs it on host 1, and passes on its output and exit status.
on_host1() {
	local request
	ask_host1 "$1"
	wait_until test -e "$request.status" || return 1
	cat "$request.out"
	return "$(cat "$request.status")"
}

# start_on_host1 NAME COMMAND: starts it on host 1. It appends its output to $FAR/NAME.out and .err,
# which the test may truncate.
start_on_host1() {
	on_host1 "setsid $2 >>'$FAR/$1.out' 2>>'$FAR/$1.err' </dev/null & echo \$! >'$FAR/$1.pid'"
}

# stop_on_host1 NAME [SIGNAL]: sends the signal (default TERM), and waits until it has exited.
stop_on_host1() {
	on_host1 "kill -${2:-TERM} $(cat "$FAR/$1.pid") 2>/dev/null || true
		while kill -0 $(cat "$FAR/$1.pid") 2>/dev/null; do sleep 0.05; done"
}

# Prints the digest of a file on host 1.
far_hash() { on_host1 "xxhsum -H2 '$1' 2>/dev/null" | sed 's/ .*//'; }

start_far_server() { # ARGUMENT...
	start_on_host1 server "$PAIR_BIN/rdma-server --handshake-timeout 60 --port 0 --port-file '$FAR/port' $*"
	wait_until test -s "$FAR/port"
	PORT=$(cat "$FAR/port")
}

# start_far_sshd KEY COMMAND: makes a key of this name, and starts an SSH server for it on host 1, in an empty home
# directory, /root, where the command has run. Sets FAR_SSH to the ssh command with its options.
start_far_sshd() {
	ssh-keygen -q -t ed25519 -N '' -f "$1"
	cp "$1.pub" "$FAR/authorized_keys"
	on_host1 "mount -t tmpfs -o mode=700 tmpfs /root && mkdir -m 700 /root/.ssh && cp '$FAR/authorized_keys' /root/.ssh/ &&
		chmod 600 /root/.ssh/authorized_keys && $2 && dropbearkey -t ed25519 -f /root/hostkey >/dev/null 2>&1"
	start_on_host1 sshd 'dropbear -F -E -s -p 2222 -r /root/hostkey'
	wait_until far_sshd_listens
	# shellcheck disable=SC2034 # the users of this file use it
	FAR_SSH="ssh -p 2222 -i $1 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
}
far_sshd_listens() { (exec 3<>"/dev/tcp/$HOST1/2222") 2>/dev/null; }

# Undoes all changes to the network: packet loss and other disturbances on both hosts, and MTUs.
#
# A host that sends a packet larger than its interface's MTU sends itself an ICMP error and remembers
# the MTU for ten minutes. A retransmitting queue pair produces many such errors. Those that are still
# queued when the MTU is repaired teach the host the old MTU again, so packets are refused as
# before. Hence, flush the routes until they stay whole; the ping is queued behind the errors.
repair_network() {
	local all="tc qdisc delete dev $VM_INTERFACE root 2>/dev/null; tc qdisc delete dev $VM_INTERFACE clsact 2>/dev/null
		ip link set $VM_INTERFACE mtu $MTU
		whole() { ! ip route get \$1 | grep -q 'mtu [0-9]'; }
		until ip route flush cache; ping -c 1 -W 1 \$VM_ADDRESS >/dev/null; whole \$peer; do :; done"
	on_host1 "peer=$VM_ADDRESS; $all"
	bash -c "peer=$HOST1; $all"
}

# The kernel's connection manager for soft-RoCE may not survive that a link goes down, so the device
# is made anew.
renew_link() {
	ip link set "$VM_INTERFACE" up
	rdma link delete "$VM_DEVICE"
	rdma link add "$VM_DEVICE" type "${VM_DEVICE%0}" netdev "$VM_INTERFACE"
}

# cut_link, mend_link: from here on, this host loses all packets of both directions, or no longer. Unlike
# lose() and repair_network(), which take seconds on a busy machine, each is a single program.
cut_link() {
	tc -batch - <<-END
	qdisc add dev $VM_INTERFACE root netem loss 100%
	qdisc add dev $VM_INTERFACE clsact
	filter add dev $VM_INTERFACE ingress matchall action drop
	END
}
mend_link() {
	tc -batch - <<-END
	qdisc delete dev $VM_INTERFACE clsact
	qdisc delete dev $VM_INTERFACE root
	END
}

cut_host1() { on_host1 "tc qdisc add dev $VM_INTERFACE root netem loss 100%"; }
lose() { # PERCENT [MORE-FOR-NETEM]
	on_host1 "tc qdisc add dev $VM_INTERFACE root netem loss $1% ${*:2}"
	tc qdisc add dev "$VM_INTERFACE" root netem loss "$1%" "${@:2}"
}

setup() { prepare_hosts; }

prepare_hosts() {
	prepare
	FAR=$(mktemp -d "$VM_SHARED/test.XXXXXX")
	MTU=$(cat "/sys/class/net/$VM_INTERFACE/mtu")
	FAR_RESOURCES=$(on_host1 'rdma resource show')
}

same_far_resources() { [ "$(on_host1 'rdma resource show')" = "$FAR_RESOURCES" ]; }

# Prints the state of a host's network, and the end of its kernel log.
describe_host='ip -s link show eth0; tc -s qdisc show dev eth0; ip neigh; ip route; grep virtio /proc/interrupts; dmesg | tail'

teardown() {
	if [ -z "$BATS_TEST_COMPLETED" ]; then
		tail -n 5 "$ERR" "$FAR"/*.err 2>/dev/null || true
		printf 'host 2: %s\n' "$(bash -c "$describe_host")"
		printf 'host 1: %s\n' "$(on_host1 "$describe_host")"
	fi
	clean_up
}

clean_up() {
	undo_all
	ip link show "$VM_INTERFACE" | grep -q '[<,]UP[,>]' || renew_link
	repair_network
	local name
	for name in "$FAR"/*.pid; do
		[ ! -e "$name" ] || on_host1 "kill -KILL $(cat "$name") 2>/dev/null || true"
	done
	kill_peers
	collect_messages "$ERR" "$ERRORS" "$FAR"/*.err
	collect_documents "$DIR"/*
	wait_until same_resources || fail "left behind: $(resources)"
	wait_until same_far_resources || fail "left behind on host 1: $(on_host1 'rdma resource show')"
}
