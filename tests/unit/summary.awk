# Reads the logs of unit tests, PROGRAM.log, and the exit status of each program, PROGRAM.status.
# Prints
# - the outcomes in lines "personality NAME: SCENARIO: OUTCOME" as a table
#   (tests/unit/common/personality.c);
# - the end of the log of each program that failed;
# - the sum of the lines "results: N passed, N failed, N skipped" (tests/unit/common/results.c). A
#   program that failed without reporting a failed test has crashed, and one that reports no results
#   has not run; each counts as one failure.

/^results: / {
	reported[FILENAME]
	passed += $2
	failed[FILENAME] += $4
	skipped += $6
}

/^personality [^ ]+: / {
	sub(/^personality /, "")
	split($0, cell, ": ")
	if (!(cell[1] in seen_personality)) {
		seen_personality[cell[1]]
		personality[++columns] = cell[1]
	}
	if (!(cell[2] in seen_scenario)) {
		seen_scenario[cell[2]]
		scenario[++rows] = cell[2]
	}
	outcomes[cell[1], cell[2]] = cell[3]
}

function print_personalities(    i, j) {
	printf "%-18s", ""
	for (i = 1; i <= columns; i++)
		printf "%-12s", personality[i]
	for (j = 1; j <= rows; j++) {
		printf "\n%-18s", scenario[j]
		for (i = 1; i <= columns; i++)
			printf "%-12s", outcomes[personality[i], scenario[j]]
	}
	print ""
}

# Prints the exit status and the end of the log of a program that failed. Returns the number of
# its failed tests.
function failures(log_file,    program, status, count) {
	program = log_file
	sub(/\.log$/, "", program)
	status = "unknown"
	getline status < (program ".status")
	count = failed[log_file] + 0
	if (status == "0" && log_file in reported)
		return count
	printf "\n%s: exit status %s%s\n", program, status,
		log_file in reported ? "" : ", without results"
	system("tail -n 20 '" log_file "'")
	return count > 0 ? count : 1
}

END {
	print_personalities()
	for (i = 1; i < ARGC; i++)
		all_failed += failures(ARGV[i])
	printf "%d unit tests passed, %d failed, %d skipped\n", passed, all_failed, skipped
	exit all_failed > 0
}
