/* What the host and control groups of both versions leave, as /proc and /sys show it. */
#include <stdio.h>

#include "host/available-memory.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define MIB (UINT64_C(1024) * 1024)
#define HOST \
	"MemTotal:        1000000 kB\nMemFree:          100000 kB\nMemAvailable:     819200 kB\n"

#define MOUNT_V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNTS_V1 \
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" \
	"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" \
	"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
	"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

#define GROUP "/sys/fs/cgroup/a.slice/b.service"

static struct available_memory read_tree(const struct tree *tree)
{
	struct available_memory available;
	struct control_group group;

	control_group_find(tree->path, "memory", &group);
	available_memory_read(tree->path, &group, &available);
	return available;
}

static void expect(const struct tree *tree, uint64_t mebibytes, const char *source, bool unread)
{
	struct available_memory available = read_tree(tree);

	assert_int_equal(available.bytes, mebibytes * MIB);
	assert_string_equal(available.source, source);
	assert_int_equal(available.unread, unread);
}

/* Gives a group of version 2 a limit in this file, and what it uses. */
static void put_limit(const struct tree *tree, const char *group, const char *file,
	const char *limit, const char *used, const char *statistics)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	put(tree, path, limit);
	snprintf(path, sizeof(path), "%s/memory.current", group);
	put(tree, path, used);
	snprintf(path, sizeof(path), "%s/memory.stat", group);
	put(tree, path, statistics);
}

/* A process in a group of version 2 without any limit. */
static void put_v2(const struct tree *tree)
{
	put(tree, "/proc/meminfo", HOST);
	put(tree, "/proc/self/cgroup", "0::/a.slice/b.service\n");
	put(tree, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" MOUNT_V2);
	put(tree, GROUP "/memory.max", "max\n");
	put(tree, GROUP "/memory.high", "max\n");
}

static void without_groups_the_host_counts(void **state)
{
	const struct tree *tree = *state;

	assert_int_equal(read_tree(tree).bytes, UINT64_MAX);
	put(tree, "/proc/meminfo", HOST);
	expect(tree, 800, "this host", false);
	put(tree, "/proc/self/cgroup", "1:name=systemd:/\n2:cpu:/x\n");
	expect(tree, 800, "this host", false);
}

static void groups_without_a_limit_do_not_count(void **state)
{
	put_v2(*state);
	expect(*state, 800, "this host", false);
}

static void the_smallest_on_the_path_counts(void **state)
{
	const struct tree *tree = *state;

	put_v2(tree);
	put_limit(tree, GROUP, "memory.max", "67108864\n", "20971520\n",
		"anon 1\nfile 9437184\ninactive_file 3145728\nactive_file 1048576\n");
	expect(tree, 48, "control group /a.slice/b.service", false);

	put(tree, "/sys/fs/cgroup/a.slice/memory.max", "max\n");
	put_limit(tree, "/sys/fs/cgroup/a.slice", "memory.high", "104857600\n", "94371840\n",
		"anon 1\n");
	expect(tree, 10, "control group /a.slice", false);

	put(tree, "/sys/fs/cgroup/a.slice/memory.current", "114857600\n");
	expect(tree, 0, "control group /a.slice", false);
}

static void a_limit_above_the_host_does_not_count(void **state)
{
	put_v2(*state);
	put_limit(*state, GROUP, "memory.max", "9000000000\n", "1\n", "anon 1\n");
	expect(*state, 800, "this host", false);
}

static void in_a_container_the_group_may_be_the_mount(void **state)
{
	const struct tree *tree = *state;

	/* With a namespace for control groups. */
	put_v2(tree);
	put(tree, "/proc/self/cgroup", "0::/\n");
	put_limit(tree, "/sys/fs/cgroup", "memory.max", "67108864\n", "0\n", "anon 1\n");
	expect(tree, 64, "control group /", false);

	/* Without one, the kernel shows the path on the host. */
	put(tree, "/proc/self/cgroup", "0::/docker/0123/sub\n");
	put(tree, "/proc/self/mountinfo",
		"30 23 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	put_limit(tree, "/sys/fs/cgroup/sub", "memory.max", "33554432\n", "0\n", "anon 1\n");
	expect(tree, 32, "control group /sub", false);

	/* The process is outside the namespace's root. */
	put(tree, "/proc/self/cgroup", "0::/../other\n");
	put(tree, "/proc/self/mountinfo", MOUNT_V2);
	expect(tree, 64, "control group /", false);
}

static void version_1_has_other_files(void **state)
{
	const struct tree *tree = *state;
	const char *group = "/sys/fs/cgroup/memory/x/memory.limit_in_bytes";

	put(tree, "/proc/meminfo", HOST);
	put(tree, "/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory,pids:/x\n0::/y\n");
	put(tree, "/proc/self/mountinfo", MOUNTS_V1);
	put(tree, group, "9223372036854771712\n");
	put(tree, "/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "20971520\n");
	put(tree, "/sys/fs/cgroup/memory/x/memory.stat",
		"inactive_file 1\ntotal_inactive_file 3145728\ntotal_active_file 1048576\n");
	expect(tree, 800, "this host", false);
	put(tree, group, "67108864\n");
	expect(tree, 48, "control group /x", false);
}

static void files_that_cannot_be_read_are_reported(void **state)
{
	const struct tree *tree = *state;

	put_v2(tree);
	put(tree, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	expect(tree, 800, "this host", true);
	put(tree, "/proc/self/mountinfo", MOUNT_V2);
	put(tree, GROUP "/memory.max", "67108864\n");
	expect(tree, 800, "this host", true);
	put(tree, "/proc/self/cgroup", "0::/gone\n");
	expect(tree, 800, "this host", true);
}

/* A value that cannot be parsed may be a limit. */
static void a_limit_that_is_not_understood_is_reported(void **state)
{
	static const char *const limits[] = {"", "\n", "maximum\n", "-1\n", "12 MiB\n",
		"99999999999999999999999\n", "104857600"};
	const struct tree *tree = *state;

	put_v2(tree);
	for (size_t i = 0; i < COUNT(limits); i++) {
		put_limit(tree, GROUP, "memory.max", limits[i], "0\n", "inactive_file 0\n");
		expect(tree, 800, "this host", true);
	}
	put_limit(tree, GROUP, "memory.max", "max\n", "0\n", "inactive_file 0\n");
	expect(tree, 800, "this host", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(without_groups_the_host_counts),
		with_tree(groups_without_a_limit_do_not_count),
		with_tree(the_smallest_on_the_path_counts),
		with_tree(a_limit_above_the_host_does_not_count),
		with_tree(in_a_container_the_group_may_be_the_mount),
		with_tree(version_1_has_other_files),
		with_tree(files_that_cannot_be_read_are_reported),
		with_tree(a_limit_that_is_not_understood_is_reported),
	};

	return cmocka_run_group_tests_name("available-memory", tests, NULL, NULL);
}
