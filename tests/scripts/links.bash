# The links of Markdown documents.

# shellcheck shell=bash

# links FILE: prints the targets of its links, of which some continue on the next line, but not those in the web.
links() {
	tr '\n' ' ' <"$1" | grep -o '\[[^][]*\]([^() ]*)' | sed 's/.*(\(.*\))/\1/' | grep -v '^https\{0,1\}:' || true
}

# anchors FILE: prints the anchors of its headings, as GitHub makes them.
anchors() {
	sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# check_links FEWEST FILE...: every link leads to a file, and to a heading in it; there are at least so many links.
check_links() {
	local document target file anchor checked=0 fewest=$1 wrong=()
	shift
	for document; do
		while read -r target; do
			checked=$((checked + 1))
			anchor=''
			[[ $target != *'#'* ]] || anchor=${target#*#}
			file=$document
			[[ $target == '#'* ]] || file=$(dirname "$document")/${target%%#*}
			if [ ! -e "$file" ]; then
				wrong+=("$document: $target does not exist")
			elif [ -n "$anchor" ] && ! anchors "$file" | grep -q -x -e "$anchor"; then
				wrong+=("$document: $target has no such heading")
			fi
		done < <(links "$document")
	done
	printf '%s\n' "${wrong[@]}"
	[ "${#wrong[@]}" -eq 0 ] || return
	echo "$checked links"
	[ "$checked" -ge "$fewest" ]
}
