#!/usr/bin/env bats
# tests/systems/make: its cache. A program that only counts replaces mmdebstrap, and apt-get knows no mirror.

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
