/* Routes that exist only for certain source addresses or in a VRF. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/route-domains.h"
#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/common/network-fixture.h"
#include "tests/unit/unit.h"

/* A destination that only the table 11 contains. */
#define BEYOND "10.97.0.1"

static struct host host;
static struct diagnosis diagnosis;

/* The only RDMA device of this host belongs to near0, and has this driver. */
static void make_diagnosis(const char *driver, const char *vrf)
{
	struct inventory_interface *interface;

	make_small_host(&host);
	interface = &host.inventory.devices[0].ports[0].interfaces[0];
	strcpy(interface->name, "near0");
	strcpy(interface->vrf, vrf);
	strcpy(host.inventory.devices[0].driver, driver);
	strcpy(interface->addresses[0].text, NEAR);
	interface->addresses[0].address = net_address(NEAR);
	memset(&diagnosis, 0, sizeof(diagnosis));
	diagnosis.inventory = host.inventory;
}

static const struct failure *route_failure(void)
{
	assert_int_equal(diagnosis.list.checks[CHECK_ROUTE].state, CHECK_FAILED);
	return &diagnosis.list.checks[CHECK_ROUTE].failure;
}

/* Returns the result for a source address in a VRF. */
static int use_vrf(const struct sockaddr_storage *address, const struct sockaddr_storage *source)
{
	int result = 1;

	assert_true(route_domains_use_vrf(&diagnosis, (const struct sockaddr *)address,
		(const struct sockaddr *)source, &result));
	return result;
}

static void finds_a_route_for_one_source_address(void **state)
{
	struct sockaddr_storage address = net_address(BEYOND);

	(void)state;
	net_make();
	make_diagnosis("rdma_rxe", "");
	assert_false(route_domains_explain(&diagnosis, (struct sockaddr *)&address));
	net_near("route add 10.97.0.0/24 via " FAR " table 11");
	assert_false(route_domains_explain(&diagnosis, (struct sockaddr *)&address));
	net_near("rule add from " NEAR " lookup 11");
	assert_true(route_domains_explain(&diagnosis, (struct sockaddr *)&address));
	assert_int_equal(route_failure()->kind, FAILURE_ADDRESS);
	assert_int_equal(route_failure()->code, ADDRESS_NEEDS_SOURCE);
	assert_string_equal(
		route_failure()->evidence, "there is a route from " NEAR " (rxe0, near0)");
}

static void knows_that_soft_roce_does_not_work_in_a_vrf(void **state)
{
	struct sockaddr_storage address = net_address(FAR), source = net_address(NEAR);
	struct sockaddr_storage other = net_address("10.9.0.77");

	(void)state;
	net_make();
	make_diagnosis("rdma_rxe", "blue");
	assert_false(route_domains_use_vrf(
		&diagnosis, (struct sockaddr *)&address, (struct sockaddr *)&other, &(int){0}));
	assert_int_equal(use_vrf(&address, &source), -1);
	assert_int_equal(route_failure()->kind, FAILURE_HOST);
	assert_int_equal(route_failure()->code, HOST_VRF);
	assert_string_equal(
		route_failure()->evidence, "device rxe0, network interface near0, VRF blue");
}

static void other_devices_may_work_in_a_vrf(void **state)
{
	struct sockaddr_storage address = net_address(FAR), source = net_address(NEAR);

	(void)state;
	net_make();
	make_diagnosis("mlx5_core", "blue");
	assert_int_equal(use_vrf(&address, &source), 0);
	assert_int_equal(diagnosis.list.checks[CHECK_ROUTE].state, CHECK_OK);
	assert_non_null(strstr(diagnosis.list.checks[CHECK_ROUTE].text, "VRF blue"));
	assert_ptr_equal(diagnosis.device, host.inventory.devices);
	assert_ptr_equal(diagnosis.port, host.inventory.devices[0].ports);
}

static void software_iwarp_needs_a_program_in_the_vrf(void **state)
{
	struct sockaddr_storage address = net_address(FAR), source = net_address(NEAR);

	(void)state;
	net_make();
	make_diagnosis("siw", "blue");
	assert_int_equal(use_vrf(&address, &source), -1);
	assert_int_equal(route_failure()->code, ADDRESS_IN_VRF);
	assert_string_equal(route_failure()->evidence,
		"address " NEAR ", device rxe0, network interface near0, VRF blue");
	assert_true(route_domains_explain(&diagnosis, (struct sockaddr *)&address));
	assert_int_equal(route_failure()->code, ADDRESS_IN_VRF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_a_route_for_one_source_address),
		cmocka_unit_test(knows_that_soft_roce_does_not_work_in_a_vrf),
		cmocka_unit_test(other_devices_may_work_in_a_vrf),
		cmocka_unit_test(software_iwarp_needs_a_program_in_the_vrf),
	};

	return cmocka_run_group_tests_name("route-domains", tests, NULL, NULL);
}
