#!/usr/bin/env bats
# What `make` prints.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	object=$BATS_TEST_TMPDIR/build/base/text.o
}

build() { make --no-print-directory "BUILD=$BATS_TEST_TMPDIR/build" "BIN=$BATS_TEST_TMPDIR" "$@"; }

@test "without the libraries, make says in one line which are missing and what installs them" {
	PKG_CONFIG_LIBDIR=$BATS_TEST_TMPDIR PKG_CONFIG_PATH='' run -2 build
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *'missing: libibverbs librdmacm libxxhash '*'; run ./scripts/deps build.'* ]]
	PKG_CONFIG_LIBDIR=$BATS_TEST_TMPDIR PKG_CONFIG_PATH='' run -0 build help
}

@test "make prints a short line for each file; with V=1 the command; with -s nothing" {
	run -0 build "$object"
	[ "$output" = '  CC  base/text.c' ]
	rm "$object"
	run -0 build V=1 "$object"
	[[ $output == *' -c -o '*'/base/text.o base/text.c' ]]
	rm "$object"
	run -0 build -s "$object"
	[ -z "$output" ]
}

@test "make help names every target" {
	run -0 build help
	local target
	for target in all check unit-tests lint fuzz install uninstall dist deb rpm-spec rpm-check clean; do
		[[ $output =~ (^|[^a-z-])$target([^a-z-]|$) ]] || {
			echo "$target is missing"
			return 1
		}
	done
}
