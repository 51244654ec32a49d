#!/usr/bin/env bats
# tests/systems/make: its cache. A program that only counts replaces mmdebstrap, and apt-get knows no mirror.
# tests/systems/steps and the part systems of scripts/test, on a generated tree without a system of their own.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	mkdir "$BATS_TEST_TMPDIR/bin"
	export RDMA_PAIR_CACHE=$BATS_TEST_TMPDIR/cache PATH=$BATS_TEST_TMPDIR/bin:$PATH MADE=$BATS_TEST_TMPDIR/made
	: >"$MADE"
	cat >"$BATS_TEST_TMPDIR/bin/mmdebstrap" <<'END'
#!/bin/bash
echo "$*" >>"$MADE"
cp "${!#}" "$MADE.sources"
echo 'a system' >"${@: -2:1}"
[ -z "${BREAK:-}" ]
END
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/bin/apt-get"
	chmod +x "$BATS_TEST_TMPDIR/bin/"*
}

# made COUNT ARGUMENT...: sets $output to the archive, for which this many systems have been built so far.
made() {
	output=$(tests/systems/make "${@:2}" 2>"$BATS_TEST_TMPDIR/stderr")
	stderr=$(<"$BATS_TEST_TMPDIR/stderr")
	echo "$output $stderr"
	[ "$(cat "$output")" = 'a system' ]
	[ "$(wc -l <"$MADE")" -eq "$1" ]
	[ -z "$(find "$RDMA_PAIR_CACHE" -name 'new.*')" ]
}

@test "a system is built once" {
	local first
	made 1 bare trixie make,gcc
	first=$output
	[ "$stderr" = 'make: building the system bare, once a week' ]
	grep -e '--include=make,gcc .* trixie ' "$MADE"
	grep 'debian-security.* trixie-security main$' "$MADE.sources"
	made 1 bare trixie make,gcc
	[ "$output" = "$first" ]
	[ -z "$stderr" ]
}

@test "a system that is damaged, half written or old is built again" {
	made 1 bare trixie ''
	: >"$output"
	made 2 bare trixie ''
	rm "$output.size"
	made 3 bare trixie ''
	touch -d '8 days ago' "$output"
	made 4 bare trixie ''
	made 4 bare trixie ''
}

@test "a system of another release or architecture, or with other packages, replaces the one of the same name" {
	made 1 bare trixie make
	made 2 bare bookworm make
	made 3 bare bookworm make,gcc
	made 4 bare bookworm make,gcc arm64 aarch64-linux-gnu
	grep -e '--architectures=[a-z0-9]*,arm64 ' "$MADE"
	[ "$(sed 's/.* bookworm/bookworm/' "$MADE.sources")" = 'bookworm main' ]
	[ "$(ls "$RDMA_PAIR_CACHE")" = "${output##*/}"$'\n'"${output##*/}.size" ]
	made 5 other bookworm make,gcc arm64 aarch64-linux-gnu
	made 5 bare bookworm make,gcc arm64 aarch64-linux-gnu
}

@test "a system that cannot be built: why, and nothing is left behind" {
	BREAK=yes run tests/systems/make bare trixie make
	echo "$output"
	[ "$status" -eq 1 ]
	[ "${lines[-1]}" = 'make: cannot build the system bare; see above' ]
	[ -z "$(ls "$RDMA_PAIR_CACHE")" ]
	made 2 bare trixie make
}

@test "mmdebstrap is missing: the command that installs it" {
	mkdir "$BATS_TEST_TMPDIR/few"
	ln -s -f /usr/bin/* "$BATS_TEST_TMPDIR/few/"
	rm "$BATS_TEST_TMPDIR/few/mmdebstrap"
	PATH=$BATS_TEST_TMPDIR/few run tests/systems/make bare trixie make
	[ "$status" -eq 1 ]
	[ "$output" = 'make: mmdebstrap is missing; scripts/deps package installs it' ]
}

# tool NAME COMMAND...: has a program of this name run the command with its arguments.
tool() {
	printf '#!/bin/sh\nexec %s "$@"\n' "${*:2}" >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# Generates a tree whose programs do nothing, with one unit test, and makes up the tools of the architectures in
# the table of scripts/test.
make_tree() {
	local architecture triplet
	mkdir -p "$BATS_TEST_TMPDIR/tree/"{scripts,tests/one-host,tests/systems,tests/unit/{some,common}}
	cp tests/unit/{summary.awk,unit.h} "$BATS_TEST_TMPDIR/tree/tests/unit"
	cp tests/unit/common/results.c "$BATS_TEST_TMPDIR/tree/tests/unit/common"
	cp tests/systems/steps "$BATS_TEST_TMPDIR/tree/tests/systems"
	cp scripts/test "$BATS_TEST_TMPDIR/tree/scripts"
	cp Makefile "$BATS_TEST_TMPDIR/tree"
	cd "$BATS_TEST_TMPDIR/tree" || return
	: >tests/one-host/exchange.bats
	# Each system has a copy.
	cat >tests/systems/run <<'END'
#!/bin/sh
copy=$(mktemp -d -p "$BATS_TEST_TMPDIR") && cp -r . "$copy" && cd "$copy" && exec tests/systems/steps "${2:-}" "${3:-}"
END
	printf '#!/bin/sh\n' | tee scripts/deps >scripts/demo
	chmod +x scripts/* tests/systems/*
	echo 'int common;' >rdma-common.c
	echo 'int main(void) { return 0; }' | tee rdma-server.c >rdma-client.c
	cat >tests/unit/some/test-some.c <<'END'
#include "tests/unit/unit.h"
static void passes(void **state) { (void)state; }
int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(passes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
END
	tool pkg-config true
	while read -r _ architecture triplet; do
		[ -n "$architecture" ] || continue
		tool "$triplet-gcc" gcc
		tool "$triplet-ar" ar
		tool "qemu-${triplet%%-*}" env
	done < <(sed -n '/^systems() {/,/^}/s/^\t\([a-z]\)/\1/p' scripts/test | grep -v '^cat')
}

@test "the part systems counts each architecture, and an emulator that runs nothing fails it" {
	local emulator emulators native
	make_tree
	# Six steps and a unit test of a system of this architecture, two steps and a unit test of another.
	run env -u MAKEFLAGS scripts/test systems
	echo "$output"
	[ "$status" -eq 0 ]
	emulators=("$BATS_TEST_TMPDIR/bin/"qemu-*)
	native=$(grep -c ': == nice -n 10 tests/systems/run [a-z]*$' <<<"$output")
	[ "${lines[-1]}" = "$((7 * native + 3 * ${#emulators[@]})) passed, 0 failed" ]
	for emulator in "${emulators[@]}"; do
		emulator=${emulator##*/}
		tool "$emulator" true
		run env -u MAKEFLAGS scripts/test systems
		echo "$output"
		[ "$status" -eq 1 ]
		grep 'build/tests/unit/some/test-some: exit status 0, without results' <<<"$output"
		# The test that fails on purpose does not run either.
		grep -x '[0-9]* passed, 2 failed' <<<"$output"
		tool "$emulator" env
	done
}
