#!/usr/bin/env bats
# The Debian packages, as `make deb` builds them. tests/packages/install.bats installs them.

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	git status --porcelain --ignored >"$BATS_FILE_TMPDIR/before"
	# scripts/test runs the unit tests.
	DEB_BUILD_OPTIONS=nocheck make -s deb >"$BATS_FILE_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_FILE_TMPDIR/log" >&2 && return 1; }
	git status --porcelain --ignored >"$BATS_FILE_TMPDIR/after"
}

setup() {
	version=$(sed -n 's/^#define PROJECT_VERSION "\(.*\)"$/\1/p' base/version.h)
	deb=build/deb/rdma-pair_${version}_$(dpkg --print-architecture).deb
}

@test "make deb writes into build only" {
	diff <(grep -v ' build/$' "$BATS_FILE_TMPDIR/before") <(grep -v ' build/$' "$BATS_FILE_TMPDIR/after")
	[ -z "$(find build/deb -mindepth 1 -type d)" ]
	[ -f "build/deb/rdma-pair_$version.dsc" ]
}

@test "lintian finds no error and no warning" {
	run lintian --fail-on error,warning build/deb/*.changes
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *[EW]:\ * ]]
}

# mode_of FILE: prints its mode, such as -rwxr-xr-x; fails if the package does not contain it.
mode_of() {
	dpkg-deb --contents "$deb" | awk -v file="./$1" '$6 == file { print $1; found = 1 } END { exit !found }'
}

@test "the package contains programs, manual pages, completions, the unit, and its folder of settings" {
	local file
	[ "$(dpkg-deb --field "$deb" Version)" = "$version" ]
	for file in rdma-server rdma-client; do
		[ "$(mode_of "usr/bin/$file")" = -rwxr-xr-x ]
		[ "$(mode_of "usr/share/bash-completion/completions/$file")" = -rw-r--r-- ]
	done
	[ "$(mode_of usr/bin/rdma-softroce)" = -rwxr-xr-x ]
	for file in man/*.[0-9]; do
		[ "$(mode_of "usr/share/man/man${file##*.}/${file#man/}.gz")" = -rw-r--r-- ]
	done
	for file in completions/_*; do
		[ "$(mode_of "usr/share/zsh/vendor-completions/${file#completions/}")" = -rw-r--r-- ]
	done
	[ "$(mode_of lib/systemd/system/rdma-server@.service)" = -rw-r--r-- ]
	[ "$(mode_of etc/rdma-server/)" = drwxr-xr-x ]
	mode_of usr/share/doc/rdma-pair/copyright
	mode_of usr/share/doc/rdma-pair/README.md.gz
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./lib/systemd/system/rdma-server@.service |
		grep -x 'ExecStart=/usr/bin/rdma-server .*'
}

@test "the package depends on the drivers, and enables no unit" {
	dpkg-deb --field "$deb" Depends >"$BATS_TEST_TMPDIR/depends"
	grep -w ibverbs-providers "$BATS_TEST_TMPDIR/depends"
	grep -w libibverbs1 "$BATS_TEST_TMPDIR/depends"
	dpkg-deb --control "$deb" "$BATS_TEST_TMPDIR/control"
	run grep -r -e deb-systemd-helper -e 'systemctl.* enable' "$BATS_TEST_TMPDIR/control"
	echo "$output"
	[ "$status" -eq 1 ]
}
