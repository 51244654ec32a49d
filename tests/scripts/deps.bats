#!/usr/bin/env bats
# scripts/deps: which packages it takes for installed, and what it says before it installs others. dpkg-query, apt-get
# and id are replaced.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	export PATH=$BATS_TEST_TMPDIR:$PATH
	: >"$BATS_TEST_TMPDIR/apt-get"
	printf '#!/bin/sh\ncat %q\n' "$BATS_TEST_TMPDIR/installed" >"$BATS_TEST_TMPDIR/dpkg-query"
	# As for root: sudo would not find the apt-get of this test, but that of the system.
	# shellcheck disable=SC2016 # the script's parameter
	printf '#!/bin/sh\n[ "$1" != -u ] || echo 0\n' >"$BATS_TEST_TMPDIR/id"
	chmod +x "$BATS_TEST_TMPDIR"/{apt-get,dpkg-query,id}
	./scripts/deps --list | sed 's/^\([^ ]*\).*/installed, \1, /' >"$BATS_TEST_TMPDIR/installed"
}

# lacks PACKAGES: that these, separated by spaces, are missing.
lacks() {
	run ./scripts/deps --check
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$output" = "deps: missing packages: $1" ]
}

@test "all packages are installed" {
	run ./scripts/deps --check
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a package that is absent, or was removed but not its configuration, is missing" {
	sed -i -e '/ gcc,/d' -e '/ jq,/s/^installed/config-files/' "$BATS_TEST_TMPDIR/installed"
	lacks 'gcc jq'
}

@test "the size of what is missing is shown before it is installed" {
	cat >"$BATS_TEST_TMPDIR/apt-get" <<-'END'
	#!/bin/sh
	case $* in
	*--print-uris*)
		echo 'Reading package lists...'
		echo "'http://deb.test/pool/g/gcc_12%2b0.deb' gcc_12+0.deb 61400000 SHA256:1"
		echo "'http://deb.test/pool/j/jq_1.deb' jq_1.deb 200000 "
		;;
	*) exit 1 ;;
	esac
	END
	sed -i -e '/ gcc,/d' -e '/ jq,/d' "$BATS_TEST_TMPDIR/installed"
	run ./scripts/deps
	echo "$output"
	[ "$status" -eq 1 ]
	grep -q -x 'deps: installing gcc jq (62 MB to download)' <<<"$output"
}

@test "a package that another one provides is installed, for example pkg-config by pkgconf" {
	sed -i 's/ pkg-config, $/ pkgconf, other, pkg-config (= 1.8.1-1), last/' "$BATS_TEST_TMPDIR/installed"
	run ./scripts/deps --check
	[ "$status" -eq 0 ]
	sed -i 's/pkg-config (/pkg-config-other (/' "$BATS_TEST_TMPDIR/installed"
	lacks pkg-config
}

@test "the package kubectl of the Kubernetes project is as good as Debian's, with which it conflicts" {
	sed -i 's/ kubernetes-client,/ kubectl,/' "$BATS_TEST_TMPDIR/installed"
	run ./scripts/deps --check
	echo "$output"
	[ "$status" -eq 0 ]
	sed -i 's/ kubectl,/ kubectl-other,/' "$BATS_TEST_TMPDIR/installed"
	lacks kubernetes-client
}

@test "when dpkg rejects a package, that and the reason are shown, not all that apt-get prints" {
	cat >"$BATS_TEST_TMPDIR/apt-get" <<-'END'
	#!/bin/sh
	seq 1000
	echo 'dpkg: error processing archive jq_1.deb (--unpack):'
	echo " trying to overwrite '/usr/bin/jq', which is also in package jq-other"
	seq 1000
	echo 'E: Sub-process /usr/bin/dpkg returned an error code (1)'
	exit 1
	END
	sed -i '/ jq,/d' "$BATS_TEST_TMPDIR/installed"
	run ./scripts/deps
	echo "$output"
	[ "$status" -eq 1 ]
	[ ${#lines[@]} -lt 20 ]
	grep -q 'which is also in package jq-other' <<<"$output"
	[ "${lines[-1]}" = 'deps: cannot install jq' ]
}
