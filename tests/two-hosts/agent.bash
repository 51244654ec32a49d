#!/bin/bash
# Host 1 of the tests between two hosts: does what host 2 asks for in the shared folder, until it is
# told to end. See common.bash.

set -u
requests=$VM_SHARED/requests
mkfifo /tmp/nothing
mkdir -p "$requests"

looks=0 # since the last request
until [ -e "$VM_SHARED/end" ]; do
	for request in "$requests"/*.request; do
		[ -e "$request" ] || continue
		base=${request%.request}
		mv "$request" "$base.running"
		status=0
		bash "$base.running" >"$base.out" 2>&1 || status=$?
		echo "$status" >"$base.status.new"
		mv "$base.status.new" "$base.status"
		looks=0
	done
	# The two kernels share no event to wait for. Requests come in bursts, and in between each look costs the
	# emulated processors time that the test needs.
	looks=$((looks + 1))
	if [ $looks -lt 20 ]; then
		read -r -t 0.05 <>/tmp/nothing
	else
		read -r -t 0.3 <>/tmp/nothing
	fi
done
