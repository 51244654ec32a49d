#!/usr/bin/env bats
# What scripts/demo and scripts/compare do before they start a program of this project.

root=$BATS_TEST_DIRNAME/../..

# A tree with scripts/demo, in which everything that it runs succeeds, but the user presses Ctrl-C
# while scripts/vm runs.
interrupted_tree() {
	mkdir "$BATS_TEST_TMPDIR/scripts"
	cd "$BATS_TEST_TMPDIR" || return
	cp "$root/scripts/demo" scripts
	echo 'all:' >Makefile
	printf '%s\n' '#!/bin/sh' >scripts/deps
	printf '%s\n' '#!/bin/sh' "kill -INT \$PPID" 'exit 130' >scripts/vm
	chmod +x scripts/deps scripts/vm
}

@test "demo: Ctrl-C ends it by SIGINT, and is no failed exchange" {
	interrupted_tree
	run env --default-signal=INT scripts/demo
	echo "$output"
	[ "$status" -eq 130 ]
	! grep -q 'failed' <<<"$output" || false
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
