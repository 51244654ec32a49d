/* Creates a temporary root folder for fake system files, and removes it after the test. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

int make_tree(void **state)
{
	static struct tree tree;

	snprintf(tree.path, sizeof(tree.path), "/tmp/test-tree.XXXXXX");
	*state = &tree;
	return mkdtemp(tree.path) && chmod(tree.path, 0755) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

int remove_tree(void **state)
{
	const struct tree *tree = *state;

	return nftw(tree->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Creates the parent folders of path. Stores the path, prefixed with the root folder, in full. */
static void make_parents(const struct tree *tree, const char *path, char full[512])
{
	snprintf(full, 512, "%s%s", tree->path, path);
	for (char *slash = full + strlen(tree->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(full, 0755);
		*slash = '/';
	}
}

void put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t length)
{
	char full[512];
	FILE *file;

	make_parents(tree, path, full);
	file = fopen(full, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

void put(const struct tree *tree, const char *path, const char *content)
{
	put_bytes(tree, path, content, strlen(content));
}

void put_folder(const struct tree *tree, const char *path)
{
	char full[512];

	make_parents(tree, path, full);
	(void)mkdir(full, 0755);
}

void put_link(const struct tree *tree, const char *path, const char *target)
{
	char full[512];

	make_parents(tree, path, full);
	assert_int_equal(symlink(target, full), 0);
}
