#!/usr/bin/env bats
# What scripts/demo and scripts/compare do before they start a program of this project.

root=$BATS_TEST_DIRNAME/../..

# A tree with scripts/demo, in which everything that it runs succeeds, except scripts/vm, whose
# commands are read from standard input.
tree() {
	mkdir "$BATS_TEST_TMPDIR/scripts"
	cd "$BATS_TEST_TMPDIR" || return
	cp "$root/scripts/demo" scripts
	echo 'all:' >Makefile
	printf '%s\n' '#!/bin/sh' >scripts/deps
	echo '#!/bin/bash' >scripts/vm
	cat >>scripts/vm
	chmod +x scripts/deps scripts/vm
}

# demo_fails STATUS MESSAGE
demo_fails() {
	run scripts/demo
	echo "$output"
	[ "$status" -eq "$1" ]
	[ "$(tail -n 1 <<<"$output")" = "demo: $2" ]
}

@test "demo: Ctrl-C ends it by SIGINT, and is no failed exchange" {
	tree <<<"kill -INT \$PPID; exit 130"
	run env --default-signal=INT scripts/demo
	echo "$output"
	[ "$status" -eq 130 ]
	! grep -q 'failed' <<<"$output" || false
}

@test "demo: guests that do not start are no failed exchange" {
	tree <<<'echo "vm: no space left"; exit 1'
	demo_fails 1 'the guests failed: see above'
}

# In place of a guest, runs the command here, with a server that fails.
@test "demo: an exchange that fails in a guest" {
	tree <<'END'
while [ "$1" != -- ]; do
	[ "$1" != --share ] || export VM_SHARED=$2
	shift
done
shift
VM_HOST=1 "$@"
END
	printf '%s\n' '#!/bin/sh' 'exit 4' >rdma-server
	chmod +x rdma-server
	demo_fails 4 'an exchange failed: see above'
}

# compare ARGUMENT...: runs it in a tree without tools except those in the folder bin.
compare() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	ln -sf "$(command -v dirname)" "$BATS_TEST_TMPDIR/bin"
	run env PATH="$BATS_TEST_TMPDIR/bin" RDMA_ADDRESS=192.0.2.1 "$BASH" "$root/scripts/compare" --here "$@"
	echo "$output"
	[ "$status" -ne 0 ]
}

@test "compare --here needs only the tools of the requested parts" {
	compare waiting
	grep -q 'jq is missing' <<<"$output"
	: >"$BATS_TEST_TMPDIR/bin/jq"
	chmod +x "$BATS_TEST_TMPDIR/bin/jq"
	compare waiting
	! grep -q 'is missing' <<<"$output" || false
	compare --picture a.svg waiting
	grep -q 'gnuplot is missing' <<<"$output"
	compare exchange
	grep -q 'rping is missing' <<<"$output"
}
