/* Reads files of the source tree and lists its bats tests. The caller frees both. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

/* Upper limit of a document's size in bytes; all are far smaller. */
#define DOCUMENT_MAX (1 << 20)

char *document_read(const char *path)
{
	char *text = malloc(DOCUMENT_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	assert_non_null(text);
	if (!file)
		fail_msg("cannot read %s: run the tests at the top of the source tree", path);
	size = fread(text, 1, DOCUMENT_MAX - 1, file);
	fclose(file);
	assert_in_range(size, 1, DOCUMENT_MAX - 2);
	text[size] = '\0';
	return text;
}

void document_tests(glob_t *files)
{
	*files = (glob_t){0};
	assert_int_equal(glob("tests/one-host/*.bats", 0, NULL, files), 0);
	assert_int_equal(glob("tests/two-hosts/*.bats", GLOB_APPEND, NULL, files), 0);
}
