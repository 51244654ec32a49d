# Runs bats, or each test many times. Source it from the top of the tree.

# shellcheck shell=bash

# repeated FILE N: prints the bats file with each of its tests N times, in random order, after everything else.
# PAIR_ONLY, a regular expression, selects tests by name.
repeated() {
	awk -v n="$2" -v only="${PAIR_ONLY:-.}" -v seed="$RANDOM" '
		/^# bats test_tags/ { tags = $0 "\n"; next }
		/^@test "/ { wanted = $0 ~ only; test = tags; tags = ""; inside = 1 }
		!inside { print }
		inside { test = test $0 "\n" }
		inside && /^}$/ {
			for (i = 1; wanted && i <= n; i++) {
				copy = test
				sub(/" {\n/, " (" i ")\" {\n", copy)
				tests[count++] = copy
			}
			inside = 0
		}
		END {
			srand(seed)
			for (; count > 0; tests[i] = tests[--count]) {
				i = int(rand() * count)
				print tests[i]
			}
		}' "$1"
}

# run_bats [OPTION]... FILE...: runs bats; with PAIR_REPEAT=N, with N copies of each test.
run_bats() {
	local arguments=() argument copy
	# So many that the numbers of processes only grow.
	echo 4194304 >/proc/sys/kernel/pid_max
	for argument; do
		if [ -n "${PAIR_REPEAT:-}" ] && [ -f "$argument" ]; then
			copy=${argument%/*}/repeated-${argument##*/}
			repeated "$argument" "$PAIR_REPEAT" >"$copy"
			argument=$copy
		fi
		arguments+=("$argument")
	done
	bats "${arguments[@]}"
}
