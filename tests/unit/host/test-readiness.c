/*
 * What this host has for RDMA, read from a made-up root folder. Its devices stand on the loopback
 * interface, the only one that every test machine has, with addresses that are known.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "host/readiness.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define NOBODY  65534
#define DEVICES "/sys/class/infiniband"

/* Puts the interface into one entry of the GID table of the device's port. */
static void put_gid(
	const struct tree *root, const char *device, unsigned int index, const char *interface)
{
	char path[256];

	snprintf(path, sizeof(path), DEVICES "/%s/ports/1/gid_attrs/ndevs/%u", device, index);
	put(root, path, interface);
}

static void assert_lacks(const struct tree *root, enum readiness lacking, const char *seen)
{
	char evidence[256] = "";

	assert_int_equal(host_rdma(root->path, evidence, sizeof(evidence)), lacking);
	assert_string_equal(evidence, seen);
}

static void finds_what_is_missing(void **state)
{
	const struct tree *root = *state;

	assert_lacks(root, HOST_NO_DEVICE, DEVICES " holds none");
	put_folder(root, DEVICES);
	assert_lacks(root, HOST_NO_DEVICE, DEVICES " holds none");
	put_folder(root, DEVICES "/.hidden");
	assert_lacks(root, HOST_NO_DEVICE, DEVICES " holds none");
	put(root, "/sys/module/ib_core/parameters/netns_mode", "Y\n");
	assert_lacks(root, HOST_NO_DEVICE, DEVICES " holds none");
	put(root, "/sys/module/ib_core/parameters/netns_mode", "N\n");
	assert_lacks(root, HOST_DEVICES_HIDDEN,
		DEVICES " holds none; netns_mode of ib_core is exclusive");
	put_folder(root, DEVICES "/rxe0");
	assert_lacks(root, HOST_NO_RDMA_CM, "device rxe0 is there, /dev/infiniband/rdma_cm is not");
	put(root, "/dev/infiniband/rdma_cm", "");
	assert_lacks(root, HOST_READY, "");
}

/* Root may do everything, so another process looks, as nobody. */
static void finds_what_may_not_be_opened(void **state)
{
	const struct tree *root = *state;
	char path[128], evidence[256];
	int status;
	pid_t child;

	put_folder(root, DEVICES "/rxe0");
	put(root, "/dev/infiniband/rdma_cm", "");
	snprintf(path, sizeof(path), "%s/dev/infiniband/rdma_cm", root->path);
	assert_int_equal(chmod(path, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (getuid() == 0 && setuid(NOBODY))
			_exit(99);
		_exit((int)host_rdma(root->path, evidence, sizeof(evidence)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), HOST_NO_ACCESS);
}

static void finds_the_address_of_a_device(void **state)
{
	const struct tree *root = *state;
	static const struct {
		int family;
		const char *text;
	} cases[] = {{AF_UNSPEC, "127.0.0.1:0"}, {AF_INET, "127.0.0.1:0"}};
	struct sockaddr_storage address;
	char text[ADDRESS_TEXT_SIZE];

	/* A GID table has holes and entries of interfaces that are gone. */
	put_gid(root, "rxe0", 3, "gone0\n");
	put_gid(root, "rxe0", 7, "lo\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		memset(&address, 0xa5, sizeof(address));
		assert_int_equal(host_device_address(root->path, "rxe0", cases[i].family, &address),
			HOST_READY);
		address_port_text((struct sockaddr *)&address, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void finds_the_interface_of_a_device_without_gids(void **state)
{
	const struct tree *root = *state;
	struct sockaddr_storage address;

	put_folder(root, DEVICES "/mlx4_0/device/net/lo");
	assert_int_equal(host_device_address(root->path, "mlx4_0", AF_INET, &address), HOST_READY);
	assert_int_equal(address.ss_family, AF_INET);
}

static void says_which_device_cannot_be_used(void **state)
{
	const struct tree *root = *state;
	static const struct {
		const char *device;
		enum readiness lacking;
	} cases[] = {
		{"rxe0", HOST_READY},
		{"rxe1", HOST_NO_DEVICE_ADDRESS},
		{"bare", HOST_NO_DEVICE_ADDRESS},
		{"rxe", HOST_NO_SUCH_DEVICE},
		{"rxe00", HOST_NO_SUCH_DEVICE},
		{"", HOST_NO_SUCH_DEVICE},
		{"rxe0/ports", HOST_NO_SUCH_DEVICE},
		{"../infiniband/rxe0", HOST_NO_SUCH_DEVICE},
		{"/", HOST_NO_SUCH_DEVICE},
	};
	struct sockaddr_storage address;

	put_gid(root, "rxe0", 0, "lo\n");
	put_gid(root, "rxe1", 0, "gone0\n");
	put_folder(root, DEVICES "/bare");
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(cases[i].device, host_device_address(root->path, cases[i].device,
						    AF_INET, &address) == cases[i].lacking);
}

static void lists_the_addresses_of_all_devices(void **state)
{
	const struct tree *root = *state;
	char text[256];

	host_rdma_addresses(root->path, text, sizeof(text));
	assert_string_equal(text, "none");
	put_gid(root, "rxe0", 0, "lo\n");
	put_gid(root, "rxe0", 1, "lo\n");
	/* The entries of a VLAN come between; PCI devices have their interfaces in net/, too. */
	put_gid(root, "rxe0", 2, "gone0\n");
	put_gid(root, "rxe0", 3, "lo\n");
	put_folder(root, DEVICES "/rxe0/device/net/lo");
	host_rdma_addresses(root->path, text, sizeof(text));
	assert_int_equal(strncmp(text, "127.0.0.1 (rxe0, lo)", 20), 0);
	/* Once each, however many GIDs an interface has. */
	assert_null(strstr(text + 1, "127.0.0.1"));
}

static void cuts_lists_that_do_not_fit(void **state)
{
	const struct tree *root = *state;

	for (unsigned int i = 0; i < 8; i++) {
		char device[32];

		snprintf(device, sizeof(device), "device-with-a-long-name-%u", i);
		put_gid(root, device, 0, "lo\n");
	}
	for (size_t size = 1; size < 100; size++) {
		/* Memory of exactly that size, so that writing past it is seen. */
		char *text = malloc(size);

		assert_non_null(text);
		host_rdma_addresses(root->path, text, size);
		assert_int_equal(strlen(text), size - 1);
		(void)host_rdma(root->path, text, size);
		assert_true(strlen(text) < size);
		free(text);
	}
}

static void knows_the_interface_of_a_route(void **state)
{
	struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_port = htons(7471),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr nonsense = {.sa_family = AF_APPLETALK};
	char name[32] = "rubbish";

	(void)state;
	host_route_interface((struct sockaddr *)&loopback, name, sizeof(name));
	assert_string_equal(name, "lo");
	host_route_interface(&nonsense, name, sizeof(name));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_what_is_missing),
		with_tree(finds_what_may_not_be_opened),
		with_tree(finds_the_address_of_a_device),
		with_tree(finds_the_interface_of_a_device_without_gids),
		with_tree(says_which_device_cannot_be_used),
		with_tree(lists_the_addresses_of_all_devices),
		with_tree(cuts_lists_that_do_not_fit),
		cmocka_unit_test(knows_the_interface_of_a_route),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
