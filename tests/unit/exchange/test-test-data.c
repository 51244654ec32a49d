/* Test data between two ends that exchange texts, on the fake device. */
#include <string.h>
#include <unistd.h>

#include "base/explain.h"
#include "exchange/test-data.h"
#include "protocol/test-pattern.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/pair.h"

#define TIMEOUT 10000

/* Within this time, a timeout is noticed. */
#define LATE 1000

/* Returns how many work requests of this end move a region full of data. */
static unsigned int full_operations(const struct fixture *fixture)
{
	enum ibv_wr_opcode opcode =
		fixture->mode == MODE_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_sends(fixture->id); i++) {
		struct fake_send send = fake_send(fixture->id, i);

		count += send.opcode == opcode && send.piece.length == TEST_DATA_SIZE;
	}
	return count;
}

/* Runs an exchange of two texts. Returns the number of full operations, the same at both ends. */
static unsigned int exchange(struct pair *pair)
{
	unsigned int count;

	pair_start(pair);
	pair_run(pair);
	count = full_operations(&pair->active);
	assert_int_equal(full_operations(&pair->passive), count);
	assert_int_equal(fixture_last(&pair->active, MSG_MR).length,
		count ? TEST_DATA_SIZE : SINK_TEXT_SIZE);
	pair_close(pair);
	assert_false(failure_is_set(&pair->active.outcome));
	assert_false(failure_is_set(&pair->passive.outcome));
	pair_stop(pair);
	assert_non_null(strstr(pair->active.printed, "remote buffer: to the client"));
	assert_non_null(strstr(pair->active.printed, "remote buffer: to the server"));
	return count;
}

static struct pair texts(enum mode_number mode)
{
	return (struct pair){
		.active = {.mode = mode, .message = "to the server", .port_mtu = IBV_MTU_1024},
		.passive = {.message = "to the client"},
	};
}

static void texts_come_with_test_data(void **state)
{
	struct secret *secret = make_secret('a');

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = texts(i & 1);

		pair.active.secret = pair.passive.secret = i & 2 ? secret : NULL;
		for (pair.chance = 0; pair.chance < 20; pair.chance++) {
			struct pair one = pair;

			assert_int_equal(exchange(&one), TEST_DATA_OPERATIONS);
		}
	}
	secret_free(secret);
}

static void iwarp_and_unknown_ports_move_none(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct pair pair = texts(i & 1);

		if (i & 2)
			pair.active.transport = IBV_TRANSPORT_IWARP;
		else
			pair.active.port_mtu = 0;
		assert_int_equal(exchange(&pair), 0);
	}
}

/* The hello of this fixture, which has been created. */
static struct hello hello_of(const struct fixture *fixture)
{
	struct rdma_conn_param parameters = connection_parameters(fixture->connection);
	struct hello hello;

	assert_int_equal(
		hello_decode(&hello, parameters.private_data, parameters.private_data_len), 0);
	return hello;
}

/* Only an exchange of texts is a test, and a release that does not know test data offers none. */
static void only_texts_and_new_peers_agree_on_test_data(void **state)
{
	static const struct {
		struct fixture fixture;
		uint16_t offered;
	} cases[] = {
		{{.active = true, .port_mtu = IBV_MTU_4096}, 4096},
		{{.active = true, .port_mtu = IBV_MTU_256}, 256},
		{{.active = true, .port_mtu = IBV_MTU_4096, .input = "/dev/null"}, 0},
		{{.active = true, .port_mtu = IBV_MTU_4096, .plans = HELLO_TAKES_FILE}, 0},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 1024}, 2048},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 0}, 0},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 1024, .peer_size = 1025}, 0},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 1024, .peer_plans = HELLO_SENDS_FILE}, 0},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 1024, .input = "/dev/null"}, 0},
		{{.port_mtu = IBV_MTU_2048, .peer_mtu = 1024, .plans = HELLO_TAKES_FILE}, 0},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		struct fixture fixture = cases[i / 2].fixture;

		fixture.mode = i % 2;
		fixture_start(&fixture);
		assert_int_equal(hello_of(&fixture).mtu, cases[i / 2].offered);
		fixture_end(&fixture);
	}
}

/* The client follows the server: it exposes 4096 bytes only if the server accepts its offer. */
static void the_client_follows_the_server(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1,
			.active = true,
			.port_mtu = IBV_MTU_4096,
			.peer_mtu = i & 2 ? 4096 : 0};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		assert_int_equal(full_operations(&fixture), i & 2 ? TEST_DATA_OPERATIONS : 0);
		assert_int_equal(fixture_last(&fixture, MSG_MR).length,
			i & 2 ? TEST_DATA_SIZE : SINK_TEXT_SIZE);
		fixture_end(&fixture);
	}
}

/* A server with little locked memory keeps it for other clients. */
static void a_server_with_little_memory_accepts_none(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct region used = {0};
	struct failure failure = {0};

	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		struct fixture fixture = {
			.mode = i & 1, .port_mtu = IBV_MTU_4096, .peer_mtu = 4096};

		fixture_start_device(&fixture);
		fake_announce_limit(160 * page);
		/* Of the three, the limit is a sixteenth: 10 pages. */
		assert_int_equal(
			region_map(&used, fixture.device, (i < 4 ? 10 : 11) * page, 0, &failure),
			0);
		fixture_start_connection(&fixture);
		assert_int_equal(hello_of(&fixture).mtu, i < 4 ? 4096 : 0);
		assert_int_equal(fake_registered(), (i < 4 ? 3 : 2) * page);
		region_free(&used);
		fixture_end(&fixture);
	}
}

static void a_region_that_is_too_small_is_a_violation(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.mode = i & 1, .active = i & 2, .port_mtu = IBV_MTU_4096, .peer_mtu = 4096};

		fixture_exchange_regions(&fixture, TEST_DATA_SIZE - 1);
		fixture_expect_violation(&fixture, "too small for test data");
	}
}

/* A text that is intact does not hide that other bytes are not, the first or the last. */
static void damaged_test_data_is_damage(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.mode = i & 1, .port_mtu = IBV_MTU_4096, .peer_mtu = 4096};
		size_t size = sizeof(PEER_TEXT);
		uint8_t *theirs = fixture.peer_memory;

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		if (fixture.mode == MODE_WRITE)
			theirs = (uint8_t *)(uintptr_t)fixture_last(&fixture, MSG_MR).address;
		/* Both ends fill their region with the same pattern, after texts of other sizes. */
		pattern_fill(theirs + size, TEST_DATA_SIZE - size, UINT64_C(0x72646d6170616972));
		theirs[i & 2 ? TEST_DATA_SIZE - 1 : size] ^= 1;
		fixture_exchange_data(&fixture, PEER_TEXT, size);
		assert_int_equal(fixture_last(&fixture, MSG_VERDICT).verdict, VERDICT_DAMAGED);
		fixture_end(&fixture);
		assert_int_equal(fixture.outcome.kind, FAILURE_DAMAGED);
		assert_null(strstr(fixture.printed, "remote buffer"));
	}
}

/* Lets an exchange whose test data is posted run into the timeout. */
static void time_out(struct fixture *fixture, bool moved)
{
	unsigned int posted = TEST_DATA_OPERATIONS;

	fixture->port_mtu = fixture->port_mtu ? fixture->port_mtu : IBV_MTU_4096;
	fixture->peer_mtu = fixture->peer_mtu ? fixture->peer_mtu : 4096;
	fixture_exchange_regions(fixture, PEER_MEMORY);
	while (moved && posted-- > 0)
		fixture_complete(fixture, IBV_WC_SUCCESS);
	fake_pass(TIMEOUT + LATE);
	if (moved)
		fixture_complete_all(fixture); /* the abort arrives */
	fixture_end(fixture);
	assert_int_equal(explain_status(&fixture->outcome), STATUS_PEER);
}

/* Small messages arrived and nothing large was acknowledged: large packets are lost. */
static void unacknowledged_test_data_is_lost(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1, .active = i & 2, .path_mtu = IBV_MTU_4096};
		bool moved = i & 4;

		time_out(&fixture, moved);
		assert_int_equal(fixture.outcome.kind, moved ? FAILURE_DEADLINE : FAILURE_IMPAIRED);
		if (!moved)
			assert_int_equal(fixture.outcome.code, IMPAIRED_LARGE_DATA);
	}
}

/* If the path MTU exceeds that of a port, this is the cause, also if only the peer's is lost. */
static void an_mtu_mismatch_is_the_cause(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		struct fixture fixture = {.mode = i & 1,
			.active = i & 2,
			.port_mtu = i & 8 ? IBV_MTU_1024 : IBV_MTU_4096,
			.peer_mtu = i & 8 ? 4096 : 1024,
			.path_mtu = IBV_MTU_4096};

		time_out(&fixture, i & 4);
		assert_int_equal(fixture.outcome.kind, FAILURE_IMPAIRED);
		assert_int_equal(fixture.outcome.code, IMPAIRED_RDMA_MTU);
	}
}

/* Soft-RoCE of Linux 6.12 gives up at the first packet that is larger than its port allows. */
static void a_packet_too_large_to_send_is_a_mismatch(void **state)
{
	static const struct failure gone = {.kind = FAILURE_GONE, .phase = PHASE_EXCHANGE};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1,
			.port_mtu = i & 2 ? IBV_MTU_1024 : IBV_MTU_4096,
			.peer_mtu = i & 2 ? 4096 : 1024,
			.path_mtu = IBV_MTU_4096};
		struct failure *failure;

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		failure = &fixture.connection->failure;
		test_data_explain_unsent(fixture.connection);
		assert_false(failure_is_set(failure));
		failure_set(failure, FAILURE_COMPLETION, PHASE_EXCHANGE, CODE_UNSENT, "ibv_poll_cq",
			"rxe0 could not send 1 packet");
		test_data_explain_unsent(fixture.connection);
		assert_int_equal(failure->kind, i & 2 ? FAILURE_IMPAIRED : FAILURE_COMPLETION);
		assert_int_equal(failure->code, i & 2 ? IMPAIRED_RDMA_MTU : CODE_UNSENT);
		fixture_close(&fixture, &gone);
		fixture_stop(&fixture);
	}
}

/* Ports with different MTUs are no fault if the path has the smaller one. */
static void different_ports_are_no_mismatch(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct fixture fixture = {.mode = i & 1,
			.active = i & 2,
			.port_mtu = i & 4 ? IBV_MTU_1024 : IBV_MTU_4096,
			.peer_mtu = i & 4 ? 4096 : 1024,
			.path_mtu = IBV_MTU_1024};

		time_out(&fixture, true);
		assert_int_equal(fixture.outcome.kind, FAILURE_DEADLINE);
	}
}

/* A peer that closes the connection at once has lost no packets. */
static void an_early_end_is_no_loss(void **state)
{
	static const struct failure gone = {.kind = FAILURE_GONE, .phase = PHASE_EXCHANGE};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct fixture fixture = {.mode = i & 1,
			.active = i & 2,
			.port_mtu = IBV_MTU_1024,
			.peer_mtu = 4096,
			.path_mtu = IBV_MTU_4096};

		fixture_exchange_regions(&fixture, PEER_MEMORY);
		fake_pass(1000);
		fixture_close(&fixture, &gone);
		assert_int_equal(fixture.outcome.kind, FAILURE_GONE);
		fixture_stop(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(texts_come_with_test_data),
		with_fixture(iwarp_and_unknown_ports_move_none),
		with_fixture(only_texts_and_new_peers_agree_on_test_data),
		with_fixture(the_client_follows_the_server),
		with_fixture(a_server_with_little_memory_accepts_none),
		with_fixture(a_region_that_is_too_small_is_a_violation),
		with_fixture(damaged_test_data_is_damage),
		with_fixture(unacknowledged_test_data_is_lost),
		with_fixture(an_mtu_mismatch_is_the_cause),
		with_fixture(a_packet_too_large_to_send_is_a_mismatch),
		with_fixture(different_ports_are_no_mismatch),
		with_fixture(an_early_end_is_no_loss),
	};

	return cmocka_run_group_tests_name("test data", tests, NULL, NULL);
}
