# Common functions of the tests of streams, in addition to common.bash.

# shellcheck shell=bash

# Options for small rings, which wrap around often.
SMALL=(--chunk 4K --buffer 64K)

# make_file FILE SIZE: fills it with random bytes that repeat with a prime period, so that data
# misplaced in a ring is detected.
make_file() {
	head -c 1000003 /dev/urandom >"$DIR/noise"
	while cat "$DIR/noise"; do :; done 2>/dev/null | head -c "$2" >"$1"
}

has_size() { [ "$(stat -c %s "$1")" -eq "$2" ]; }

# folder_is FOLDER NAME...: it contains exactly these files, including hidden ones.
folder_is() {
	local folder=$1
	shift
	diff <(printf '%s\n' "$@" | sort) <(find "$folder" -mindepth 1 -printf '%P\n' | sort) ||
		fail "unexpected files in $folder"
}

# Creates a FIFO that the test keeps open as descriptor 7, which no other process may inherit.
open_fifo() {
	mkfifo "$1"
	exec 7<>"$1"
}

# pipe_to COMMAND...: starts the command with $DIR/pipe as its input.
pipe_to() {
	rm -f "$DIR/pipe"
	mkfifo "$DIR/pipe"
	"$@" <"$DIR/pipe" &
	PIPE_READER=$!
}

# partial_file_has FOLDER SIZE: the hidden file of a transfer in progress has this size.
partial_file_has() { has_size "$(find "$1" -name '.*.??????' -type f)" "$2"; }

# Starts a client whose stream the test can pause: it sends the bytes written to descriptor 7.
# Returns when the server has received the first bytes.
start_fed_client() { # OPTION... MODE
	open_fifo "$DIR/fifo"
	"$PAIR_BIN/rdma-client" --input "$DIR/fifo" "$@" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 7>&- &
	CLIENTS=($!)
	printf first >&7
	wait_until partial_file_has "$DIR/in" 5
}
