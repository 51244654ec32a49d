# Common functions of the tests on one host, which run inside a guest of scripts/vm, as root, from the
# top of the tree. PAIR_BIN is the folder of the programs under test, and PAIR_BUILD the folder of
# their variants that corrupt data; set both to test another build (sanitizers). PAIR_PEERS is the
# build folder of the test peers. PAIR_SCALE is 1 for a build without sanitizers; it and PAIR_FEWER divide
# the numbers of clients and of repetitions.
#
# Tests wait for lines and states. The deadline is long, because only a failing test reaches it. An
# emulated guest takes 10 ms to start the smallest program, a hundred times as long as a shell
# builtin, so these functions avoid starting programs.

# shellcheck shell=bash

# The guest has software iWARP instead of soft-RoCE.
iwarp() { [[ $VM_DEVICE == siw* ]]; }

# True if the kernel uses an iWARP device for addresses of a bridge, bond or ipvlan above its interface.
iwarp_above() { iwarp && [[ $(uname -r) == 6.1.* ]]; }

# "${AS_NOBODY[@]}" KIB COMMAND...: runs COMMAND as an unprivileged user with KIB of locked memory.
# shellcheck disable=SC2016 # for the inner shell
AS_NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups
	bash -c 'ulimit -l "$0" && exec "$@"')

PAIR_BIN=${PAIR_BIN:-.}
PAIR_BUILD=${PAIR_BUILD:-build}
PAIR_PEERS=${PAIR_PEERS:-$PAIR_BUILD}
PAIR_SCALE=${PAIR_SCALE:-1}
FEWER=$((PAIR_SCALE > ${PAIR_FEWER:-1} ? PAIR_SCALE : ${PAIR_FEWER:-1}))
WAIT_SECONDS=60

# With PAIR_BOOTSTRAP=tcp, clients connect without rdmacm, to servers that accept both: the programs are started
# through scripts that add the option to the commands that have it.
bootstrap_by_tcp() {
	local program way folder=/tmp/bootstrap-tcp # which every user can read
	if [ ! -d "$folder" ]; then
		mkdir "$folder.new"
		for program in rdma-server rdma-client; do
			way=tcp
			[ "$program" != rdma-server ] || way=both
			cat >"$folder.new/$program" <<-END
				#!/bin/bash
				case "\$*" in
				status* | copy* | compare* | explain* | *--help* | *--version* | *--watch* | *--bootstrap*) ;;
				*) set -- --bootstrap $way "\$@" ;;
				esac
				exec -a $program $(realpath "$PAIR_BIN")/$program "\$@"
			END
			chmod 755 "$folder.new" "$folder.new/$program"
		done
		mv -T "$folder.new" "$folder"
	fi
	PAIR_BIN=$folder
}
[ "${PAIR_BOOTSTRAP:-}" != tcp ] || [ -z "${BATS_RUN_TMPDIR:-}" ] || bootstrap_by_tcp

# What a program says if the other one refuses its connection: iWARP's connection manager reports
# an error number, InfiniBand's a reason.
REJECTED='REJECTED, status 28'
DENIED="the peer's memory region denied access"
NO_RECEIVE='the peer had no receive posted'
NOT_LISTENING='nothing is listening on this port'
[ "${PAIR_BOOTSTRAP:-}" != tcp ] || NOT_LISTENING='nothing accepts TCP connections on this port'
IMMEDIATE='unexpected immediate data'
# On iWARP, a device that cannot execute a request ends the connection, and does not report why.
# There is no immediate data: the test peer sends MSG_DATA instead.
ENDED='closed the connection\|closed by the peer\|the connection broke'
if iwarp; then
	REJECTED='REJECTED, status -104' DENIED=$ENDED NO_RECEIVE=$ENDED
	IMMEDIATE='malformed message of 56 bytes'
fi
ADDRESS=$VM_ADDRESS
SERVER='' PORT=''

misbehaving_peer() { timeout 90 "$PAIR_PEERS/tests/one-host/misbehaving-peer" "$@"; }
tutorial_peer() { timeout 90 "$PAIR_PEERS/tests/one-host/tutorial-peer" "$@"; }
generate_load() { timeout 500 "$PAIR_PEERS/tests/one-host/load-generator" "$@"; }
client() { timeout 120 "$PAIR_BIN/rdma-client" "$@"; }

fail() {
	echo "$*" >&2
	return 1
}

# wait_until COMMAND...: waits until the command succeeds.
wait_until() {
	local end=$((SECONDS + WAIT_SECONDS)) looks=0
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "waited $WAIT_SECONDS s for: $*" || return 1
		looks=$((looks + 1))
		pause $((looks < 40 ? looks : 40))
	done
}

# pause N: sleeps for N hundredths of a second, at most 99. Reads from a FIFO without data, because
# starting sleep(1) is slow in an emulated guest.
pause() {
	[ -p /tmp/nothing ] || mkfifo /tmp/nothing
	read -r -t "0.$(($1 / 10))$(($1 % 10))" <>/tmp/nothing || true
}

wait_line() { wait_until grep -q -e "$2" "$1"; }

# has FILE PATTERN: a line in the file matches.
has() { grep -q -e "$2" "$1" || fail "no '$2' in $1: $(cat "$1")"; }
has_not() { ! grep -q -e "$2" "$1" || fail "'$2' in $1: $(cat "$1")"; }

# is_empty FILE|FOLDER
is_empty() {
	if [ -d "$1" ]; then
		[ -z "$(find "$1" -mindepth 1)" ] || fail "$1 is not empty: $(find "$1")"
	else
		[ ! -s "$1" ] || fail "$1 is not empty: $(cat "$1")"
	fi
}

# count FILE PATTERN N: exactly N lines in the file match.
count() {
	local n
	n=$(grep -c -e "$2" "$1" || true)
	[ "$n" -eq "$3" ] || fail "$n lines '$2', not $3, in $1: $(cat "$1")"
}

# count_repeated FILE PATTERN N: the matching lines in the server's output report N clients: one in
# each line, or the number of those that the server only counted.
count_repeated() {
	local n
	n=$(grep -e "$2" "$1" | sed 's/.* and \([0-9,]*\) more in the last minute\.$/\1/; t number; s/.*/1/; :number; s/,//g' |
		awk '{ n += $0 } END { print n + 0 }')
	[ "$n" -eq "$3" ] || fail "$n clients '$2', not $3, in $1: $(cat "$1")"
}

# collect_messages FILE...: keeps what the programs printed there on standard error for
# explain_messages; not what libraries, sanitizers and test peers print.
collect_messages() {
	local file line
	for file; do
		[ -s "$file" ] || continue
		while IFS= read -r line || [ -n "$line" ]; do
			case $line in
			'rdma-client: '* | 'rdma-server: '*) printf '%s\n' "$line" ;;
			esac
		done <"$file" >>"$BATS_FILE_TMPDIR/messages"
	done
}

# `explain` knows every message that a test of this file has provoked. Messages that differ only in the
# peer's port are one. The build of the test peers has no sanitizer, which would take minutes.
explain_messages() {
	local messages=$BATS_FILE_TMPDIR/messages program=$PAIR_PEERS/rdma-client
	[ -s "$messages" ] || return 0
	[ -x "$program" ] || program=$PAIR_BIN/rdma-client
	sed 's/\([0-9a-f]\):[0-9]\{4,5\}\b/\1:7471/g' "$messages" | sort -u >"$messages.log"
	timeout 500 "$program" explain - <"$messages.log" >/dev/null ||
		fail "explain must know these messages (status $?): $(cat "$messages.log")"
}

# collect_documents FILE...: keeps the JSON documents there for validate_documents.
collect_documents() {
	local file start
	for file; do
		start=''
		[ ! -f "$file" ] || IFS= read -r -n 10 start <"$file" || true
		[ "$start" != '{"schema":' ] || cat "$file" >>"$BATS_FILE_TMPDIR/documents"
	done
}

# Every document that a test of this file has produced matches its schema.
validate_documents() {
	local documents=$BATS_FILE_TMPDIR/documents
	[ ! -s "$documents" ] || timeout 500 tests/validate-report "$documents" || fail "$(cat "$documents")"
}

teardown_file() {
	explain_messages
	validate_documents
}

# expect STATUS COMMAND...: runs it with its output in $OUT and $ERR, and checks its exit status.
expect() {
	local wanted=$1 got=0
	shift
	"$@" >"$OUT" 2>"$ERR" || got=$?
	collect_messages "$ERR"
	collect_documents "$OUT"
	[ "$got" -eq "$wanted" ] ||
		fail "exit status $got, not $wanted: $*"$'\n'"$(cat "$OUT" "$ERR")"
}

# one_line FILE: the program printed exactly one line; a warning of libibverbs about locked memory
# may precede it.
one_line() {
	[ "$(grep -c -v -e '^libibverbs: Warning' -e '^    This will severely' "$1")" -eq 1 ] ||
		fail "not one line: $(cat "$1")"
}

# start_server ARGUMENT...: starts rdma-server (or the variant $PAIR_SERVER) with standard input
# from $STDIN, and waits for its port: any free one, unless the arguments name one. Guests are slow
# and loaded, so handshakes get more time.
start_server() {
	local defaults=(--port-file "$DIR/port")
	[[ " $* " == *' --port '* || " $* " == *' -p '* ]] || defaults+=(--port 0)
	[[ " $* " == *' --handshake-timeout '* ]] || defaults+=(--handshake-timeout 60)
	[ "${PAIR_BOOTSTRAP:-}" != tcp ] || [ -z "${PAIR_SERVER:-}" ] || defaults+=(--bootstrap both)
	[ ! -e "$DIR/port" ] || rm "$DIR/port"
	collect_messages "$ERRORS"
	collect_documents "$LOG"
	"${PAIR_SERVER:-$PAIR_BIN/rdma-server}" "${defaults[@]}" "$@" <"${STDIN:-/dev/null}" >"$LOG" 2>"$ERRORS" &
	SERVER=$!
	wait_until test -s "$DIR/port" || fail "no server: $(cat "$ERRORS")"
	PORT=$(<"$DIR/port")
}

# exits_with STATUS PID: waits until this child process exits, and checks its exit status.
exits_with() {
	local got=0
	wait_until gone "$2" || fail "process $2 still runs:"$'\n'"$(stacks "$2")"$'\n'"$(output_so_far)" || return 1
	wait "$2" || got=$?
	[ "$got" -eq "$1" ] ||
		fail "process $2 exited with $got, not $1: $(output_so_far)"
}

# Prints the programs' output so far.
output_so_far() { tail -v -n 50 "$OUT" "$ERR" "$LOG" "$ERRORS" "$DIR/peer" 2>/dev/null; }

# gone PID: the process has exited. bash may leave a child that has exited as a zombie until it waits
# for it.
gone() {
	local state
	kill -0 "$1" || return 0
	read -r _ _ state _ <"/proc/$1/stat" && [ "$state" = Z ] && [ "$(count_files "/proc/$1/task")" -eq 1 ]
}

# stacks PID: prints the kernel stack of each thread.
stacks() {
	local task
	for task in "/proc/$1/task"/*; do
		echo "$(<"$task/comm") ${task##*/}: $(sed -n '2,3p' "$task/status" | paste -s) $(cat "$task/stack")"
	done
}

# server_exits STATUS: waits until the server exits on its own, and checks its exit status.
server_exits() {
	local pid=$SERVER
	SERVER=''
	exits_with "$1" "$pid"
}

# stop_server [SIGNAL]: sends SIGNAL (default TERM), by which the server must end.
stop_server() {
	kill -"${1:-TERM}" "$SERVER"
	server_exits $((128 + $(kill -l "${1:-TERM}")))
}

# loop WORD...: starts a shell that runs this client again and again, and sets $LOOP to its process
# group. The shell of a test ignores SIGINT in background jobs, which the loop must not inherit.
loop() {
	# shellcheck disable=SC2016 # for the inner shell
	setsid env --default-signal=INT bash -c 'while :; do "$@" || :; done' sh \
		"$PAIR_BIN/rdma-client" "$@" >"$OUT" 2>"$ERR" &
	LOOP=$!
	CLIENTS+=("$LOOP")
	undo end_loop "$LOOP"
}

end_loop() { kill -KILL -- "-$1" 2>/dev/null || true; }

# An interactive shell sends SIGINT to the whole group. The loop ends only if the client dies by it.
interrupt_loop() {
	kill -INT -- "-$LOOP"
	exits_with 130 "$LOOP"
}

# start_good CLIENT-ARGUMENT...: starts a well-behaved client of a server with --discard that stays
# connected while other peers misbehave, and sends the bytes from feed_good. Its input is descriptor
# 7, which must not be inherited by any process that outlives it.
start_good() {
	head -c 2000 /dev/urandom >"$DIR/good"
	rm -f "$DIR/good-fifo"
	mkfifo "$DIR/good-fifo"
	exec 7<>"$DIR/good-fifo"
	"$PAIR_BIN/rdma-client" --verbose --timeout 60 --input "$DIR/good-fifo" "$@" "$ADDRESS" "$PORT" \
		>"$DIR/good-out" 2>&1 7>&- &
	GOOD_CLIENT=$!
	cat "$DIR/good" >&7
	wait_line "$DIR/good-out" '^received MSG_MR'
}

feed_good() {
	printf x >>"$DIR/good"
	printf x >&7
}

# good_was_served: the good client is still connected, and both ends verify everything that it sent.
good_was_served() {
	kill -0 "$GOOD_CLIENT" || fail "the good client exited: $(cat "$DIR/good-out")"
	exec 7>&-
	exits_with 0 "$GOOD_CLIENT" || fail "$(cat "$DIR/good-out")"
	wait_line "$LOG" "^discarded data from $ADDRESS:[0-9]*: $(with_commas "$(stat -c %s "$DIR/good")") bytes "
}

# with_commas NUMBER: prints it as the programs do: 1,234,567.
with_commas() {
	local number=$1 text=''
	for (( ; ${#number} > 3; )); do
		text=,${number: -3}$text
		number=${number:: -3}
	done
	echo "$number$text"
}

# start_peer PROGRAM...: starts a peer that listens, and waits for its port.
start_peer() {
	[ ! -e "$DIR/peer-port" ] || rm "$DIR/peer-port"
	"$@" >"$DIR/peer" 2>&1 &
	PEER=$!
	wait_until test -s "$DIR/peer-port" || fail "no peer: $(cat "$DIR/peer")"
	PEER_PORT=$(<"$DIR/peer-port")
}

listening_peer() { # [OPTION VALUE]... -- STEP...
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	start_peer "$PAIR_PEERS/tests/one-host/misbehaving-peer" "${options[@]}" --listen "$ADDRESS" \
		"$DIR/peer-port" "$@"
}

# Prints the RDMA resources of all processes: "rxe0: pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 0 srq 0".
resources() {
	local device
	while read -r _ device; do
		echo "$device"
	done < <(rdma resource show)
}

same_resources() { [ "$(resources)" = "$RESOURCES" ]; }

# Prints user plus system time of a process, in hundredths of a second.
processor_ticks() {
	local fields
	read -r -a fields <"/proc/$1/stat" && echo $((fields[13] + fields[14]))
}

# has_waited SECONDS: this time has passed since the test set MARK to $SECONDS. For events that must
# not happen.
has_waited() { [ $((SECONDS - MARK)) -ge "$1" ]; }

# At most 15 s, the limit of a diagnosis, have passed since the test set MARK to $SECONDS.
# Sanitizers get more time, and so do two hosts, whose clocks run on while this machine is busy.
in_time() {
	local limit=$((PAIR_SCALE > 1 || VM_HOSTS > 1 ? 60 : 15))
	[ $((SECONDS - MARK)) -le $limit ] || fail "took $((SECONDS - MARK)) s, not $limit: $(output_so_far)"
}

descriptors() { count_files "/proc/$1/fd"; }
has_descriptors() { [ "$(descriptors "$SERVER")" -eq "$1" ]; }

count_files() { # FOLDER
	local files=("$1"/*)
	[ -e "${files[0]}" ] || [ -L "${files[0]}" ] || files=()
	echo ${#files[@]}
}

# bats records the location of each command before it runs, to report failures. In an emulated
# guest, recording takes ten times as long as the command, so do it only when a command fails.
note_failures_only() {
	trap - DEBUG
	trap note_failure ERR
}

note_failure() {
	bats_check_status_from_trap
	[ -z "$BATS_DEBUG_LAST_STACK_TRACE_IS_VALID" ] || return 0
	bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

setup() { prepare; }

prepare() {
	note_failures_only
	DIR=$BATS_TEST_TMPDIR
	OUT=$DIR/out ERR=$DIR/err LOG=$DIR/log ERRORS=$DIR/errors
	RESOURCES=$(resources)
	# shellcheck disable=SC2034 # used by the tests
	CLIENTS=() PEER='' PEER_PORT='' UNDO=()
}

# Kills processes that a failed test left behind, and checks that no RDMA resources remain.
teardown() { clean_up; }

clean_up() {
	kill_named rdma-server rdma-client damaging-server damaging-client misbehaving-peer tutorial-peer \
		load-generator stoppable-files
	undo_all
	collect_messages "$ERR" "$ERRORS"
	collect_documents "$DIR"/*
	has_no_reports
	wait_until same_resources || fail "left behind: $(resources), before: $RESOURCES"
}

# undo COMMAND...: registers a command to run when the test ends, pass or fail, in reverse order.
undo() { UNDO=("$*" "${UNDO[@]}"); }

undo_all() {
	local command
	for command in "${UNDO[@]}"; do
		$command || fail "$command"
	done
	UNDO=()
}

# kill_named NAME...: kills all processes with these names, of which the kernel stores only 15
# bytes. What a test has started has a higher number than the test's shell: run_bats.
kill_named() {
	local folder running name
	for folder in /proc/[0-9]*; do
		((${folder#/proc/} > $$)) || continue
		{ read -r running <"$folder/comm"; } 2>/dev/null || continue
		for name; do
			[ "$running" != "${name:0:15}" ] || kill -KILL "${folder#/proc/}" || true
		done
	done
}

kill_peers() { kill_named misbehaving-peer; }

# No sanitizer has written a report. scripts/test sets their log path.
has_no_reports() {
	local reports
	compgen -G '/tmp/sanitizer.*' >/dev/null || return 0
	reports=$(cat /tmp/sanitizer.*)
	rm -f /tmp/sanitizer.*
	fail "$reports"
}

# Prints the digest of a file in the format of the programs.
hash_of() {
	local line
	line=$(xxhsum -H2 "$1" 2>/dev/null)
	echo "${line%% *}"
}

# No client is connected to any server.
no_clients() { ! rdma resource show qp | grep -q 'type RC'; }

# The server runs no diagnosis or measurement.
no_control_session() { [ "$(threads_named control)" -eq 0 ]; }

# threads_named PATTERN: prints how many threads of the server have a matching name.
threads_named() {
	local file name n=0
	for file in "/proc/$SERVER"/task/*/comm; do
		# The thread may have exited.
		{ read -r name <"$file"; } 2>/dev/null || continue
		# shellcheck disable=SC2053 # a pattern
		[[ $name != $1 ]] || n=$((n + 1))
	done
	echo $n
}

# expect_error STATUS PATTERN COMMAND...: the command exits with STATUS and one matching line on stderr.
expect_error() {
	local status=$1 pattern=$2
	shift 2
	expect "$status" "$@" && one_line "$ERR" && has "$ERR" "$pattern"
}

# Creates an Ethernet link with a second soft-RoCE device; the remote end, 10.95.0.2, has no RDMA.
ethernet_up() {
	ip netns add far
	undo ip netns delete far
	ip link add near0 type veth peer name far0 netns far
	undo ip link delete near0
	ip address add 10.95.0.1/24 dev near0
	ip link set near0 up
	ip -n far address add 10.95.0.2/24 dev far0
	ip -n far link set far0 up
	rdma link add rxe1 type rxe netdev near0
	undo rdma link delete rxe1
}
