#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/unit/common/schema-fixture.h"
#include "tests/unit/unit.h"

/* The exit status of the validator if what it needs is missing. */
#define EXIT_MISSING 77

/* Its exit status for these documents. */
static int validate(const char *schema, const char *documents, const char *silence)
{
	char command[128];
	FILE *pipe;
	int status;

	snprintf(command, sizeof(command), "tests/validate-report %s%s", schema, silence);
	pipe = popen(command, "we");
	assert_non_null(pipe);
	assert_true(fputs(documents, pipe) >= 0);
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void schema_check(const char *schema, const char *documents)
{
	int status = validate(schema, documents, "");

	if (status == EXIT_MISSING)
		skip();
	assert_int_equal(status, 0);
}

void schema_check_refuses(
	const char *schema, const char *document, const struct schema_case cases[], size_t count)
{
	schema_check(schema, document);
	for (size_t i = 0; i < count; i++) {
		const char *place = strstr(document, cases[i].right);
		char *broken = NULL;

		if (!place)
			fail_msg("there is no %s", cases[i].right);
		assert_true(asprintf(&broken, "%.*s%s%s", (int)(place - document), document,
				    cases[i].wrong, place + strlen(cases[i].right)) > 0);
		if (validate(schema, broken, " 2>/dev/null") != 1)
			fail_msg("the schema takes %s instead of %s", cases[i].wrong,
				cases[i].right);
		free(broken);
	}
}
