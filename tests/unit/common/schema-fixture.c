/* Runs tests/validate-report on JSON documents and checks its exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/unit/common/schema-fixture.h"
#include "tests/unit/unit.h"

/* Exit status of the validator if its dependencies are missing. */
#define EXIT_MISSING 77

/* Runs the validator with these options on these documents; skips the test if it cannot run. */
static void validate(const char *option, const char *documents)
{
	char command[192];
	FILE *pipe;
	int status;

	snprintf(command, sizeof(command),
		"command -v python3 >/dev/null || { cat >/dev/null; exit %d; }; "
		"tests/validate-report %s",
		EXIT_MISSING, option);
	pipe = popen(command, "we");
	assert_non_null(pipe);
	assert_true(fputs(documents, pipe) >= 0);
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == EXIT_MISSING)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

void schema_check(const char *documents)
{
	validate("", documents);
}

void schema_check_refuses(const char *document, const struct schema_case cases[], size_t count)
{
	char *broken = NULL;
	size_t size;
	FILE *all = open_memstream(&broken, &size);

	schema_check(document);
	assert_non_null(all);
	for (size_t i = 0; i < count; i++) {
		const char *place = strstr(document, cases[i].right);

		if (!place)
			fail_msg("the document does not contain %s", cases[i].right);
		assert_true(fprintf(all, "%.*s%s%s\n", (int)(place - document), document,
				    cases[i].wrong, place + strlen(cases[i].right)) > 0);
	}
	assert_int_equal(fclose(all), 0);
	validate("--refused", broken);
	free(broken);
}
