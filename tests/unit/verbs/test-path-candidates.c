/* The GIDs of a made-up host, the best first. */
#include <arpa/inet.h>
#include <string.h>

#include "tests/unit/common/inventory-fixture.h"
#include "tests/unit/unit.h"
#include "verbs/path-candidates.h"

static struct host host;
static struct inventory_gid table[20];
static const struct path_settings any = {.gid_index = -1};

/* Lists with these settings, for a TCP connection from this address. */
static void list(
	const struct path_settings *settings, const char *from, struct path_candidates *candidates)
{
	struct sockaddr_in local = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, from, &local.sin_addr), 1);
	path_candidates_list(
		&host.inventory, settings, (const struct sockaddr *)&local, candidates);
}

static int start(void **state)
{
	(void)state;
	make_host(&host);
	/* The table of rxe0, and the address of its interface. */
	table[0] = (struct inventory_gid){.index = 0,
		.text = "fe80::1",
		.type = "RoCE v2",
		.interface = "eth1",
		.link_local = true};
	table[1] = (struct inventory_gid){
		.index = 1, .text = "::ffff:10.1.0.1", .type = "IB/RoCE v1", .interface = "eth1"};
	table[2] = (struct inventory_gid){
		.index = 2, .text = "::ffff:10.1.0.1", .type = "RoCE v2", .interface = "eth1"};
	host.ports[2].gids = table;
	host.ports[2].gid_count = 3;
	strcpy(host.interfaces[2].name, "eth1");
	return 0;
}

static void assert_is(
	const struct path_candidate *candidate, const char *device, uint8_t port, uint16_t index)
{
	assert_string_equal(candidate->device, device);
	assert_int_equal(candidate->gid.port, port);
	assert_int_equal(candidate->gid.index, index);
}

static void the_interface_of_the_tcp_connection_comes_first(void **state)
{
	struct path_candidates found;

	(void)state;
	list(&any, "10.1.0.1", &found);
	assert_int_equal(found.count, 5);
	assert_is(&found.all[0], "rxe0", 1, 2);
	assert_is(&found.all[1], "rxe0", 1, 1); /* v1 */
	assert_is(&found.all[2], "rxe0", 1, 0); /* link-local */
	assert_is(&found.all[3], "mlx5_0", 1, 1);
	assert_is(&found.all[4], "mlx5_0", 2, 1);
	assert_true(tcp_gid_is_link_local(&found.all[2].gid) &&
		    !tcp_gid_is_link_local(&found.all[1].gid));
	assert_int_equal(found.all[1].gid.type, TCP_GID_ROCE_V1);
	assert_int_equal(found.all[0].gid.type, TCP_GID_ROCE_V2);
}

/* The TCP connection uses a network without RDMA. */
static void without_such_an_interface_the_kind_of_gid_decides(void **state)
{
	struct path_candidates found;

	(void)state;
	list(&any, "192.168.0.1", &found);
	assert_is(&found.all[0], "mlx5_0", 1, 1);
	assert_is(&found.all[2], "rxe0", 1, 2);
	assert_is(&found.all[3], "rxe0", 1, 1);
	assert_is(&found.all[4], "rxe0", 1, 0);
}

static void settings_choose(void **state)
{
	struct path_candidates found;

	(void)state;
	list(&(struct path_settings){.device = "rxe0", .gid_index = -1}, "10.0.0.1", &found);
	assert_int_equal(found.count, 3);
	list(&(struct path_settings){.port = 2, .gid_index = -1}, "10.0.0.1", &found);
	assert_int_equal(found.count, 1);
	assert_is(&found.all[0], "mlx5_0", 2, 1);
	list(&(struct path_settings){.device = "rxe0", .gid_index = 0}, "10.0.0.1", &found);
	assert_int_equal(found.count, 1);
	assert_is(&found.all[0], "rxe0", 1, 0);
}

static void assert_none(const struct path_settings *settings, enum failure_kind kind, int code,
	const char *evidence)
{
	struct path_candidates found;
	struct failure failure = {0};

	list(settings, "10.0.0.1", &found);
	assert_int_equal(found.count, 0);
	assert_int_equal(path_candidates_explain(&host.inventory, settings, &failure), -1);
	assert_int_equal(failure.kind, kind);
	assert_int_equal(failure.code, code);
	assert_string_equal(failure.evidence, evidence);
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	assert_none(&(struct path_settings){.device = "rxe0", .gid_index = 7}, FAILURE_PATH,
		PATH_NO_GID,
		"entry 7 of rxe0 port 1; it has 0 (fe80::1, RoCE v2), 1 (::ffff:10.1.0.1, "
		"IB/RoCE v1), 2 (::ffff:10.1.0.1, RoCE v2)");
	assert_none(&(struct path_settings){.device = "rxe0", .port = 3, .gid_index = -1},
		FAILURE_PATH, PATH_NO_PORT, "no active port 3 of rxe0 has a GID");
	assert_none(&(struct path_settings){.device = "none", .gid_index = -1}, FAILURE_HOST,
		HOST_NO_SUCH_DEVICE, "--device none");
	strcpy(host.devices[1].type, "RNIC");
	assert_none(&(struct path_settings){.device = "rxe0", .gid_index = -1}, FAILURE_PATH,
		PATH_IWARP, "rxe0");
	for (size_t i = 0; i < 3; i++)
		strcpy(host.ports[i].state, "DOWN");
	host.inventory.device_count = 1;
	assert_none(&any, FAILURE_HOST, HOST_PORT_DOWN,
		"port mlx5_0/1 is DOWN (LinkUp), network interface eth0 is up");
}

/* A table may have more entries than an offer. */
static void the_best_of_many_are_kept(void **state)
{
	struct path_candidates found;

	(void)state;
	for (unsigned int i = 0; i < COUNT(table); i++) {
		table[i] = table[1];
		table[i].index = i;
	}
	strcpy(table[19].type, "RoCE v2");
	host.ports[2].gid_count = COUNT(table);
	list(&any, "192.168.0.1", &found);
	assert_int_equal(found.count, TCP_GIDS_MAX);
	assert_is(&found.all[2], "rxe0", 1, 19);
	assert_is(&found.all[3], "rxe0", 1, 0);
	assert_is(&found.all[TCP_GIDS_MAX - 1], "rxe0", 1, 12);
}

#define TEST(function) cmocka_unit_test_setup(function, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_interface_of_the_tcp_connection_comes_first),
		TEST(without_such_an_interface_the_kind_of_gid_decides),
		TEST(settings_choose),
		TEST(what_is_missing_is_named),
		TEST(the_best_of_many_are_kept),
	};

	return cmocka_run_group_tests_name("path-candidates", tests, NULL, NULL);
}
