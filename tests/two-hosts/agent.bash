#!/bin/bash
# Host 1 of the tests between two hosts: executes the requests of host 2 in the shared folder until
# the file `end` appears. See common.bash.

set -u
requests=$VM_SHARED/requests
mkfifo /tmp/nothing
mkdir -p "$requests"

polls=0 # since the last request
until [ -e "$VM_SHARED/end" ]; do
	for request in "$requests"/*.request; do
		[ -e "$request" ] || continue
		base=${request%.request}
		mv "$request" "$base.running"
		status=0
		bash "$base.running" >"$base.out" 2>&1 || status=$?
		echo "$status" >"$base.status.new"
		mv "$base.status.new" "$base.status"
		polls=0
	done
	# The two kernels share no event to wait for. Requests arrive in bursts. Poll less often
	# between bursts, because polling uses processor time that the emulated test needs.
	polls=$((polls + 1))
	if [ $polls -lt 20 ]; then
		read -r -t 0.05 <>/tmp/nothing
	else
		read -r -t 0.3 <>/tmp/nothing
	fi
done
exit 0
