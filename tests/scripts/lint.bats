#!/usr/bin/env bats
# The checks of scripts/lint, each tested on a generated tree with one fault.

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

# layers: compiles all files of the generated tree, and checks their layers.
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

# finds LINE: the check failed and printed this line.
finds() {
	echo "$output"
	[ "$status" -eq 1 ]
	grep -q -F -x -- "$1" <<<"$output"
}

@test "layers: a correct tree passes" {
	layers
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$output" = '3 files with their headers, 4 includes, 2 symbols used' ]
}

@test "layers: an include of a higher layer is found" {
	sed -i '1i #include "upper/upper.h"' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes upper/upper.h: lower may not use upper'
}

@test "layers: an include relative to the including file is found" {
	sed -i '1i #include "../upper/upper.h"' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes ../upper/upper.h, which is not among the files'
}

@test "layers: a project header in angle brackets is found" {
	sed -i '1i #include <upper/upper.h>' lower/lower.c
	layers
	finds 'lower/lower.c:1 includes upper/upper.h as a system header'
}

@test "layers: a call into a higher layer without an include is found" {
	printf 'int upper(void);\nint lower(void) { return upper(); }\n' >lower/lower.c
	layers
	finds 'lower/lower.c uses upper of upper/upper.c: lower may not use upper'
}

@test "layers: a variable of a higher layer is found" {
	echo 'int level = 2;' >>upper/upper.c
	printf 'extern int level;\nint lower(void) { return level; }\n' >lower/lower.c
	layers
	finds 'lower/lower.c uses level of upper/upper.c: lower may not use upper'
}

@test "layers: a call between independent layers is found" {
	mkdir other
	printf 'program upper\nupper lower other\nother\nlower\n' >layers
	printf 'int lower(void);\nint other(void) { return lower(); }\n' >other/other.c
	layers
	finds 'other/other.c uses lower of lower/lower.c: other may not use lower'
}

@test "layers: a cycle of calls within a layer is found" {
	printf 'int two(void);\nint three(void);\nint one(void) { return two() + three(); }\n' >lower/one.c
	printf 'int three(void);\nint two(void) { return three(); }\n' >lower/two.c
	printf 'int one(void);\nint three(void) { return one(); }\n' >lower/three.c
	layers
	finds 'a cycle of 3 files: lower/one lower/three lower/two'
	finds '    lower/three.c uses one of lower/one.c'
}

@test "layers: a cycle of an include and a call is found" {
	sed -i '1i #include "lower/more.h"' lower/lower.h
	echo 'int more(void);' >lower/more.h
	printf '#include "lower/more.h"\nint lower(void);\nint more(void) { return lower(); }\n' >lower/more.c
	layers
	finds 'a cycle of 2 files: lower/lower lower/more'
}

@test "layers: a file in no layer is found" {
	mkdir aside
	echo 'int aside(void) { return 0; }' >aside/aside.c
	layers
	finds 'aside/aside.c belongs to no layer of the table'
}

@test "layers: a layer without files is found" {
	echo nothing >>layers
	layers
	finds 'the layer nothing has no file'
}

@test "layers: a table that allows an upward dependency is found" {
	printf 'program upper\nupper lower\nlower upper\n' >layers
	layers
	finds 'the table lets lower use upper, which is not below it'
}

@test "layers: a missing object is found" {
	layers
	run "$top/scripts/lint-layers" layers objects program.c lower/absent.c
	[ "$status" -eq 1 ]
}

# comments [FILE]: adds a comment to each C file of the tree except FILE, and checks the comments.
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

@test "comments: a correct tree passes" {
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
	finds "lower/lower.c:$(wc -l <lower/lower.c): comment is 104 columns wide; the limit is 100"
}

@test "comments: an empty C file is found" {
	: >upper/empty.c
	comments
	finds 'upper/empty.c does not begin with a comment'
}

@test "comments: a missing file named in a comment is found" {
	printf '/*\n * One line, and\n * another: lower/absent.h.\n */\n' >>lower/lower.h
	comments
	finds 'lower/lower.h:4: lower/absent.h does not exist'
}

@test "comments: a named file in a missing folder is found" {
	echo 'int more(void); /* absent/lower.c */' >>lower/lower.h
	comments
	finds 'lower/lower.h:2: absent/lower.c does not exist'
}

@test "comments: a missing file named second on a line is found" {
	echo 'int more(void); /* lower/lower.c */ /* lower/lower.c and lower/absent.c */' >>lower/lower.h
	comments
	finds 'lower/lower.h:2: lower/absent.c does not exist'
}

@test "comments: a missing file named in the documentation is found" {
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

@test "a check fails if no file matches" {
	mkdir scripts
	cp "$top/scripts/lint" scripts
	git init -q .
	rm -r upper lower program.c
	run scripts/lint cppcheck
	finds 'no file matches *.c'
}

# A copy of the script, in a repository of these files.
lint_repository() {
	mkdir scripts
	cp "$top/scripts/lint" scripts
	git init -q .
	git add .
	git -c user.name=t -c user.email=t@example.org commit -q -m start
}

@test "--since: cppcheck reads only the changed files, and the modules of changed headers" {
	lint_repository
	echo >>lower/lower.h
	echo 'int alone(void);' >alone.h
	printf '#include "alone.h"\nint new(void) { return alone(); }\n' >new.c
	run scripts/lint --since HEAD cppcheck
	[ "$status" -eq 0 ]
	[ "$(grep -c '(2 files)$' <<<"$output")" -eq 1 ]
	sed -i 's/return 1/int x[2]; x[2] = 0; return x[2]/' lower/lower.c
	run scripts/lint --since HEAD cppcheck
	finds_line='lower/lower.c:2: arrayIndexOutOfBounds'
	[ "$status" -eq 1 ]
	grep -q -F "$finds_line" <<<"$output"
	git add . && git -c user.name=t -c user.email=t@example.org commit -q -m wrong
	run scripts/lint --since HEAD cppcheck
	[ "$status" -eq 0 ]
	grep -q -x 'no C file differs from HEAD' <<<"$output"
}

@test "--since: no revision" {
	lint_repository
	run scripts/lint --since nothing
	[ "$status" -eq 2 ]
	[ "$output" = "lint: 'nothing' is no revision that git knows (see lint --help)" ]
	run scripts/lint --since
	[ "$status" -eq 2 ]
}
