#!/usr/bin/env bats
# scripts/test: which jobs the changed files select (--since), and the kernel of the guests. The tests use a copy
# of the project's file names, and run no guest.

setup() {
	top=$BATS_TEST_DIRNAME/../..
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p scripts tests/one-host tests/two-hosts exchange measure
	cp "$top/scripts/test" scripts
	for file in "$top"/tests/one-host/*.bats "$top"/tests/two-hosts/*.bats; do
		: >"tests/${file#"$top/tests/"}"
	done
	git init -q .
	git add .
	git -c user.name=test -c user.email=test commit -q -m first
}

# selects JOB...: these are the jobs, besides unit tests and lint.
selects() {
	run scripts/test --since HEAD --list
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c -x -e unit -e 'lint .*' <<<"$output")" -eq 3 ]
	[ "$(grep -v -x -e unit -e 'lint .*' <<<"$output")" = "$(printf '%s\n' "$@")" ]
}

@test "--since: without changes, only the unit tests and lint" {
	selects
}

@test "--since: a new file selects what its folder concerns" {
	: >measure/new.c
	selects 'release measure'
}

@test "--since: the same subject is tested once, in at most two guests" {
	: >exchange/new.c
	: >rdma-client.c
	: >verbs.c
	selects 'release exchange secret' 'release streams' ./scripts/model
}

@test "--since: a changed test is selected itself" {
	echo >tests/one-host/stalls.bats
	selects 'release stalls'
}

@test "--since: a changed test between two hosts" {
	echo >tests/two-hosts/dscp.bats
	selects two-hosts
}

@test "--since: a word that is no revision, and parts" {
	run scripts/test --since nothing --list
	[ "$status" -eq 2 ]
	[ "$output" = "test: 'nothing' is no revision that git knows (see test --help)" ]
	run scripts/test --since HEAD --list unit
	[ "$status" -eq 2 ]
	[ "$output" = 'test: --since selects the parts (see test --help)' ]
}

# fake_jobs COMMANDS: the only jobs are those of models and fuzzing, and this is what they run.
fake_jobs() {
	printf '#!/bin/sh\n%s\n' "$1" >scripts/model
	cp scripts/model scripts/fuzz
	printf '#!/bin/sh\n' >scripts/deps
	chmod +x scripts/deps scripts/model scripts/fuzz
	mkdir -p build
}

@test "jobs are counted, and a second run says how many minutes are left" {
	fake_jobs 'echo "ok 1 - it"'
	run scripts/test model fuzz
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q -x 'test: 1 of 2 jobs after 0 min' <<<"$output"
	[ "$(tail -n 1 <<<"$output")" = '2 passed, 0 failed' ]
	run scripts/test model fuzz
	echo "$output"
	grep -q -x 'test: 1 of 2 jobs after 0 min; about 1 min left' <<<"$output"
}

@test "a run that is stopped says so in one line, and leaves nothing behind" {
	# shellcheck disable=SC2016 # for the job's shell
	fake_jobs 'echo "ok 1 - $$ runs"; exec sleep 1000'
	bash scripts/test model fuzz >output 2>errors &
	until [ "$(grep -c ' runs$' output)" -eq 2 ]; do sleep 0.05; done
	kill -TERM $!
	wait $! && return 1
	cat errors
	[ "$(cat errors)" = 'test: stopped by SIGTERM after 0 of 2 jobs' ]
	while read -r job; do
		while kill -0 "$job" 2>/dev/null; do sleep 0.05; done
	done < <(sed -n 's/.* \([0-9]*\) runs$/\1/p' output)
}

@test "--kernel: all guests boot it" {
	# shellcheck disable=SC2016 # the script's variable
	printf '#!/bin/sh\necho "ok - kernel $RDMA_PAIR_KERNEL"\n' >scripts/vm
	printf '#!/bin/sh\n' >scripts/deps
	chmod +x scripts/vm scripts/deps
	mkdir -p build/release
	printf 'all test-programs:\n' >Makefile
	run scripts/test --kernel trixie release two-hosts
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c ': ok - kernel trixie$' <<<"$output")" -eq "$(grep -c ': == .*scripts/vm ' <<<"$output")" ]
	run scripts/test --kernel
	[ "$status" -eq 2 ]
	[ "$output" = 'test: --kernel needs a value (see test --help)' ]
}
