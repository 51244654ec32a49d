/*
 * Addresses of RDMA devices in a fake sysfs tree. The devices use the loopback interface, the only
 * interface with known addresses on every test machine.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "host/device-address.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define DEVICES "/sys/class/infiniband"

/* Adds a GID table entry for the network interface to port 1 of the device. */
static void put_gid(
	const struct tree *root, const char *device, unsigned int index, const char *interface)
{
	char path[256];

	snprintf(path, sizeof(path), DEVICES "/%s/ports/1/gids/%u", device, index);
	put(root, path, "fe80::1");
	snprintf(path, sizeof(path), DEVICES "/%s/ports/1/gid_attrs/ndevs/%u", device, index);
	put(root, path, interface);
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

	/* A GID table has holes, and entries for interfaces that no longer exist. */
	put_gid(root, "rxe0", 3, "gone0\n");
	put_gid(root, "rxe0", 7, "lo\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		memset(&address, 0xa5, sizeof(address));
		assert_int_equal(device_address_find(root->path, "rxe0", cases[i].family, &address),
			HOST_READY);
		address_port_text((struct sockaddr *)&address, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void finds_the_interface_of_a_device_without_gids(void **state)
{
	const struct tree *root = *state;
	struct sockaddr_storage address;

	put_folder(root, DEVICES "/mlx4_0/ports/1");
	put_folder(root, DEVICES "/mlx4_0/device/net/lo");
	assert_int_equal(device_address_find(root->path, "mlx4_0", AF_INET, &address), HOST_READY);
	assert_int_equal(address.ss_family, AF_INET);
}

static void reports_unusable_devices(void **state)
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
		check_case(cases[i].device, device_address_find(root->path, cases[i].device,
						    AF_INET, &address) == cases[i].lacking);
}

static void evidence(const struct tree *root, const char *source, char *text, size_t size)
{
	const struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	device_address_evidence(root->path, source, (const struct sockaddr *)&loopback, text, size);
}

static void lists_the_addresses_of_all_devices(void **state)
{
	static const char before[] = "--source x; RDMA addresses of this host: ";
	const struct tree *root = *state;
	char text[256];

	evidence(root, "x", text, sizeof(text));
	assert_string_equal(text, "--source x; RDMA addresses of this host: none");
	put_gid(root, "rxe0", 0, "lo\n");
	put_gid(root, "rxe0", 1, "lo\n");
	/* VLAN entries may be in between; PCI devices also list their interfaces in net/. */
	put_gid(root, "rxe0", 2, "gone0\n");
	put_gid(root, "rxe0", 3, "lo\n");
	put_folder(root, DEVICES "/rxe0/ports/2");
	put(root, DEVICES "/rxe0/ports/2/gids/0", "fe80::2");
	put(root, DEVICES "/rxe0/ports/2/gid_attrs/ndevs/0", "lo");
	put_folder(root, DEVICES "/rxe0/device/net/lo");
	evidence(root, "x", text, sizeof(text));
	assert_int_equal(strncmp(text, before, strlen(before)), 0);
	assert_int_equal(strncmp(text + strlen(before), "127.0.0.1 (rxe0, lo)", 20), 0);
	/* Each address is listed once, even if its interface has several GIDs and ports. */
	assert_null(strstr(text + strlen(before) + 1, "127.0.0.1"));
}

static void reports_the_interface_of_the_route(void **state)
{
	const struct tree *root = *state;
	struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr nonsense = {.sa_family = AF_APPLETALK};
	char text[256];

	device_address_evidence(root->path, NULL, (struct sockaddr *)&loopback, text, sizeof(text));
	assert_string_equal(text, "the route uses lo; RDMA addresses of this host: none");
	device_address_evidence(root->path, NULL, &nonsense, text, sizeof(text));
	assert_string_equal(text, "the route uses no interface; RDMA addresses of this host: none");
}

/* An allocation of exactly that size exposes a write past its end. */
static void truncates_long_lists(void **state)
{
	const struct tree *root = *state;

	for (unsigned int i = 0; i < 8; i++) {
		char device[32];

		snprintf(device, sizeof(device), "device-with-a-long-name-%u", i);
		put_gid(root, device, 0, "lo\n");
	}
	for (size_t size = 1; size < 200; size++) {
		char *text = malloc(size);

		assert_non_null(text);
		evidence(root, "x", text, size);
		assert_int_equal(strlen(text), size - 1);
		free(text);
	}
}

static void finds_the_interface_of_a_route(void **state)
{
	struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_port = htons(7471),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr nonsense = {.sa_family = AF_APPLETALK};
	char name[32] = "rubbish";

	(void)state;
	device_address_interface((struct sockaddr *)&loopback, NULL, name, sizeof(name));
	assert_string_equal(name, "lo");
	device_address_interface(&nonsense, NULL, name, sizeof(name));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(finds_the_address_of_a_device),
		with_tree(finds_the_interface_of_a_device_without_gids),
		with_tree(reports_unusable_devices),
		with_tree(lists_the_addresses_of_all_devices),
		with_tree(reports_the_interface_of_the_route),
		with_tree(truncates_long_lists),
		cmocka_unit_test(finds_the_interface_of_a_route),
	};

	return cmocka_run_group_tests_name("device-address", tests, NULL, NULL);
}
