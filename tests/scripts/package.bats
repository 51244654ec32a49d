#!/usr/bin/env bats
# scripts/package: the version is defined once, and the source archive is complete. The tests run on a copy of the
# project without git.

setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$top" || return
	# The tests see only the files in the archive.
	DIR=$BATS_TEST_TMPDIR
	export SOURCE_DATE_EPOCH=1700000000
	mkdir "$DIR/copy"
	git ls-files --cached --others --exclude-standard | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done | sort >"$DIR/files"
	tar -cf - --files-from="$DIR/files" | tar -xf - -C "$DIR/copy"
	cd "$DIR/copy" || return
}

# finds_nothing ARGUMENT...: grep finds no match.
finds_nothing() {
	run grep "$@"
	echo "$output"
	[ "$status" -eq 1 ]
}

new_version() { sed -i 's/PROJECT_VERSION ".*"/PROJECT_VERSION "7.8.9"/' base/version.h; }

@test "archive, spec file and programs have the version of base/version.h" {
	new_version
	scripts/package dist
	tar -tzf build/rdma-pair-7.8.9.tar.gz rdma-pair-7.8.9/Makefile
	scripts/package spec
	grep -x 'Version: *7\.8\.9' build/rpm/rdma-pair.spec
	grep -x '\* Tue Nov 14 2023 .* - 7\.8\.9-1' build/rpm/rdma-pair.spec
	[ -e build/rpm/rdma-pair-7.8.9.tar.gz ]
	finds_nothing '@[A-Z]*@' build/rpm/rdma-pair.spec
	make -s BUILD=build/version build/version/cli/startup.o
	grep -q -a -F 7.8.9 build/version/cli/startup.o
}

# dpkg-buildpackage and dh are replaced with minimal stubs.
@test "Debian's changelog has the version of base/version.h" {
	new_version
	mkdir bin
	printf '#!/bin/sh\ncp debian/changelog ../../..\n' >bin/dpkg-buildpackage
	ln -s /bin/true bin/dh
	chmod +x bin/dpkg-buildpackage
	PATH=$PWD/bin:$PATH scripts/package deb || true
	[ "$(head -n 1 changelog)" = 'rdma-pair (7.8.9) unstable; urgency=medium' ]
	[ "$(tail -n 1 changelog)" = " -- $(sed -n 's/^Maintainer: //p' debian/control)  Tue, 14 Nov 2023 22:13:20 +0000" ]
}

@test "no other file defines the version" {
	local version
	version=$(sed -n 's/^#define PROJECT_VERSION "\(.*\)"$/\1/p' base/version.h)
	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
	rm base/version.h
	finds_nothing -r -F "$version" Makefile base cli completions debian man packaging scripts systemd ./*.[ch]
	[ ! -e debian/changelog ]
}

@test "the archive has the same files with and without git, and the same bytes each time" {
	scripts/package dist
	touch rdma-server rdma-client
	cp build/rdma-pair-*.tar.gz "$DIR/first"
	tar -tzf "$DIR/first" | sed 's|^[^/]*/||' | LC_ALL=C sort >"$DIR/archived"
	diff <(LC_ALL=C sort "$DIR/files") "$DIR/archived"
	scripts/package dist
	cmp "$DIR/first" build/rdma-pair-*.tar.gz
	rm -r build rdma-server rdma-client
	git init -q .
	scripts/package dist
	cmp "$DIR/first" build/rdma-pair-*.tar.gz
}

@test "installed documents: no links to what is not installed, and nothing about the source tree" {
	printf '%s\n' '# Title' '' 'See [tour](docs/tour.md), [the' 'model](docs/model.md#x), [SECURITY](SECURITY.md#y) and [a](https://a.example).' '' \
		'| a | b |' '| --- | --- |' '| [tour](docs/tour.md) | left out |' '| [rdma-client(1)](man/rdma-client.1) | x |' \
		'| [protocol](docs/protocol.md) | [model](docs/model.md) |' '' '## Build' '' '    make' '' '### Part' '' 'Text.' '' '## Use' '' 'It.' >README.md
	scripts/package documents "$DIR/documents"
	diff - "$DIR/documents/README.md" <<-'END'
	# Title

	See tour, the
	model, [SECURITY](SECURITY.md#y) and [a](https://a.example).

	| a | b |
	| --- | --- |
	| rdma-client(1) | x |
	| [protocol](docs/protocol.md) | model |

	## Use

	It.
	END
	cmp docs/report.schema.json "$DIR/documents/docs/report.schema.json"
	[ ! -e "$DIR/documents/docs/tour.md" ]
}

@test "usage errors" {
	run scripts/package
	[ "$status" -eq 2 ]
	run scripts/package documents
	[ "$status" -eq 2 ]
	run scripts/package rpm
	[ "$status" -eq 2 ]
	[ "$output" = "package: unknown argument 'rpm' (see scripts/package --help)" ]
}
