# Common functions of the tests of diagnoses, in addition to common.bash.

# shellcheck shell=bash

# Tests also use these functions in conditions, without `set -e`, so they check every command.

# diagnose STATUS ARGUMENT...: runs a diagnosis, which must exit with STATUS within 15 s, with one
# verdict as its first line.
diagnose() {
	local wanted=$1
	shift
	diagnose_as "$wanted" client diagnose "$@"
}

diagnose_as() { # STATUS COMMAND...
	MARK=$SECONDS
	expect "$@" || return 1
	in_time || return 1
	count "$OUT" '^verdict: ' 1 || return 1
	[ "$(head -n 1 "$OUT" | cut -c 1-9)" = 'verdict: ' ] || fail "the first line is no verdict: $(cat "$OUT")"
}

UNKNOWN='Whether RDMA works is unknown'

# check_failed CHECK CAUSE SIDE: only this check failed, with this cause on this side. VERDICT: how the
# verdict begins, if not as usual.
check_failed() {
	count "$OUT" '^............failed ' 1 && has "$OUT" "^$1 *failed  .*$2" &&
		has "$OUT" "^ *where: $3\$" &&
		has "$OUT" "^verdict: ${VERDICT:-RDMA does not work}: .*$2.*; look at $3\\.\$"
}

# clean [FILE]: every check of the diagnosis passed. Only soft-RoCE's manager can be checked, and only its operations tried.
clean() {
	local file=${1:-$OUT} where='within this host' checks=14
	! iwarp || checks=13 # without multicast
	[ "$VM_HOSTS" -eq 1 ] || where='between the two hosts'
	count "$file" '^[a-z ]\{11\} ok \|^manager  *skipped no soft-RoCE device\|^operations  skipped not tried over iWARP' $checks && has_not "$file" '^[a-z ]\{11\} failed ' &&
		has "$file" "^verdict: RDMA works $where: [0-9.]* MB/s to the server, [0-9.]* MB/s from it"
}

# vrf_device: makes the device second1 on plain1, which belongs to the VRF blue.
vrf_device() {
	modprobe vrf
	ip link add blue type vrf table 10
	undo ip link delete blue
	ip link set blue up
	ip link add plain1 type dummy
	undo ip link delete plain1
	ip address add 10.99.0.1/24 dev plain1
	ip link set plain1 master blue up
	rdma link add second1 type "${VM_DEVICE%0}" netdev plain1
}
