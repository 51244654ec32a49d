#!/bin/bash
# Host 1 of the tests between two hosts: does what host 2 asks for in the shared folder, until it is
# told to end. See common.bash.

set -u
requests=$VM_SHARED/requests
mkfifo /tmp/nothing
mkdir -p "$requests"

until [ -e "$VM_SHARED/end" ]; do
	for request in "$requests"/*.request; do
		[ -e "$request" ] || continue
		base=${request%.request}
		mv "$request" "$base.running"
		status=0
		bash "$base.running" >"$base.out" 2>&1 || status=$?
		echo "$status" >"$base.status.new"
		mv "$base.status.new" "$base.status"
	done
	# Nothing can be waited for across the two kernels but by looking.
	read -r -t 0.05 <>/tmp/nothing
done
