#!/usr/bin/env bats
# scripts/compare pipeline, with small files. It needs no RDMA.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	export PAIR_BUILD=${PAIR_BUILD:-${PAIR_BIN:-build}}
	program=$PAIR_BUILD/tests/compare/pipeline-speed
	[ -x "$program" ] || make -s BUILD="$PAIR_BUILD" "$program"
	DIR=$BATS_TEST_TMPDIR
	mkdir "$DIR/disk"
}

# rows PATTERN: the number of lines of the output that match.
rows() { grep -c -E -e "$1" "$DIR/out"; }

leftovers() { find /dev/shm "$DIR/disk" -mindepth 1 -maxdepth 1 -name 'rdma-compare.*' | sort; }

@test "pipeline measures each part and kind of data, and cleans up" {
	before=$(leftovers)
	scripts/compare --runs 1 --size 300000 --files 20 --workers 3 --disk "$DIR/disk" --delay 0 pipeline >"$DIR/out"
	cat "$DIR/out"
	[ "$(rows '^[a-z0-9-]+, .*; load [0-9. ]+$')" -eq 6 ]
	for part in 'file -> ring' 'ring -> file' 'file -> file'; do
		[ "$(rows "^$part 3( s)? +[0-9.]+ +[0-9.]+ +[0-9.]+( +-?[0-9.]+){9}$")" -eq 12 ]
	done
	[ "$(rows '^cp +[0-9.]+ +[0-9.]+$')" -eq 4 ]
	[ "$(rows '^cp -r +[0-9.]+ +[0-9.]+$')" -eq 2 ]
	[ "$(rows '^tar\|tar +[0-9.]+ +[0-9.]+$')" -eq 2 ]
	[ "$(leftovers)" = "$before" ]
}

@test "pipeline measures a slow file system" {
	[ -x "$PAIR_BUILD/tests/compare/slow-files" ] || skip 'libfuse3-dev is missing'
	[ -w /dev/fuse ] || skip '/dev/fuse is missing'
	before=$(leftovers)
	scripts/compare --runs 1 --size 300000 --files 50 --workers 1,4 --disk '' --delay 1 pipeline >"$DIR/out"
	cat "$DIR/out"
	[ "$(rows '^slow, 1 ms for each call, 5 files of 4096 bytes; load [0-9. ]+$')" -eq 1 ]
	[ "$(rows '^(file -> ring|ring -> file|file -> file) [14] +[0-9.]+ +[0-9.]+ +[0-9.]+$')" -eq 6 ]
	[ "$(leftovers)" = "$before" ]
	run scripts/compare --delay x pipeline
	[ "$status" -eq 2 ]
}

@test "pipeline needs room for the files, and runs alone" {
	run scripts/compare --size 999999999999 --disk '' pipeline
	[ "$status" -eq 1 ]
	[[ $output == *'/dev/shm needs '*' MB of free space'* ]]
	run scripts/compare pipeline files
	[ "$status" -eq 2 ]
	[[ $output == *'pipeline cannot be combined with other parts'* ]]
	run scripts/compare --disk /nonexistent pipeline
	[ "$status" -eq 2 ]
}

@test "the program of the pipeline reports what fails" {
	head -c 200000 /dev/zero >"$DIR/in"
	mkdir "$DIR/out"
	run timeout 20 "$program" both "$DIR/in" "$DIR/none/out"
	[ "$status" -eq 1 ]
	[[ $output == *'sink: cannot write out: No such file or directory' ]]
	run timeout 20 "$program" read "$DIR/none"
	[ "$status" -eq 1 ]
	run "$program" -w 65 read "$DIR/in"
	[ "$status" -eq 2 ]
}
