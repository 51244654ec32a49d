#!/usr/bin/env bats
# `make check` counts the tests that pass and fail, and reports failures by its exit status. The
# tests run on a generated tree.

setup() {
	cp "$BATS_TEST_DIRNAME/../../Makefile" "$BATS_TEST_TMPDIR"
	mkdir -p "$BATS_TEST_TMPDIR/tests/unit"
	cp "$BATS_TEST_DIRNAME/../unit/"{summary.awk,unit.h} "$BATS_TEST_TMPDIR/tests/unit"
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p tests/unit/some tests/unit/common
	echo 'int common;' >rdma-common.c
	cp "$BATS_TEST_DIRNAME/../unit/common/results.c" tests/unit/common
	some_tests passes >tests/unit/some/test-good.c
}

check() {
	run env -u MAKEFLAGS make -s -j 2 check "$@"
	echo "$output"
}

# last_line_is TEXT
last_line_is() {
	[ "$(tail -n 1 <<<"$output")" = "$1" ]
}

@test "check: tests that pass" {
	check
	[ "$status" -eq 0 ]
	last_line_is '1 unit tests passed, 0 failed, 0 skipped'
}

@test "check: a failed test is named, and fails the check" {
	echo 'int main(void) { return 3; }' >tests/unit/some/test-bad.c
	check
	[ "$status" -ne 0 ]
	grep -x 'build/tests/unit/some/test-bad: exit status 3, without results' <<<"$output"
	grep -x '1 unit tests passed, 1 failed, 0 skipped' <<<"$output"
}

@test "check: a program that reports no results has not passed" {
	echo 'int main(void) { return 0; }' >tests/unit/some/test-bad.c
	check
	[ "$status" -ne 0 ]
	grep -x 'build/tests/unit/some/test-bad: exit status 0, without results' <<<"$output"
	grep -x '1 unit tests passed, 1 failed, 0 skipped' <<<"$output"
}

@test "check: an emulator runs the tests, and one that runs nothing fails the check" {
	check EMULATOR='env RAN=yes'
	[ "$status" -eq 0 ]
	last_line_is '1 unit tests passed, 0 failed, 0 skipped'
	check EMULATOR=true
	[ "$status" -ne 0 ]
	grep -x '0 unit tests passed, 1 failed, 0 skipped' <<<"$output"
	check EMULATOR=missing-emulator
	[ "$status" -ne 0 ]
	grep 'exit status 127' <<<"$output"
}

# some_tests RESULT...: tests with these results. 'crashes' ends the program.
some_tests() {
	echo '#include <stdlib.h>'
	echo '#include "tests/unit/unit.h"'
	echo 'static void passes(void **state) { (void)state; }'
	echo 'static void fails(void **state) { (void)state; assert_int_equal(1, 2); }'
	echo 'static void is_skipped(void **state) { (void)state; skip(); }'
	echo 'static void crashes(void **state) { (void)state; _Exit(5); }'
	echo 'int main(void) {'
	echo '(void)passes; (void)fails; (void)is_skipped; (void)crashes;'
	echo 'const struct CMUnitTest tests[] = {'
	printf 'cmocka_unit_test(%s),\n' "$@"
	echo '}; return cmocka_run_group_tests(tests, NULL, NULL); }'
}

@test "check: counts results, whatever cmocka prints" {
	local format
	some_tests passes passes is_skipped fails fails >tests/unit/some/test-bad.c
	some_tests passes is_skipped >tests/unit/some/test-good.c
	some_tests passes crashes >tests/unit/some/test-crash.c
	for format in STDOUT TAP SUBUNIT XML; do
		CMOCKA_MESSAGE_OUTPUT=$format check
		[ "$status" -ne 0 ]
		grep -x '3 unit tests passed, 3 failed, 2 skipped' <<<"$output"
	done

	mkdir scripts tests/one-host
	: >tests/one-host/exchange.bats
	cp "$BATS_TEST_DIRNAME/../../scripts/test" scripts
	printf '#!/bin/sh\n' >scripts/deps
	chmod +x scripts/deps
	run scripts/test unit
	echo "$output"
	[ "$status" -eq 1 ]
	last_line_is '3 passed, 3 failed'
	grep 'build/address/tests/unit/some/test-crash: exit status 5' <<<"$output"

	rm tests/unit/some/test-{bad,crash}.c
	check
	[ "$status" -eq 0 ]
	last_line_is '1 unit tests passed, 0 failed, 1 skipped'
}

@test "check: a group whose preparation fails has no test that passed" {
	some_tests passes passes | sed 's/(tests, NULL/(tests, broken/
		s/^int main/static int broken(void **state) { (void)state; return -1; }\n&/' \
		>tests/unit/some/test-good.c
	check
	[ "$status" -ne 0 ]
	grep -x '0 unit tests passed, [1-9] failed, 0 skipped' <<<"$output"
}
