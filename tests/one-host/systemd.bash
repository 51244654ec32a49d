# systemd as process 1 of a PID namespace in the guest, for tests of the unit. Load it after
# common.bash.

# shellcheck shell=bash disable=SC2034,SC2154

UNITS=/run/systemd/system
INSTANCE=rdma-server@7471.service
# The root folder of the namespace; empty: the guest's own.
ROOT=''
SYSTEMD=''
# Units that are not needed in a namespace.
MASKED=(dbus.service dbus.socket kmod-static-nodes.service local-fs.target networking.service
	swap.target systemd-journal-flush.service systemd-logind.service systemd-modules-load.service
	systemd-random-seed.service systemd-remount-fs.service systemd-resolved.service
	systemd-sysctl.service systemd-sysusers.service systemd-timesyncd.service
	systemd-tmpfiles-setup-dev.service systemd-tmpfiles-setup.service
	systemd-udev-trigger.service systemd-udevd-control.socket systemd-udevd-kernel.socket
	systemd-udevd.service systemd-update-utmp.service)

# Process 1 before it executes systemd: changes its root to ROOT, and mounts the namespace's /proc.
# Credentials are passed to a service through shared mounts.
# shellcheck disable=SC2016 # for the inner shell
FIRST='set -e
	if [ -n "$0" ]; then
		cd "$0"
		pivot_root . mnt
		cd /
	fi
	mount -t proc proc /proc
	[ -z "$0" ] || umount -l /mnt
	mount --make-rshared /
	exec /lib/systemd/systemd --unit=pair.target --log-target=null'

# The journal begins anew, without the lines of an earlier test.
systemd_up() {
	local unit
	rm -rf "$ROOT/run/log/journal"
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
	[ -s "$ROOT/etc/machine-id" ] || tr -d - </proc/sys/kernel/random/uuid >"$ROOT/etc/machine-id"
	mkdir -p "$ROOT$UNITS"
	for unit in "${MASKED[@]}"; do
		ln -sf /dev/null "$ROOT$UNITS/$unit"
	done
	printf '[Unit]\nRequires=basic.target\n' >"$ROOT$UNITS/pair.target"
	env -i PATH="$PATH" container=guest unshare --pid --fork --kill-child --mount bash -c "$FIRST" "$ROOT" \
		</dev/null >"$DIR/systemd" 2>&1 3>&- &
	SYSTEMD=$!
	disown "$SYSTEMD"
	wait_until systemctl_there is-active pair.target ||
		fail "$(systemctl_there status pair.target; systemctl_there list-jobs; cat "$DIR/systemd")"
}

# there COMMAND...: runs it in the namespace.
there() { nsenter --target "$(pgrep -P "$SYSTEMD")" --pid --mount "$@"; }

# systemd only accepts clients from its own namespace.
systemctl_there() { there systemctl --no-pager "$@"; }

# Killing process 1 kills all processes of the namespace.
teardown() {
	[ -z "$SYSTEMD" ] || kill -KILL "$SYSTEMD" 2>/dev/null || true
	wait_until same_resources || fail "left behind: $(resources)"
	has_no_reports
}

journal() { there journalctl --quiet --unit="$INSTANCE" --output=cat; }

# journal_at PRIORITY: the lines with exactly this priority.
journal_at() { there journalctl --quiet --unit="$INSTANCE" --output=cat --priority="$1..$1"; }
journal_has() { journal | grep -q -e "$1"; }
