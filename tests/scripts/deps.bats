#!/usr/bin/env bats
# scripts/deps --check: which packages it takes for installed. dpkg-query is replaced.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	export PATH=$BATS_TEST_TMPDIR:$PATH
	: >"$BATS_TEST_TMPDIR/apt-get"
	printf '#!/bin/sh\ncat %q\n' "$BATS_TEST_TMPDIR/installed" >"$BATS_TEST_TMPDIR/dpkg-query"
	chmod +x "$BATS_TEST_TMPDIR"/{apt-get,dpkg-query}
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

@test "a package that another one provides is installed, for example pkg-config by pkgconf" {
	sed -i 's/ pkg-config, $/ pkgconf, other, pkg-config (= 1.8.1-1), last/' "$BATS_TEST_TMPDIR/installed"
	run ./scripts/deps --check
	[ "$status" -eq 0 ]
	sed -i 's/pkg-config (/pkg-config-other (/' "$BATS_TEST_TMPDIR/installed"
	lacks pkg-config
}
