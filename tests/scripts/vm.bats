#!/usr/bin/env bats
# scripts/vm: what it reports if it cannot build the module for software iWARP. The tests use a cache
# of their own and programs that replace those of the system.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	export RDMA_PAIR_CACHE=$BATS_TEST_TMPDIR/cache PATH=$BATS_TEST_TMPDIR/bin:$PATH
	mkdir -p "$RDMA_PAIR_CACHE/kernel" "$BATS_TEST_TMPDIR/bin"
	echo 6.1.0-1-amd64 >"$RDMA_PAIR_CACHE/kernel/version"
}

# replace PROGRAM: reads its script from standard input.
replace() {
	cat >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# fails_with PATTERN
fails_with() {
	run ./scripts/vm --device siw -- true
	echo "$output"
	[ "$status" -eq 1 ]
	grep -e "$1" <<<"$output"
	[ -z "$(find "$RDMA_PAIR_CACHE" -name '*.ko')" ]
}

@test "the source of siw cannot be downloaded: why, and nothing is left in the cache" {
	replace apt-get <<<'echo "E: no network"; exit 100'
	fails_with '^E: no network'
	grep "^vm: --device siw: cannot download Debian's source of Linux 6.1.0-1-amd64; see above" <<<"$output"
}

@test "a compiler that is missing is named, with its remedy" {
	mkdir "$BATS_TEST_TMPDIR/few"
	ln -s -f /usr/bin/* /usr/sbin/* "$BATS_TEST_TMPDIR/few/"
	rm "$BATS_TEST_TMPDIR/few/gcc"
	PATH=$BATS_TEST_TMPDIR/few fails_with '^vm: --device siw: missing package gcc; scripts/deps vm installs it$'
}
