#!/usr/bin/env bats
# scripts/vm: its cache of kernels, and what it reports if it cannot fill the cache. Except for the
# boot at the end, the tests use a cache of their own and programs that replace those of the system.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	users_cache=${RDMA_PAIR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rdma-pair}
	export RDMA_PAIR_CACHE=$BATS_TEST_TMPDIR/cache PATH=$BATS_TEST_TMPDIR/bin:$PATH
	unset RDMA_PAIR_KERNEL
	kernel=$RDMA_PAIR_CACHE/kernel-6.1.0-1-amd64
	mkdir -p "$kernel" "$BATS_TEST_TMPDIR/bin"
	# A complete kernel has a list of its files.
	echo bookworm >"$kernel/release"
	echo '9 ./release' >"$kernel/files"
	echo 6.1.0-1-amd64 >"$RDMA_PAIR_CACHE/newest-bookworm"
}

# replace PROGRAM: reads its script from standard input.
replace() {
	cat >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# offer VERSION...: has apt offer these kernels, the last as the newest, and fail to download.
offer() {
	replace apt-get <<'END'
#!/bin/sh
case $* in
*download*) echo 'E: no network'; exit 100 ;;
esac
END
	replace apt-cache <<END
#!/bin/sh
case \$1 in
pkgnames) printf '%s\n' ${*/#/linux-image-} linux-image-6.1.0-9-rt-amd64 linux-image-amd64 ;;
depends) printf '  Depends: %s\n' 'linux-image-${*: -1}' linux-kbuild-6.1 ;;
esac
END
}

# fails_with STATUS PATTERN OPTION...
fails_with() {
	run ./scripts/vm "${@:3}" -- true
	echo "$output"
	[ "$status" -eq "$1" ]
	grep -e "$2" <<<"$output"
	[ -z "$(find "$RDMA_PAIR_CACHE" -name '*.ko' -o -name 'new.*')" ]
}

@test "the source of siw cannot be downloaded: why, and nothing is left in the cache" {
	offer 6.1.0-1-amd64
	fails_with 1 '^E: no network' --kernel bookworm --device siw
	grep "^vm: --device siw: cannot download Debian's source of Linux 6.1.0-1-amd64; see above" <<<"$output"
}

# lack PROGRAM...: makes a folder of programs for PATH that lacks these.
lack() {
	mkdir "$BATS_TEST_TMPDIR/few"
	ln -s -f /usr/bin/* /usr/sbin/* "$BATS_TEST_TMPDIR/few/"
	(cd "$BATS_TEST_TMPDIR/few" && rm "$@")
}

@test "programs that are missing are named by their packages, with the remedy" {
	lack xz rdma ip perl
	PATH=$BATS_TEST_TMPDIR/few fails_with 1 '^vm: missing packages: iproute2 xz-utils perl-base; scripts/deps vm installs them$'
}

@test "a compiler that is missing is named, with its remedy" {
	lack gcc
	PATH=$BATS_TEST_TMPDIR/few fails_with 1 '^vm: --device siw: missing package gcc; scripts/deps vm installs it$' \
		--kernel bookworm --device siw
}

@test "--kernel: a word that is neither a release nor a version" {
	fails_with 2 '^vm: --kernel needs bookworm or trixie, or the version of a kernel, .*, not .Trixie. ' --kernel Trixie
	fails_with 2 "^vm: --kernel needs .*, not '6.1/x'" --kernel 6.1/x
	fails_with 2 '^vm: --kernel needs a value' --kernel ''
}

@test "--interfaces: a number from 1 to 4" {
	fails_with 2 "^vm: --interfaces needs a number from 1 to 4, not '0'" --interfaces 0
	fails_with 2 "^vm: --interfaces needs a number from 1 to 4, not '5'" --interfaces 5
}

@test "RDMA_PAIR_KERNEL is the default of --kernel" {
	offer 6.12.3+deb13-amd64
	export RDMA_PAIR_KERNEL=trixie
	fails_with 1 '^vm: downloading Linux 6.12.3+deb13-amd64 of Debian trixie, once'
	fails_with 2 "not 'Trixie'" --kernel Trixie
	RDMA_PAIR_KERNEL=Trixie fails_with 2 "^vm: --kernel needs .*, not 'Trixie'"
}

@test "--kernel: a version that Debian does not have, with those that it has" {
	offer 6.1.0-10-amd64 6.1.0-2-amd64 6.12.3+deb13-amd64
	fails_with 1 '^vm: Debian has no kernel 6.1.0-1; --kernel accepts bookworm (\(6.1.0-2-amd64 6.1.0-10-amd64 6.12.3+deb13-amd64\)), trixie (\1)$' --kernel 6.1.0-1
}

@test "--kernel: the package lists cannot be fetched" {
	replace apt-get <<<'echo "E: no network"; exit 100'
	fails_with 1 '^E: no network' --kernel trixie
	grep '^vm: cannot fetch the package lists of Debian trixie; see above$' <<<"$output"
}

@test "a damaged kernel in the cache is downloaded again, as is one of another release" {
	offer 6.1.0-1-amd64 6.12.3+deb13-amd64
	fails_with 1 '^vm: downloading Linux 6.12.3+deb13-amd64 of Debian trixie, once' --kernel trixie
	offer 6.12.3+deb13-amd64 6.1.0-1-amd64
	: >"$kernel/release"
	fails_with 1 '^vm: downloading Linux 6.1.0-1-amd64 of Debian bookworm, once' --kernel bookworm
	grep '^vm: cannot download the package linux-image-6.1.0-1-amd64; see above$' <<<"$output"
	rm "$kernel/files"
	fails_with 1 '^vm: downloading Linux 6.1.0-1-amd64 of Debian bookworm, once' --kernel 6.1.0-1-amd64
}

@test "siw: the newest kernel replaces one that Debian no longer has, unless its version was requested" {
	offer 6.1.0-2-amd64
	fails_with 1 '^vm: downloading Linux 6.1.0-2-amd64 of Debian bookworm, once' --device siw --kernel bookworm
	fails_with 1 '^vm: --device siw: Debian no longer has the source of Linux 6.1.0-1-amd64; --kernel accepts bookworm (6.1.0-2-amd64), ' \
		--device siw --kernel 6.1.0-1-amd64
}

@test "a guest boots the kernel of the other release" {
	local release=trixie
	! grep -q '^VERSION_CODENAME=trixie' /etc/os-release || release=bookworm
	RDMA_PAIR_CACHE=$users_cache run ./scripts/vm --no-prefix --cpus 1 --kernel $release -- uname -r
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(tail -n 1 <<<"$output")" = "$(cat "$users_cache/newest-$release")" ]
}

@test "a guest with two networks has a device and addresses in each" {
	# shellcheck disable=SC2016 # the guest's variable
	RDMA_PAIR_CACHE=$users_cache run ./scripts/vm --no-prefix --cpus 1 --interfaces 2 -- sh -c 'echo "$VM_INTERFACES $VM_DEVICES"; rdma link; ip -br address'
	echo "$output"
	[ "$status" -eq 0 ]
	grep -x 'eth0 eth1 rxe0 rxe1' <<<"$output"
	grep -q '^link rxe1/1 state ACTIVE .*netdev eth1' <<<"$output"
	grep -q '^eth0 .* 10.77.0.1/24 fd77::1/64 ' <<<"$output"
	grep -q '^eth1 .* 10.77.1.1/24 fd77:0:0:1::1/64 ' <<<"$output"
}
