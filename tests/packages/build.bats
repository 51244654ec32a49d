#!/usr/bin/env bats
# The Debian packages, as `make deb` builds them. tests/packages/install.bats installs them.

load ../scripts/links

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
	[ "$(mode_of usr/share/rdma-pair/prove-far)" = -rwxr-xr-x ]
	for file in man/*.[0-9]; do
		[ "$(mode_of "usr/share/man/man${file##*.}/${file#man/}.gz")" = -rw-r--r-- ]
	done
	for file in completions/_*; do
		[ "$(mode_of "usr/share/zsh/vendor-completions/${file#completions/}")" = -rw-r--r-- ]
	done
	[ "$(mode_of lib/systemd/system/rdma-server@.service)" = -rw-r--r-- ]
	[ "$(mode_of etc/rdma-server/)" = drwxr-xr-x ]
	mode_of usr/share/doc/rdma-pair/copyright
	[ "$(mode_of usr/share/doc/rdma-pair/README.md)" = -rw-r--r-- ]
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./lib/systemd/system/rdma-server@.service |
		grep -x 'ExecStart=/usr/bin/rdma-server .*'
}

unpack() { dpkg-deb --extract "$deb" "$BATS_TEST_TMPDIR/root"; }

@test "every link in the documents of the package leads to a file of the package, and to a heading" {
	local documents
	unpack
	cd "$BATS_TEST_TMPDIR/root/usr/share/doc/rdma-pair"
	mapfile -t documents < <(find . -name '*.md')
	# The pictures, the documents, and the sections of troubleshooting.md.
	check_links 100 "${documents[@]}"
}

@test "README.md of the package names no command that only the source tree has" {
	local command
	unpack
	cd "$BATS_TEST_TMPDIR/root"
	# shellcheck disable=SC2016 # a pattern
	run grep -n -E '(^ {4}|`|\$ )(sudo )?(\./|scripts/|make( |`|$))' usr/share/doc/rdma-pair/README.md
	printf '%s\n' "${lines[@]}" | tee wrong
	! grep -v 'source tree' wrong | grep . || false
	grep -o -w -E 'rdma-(client|server|softroce|prove)' usr/share/doc/rdma-pair/README.md | sort -u >commands
	[ "$(wc -l <commands)" -eq 4 ]
	while read -r command; do
		[ -x "usr/bin/$command" ]
		[ -f "usr/share/man/man1/$command.1.gz" ]
	done <commands
}

@test "rdma-prove finds its parts and the programs where they are installed" {
	unpack
	run "$BATS_TEST_TMPDIR/root/usr/bin/rdma-prove" --help
	[ "$status" -eq 0 ]
	[[ $output == 'Usage: rdma-prove '* ]]
	# The server side starts, and ends with its input; without a device, it says so.
	run timeout 60 "$BATS_TEST_TMPDIR/root/usr/bin/rdma-prove" --serve </dev/null
	echo "$output"
	[[ $output == 'rdma-prove: run on the other host:  rdma-prove --no-ssh --port 7500 HOST'* ]]
	[[ $output != *'No such file'* && $output != *'neither in'* ]]
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
