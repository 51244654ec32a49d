#!/usr/bin/env bats
# Every command line of README.md, of the EXAMPLES in the manual pages and of --help is accepted: the programs and scripts
# exist and have the options, the targets of make and the Debian packages exist. Nothing is connected.

load links

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	# What a program would be run with must be accepted by its parser, which comes first: status 2 is wrong usage.
	PAIR_BIN=${PAIR_BIN:-.}
	DIR=$BATS_TEST_TMPDIR
}

# Prints the command lines of README.md: those in code blocks, after '$ ' if the block shows output, and in backquotes.
readme_lines() {
	awk '
		/^```/ { block = !block; next }
		block && sub(/^\$ /, "") { print; next }
		block { next }
		/^    / { print substr($0, 5); next }
		{
			parts = split($0, part, "`")
			for (i = 2; i <= parts; i += 2)
				print part[i]
		}' README.md
}

# Prints the command lines in EXAMPLES of the manual pages; a backslash at the end of a line continues it.
manual_lines() {
	local page
	for page in man/*.[0-9]; do
		awk '
			/^\.Sh / { examples = /EXAMPLES/ }
			!examples { next }
			/^\.Ed/ { literal = 0 }
			literal { print }
			/^\.Bd -literal/ { literal = 1 }
			sub(/^\.Dl /, "") { print }' "$page"
	done | sed 's/\\-/-/g; s/\\e$/\\/; s/\\&//g' | sed -e ':join' -e '/\\$/N' -e 's/\\\n[[:space:]]*/ /' -e 't join'
}

# Prints the examples in --help of the programs and of the scripts, without the remark in parentheses at the end.
help_lines() {
	local command
	for command in "$PAIR_BIN/rdma-client" "$PAIR_BIN/rdma-server" scripts/*; do
		# Not those that only other scripts run.
		[[ $command != scripts/* ]] || grep -q 'Usage: ' "$command" || continue
		"$command" --help 2>/dev/null </dev/null |
			awk '/^Examples?:/ { examples = 1; next } /^$/ { examples = 0 } examples' |
			sed 's/^  *//; s/   *(.*)$//'
	done
}

# commands: splits command lines from standard input at the operators of the shell, and prints the commands that this
# project can check, one on a line, without redirections and assignments. Ellipses stand for more of the same.
commands() {
	grep -v -e '\.\.\.$' -e '…' |
		sed -E 's/(&&|\|\||[|;&])/\n/g' |
		sed -E 's/^[[:space:]]*(\$ )?//; s/^(sudo|if|!|do|then|while|until|exec) //; s/[0-9]*[<>]+ *[^ ]+//g; s/[[:space:]]+$//' |
		grep -E '^(\./)?(rdma-(client|server|softroce|prove)|scripts/[a-z-]+|make|apt install)( |$)' |
		sort -u
}

# words TEXT: the words of a command, as the shell reads them, without expanding anything, in ${WORDS[@]}. What stands
# for a value gets one.
words() {
	local text=$1
	text=$(sed -E 's/\bHOST:PORT\b/192.0.2.1:7471/g; s/\b(HOST|hostA|ADDRESS)\b/192.0.2.1/g; s/\bPORT\b/7471/g; s/\b(SECONDS|N)\b/1/g; s/\$\([^)]*\)/7471/g; s/[$"'\'']//g' <<<"$text")
	read -r -a WORDS <<<"$text"
}

# accepts PROGRAM ARGUMENT...: the program accepts these arguments. It cannot do more than to look for a device and to wait.
accepts() {
	local status=0
	# It would start programs at other hosts; --help comes after the other options are checked.
	[ "${2:-}" != mesh ] || set -- "$@" --help
	timeout 3 "$PAIR_BIN/$1" "${@:2}" </dev/null >"$DIR/out" 2>"$DIR/err" || status=$?
	case $status in
	2 | 126 | 127) false ;;
	esac
}

# A script exists and its --help names all options, up to '--', after which the words are another command's.
script_has() {
	local word help
	[ -x "$1" ] || return
	help=$("$1" --help)
	for word in "${@:2}"; do
		[ "$word" != -- ] || break
		[[ $word != -* ]] || [ "$word" = --help ] || grep -q -e "$word\b" <<<"$help" || return
	done
}

has_packages() {
	local package known
	known=$("scripts/deps" --list | awk '{ print $1 }')
	for package; do
		# The libraries that the programs are linked with are dependencies of the packages for building.
		grep -q -x -e "$package" <<<"$known" || [[ $package == lib* ]] || return
	done
	# apt may have no lists.
	! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || apt-cache show "$@" >/dev/null
}

check_command() {
	words "$1"
	set -- "${WORDS[@]}"
	case ${1#./} in
	rdma-client | rdma-server) accepts "${1#./}" "${@:2}" ;;
	rdma-softroce | rdma-prove) script_has "scripts/${1#rdma-}" "${@:2}" ;;
	scripts/*) script_has "${1#./}" "${@:2}" ;;
	make)
		shift
		while [[ ${1:-} == -* || ${1:-} == *=* ]]; do
			shift
		done
		[ $# -eq 0 ] || grep -q -E "^([a-z-]+ )*$1( [a-z-]+)*:" Makefile
		;;
	apt) has_packages "${@:3}" ;;
	esac
}

# check_all FEWEST: checks the command lines from standard input, of which there are at least as many.
check_all() {
	local command n=0 wrong=()
	while read -r command; do
		n=$((n + 1))
		check_command "$command" </dev/null || wrong+=("$command: $(cat "$DIR/err" 2>/dev/null)")
		rm -f "$DIR/err"
	done < <(commands)
	printf '%s\n' "${wrong[@]}"
	[ "${#wrong[@]}" -eq 0 ]
	echo "$n commands"
	[ "$n" -ge "$1" ]
}

@test "the command lines of README.md" { readme_lines | check_all 20; }
@test "the examples of the manual pages" { manual_lines | check_all 15; }
@test "the examples of --help" { help_lines | check_all 6; }

@test "every link in the documents leads to a file and to a heading" { check_links 150 ./*.md docs/*.md; }

@test "a wrong link is found" {
	printf '# One heading\n[a](#one-heading) [b](../b.md) [c\nc](documents.bats) [d](#two)\n' >"$DIR/a.md"
	run check_links 4 "$DIR/a.md"
	[ "$status" -ne 0 ]
	[ "$output" = "$(printf "$DIR/a.md: %s\n" '../b.md does not exist' 'documents.bats does not exist' '#two has no such heading')" ]
}

@test "a wrong command line is found" {
	local command
	for command in 'rdma-client write --no-such-option 192.0.2.1' 'rdma-server --count' './scripts/deps --no-such-option' \
		'scripts/no-such-script' 'make no-such-target' 'apt install no-such-package'; do
		! check_command "$command" || return
	done
}

# debian/control names what dpkg-buildpackage needs, with the tests that it runs.
@test "scripts/deps package installs everything that make deb needs" {
	local package
	scripts/deps --list package >"$DIR/packages"
	sed -n '/^Build-Depends:/,/^Standards/p' debian/control |
		sed '/^Standards/d; s/^Build-Depends://; s/[(<].*//; s/[, ]//g; s/debhelper-compat/debhelper/' >"$DIR/needed"
	[ "$(wc -l <"$DIR/needed")" -ge 10 ]
	echo build-essential >>"$DIR/needed"
	while read -r package; do
		grep -q "^$package " "$DIR/packages" || { echo "$package" && return 1; }
	done <"$DIR/needed"
}
