# Lets the guests of scripts/vm --hosts N reach each other by ssh. Source it in all guests.

# shellcheck shell=bash

# join_hosts: starts an SSH server at this guest. Returns at host 1 when all guests have one; the others wait until it calls
# end_hosts, and exit.
join_hosts() {
	local host
	hostname "host$VM_HOST"
	mount -t tmpfs -o mode=700 tmpfs /root
	mkdir -m 700 /root/.ssh
	if [ "$VM_HOST" -eq 1 ]; then
		ssh-keygen -q -t ed25519 -N '' -f "$VM_SHARED/key"
		touch "$VM_SHARED/keys"
	fi
	until [ -e "$VM_SHARED/keys" ]; do sleep 0.1; done
	cp "$VM_SHARED/key" /root/.ssh/id_ed25519
	cp "$VM_SHARED/key.pub" /root/.ssh/authorized_keys
	printf '%s\n' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' >/root/.ssh/config
	chmod 600 /root/.ssh/*
	dropbearkey -t ed25519 -f /root/hostkey >/dev/null 2>&1
	dropbear -E -s -r /root/hostkey 2>/dev/null
	touch "$VM_SHARED/up$VM_HOST"
	if [ "$VM_HOST" -ne 1 ]; then
		until [ -e "$VM_SHARED/end" ]; do sleep 0.3; done
		exit 0
	fi
	for ((host = 1; host <= VM_HOSTS; host++)); do
		until [ -e "$VM_SHARED/up$host" ]; do sleep 0.1; done
	done
}

end_hosts() { touch "$VM_SHARED/end"; }

# at HOST COMMAND...: runs a command of a shell, of one or more words, at the host of this number.
at() {
	local host=$1
	shift
	# shellcheck disable=SC2029 # expanded here
	ssh "host$host" "$*"
}

# running: prints what a mesh has started and still runs, at all hosts, and which of them do not answer.
running() {
	local host
	for ((host = 1; host <= VM_HOSTS; host++)); do
		# The shell that looks does not match the pattern.
		# shellcheck disable=SC2016 # there
		at $host 'for file in /proc/[0-9]*/comm; do read -r name <"$file" && case $name in rdma-client | rdma-server | orted | prted) echo "$name" ;; esac; done
			grep -a -s -l "mesh[-]agent" /proc/[0-9]*/cmdline
			true' 2>/dev/null || echo "no answer of host$host"
	done
}
nothing_runs() { [ -z "$(running)" ]; }
