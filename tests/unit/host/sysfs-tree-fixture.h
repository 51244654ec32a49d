/* A fake root folder with the files of sysfs, /proc and /dev that a test needs. */
#ifndef TESTS_UNIT_HOST_SYSFS_TREE_FIXTURE_H
#define TESTS_UNIT_HOST_SYSFS_TREE_FIXTURE_H

#include <stddef.h>

struct tree {
	char path[64]; /* the root folder */
};

/* cmocka setup and teardown. The state is an empty, world-readable struct tree. */
int make_tree(void **state);
int remove_tree(void **state);

/* Creates or overwrites a file, and its parent folders. path starts with '/'. */
void put(const struct tree *tree, const char *path, const char *content);
void put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t length);

/* Creates the folder and its parents. */
void put_folder(const struct tree *tree, const char *path);

/* Creates a symbolic link at path, and its parent folders. */
void put_link(const struct tree *tree, const char *path, const char *target);

#define with_tree(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

#endif
