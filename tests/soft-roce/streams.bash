# What the tests of streams share, beside common.bash.

# shellcheck shell=bash

# What takes the small rings through many turns.
SMALL=(--chunk 4K --buffer 64K)

# make_file FILE SIZE: bytes that are nowhere the same, as far as a ring can mix them up.
make_file() {
	head -c 1000003 /dev/urandom >"$DIR/noise"
	while cat "$DIR/noise"; do :; done 2>/dev/null | head -c "$2" >"$1"
}

has_size() { [ "$(stat -c %s "$1")" -eq "$2" ]; }

# folder_is FOLDER NAME...: it holds these and no more, hidden ones included.
folder_is() {
	local folder=$1
	shift
	diff <(printf '%s\n' "$@" | sort) <(find "$folder" -mindepth 1 -printf '%P\n' | sort) ||
		fail "$folder is not as it should be"
}

is_empty() { [ -z "$(find "$1" -mindepth 1)" ]; }

# A FIFO whose writing or reading end the test holds as descriptor 7, which nobody else may inherit.
open_fifo() {
	mkfifo "$1"
	exec 7<>"$1"
}

# into COMMAND...: what is written to $DIR/pipe goes to that command.
into() {
	rm -f "$DIR/pipe"
	mkfifo "$DIR/pipe"
	"$@" <"$DIR/pipe" &
	TAKER=$!
}

# The bytes that wait in the hidden file of a folder.
hidden_has() { has_size "$(find "$1" -name '.*.??????' -type f)" "$2"; }

# Before a test whose stream is to be held in the middle: a client that sends what is written to
# descriptor 7. The first bytes are at the server already.
start_fed_client() { # OPTION... MODE
	open_fifo "$DIR/fifo"
	"$PAIR_BIN/rdma-client" --input "$DIR/fifo" "$@" "$ADDRESS" "$PORT" >"$OUT" 2>"$ERR" 7>&- &
	CLIENTS=($!)
	printf first >&7
	wait_until hidden_has "$DIR/in" 5
}
