#!/usr/bin/env bats
# scripts/fuzz-corpus: packing and unpacking a corpus changes no byte.

setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$BATS_TEST_TMPDIR" || return
	mkdir inputs unpacked
}

@test "inputs with any bytes survive packing and unpacking" {
	perl -e 'binmode STDOUT; print map { chr } 0 .. 255, reverse 0 .. 255' >inputs/all-bytes
	printf '%s' 'a "quoted" word \x41 \ ' >inputs/escapes
	printf 'two\nlines\n' >inputs/lines
	printf ' ' >inputs/space
	: >inputs/empty
	"$top/scripts/fuzz-corpus" pack inputs >packed
	[ "$(wc -l <packed)" -eq 5 ]
	[ "$(tr -d ' -~\n' <packed | wc -c)" -eq 0 ]
	"$top/scripts/fuzz-corpus" unpack packed unpacked
	diff -r inputs unpacked
}

@test "every corpus has a fuzz target and repacks to the same bytes" {
	for packed in "$top"/tests/fuzz/corpus/*; do
		target=$(basename "$packed" .txt)
		echo "$target"
		[ -e "$top/tests/fuzz/fuzz-$target.c" ]
		mkdir "unpacked/$target"
		"$top/scripts/fuzz-corpus" unpack "$packed" "unpacked/$target"
		"$top/scripts/fuzz-corpus" pack "unpacked/$target" | diff - "$packed"
	done
}

@test "an invalid line is reported with its number" {
	for line in 'name=bytes' 'name="a"b"' 'name="\y"' 'name="\x4"' 'na/me="a"' '="a"'; do
		printf '# comment\n%s\n' "$line" >packed
		run "$top/scripts/fuzz-corpus" unpack packed unpacked
		echo "$line: $output"
		[ "$status" -eq 1 ]
		[[ $output == 'fuzz-corpus: packed:2: '* ]]
	done
}
