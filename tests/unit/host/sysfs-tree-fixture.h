/* A made-up root folder with what a test needs of sysfs, /proc and /dev. */
#ifndef TESTS_UNIT_HOST_SYSFS_TREE_FIXTURE_H
#define TESTS_UNIT_HOST_SYSFS_TREE_FIXTURE_H

#include <stddef.h>

struct tree {
	char path[64]; /* of the root folder */
};

/* Setup and teardown of cmocka: the state is a tree that is empty, and may be read by all. */
int make_tree(void **state);
int remove_tree(void **state);

/* Makes the folders above path, which starts with '/', and the file. */
void put(const struct tree *tree, const char *path, const char *content);
void put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t length);

/* Makes the folder and those above it. */
void put_folder(const struct tree *tree, const char *path);

/* Makes the folders above path, and there a symbolic link. */
void put_link(const struct tree *tree, const char *path, const char *target);

#define with_tree(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)

#endif
