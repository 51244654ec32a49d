#!/usr/bin/env bats
# The completions of bash and zsh: for each command, they offer the options that its --help lists.
# PAIR_BIN is the folder of the programs, or the top of the source tree.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	PAIR_BIN=${PAIR_BIN:-.}
	[ -x "$PAIR_BIN/rdma-client" ] || make -s rdma-server rdma-client
}

# in_bash PROGRAM LINE: prints what bash offers at the end of the line, sorted.
in_bash() {
	bash -c '
		compopt() { :; }
		source "completions/$1"
		COMP_LINE=$2 COMP_POINT=${#2}
		"_${1//-/_}"
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$@" | sort
}

# in_zsh PROGRAM [WORD]...: prints the long options that zsh offers after the words, sorted. The
# completion passes them to _arguments, which is replaced here.
in_zsh() {
	zsh -f -c '
		_arguments() {
			offered=("$@")
			(( ! called++ && $#words )) && state=arguments
		}
		typeset -a offered
		integer called=0
		program=$1
		words=("${(@)argv[2,-1]}")
		set --
		source "completions/_$program"
		print -lr -- $offered
	' zsh "$@" | sed -n -E 's/^(\([^)]*\))?\*?(--[a-z-]+).*/\2/p' | sort
}

# help_of PROGRAM [COMMAND]: prints the long options that --help lists, sorted. Those of connections by
# TCP share a line, and so do those for attributes of files and those for files with results.
help_of() {
	"$PAIR_BIN/$1" ${2:+"$2"} --help | sed -E '/^With tcp: /{s//      /; s/, / N\n      /g}
		/^Results in files: /{s//      /; s/; /\n      /g}
		/^Attributes kept: /{s//      /; s/-., //g; s/; / N\n      /g; s/\.$/ N/}' |
		sed -n -E 's/^  (-.,|   ) (--[a-z-]+) .*/\2/p' | sort
}

# offers EXPECTED OFFERED
offers() {
	diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}

@test "completion: bash and zsh offer the options of each command of the client" {
	local command expected
	for command in write read send bandwidth latency multicast compare diagnose mesh mesh-agent; do
		expected=$(help_of rdma-client "$command")
		[ "$(wc -l <<<"$expected")" -gt 2 ]
		offers "$expected" "$(in_bash rdma-client "rdma-client $command --")"
		offers "$expected" "$(in_bash rdma-client "rdma-client --device rxe0 $command host 7471 --")"
		offers "$expected" "$(in_zsh rdma-client "$command")"
	done
	offers --help "$(help_of rdma-client explain)"
	offers --help "$(in_bash rdma-client 'rdma-client explain --')"
	offers --help "$(in_zsh rdma-client explain)"
}

@test "completion: before the command, bash and zsh offer the options of all commands of the client" {
	local expected
	expected=$( (echo --version && for command in write copy bandwidth latency multicast diagnose mesh mesh-agent; do
		help_of rdma-client "$command"
	done) | sort -u)
	offers "$expected" "$(in_bash rdma-client 'rdma-client --')"
	offers "$expected" "$(in_zsh rdma-client)"
}

@test "completion: bash and zsh offer the options of the server" {
	offers "$(help_of rdma-server)" "$(in_bash rdma-server 'rdma-server --')"
	offers "$(help_of rdma-server)" "$(in_bash rdma-server 'rdma-server any --')"
	offers "$(help_of rdma-server)" "$(in_zsh rdma-server)"
	offers "$(help_of rdma-server multicast)" "$(in_bash rdma-server 'rdma-server --device rxe0 multicast 239.1.2.3 --')"
	offers "$(help_of rdma-server multicast)" "$(in_zsh rdma-server multicast)"
}

@test "completion: bash offers commands, modes and values" {
	offers $'bandwidth\ncompare\ncopy\ndiagnose\nexplain\nlatency\nmesh\nmesh-agent\nmulticast\nread\nsend\nwrite' "$(in_bash rdma-client 'rdma-client ')"
	offers $'bandwidth' "$(in_bash rdma-client 'rdma-client --timeout 5 b')"
	offers $'compare-swap\nfetch-add\nread\nsend\nwrite\nwrite-imm' "$(in_bash rdma-client 'rdma-client latency ')"
	offers $'any\nmulticast\nread\nsend\nstatus\nwrite' "$(in_bash rdma-server 'rdma-server --port 7471 ')"
	offers '' "$(in_bash rdma-server 'rdma-server any ')"
	offers $'auto\nevent\nspin' "$(in_bash rdma-client 'rdma-client latency write --poll ')"
	offers $'rdmacm\ntcp' "$(in_bash rdma-client 'rdma-client diagnose host --bootstrap ')"
	offers $'both\nrdmacm\ntcp' "$(in_bash rdma-server 'rdma-server --bootstrap=')"
	offers $'2048\n256' "$(in_bash rdma-client 'rdma-client write host --mtu 2')"
	offers 'MiB/s' "$(in_bash rdma-client 'rdma-client bandwidth write --unit=Mi')"
	offers README.md "$(in_bash rdma-client 'rdma-client write -i READ')"
}

@test "completion: bash offers files before the host" {
	offers README.md "$(in_bash rdma-client 'rdma-client write READ')"
	offers SECURITY.md "$(in_bash rdma-client 'rdma-client write README.md --timeout 5 docs SECU')"
	offers CONTRIBUTING.md "$(in_bash rdma-client 'rdma-client write -- CONT')"
	offers '' "$(in_bash rdma-client 'rdma-client read READ')"
}

@test "completion: after --, bash offers no options" {
	offers '' "$(in_bash rdma-client 'rdma-client write -- --')"
	offers $'compare-swap\nfetch-add\nread\nsend\nwrite\nwrite-imm' "$(in_bash rdma-client 'rdma-client -- latency ')"
}
