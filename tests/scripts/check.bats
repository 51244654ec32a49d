#!/usr/bin/env bats
# `make check` reports failed tests by its exit status. The tests run on a generated tree.

setup() {
	cp "$BATS_TEST_DIRNAME/../../Makefile" "$BATS_TEST_TMPDIR"
	mkdir -p "$BATS_TEST_TMPDIR/tests/unit"
	cp "$BATS_TEST_DIRNAME/../unit/personalities.awk" "$BATS_TEST_TMPDIR/tests/unit"
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p tests/unit/some tests/unit/common
	echo 'int common;' >rdma-common.c
	echo 'int fixture;' >tests/unit/common/fixture.c
	echo 'int main(void) { return 0; }' >tests/unit/some/test-good.c
}

check() {
	run env -u MAKEFLAGS make -s -j 2 check
	echo "$output"
}

@test "check: tests that pass" {
	check
	[ "$status" -eq 0 ]
}

@test "check: a failed test is named, and fails the check" {
	echo 'int main(void) { return 3; }' >tests/unit/some/test-bad.c
	check
	[ "$status" -ne 0 ]
	grep -x 'build/tests/unit/some/test-bad.failed:exit status 3' <<<"$output"
}
