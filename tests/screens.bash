# Functions that compare whole screens as a user sees them. Load it into a bats file whose tests set DIR, a
# folder of their own, and OUT, a file in it.

# shellcheck shell=bash

# start_on_terminal COLUMNS COMMAND...: starts the command in $DIR on a terminal of this width, which has no
# input, and stores what it shows in $DIR/screen. Sets $TERMINAL to a process that ends with the command's
# status; the command's own is in $DIR/pid.
start_on_terminal() {
	local columns=$1
	shift
	NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8 script -qefc \
		"stty cols $columns && cd ${DIR@Q} && echo \$\$ >pid && exec ${*@Q}" /dev/null </dev/null >"$DIR/screen" &
	TERMINAL=$!
}

# on_terminal COLUMNS STATUS COMMAND...: runs the command, and stores its screen in $OUT, as mask leaves it.
on_terminal() {
	local wanted=$2 status=0
	start_on_terminal "$1" "${@:3}"
	wait "$TERMINAL" || status=$?
	[ $status -eq "$wanted" ] || fail "status $status: $(cat "$DIR/screen")"
	mask <"$DIR/screen" >"$OUT"
}

# Replaces what differs each time, so that only the words and the order of the lines remain; the progress is
# erased. A number with its unit is N and one unit, so that the width is no matter; nothing has a rate if it
# took less than a millisecond. ADDRESS: of this host.
# Other IPv4 addresses must not look like numbers.
mask() {
	sed -E 's/\r*$//; s/.*\x1b\[K//' | sed -E "
		/^Script /d
		s/${ADDRESS:-none}:[0-9]+/PEER/g; s/${ADDRESS:-none}/HOST/g
		s/([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)/\1@\2@\3@\4/g
		s/([0-9a-f]{2}:){5}[0-9a-f]{2}/MAC/g
		s/\b[0-9]{2}(:[0-9]{2})+\b/TIME/g
		s/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g
		s/[0-9a-f]{32}/HASH/g
		s/pid [0-9]+/pid N/
		s/(on |, )port [0-9]+/\1port PORT/
		s/^rdma-server [0-9.]+,/rdma-server VERSION,/
		s/exchanged [0-9.]+ k?B/exchanged N B/
		s/poll (spin|event)/poll METHOD/
		s/[0-9.]+ (ms|s|us)\b/N s/g
		s/[0-9.]+ [kMG]?B\/s/N MB\/s/g
		s/( by [A-Z]+ in N s), (verified|incomplete)/\1, N MB\/s, \2/
		/^size/!s/ +[0-9]+\.[0-9]+/ N/g
		s/(from|to) N from/\1 N from/
		s/([0-9])@/\1./g"
}

# shows LINE...: the screen consists of these lines.
shows() {
	printf '%s\n' "$@" >"$DIR/wanted"
	diff "$DIR/wanted" "$OUT" >"$DIR/difference" || fail "$(cat "$DIR/difference")"
}

# says SENTENCE...: the same, wherever the lines are broken: that depends on the numbers.
says() {
	local said
	said=$(tr -s ' \n' ' ' <"$OUT")
	[ "$said" = "$* " ] || fail "$said"
}
