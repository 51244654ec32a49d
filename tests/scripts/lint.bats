#!/usr/bin/env bats
# The checks of scripts/lint can fail: each runs on a made-up tree with one fault.

setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cd "$BATS_TEST_TMPDIR" || return
	mkdir upper lower
	printf 'program upper\nupper lower\nlower\n' >layers
	echo 'int upper(void);' >upper/upper.h
	echo 'int lower(void);' >lower/lower.h
	printf '#include "lower/lower.h"\n#include "upper/upper.h"\nint upper(void) { return lower(); }\n' \
		>upper/upper.c
	printf '#include "lower/lower.h"\nint lower(void) { return 1; }\n' >lower/lower.c
	printf '#include "upper/upper.h"\nint main(void) { return upper(); }\n' >program.c
}

# layers: compiles all files of the made-up tree, and checks them.
layers() {
	local file files
	mapfile -t files < <(find . -name '*.[ch]' -printf '%P\n' | sort)
	for file in "${files[@]}"; do
		[ "${file##*.}" = h ] || {
			mkdir -p "objects/$(dirname "$file")"
			gcc -I. -O2 -c -o "objects/${file%.c}.o" "$file"
		}
	done
	run "$top/scripts/lint-layers" layers objects "${files[@]}"
}

# finds LINE: the check fails, and this is among what it prints.
finds() {
	echo "$output"
	[ "$status" -eq 1 ]
	grep -q -F -x -- "$1" <<<"$output"
}

@test "layers: a tree in order passes" {
	layers
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = '3 files with their headers, 4 includes, 2 symbols used' ]
}

@test "layers: an include upward is found" {
	sed -i '1i #include "upper/upper.h"' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes upper/upper.h: lower may not use upper'
}

@test "layers: an include relative to the folder of its file is found" {
	sed -i '1i #include "../upper/upper.h"' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes ../upper/upper.h, which is not among the files'
}

@test "layers: an include of our own in angle brackets is found" {
	sed -i '1i #include <upper/upper.h>' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes upper/upper.h like a header of the system'
}

@test "layers: a call upward without an include is found" {
	printf 'int upper(void);\nint lower(void) { return upper(); }\n' >lower/lower.c
	layers
	finds 'lower/lower.c uses upper of upper/upper.c: lower may not use upper'
}

@test "layers: the use of a variable upward is found" {
	echo 'int level = 2;' >>upper/upper.c
	printf 'extern int level;\nint lower(void) { return level; }\n' >lower/lower.c
	layers
	finds 'lower/lower.c uses level of upper/upper.c: lower may not use upper'
}

@test "layers: a call between layers that the table keeps apart is found" {
	mkdir other
	printf 'program upper\nupper lower other\nother\nlower\n' >layers
	printf 'int lower(void);\nint other(void) { return lower(); }\n' >other/other.c
	layers
	finds 'other/other.c uses lower of lower/lower.c: other may not use lower'
}

@test "layers: a circle of calls within a layer is found" {
	printf 'int two(void);\nint three(void);\nint one(void) { return two() + three(); }\n' >lower/one.c
	printf 'int three(void);\nint two(void) { return three(); }\n' >lower/two.c
	printf 'int one(void);\nint three(void) { return one(); }\n' >lower/three.c
	layers
	finds 'a circle of 3 files: lower/one lower/three lower/two'
	finds '    lower/three.c uses one of lower/one.c'
}

@test "layers: a circle of an include and a call is found" {
	sed -i '1i #include "lower/more.h"' lower/lower.h
	echo 'int more(void);' >lower/more.h
	printf '#include "lower/more.h"\nint lower(void);\nint more(void) { return lower(); }\n' >lower/more.c
	layers
	finds 'a circle of 2 files: lower/lower lower/more'
}

@test "layers: a file outside the table is found" {
	mkdir aside
	echo 'int aside(void) { return 0; }' >aside/aside.c
	layers
	finds 'aside/aside.c belongs to no layer of the table'
}

@test "layers: a layer without a file is found" {
	echo nothing >>layers
	layers
	finds 'the layer nothing has no file'
}

@test "layers: a table that lets a layer use one above it is found" {
	printf 'program upper\nupper lower\nlower upper\n' >layers
	layers
	finds 'the table lets lower use upper, which is not below it'
}

@test "layers: a missing object is found" {
	layers
	run "$top/scripts/lint-layers" layers objects program.c lower/absent.c
	[ "$status" -eq 1 ]
}

# comments: checks the comments of the made-up tree, in which each C file has one.
comments() {
	local file
	for file in upper/upper.c lower/lower.c program.c; do
		[ "$file" = "${1:-}" ] || sed -i '1i /* What it does: upper/upper.h */' "$file"
	done
	[ -e README.md ] || echo 'See lower/lower.c.' >README.md
	mkdir -p scripts
	cp "$top/scripts/lint" scripts
	git init -q .
	run scripts/lint comments
}

@test "comments: a tree in order passes" {
	sed -i '1i #include <sys/queue.h>' lower/lower.h
	echo '/* sys/queue.h, lower/*.c, lower/FOLDER/test-MODULE.c, https://example.org/lower/absent.c */' \
		>>lower/lower.h
	echo '#define TEXT "lower/absent.c"' >>lower/lower.h
	echo 'See lower/absent.c.' >CHANGELOG.md
	comments
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "comments: a C file that does not begin with a comment is found" {
	comments lower/lower.c
	finds 'lower/lower.c does not begin with a comment'
}

@test "comments: a line of more than 100 columns is found" {
	printf '\t/* %090d */\n' 0 >>lower/lower.c
	comments
	finds "lower/lower.c:$(wc -l <lower/lower.c): a comment of 104 columns"
}

@test "comments: an empty C file is found" {
	: >upper/empty.c
	comments
	finds 'upper/empty.c does not begin with a comment'
}

@test "comments: a file that a comment names and that does not exist is found" {
	printf '/*\n * One line, and\n * another: lower/absent.h.\n */\n' >>lower/lower.h
	comments
	finds 'lower/lower.h:4: lower/absent.h does not exist'
}

@test "comments: a file in a folder that does not exist is found" {
	echo 'int more(void); /* absent/lower.c */' >>lower/lower.h
	comments
	finds 'lower/lower.h:2: absent/lower.c does not exist'
}

@test "comments: a second file that one line names is checked" {
	echo 'int more(void); /* lower/lower.c */ /* lower/lower.c and lower/absent.c */' >>lower/lower.h
	comments
	finds 'lower/lower.h:2: lower/absent.c does not exist'
}

@test "comments: a file that the documentation names and that does not exist is found" {
	mkdir docs
	echo 'See [it](../lower/absent.c).' >docs/it.md
	comments
	finds 'docs/it.md:1: ../lower/absent.c does not exist'
}

@test "comments: a pattern that matches no file is found" {
	echo 'See lower/absent-*.c.' >README.md
	comments
	finds 'README.md:1: lower/absent-*.c does not exist'
}

@test "a check that finds no file fails" {
	mkdir scripts
	cp "$top/scripts/lint" scripts
	git init -q .
	rm -r upper lower program.c
	run scripts/lint cppcheck
	finds 'no file matches *.c'
}
