/* The limits of control groups of both versions, in fake /proc and /sys trees. */
#include <stdio.h>
#include <string.h>

#include "host/control-group.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define MOUNT_V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

static void assert_limit(const struct tree *root, const char *device, const char *wanted)
{
	char text[256] = "rubbish";

	assert_int_equal(
		control_group_limits(root->path, device, text, sizeof(text)), *wanted != 0);
	assert_string_equal(text, wanted);
}

static void finds_the_innermost_limit(void **state)
{
	const struct tree *root = *state;

	assert_limit(root, "rxe0", "");
	put(root, "/proc/self/cgroup", "0::/pod/app\n");
	assert_limit(root, "rxe0", "");
	put(root, "/proc/self/mountinfo", MOUNT_V2);
	put(root, "/sys/fs/cgroup/pod/app/cgroup.procs", "");
	assert_limit(root, "rxe0", "");
	put(root, "/sys/fs/cgroup/pod/rdma.max",
		"mlx5_0 hca_handle=max hca_object=max \nrxe0 hca_handle=2 hca_object=max \n");
	assert_limit(
		root, "rxe0", "control group /pod, rdma.max: rxe0 hca_handle=2 hca_object=max");
	assert_limit(root, NULL, "control group /pod, rdma.max: rxe0 hca_handle=2 hca_object=max");
	assert_limit(root, "mlx5_0", "");
	assert_limit(root, "rxe", "");
	put(root, "/sys/fs/cgroup/pod/app/rdma.max", "rxe0 hca_handle=max hca_object=3 \n");
	assert_limit(
		root, "rxe0", "control group /pod/app, rdma.max: rxe0 hca_handle=max hca_object=3");
}

/* In a namespace of control groups, the process's own group is the root. */
static void finds_the_limit_of_the_root(void **state)
{
	const struct tree *root = *state;

	put(root, "/proc/self/cgroup", "0::/\n");
	put(root, "/proc/self/mountinfo", MOUNT_V2);
	put(root, "/sys/fs/cgroup/rdma.max", "rxe0 hca_handle=0 hca_object=max\n");
	assert_limit(root, "rxe0", "control group /, rdma.max: rxe0 hca_handle=0 hca_object=max");
}

static void finds_limits_of_version_1(void **state)
{
	const struct tree *root = *state;

	put(root, "/proc/self/cgroup", "5:memory:/other\n4:rdma:/pod\n0::/\n");
	put(root, "/proc/self/mountinfo",
		MOUNT_V2 "31 23 0:31 / /sys/fs/cgroup/rdma rw - cgroup cgroup rw,rdma\n");
	put(root, "/sys/fs/cgroup/rdma/pod/rdma.max", "rxe0 hca_handle=max hca_object=7\n");
	put(root, "/sys/fs/cgroup/rdma/other/rdma.max", "rxe0 hca_handle=max hca_object=1\n");
	assert_limit(
		root, "rxe0", "control group /pod, rdma.max: rxe0 hca_handle=max hca_object=7");
}

static void knows_what_it_cannot_see(void **state)
{
	const struct tree *root = *state;

	assert_false(control_group_is_unseen(root->path));
	put(root, "/proc/self/cgroup", "0::/\n");
	assert_true(control_group_is_unseen(root->path));
	put(root, "/proc/self/mountinfo", MOUNT_V2);
	put(root, "/sys/fs/cgroup/cgroup.procs", "");
	assert_false(control_group_is_unseen(root->path));
	put(root, "/proc/self/cgroup", "0::/pod\n");
	put(root, "/sys/fs/cgroup/pod/cgroup.type", "domain\n");
	assert_false(control_group_is_unseen(root->path));
	/* The topmost group of a container is none of the system's. */
	put(root, "/sys/fs/cgroup/cgroup.type", "domain\n");
	assert_true(control_group_is_unseen(root->path));
}

/* unshare --cgroup without a new mount: the list of mounts shows the root as a parent. */
static void a_cgroup_namespace_without_its_mount_is_unknown(void **state)
{
	const struct tree *root = *state;
	struct control_group group;

	put(root, "/proc/self/cgroup", "0::/\n");
	put(root, "/proc/self/mountinfo",
		"29 23 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put(root, "/sys/fs/cgroup/memory.max", "max\n");
	control_group_find(root->path, "memory", &group);
	assert_true(group.unknown);
}

static void assert_directory(
	const struct tree *root, const char *path, const char *mounts, const char *directory)
{
	struct control_group group;
	char line[600];

	snprintf(line, sizeof(line), "0::%s\n", path);
	put(root, "/proc/self/cgroup", line);
	put(root, "/proc/self/mountinfo", mounts);
	control_group_find(root->path, "memory", &group);
	assert_int_equal(group.unknown, !directory);
	if (directory)
		assert_string_equal(group.directory, directory);
}

static void finds_the_mount_that_shows_the_group(void **state)
{
	static const char several[] =
		"28 23 0:26 /other /mnt/other rw - cgroup2 cgroup2 rw\n" MOUNT_V2;
	static const char container[] = "29 23 0:26 /pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
	const struct tree *root = *state;
	char longest[400];

	put(root, "/sys/fs/cgroup/memory.max", "max\n");
	put(root, "/sys/fs/cgroup/pod/memory.max", "max\n");
	put(root, "/sys/fs/cgroup/podium/memory.max", "max\n");
	put(root, "/sys/fs/cgroup/..name/memory.max", "max\n");
	assert_directory(root, "/pod", several, "/sys/fs/cgroup/pod");
	assert_directory(root, "/pod", container, "/sys/fs/cgroup");
	assert_directory(root, "/podium", container, "/sys/fs/cgroup/podium");
	assert_directory(root, "/..name", MOUNT_V2, "/sys/fs/cgroup/..name");
	/* A path that is cut would be that of another group. */
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_directory(root, longest, MOUNT_V2, NULL);
}

static void assert_full(const struct tree *root, const char *wanted)
{
	char text[256] = "rubbish";

	assert_int_equal(control_group_is_full(root->path, text, sizeof(text)), *wanted != 0);
	assert_string_equal(text, wanted);
}

static void finds_the_group_that_is_full(void **state)
{
	const struct tree *root = *state;

	assert_full(root, "");
	put(root, "/proc/self/cgroup", "0::/pod/app\n");
	put(root, "/proc/self/mountinfo", MOUNT_V2);
	put(root, "/sys/fs/cgroup/pod/app/pids.max", "max\n");
	put(root, "/sys/fs/cgroup/pod/app/pids.current", "3\n");
	assert_full(root, "");
	put(root, "/sys/fs/cgroup/pod/pids.max", "4\n");
	put(root, "/sys/fs/cgroup/pod/pids.current", "3\n");
	assert_full(root, "");
	put(root, "/sys/fs/cgroup/pod/pids.current", "4\n");
	assert_full(root, "control group /pod, pids.max: 4");
	put(root, "/sys/fs/cgroup/pod/app/pids.max", "3\n");
	assert_full(root, "control group /pod/app, pids.max: 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_the_innermost_limit),
		with_tree(finds_the_limit_of_the_root),
		with_tree(finds_limits_of_version_1),
		with_tree(knows_what_it_cannot_see),
		with_tree(a_cgroup_namespace_without_its_mount_is_unknown),
		with_tree(finds_the_mount_that_shows_the_group),
		with_tree(finds_the_group_that_is_full),
	};

	return cmocka_run_group_tests_name("control-group", tests, NULL, NULL);
}
