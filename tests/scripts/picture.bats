#!/usr/bin/env bats
# scripts/picture: the drawing of a terminal; scripts/showcase without guests.

root=$BATS_TEST_DIRNAME/../..

setup() { cd "$root" || return; }

# picture TEXT OPTION...: draws a recording.
picture() { run scripts/picture "${@:2}" <<<"$1"; }

# Prints the lines of the drawing in order, without markup.
lines_of() { sed -n 's/^<text.*xml:space="preserve">\(.*\)<\/text>$/\1/p' <<<"$output" | sed 's/<[^>]*>//g'; }

is_xml() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parseString(sys.argv[1])' "$output"; }

@test "commands and the programs' colors are drawn" {
	picture $'host1# true\r\nverdict: \e[31mbad\e[m: cause\r\n\e[32mok\e[0m\r\n\e[33mwarning\e[m' --title 'a <title>'
	[ "$status" -eq 0 ]
	[ "$(lines_of)" = "$(printf '%s\n' 'host1# true' 'verdict: bad: cause' ok warning)" ]
	grep -q '<tspan fill="#79b8ff">host1# true</tspan>' <<<"$output"
	grep -q 'verdict: <tspan fill="#ff7b72">bad</tspan>: cause' <<<"$output"
	grep -q '<tspan fill="#7fd88f">ok</tspan>' <<<"$output"
	grep -q '<tspan fill="#e8c56a">warning</tspan>' <<<"$output"
	grep -q '>a &lt;title&gt;</text>' <<<"$output"
	is_xml
}

@test "what was erased is not drawn, except for the progress that is asked for" {
	local recording=$'checking\r\e[K10 %\r\e[K50 %\r\e[K90 %\r\e[Kdone\r\n20 %\r\e[K40 %^C\r\e[K41 %\r\e[Kstopped\r\n'
	picture "$recording"
	[ "$(lines_of)" = $'done\nstopped' ]
	picture "$recording" --progress '%'
	[ "$(lines_of)" = $'50 %\ndone\n40 %^C\nstopped' ]
	grep -q '<tspan fill="#8b95a7">50 %</tspan>' <<<"$output"
}

@test "long lines continue in the next row; markup, control characters and bytes that are not UTF-8 are harmless" {
	picture "$(printf '%090d' 7)"
	[ "$(lines_of | wc -l)" -eq 2 ]
	picture "$(printf '%090d' 7)" --columns 100
	[ "$(lines_of | wc -l)" -eq 1 ]
	picture $'a <b> & "c" \x07\xff[0m \e[2J█'
	[ "$(lines_of)" = $'a &lt;b&gt; &amp; "c" ?\xef\xbf\xbd[0m █' ]
	is_xml
}

@test "an empty recording is an error, wrong arguments are usage errors" {
	local arguments
	run scripts/picture </dev/null
	[ "$status" -eq 1 ]
	[ "$output" = 'picture: the recording is empty' ]
	for arguments in '--columns' '--columns 0' '--columns x' '--title' '--progress' '--progress (' 'file'; do
		# shellcheck disable=SC2086 # words
		run scripts/picture $arguments </dev/null
		[ "$status" -eq 2 ]
	done
	run scripts/showcase --output /nowhere
	[ "$status" -eq 2 ]
	run scripts/showcase --accel fast
	[ "$status" -eq 2 ]
}

# showcase_with VM: runs it in a tree in which everything succeeds, except scripts/vm, whose commands are given.
showcase_with() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p scripts docs
	cp "$root/scripts/showcase" "$root/scripts/picture" scripts
	echo 'all:' >Makefile
	printf '#!/bin/sh\n' >scripts/deps
	printf '#!/bin/bash\nshift 4\n%s\n' "$1" >scripts/vm
	chmod +x scripts/deps scripts/vm
	run scripts/showcase
	echo "$output"
}

@test "showcase draws both pictures, and none if the guests fail" {
	showcase_with 'exit 4'
	[ "$status" -eq 1 ]
	[ -z "$(ls docs)" ]
	# shellcheck disable=SC2016 # of the script
	showcase_with 'printf "host2# x\r\n" | tee "$2/failing" >"$2/healthy"'
	[ "$status" -eq 0 ]
	[ "$(ls docs)" = $'failing.svg\nhealthy.svg' ]
	grep -q 'host2# x' docs/failing.svg docs/healthy.svg
}

@test "the pictures of README.md show a cause and a cure, and a transfer that is resumed" {
	output=$(cat docs/failing.svg)
	lines_of >"$BATS_TEST_TMPDIR/failing"
	grep -x 'verdict: RDMA does not work: the network interfaces of the two hosts have' "$BATS_TEST_TMPDIR/failing"
	grep 'next: set the same MTU at both ends' "$BATS_TEST_TMPDIR/failing"
	output=$(cat docs/healthy.svg)
	lines_of >"$BATS_TEST_TMPDIR/healthy"
	grep '^verdict: RDMA works: [0-9.]* MB/s to the server, [0-9.]* MB/s from it' "$BATS_TEST_TMPDIR/healthy"
	grep '\^C$' "$BATS_TEST_TMPDIR/healthy"
	grep '^resuming at .* already there$' "$BATS_TEST_TMPDIR/healthy"
	grep 'resumed at byte' "$BATS_TEST_TMPDIR/healthy"
	[ "$(wc -L <"$BATS_TEST_TMPDIR/failing")" -le 80 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/failing")" -le 45 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/healthy")" -le 45 ]
}
