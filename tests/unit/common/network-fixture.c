/* Must precede linux/if.h, which then skips what net/if.h has defined. */
#include <net/if.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "host/netlink.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

static int near_space = -1, far_space = -1;

/* Writes one line to a file in /proc. */
static bool write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, line, strlen(line)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Enters a user namespace as root. Fails in a multithreaded process: unshare(2). */
static bool become_root(void)
{
	char user[32], group[32];

	snprintf(user, sizeof(user), "0 %u 1", geteuid());
	snprintf(group, sizeof(group), "0 %u 1", getegid());
	return unshare(CLONE_NEWUSER) == 0 && write_line("/proc/self/setgroups", "deny") &&
	       write_line("/proc/self/uid_map", user) && write_line("/proc/self/gid_map", group);
}

/* Enters a new network namespace. Returns its descriptor, or -1. */
static int enter_space(void)
{
	return unshare(CLONE_NEWNET) ? -1 : open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static int run(int space, const char *command)
{
	char line[256];
	int status;

	assert_int_equal(setns(space, CLONE_NEWNET), 0);
	snprintf(line, sizeof(line), "ip %s", command);
	status = system(line);
	assert_int_equal(setns(near_space, CLONE_NEWNET), 0);
	return status;
}

void net_near(const char *command)
{
	assert_int_equal(run(near_space, command), 0);
}

void net_far(const char *command)
{
	assert_int_equal(run(far_space, command), 0);
}

/* Waits until the interface is operational, which happens shortly after it is set up. */
static void await_link(int space, const char *name)
{
	deadline_t deadline = deadline_in(10000);
	struct netlink_link link = {0};

	assert_int_equal(setns(space, CLONE_NEWNET), 0);
	while (link.state != IF_OPER_UP && deadline_left(deadline)) {
		assert_int_equal(netlink_find_link(if_nametoindex(name), &link), 0);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(setns(near_space, CLONE_NEWNET), 0);
	assert_int_equal(link.state, IF_OPER_UP);
}

struct sockaddr_storage net_address(const char *text)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM}, *list;
	struct sockaddr_storage address = {0};

	assert_int_equal(getaddrinfo(text, NULL, &hints, &list), 0);
	memcpy(&address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return address;
}

/*
 * Waits until the kernel routes the address as local, which happens shortly after the link is up.
 */
static void await_address(int space, const char *text)
{
	deadline_t deadline = deadline_in(10000);
	struct sockaddr_storage address = net_address(text);
	struct netlink_route route = {0};

	assert_int_equal(setns(space, CLONE_NEWNET), 0);
	while (route.type != RTN_LOCAL && deadline_left(deadline)) {
		(void)netlink_find_route((struct sockaddr *)&address, NULL, &route);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(setns(near_space, CLONE_NEWNET), 0);
	assert_int_equal(route.type, RTN_LOCAL);
}

void net_far_forwards(void)
{
	bool done;

	assert_int_equal(setns(far_space, CLONE_NEWNET), 0);
	done = write_line("/proc/sys/net/ipv4/ip_forward", "1");
	assert_int_equal(setns(near_space, CLONE_NEWNET), 0);
	if (!done) {
		print_message("skipped: /proc/sys may not be written here\n");
		skip();
	}
}

/* Creates both namespaces, or skips the test. */
static void make_spaces(void)
{
	if (near_space >= 0)
		close(near_space);
	if (far_space >= 0)
		close(far_space);
	near_space = far_space = -1;
	if (unshare(CLONE_NEWNET) && !become_root()) {
		print_message(
			"skipped: no network namespace may be made here: %s\n", strerror(errno));
		skip();
	}
	far_space = enter_space();
	near_space = enter_space();
	if (near_space < 0 || far_space < 0) {
		print_message("skipped: no network namespace could be made: %s\n", strerror(errno));
		skip();
	}
}

void net_make(void)
{
	static const char *const near[] = {
		"address add 10.9.0.1/24 dev near0",
		"-6 address add fd09::1/64 dev near0 nodad",
		"link set lo up",
		"link set near0 up",
		/*
		 * The kernel gives up on an absent neighbour after three of these intervals, by
		 * default one second each.
		 */
		"ntable change name arp_cache dev near0 retrans 30",
		"ntable change name ndisc_cache dev near0 retrans 30",
	};
	static const char *const far[] = {
		"address add 10.9.0.2/24 dev far0",
		"-6 address add fd09::2/64 dev far0 nodad",
		"link set lo up",
		"link set far0 up",
	};
	char command[128];

	make_spaces();
	if (run(near_space, "-Version >/dev/null 2>&1") ||
		run(near_space, "link add near0 type veth peer name far0")) {
		print_message("skipped: ip(8) cannot make a veth(4) link here\n");
		skip();
	}
	snprintf(command, sizeof(command), "link set far0 netns /proc/%d/fd/%d", (int)getpid(),
		far_space);
	net_near(command);
	for (size_t i = 0; i < COUNT(far); i++)
		net_far(far[i]);
	for (size_t i = 0; i < COUNT(near); i++)
		net_near(near[i]);
	await_link(near_space, "near0");
	await_link(far_space, "far0");
	await_address(near_space, "fd09::1");
	await_address(far_space, "fd09::2");
}
