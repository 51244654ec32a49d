# Runs bats, or each test many times. Source it from the top of the tree.

# shellcheck shell=bash

# run_bats [OPTION]... FILE...: runs bats; with PAIR_REPEAT=N, runs each test of the files N times instead,
# all in random order, and counts. PAIR_ONLY, a regular expression, selects tests by name.
run_bats() {
	local arguments=() files=() argument name file log passed=0 failed=0
	[ -n "${PAIR_REPEAT:-}" ] || {
		bats "$@"
		return
	}
	for argument; do
		if [ -f "$argument" ]; then files+=("$argument"); else arguments+=("$argument"); fi
	done
	log=$(mktemp)
	while IFS=$'\t' read -r file name; do
		if bats "${arguments[@]}" --filter "^$name\$" "$file" >"$log" 2>&1 </dev/null; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
			cat "$log"
		fi
		echo "$passed passed, $failed failed: $name"
	done < <(for file in "${files[@]}"; do
		sed -n 's/^@test "\(.*\)" {$/\1/p' "$file" | grep -E -e "${PAIR_ONLY:-.}" |
			sed "s/[][().*^\$+?{|]/\\\\&/g; s|^|$file\t|" |
			awk -v n="$PAIR_REPEAT" '{ for (i = 0; i < n; i++) print }'
	done | shuf)
	rm "$log"
	[ $failed -eq 0 ] && [ $passed -gt 0 ]
}
