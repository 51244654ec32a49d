/*
 * Devices that the connection manager cannot use: each row of the table, in an inventory and in a
 * fake sysfs tree, and devices that it can use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/device-address.h"
#include "host/device-support.h"
#include "host/readiness.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

/* A host whose only device matches the row. */
static void make_unsupported(struct host *host, const struct unsupported *row)
{
	struct inventory_device *device = &host->devices[1];

	make_small_host(host);
	strcpy(device->driver, row->driver ? row->driver : "some_driver");
	strcpy(device->type, row->type ? row->type : "CA");
	if (row->no_gid)
		device->ports[0].gid_count = 0;
	if (row->no_interface)
		device->ports[0].interface_count = 0;
}

static void each_row_is_recognised(void **state)
{
	const struct unsupported *row;

	(void)state;
	for (size_t i = 0; (row = device_support_row(i)); i++) {
		char evidence[320], reason[320];
		struct host host;

		make_unsupported(&host, row);
		check_case(row->basis, device_support_find(host.inventory.devices,
					       host.inventory.devices[0].ports) == row);
		check_case(row->basis, readiness_check(&host.inventory, NULL, evidence,
					       sizeof(evidence)) == row->code);
		if (row->code == HOST_NO_MANAGER) {
			snprintf(reason, sizeof(reason), "rxe0 is %s", row->reason);
			assert_string_equal(evidence, reason);
			/* Permissions and cables do not help. */
			host.devices[1].access = SYSFS_DENIED;
			strcpy(host.devices[1].ports[0].state, "DOWN");
			check_case(row->basis, readiness_check(&host.inventory, NULL, evidence,
						       sizeof(evidence)) == row->code);
		}
		/* Beside a device that works, it is no fault, unless it is the one to be used. */
		make_unsupported(&host, row);
		host.inventory.devices = host.devices;
		host.inventory.device_count = 2;
		check_case(row->basis, readiness_check(&host.inventory, NULL, evidence,
					       sizeof(evidence)) == HOST_READY);
		check_case(row->basis, readiness_check(&host.inventory, "rxe0", evidence,
					       sizeof(evidence)) == row->code);
		/* A better device is reported instead. */
		host.devices[0].access = SYSFS_DENIED;
		if (row->code == HOST_NO_MANAGER)
			check_case(row->basis, readiness_check(&host.inventory, NULL, evidence,
						       sizeof(evidence)) == HOST_NO_ACCESS);
	}
}

static void others_are_supported(void **state)
{
	static const char *const drivers[] = {
		"mlx5_core", "mlx4_core", "bnxt_en", "ice", "rdma_rxe", "siw", "hfi1", "mana"};
	struct host host;

	(void)state;
	for (size_t i = 0; i < COUNT(drivers); i++) {
		make_small_host(&host);
		strcpy(host.devices[1].driver, drivers[i]);
		check_case(drivers[i], !device_support_find(&host.devices[1], &host.ports[2]));
	}
	/* Of an iWARP device, older kernels do not report the interface. */
	strcpy(host.devices[1].type, "RNIC");
	host.ports[2].interface_count = 0;
	assert_null(device_support_find(&host.devices[1], &host.ports[2]));
	/* In another network namespace, as a GID shows. */
	strcpy(host.devices[1].type, "CA");
	assert_non_null(device_support_find(&host.devices[1], &host.ports[2]));
	host.ports[2].own_elsewhere = true;
	assert_null(device_support_find(&host.devices[1], &host.ports[2]));
	host.ports[2].gid_count = 0;
	assert_non_null(device_support_find(&host.devices[1], &host.ports[2]));
}

/* As an instance of Amazon EC2 shows it. */
static void put_efa(const struct tree *root)
{
	put(root, "/dev/infiniband/rdma_cm", "");
	put(root, "/dev/infiniband/uverbs0", "");
	put(root, "/sys/class/infiniband_verbs/uverbs0/ibdev", "rdmap0s6\n");
	put(root, "/sys/class/infiniband/rdmap0s6/node_type", "7: unspecified\n");
	put(root, "/sys/class/infiniband/rdmap0s6/ports/1/state", "4: ACTIVE\n");
	put(root, "/sys/class/infiniband/rdmap0s6/ports/1/link_layer", "Unspecified\n");
	put(root, "/sys/class/infiniband/rdmap0s6/ports/1/gids/0",
		"fe80:0000:0000:0000:0000:59ff:feea:0faa\n");
	put_link(root, "/sys/class/infiniband/rdmap0s6/device/driver", "../drivers/efa");
}

static void a_host_with_only_efa_says_so(void **state)
{
	static const char efa[] = "rdmap0s6 is an Elastic Fabric Adapter, which libfabric's efa "
				  "provider uses: fi_pingpong -p efa";
	const struct tree *root = *state;
	struct sockaddr_storage address;
	enum readiness lacking;
	char text[320];

	assert_int_equal(readiness_of_support(root->path, NULL, text, sizeof(text)), HOST_READY);
	put_efa(root);
	assert_int_equal(readiness_of_host(root->path, text, sizeof(text)), HOST_NO_MANAGER);
	assert_string_equal(text, efa);
	assert_int_equal(
		readiness_of_support(root->path, NULL, text, sizeof(text)), HOST_NO_MANAGER);
	assert_string_equal(text, efa);
	lacking = device_address_find(root->path, "rdmap0s6", AF_INET, &address);
	assert_int_equal(lacking, HOST_NO_DEVICE_ADDRESS);
	assert_int_equal(
		device_address_explain(root->path, "rdmap0s6", lacking, text, sizeof(text)),
		HOST_NO_MANAGER);
	assert_string_equal(text, efa);
	assert_int_equal(
		device_address_explain(root->path, "rxe0", HOST_NO_SUCH_DEVICE, text, sizeof(text)),
		HOST_NO_SUCH_DEVICE);
	assert_string_equal(text, "--device rxe0");
}

/* The driver or type of each row, and the software that uses it. */
static void the_document_shows_each_row(void **state)
{
	char *text = document_read("docs/hardware.md");
	const struct unsupported *row;

	(void)state;
	for (size_t i = 0; (row = device_support_row(i)); i++) {
		check_case(row->basis, !row->driver || strstr(text, row->driver));
		check_case(row->basis, !row->type || strstr(text, row->type));
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_recognised),
		cmocka_unit_test(others_are_supported),
		with_tree(a_host_with_only_efa_says_so),
		cmocka_unit_test(the_document_shows_each_row),
	};

	return cmocka_run_group_tests_name("device-support", tests, NULL, NULL);
}
