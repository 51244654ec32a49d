# Functions for the tests of diagnoses, in addition to common.bash.

# shellcheck shell=bash

# These are used in conditions, too, where nothing but their last command would count otherwise.

# diagnose STATUS ARGUMENT...: ends so within 15 s, with one verdict, and complains of nothing else.
diagnose() {
	local wanted=$1
	shift
	diagnose_as "$wanted" client diagnose "$@"
}

diagnose_as() { # STATUS COMMAND...
	MARK=$SECONDS
	expect "$@" || return 1
	in_time || return 1
	count "$OUT" '^verdict: ' 1 || return 1
	[ "$(tail -n 1 "$OUT" | cut -c 1-9)" = 'verdict: ' ] || fail "not the last: $(cat "$OUT")"
}

# broke CHECK CAUSE SIDE: only that check failed, with that cause.
broke() {
	count "$OUT" '^............failed ' 1 && has "$OUT" "^$1 *failed  .*$2" &&
		has "$OUT" "^ *where: $3\$" &&
		has "$OUT" "^verdict: RDMA does not work: .*$2.*; look at $3\\.\$"
}

# clean [FILE]: every check of the diagnosis passed.
clean() {
	local file=${1:-$OUT}
	count "$file" '^[a-z ]\{11\} ok ' 11 && has_not "$file" '^[a-z ]\{11\} failed ' &&
		has "$file" '^verdict: RDMA works between the two hosts: [0-9.]* MB/s to the server, [0-9.]* MB/s from it'
}
