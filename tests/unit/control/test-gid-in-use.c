/*
 * Tests the facts about the GID of a control connection. The functions of libibverbs and librdmacm
 * and the inventory are replaced.
 */
#include <arpa/inet.h>
#include <string.h>

#include "control/control.h"
#include "host/device-address.h"
#include "host/inventory.h"
#include "tests/unit/common/personality.h"
#include "tests/unit/unit.h"

#define GID       "::ffff:10.0.0.1"
#define GID_INDEX 3 /* of RoCE v2 */

/* A port with one GID per RoCE version for the same address. */
static struct inventory_gid gids[] = {
	{.index = 0, .text = "fe80::1", .type = "IB/RoCE v1"},
	{.index = 1, .text = "fe80::1", .type = "RoCE v2"},
	{.index = 2, .text = GID, .type = "IB/RoCE v1"},
	{.index = GID_INDEX, .text = GID, .type = "RoCE v2"},
};

static struct inventory_port port = {.number = 1, .gids = gids};

static const struct personality *personality;

int inventory_take(const char *root, const char *device, struct inventory *inventory)
{
	(void)root, (void)device;
	*inventory = (struct inventory){0};
	return 0;
}

uint64_t inventory_megabits(const char *rate)
{
	(void)rate;
	return 0;
}

void inventory_free(struct inventory *inventory)
{
	(void)inventory;
}

const struct inventory_device *inventory_device(const struct inventory *inventory, const char *name)
{
	(void)inventory, (void)name;
	return NULL;
}

const struct inventory_port *inventory_port(
	const struct inventory *inventory, const char *device, unsigned int number)
{
	(void)inventory, (void)device, (void)number;
	return &port;
}

const struct inventory_interface *inventory_interface(
	const struct inventory_port *its_port, const char *name)
{
	(void)its_port, (void)name;
	return NULL;
}

enum readiness device_address_find(
	const char *root, const char *device, int family, struct sockaddr_storage *address)
{
	(void)root, (void)device, (void)family, (void)address;
	return HOST_NO_DEVICE_ADDRESS;
}

/* The address vector of a connection over RoCE. */
static const struct ibv_ah_attr address = {
	.is_global = 1,
	.grh = {.sgid_index = GID_INDEX, .traffic_class = 26 << 2},
};

/* Linux: cm_init_qp_rtr_attr() in cm.c, iwcm_init_qp_rtr_attr() in iwcm.c. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask)
{
	(void)id;
	*mask = personality->transport == IBV_TRANSPORT_IWARP ? 0 : IBV_QP_AV;
	attributes->ah_attr = *mask ? address : (struct ibv_ah_attr){0};
	return 0;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask,
	struct ibv_qp_init_attr *initial)
{
	(void)qp, (void)mask, (void)initial;
	*attributes = (struct ibv_qp_attr){0};
	if (personality->transport == IBV_TRANSPORT_IB && !personality->queries_in_part)
		attributes->ah_attr = address;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *attributes)
{
	(void)context, (void)number, (void)attributes;
	return 0;
}

/* On each adapter, the facts contain the GID in use, not another one with the same address. */
static void the_gid_is_the_one_in_use(void **state)
{
	struct ibv_device device = {.name = "fake0"};
	struct ibv_context verbs = {.device = &device};
	struct ibv_qp queue_pair = {0};
	struct rdma_cm_id id = {.verbs = &verbs, .port_num = 1, .qp = &queue_pair};
	struct device_traits traits = {.immediate = true};
	struct queue_pair pair = {.size.inline_max = 256};
	struct control control = {
		.id = &id, .endpoint = {.id = &id, .pairs = &pair}, .device.traits = &traits};

	(void)state;
	inet_pton(AF_INET6, GID, id.route.addr.addr.ibaddr.sgid.raw);
	for (size_t i = 0; (personality = personality_at(i)); i++) {
		bool is_iwarp = personality->transport == IBV_TRANSPORT_IWARP;
		struct facts facts;

		port.gid_count = is_iwarp ? 1 : COUNT(gids);
		control_facts(&control, &facts);
		assert_string_equal(facts_value(&facts, "gid"), is_iwarp ? gids[0].text : GID);
		assert_string_equal(facts_value(&facts, "gid type"),
			is_iwarp ? gids[0].type : gids[GID_INDEX].type);
		if (is_iwarp)
			assert_null(facts_value(&facts, "dscp"));
		else
			assert_string_equal(facts_value(&facts, "dscp"), "26");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gid_is_the_one_in_use),
	};

	return cmocka_run_group_tests_name("gid-in-use", tests, NULL, NULL);
}
