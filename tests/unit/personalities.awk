# Reads the logs of unit tests and prints the results of those named "PERSONALITY: SCENARIO" as a table:
# tests/unit/common/personality.h.

/^\[ RUN +\] [^ ]+: / || /^\[ +OK +\] [^ ]+: / || /^\[ +FAILED +\] [^ ]+: / {
	outcome = $2 == "RUN" ? "crashed" : $2
	sub(/^\[[^]]*\] /, "")
	split($0, cell, ": ")
	if (!(cell[1] in seen_personality)) {
		seen_personality[cell[1]]
		personality[++columns] = cell[1]
	}
	if (!(cell[2] in seen_scenario)) {
		seen_scenario[cell[2]]
		scenario[++rows] = cell[2]
	}
	outcomes[cell[1], cell[2]] = outcome
}

END {
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
