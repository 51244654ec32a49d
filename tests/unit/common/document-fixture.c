/* Reads documents of the tree and lists its bats tests. The caller frees both. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

/* Bytes of the largest document; all are far smaller. */
#define DOCUMENT_MAX (1 << 20)

char *document_read(const char *path)
{
	char *text = malloc(DOCUMENT_MAX);
	FILE *file = fopen(path, "re");
	size_t size;

	assert_non_null(text);
	if (!file)
		fail_msg("%s cannot be read: tests run from the top of the tree", path);
	size = fread(text, 1, DOCUMENT_MAX - 1, file);
	fclose(file);
	assert_in_range(size, 1, DOCUMENT_MAX - 2);
	text[size] = '\0';
	return text;
}

void document_tests(glob_t *files)
{
	*files = (glob_t){0};
	assert_int_equal(glob("tests/soft-roce/*.bats", 0, NULL, files), 0);
	assert_int_equal(glob("tests/two-hosts/*.bats", GLOB_APPEND, NULL, files), 0);
}
