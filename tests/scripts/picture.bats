#!/usr/bin/env bats
# scripts/picture: the drawing of a transcript.

setup() { cd "$BATS_TEST_DIRNAME/../.." || return; }

# Prints the text elements of the drawing in order.
texts() { sed -n 's/.*xml:space="preserve">\(.*\)<\/text>$/\1/p'; }

@test "the lines of both hosts are drawn in their order, commands in another colour" {
	printf '%s\n' 'demo: starting' 'host1: $ ./rdma-server any' 'host1: listening on port 1.' \
		'host2: $ ./rdma-client write host1 1' 'host2: disconnected.' >"$BATS_TEST_TMPDIR/in"
	scripts/picture <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out"
	[ "$(texts <"$BATS_TEST_TMPDIR/out")" = "$(printf '%s\n' '$ ./rdma-server any' 'listening on port 1.' \
		'$ ./rdma-client write host1 1' disconnected.)" ]
	[ "$(grep -c 'fill="#7fd88f"' "$BATS_TEST_TMPDIR/out")" = 2 ]
	[ "$(scripts/picture --lines 1 <"$BATS_TEST_TMPDIR/in" | texts)" = '$ ./rdma-server any' ]
}

@test "long lines continue in the next row; markup and control characters are harmless" {
	run scripts/picture <<<"host1: $(printf '%070d' 7)"
	[ "$status" = 0 ]
	[ "$(texts <<<"$output" | wc -l)" = 2 ]
	run scripts/picture <<<$'host2: a <b> & "c" \x1b[0m'
	[ "$(texts <<<"$output")" = 'a &lt;b&gt; &amp; "c" ?[0m' ]
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.argv[1])' "$output"
}

@test "a transcript without hosts is an error, wrong arguments are usage errors" {
	run scripts/picture <<<'demo: building'
	[ "$status" = 1 ]
	[[ $output = *'no lines of host1 or host2' ]]
	for arguments in '--lines' '--lines 0' '--lines x' 'file'; do
		# shellcheck disable=SC2086 # words
		run scripts/picture $arguments </dev/null
		[ "$status" = 2 ]
	done
}
