/* A server that accepts any mode finds out which one a tutorial client uses. */
#include "tests/unit/exchange/fixture.h"

static const struct message client_done = {.type = MSG_DONE};

/* Starts an exchange in which both MSG_MR messages have been sent. Returns the exposed memory. */
static char *start(struct fixture *fixture)
{
	static const char text[] = "the client's text";

	memcpy(fixture->peer_memory, text, sizeof(text));
	fixture_exchange_regions(fixture, SINK_TEXT_SIZE);
	return (char *)(uintptr_t)fixture_last(fixture, MSG_MR).address;
}

/* Receives the client's MSG_DONE. Our data follows with this opcode, and MSG_DONE with a fence. */
static void expect_operation(struct fixture *fixture, enum ibv_wr_opcode opcode)
{
	assert_int_equal(fake_sends(fixture->id), 1);
	fixture_receive(fixture, &client_done);
	assert_int_equal(fake_sends(fixture->id), 3);
	assert_int_equal(fake_send(fixture->id, 1).opcode, opcode);
	assert_int_equal(fake_send(fixture->id, 2).flags,
		IBV_SEND_SIGNALED | (opcode == IBV_WR_RDMA_READ ? IBV_SEND_FENCE : 0));
}

static void expect_end(struct fixture *fixture, const char *text, const char *transcript)
{
	fixture_complete_all(fixture);
	fixture_end(fixture);
	assert_false(failure_is_set(&fixture->outcome));
	assert_non_null(strstr(fixture->printed, text));
	assert_non_null(strstr(fixture->printed, transcript));
}

static void the_exposed_region_has_both_rights_and_our_text(void **state)
{
	struct fixture fixture = {.mode = MODE_ANY, .tutorial = true};
	const char *exposed;
	int access;

	(void)state;
	exposed = start(&fixture);
	assert_int_equal(
		fake_region(fixture_last(&fixture, MSG_MR).rkey, &access)->length, SINK_TEXT_SIZE);
	assert_int_equal(
		access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_string_equal(exposed, "ours");
	fixture_receive(&fixture, &client_done);
	expect_end(&fixture, "the client's text", "reading message from");
}

static void a_client_that_leaves_our_region_unchanged_is_read(void **state)
{
	struct fixture fixture = {.mode = MODE_ANY, .tutorial = true};

	(void)state;
	start(&fixture);
	expect_operation(&fixture, IBV_WR_RDMA_READ);
	expect_end(&fixture, "remote buffer: the client's text\n", "reading message from");
}

static void a_client_that_wrote_is_written_to(void **state)
{
	struct fixture fixture = {.mode = MODE_ANY, .tutorial = true};
	char *exposed;

	(void)state;
	exposed = start(&fixture);
	memcpy(exposed, "written", sizeof("written"));
	expect_operation(&fixture, IBV_WR_RDMA_WRITE);
	/* What it writes after MSG_DONE does not change what was received. */
	fixture_complete(&fixture, IBV_WC_SUCCESS);
	memcpy(exposed, "too late", sizeof("too late"));
	expect_end(&fixture, "remote buffer: written\n", "writing message to");
	assert_string_equal((char *)fixture.peer_memory, "ours");
}

/* The tutorial's programs write a whole region, so one byte of it shows even an equal text. */
static void a_client_that_wrote_our_own_text_is_recognised(void **state)
{
	struct fixture fixture = {.mode = MODE_ANY, .tutorial = true};
	char *exposed;

	(void)state;
	exposed = start(&fixture);
	memset(exposed, 0, SINK_TEXT_SIZE);
	memcpy(exposed, "ours", sizeof("ours"));
	expect_operation(&fixture, IBV_WR_RDMA_WRITE);
	expect_end(&fixture, "remote buffer: ours\n", "writing message to");
	assert_string_equal((char *)fixture.peer_memory, "ours");
}

/* Such a text leaves no byte for that. */
static void a_text_that_fills_the_region_is_served(void **state)
{
	char text[SINK_TEXT_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (unsigned int writes = 0; writes < 2; writes++) {
		struct fixture fixture = {.mode = MODE_ANY, .tutorial = true, .message = text};
		char *exposed = start(&fixture);

		if (writes)
			memset(exposed, 0, SINK_TEXT_SIZE);
		expect_operation(&fixture, writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
		expect_end(&fixture,
			"remote buffer: ", writes ? "writing message to" : "reading message from");
		if (writes)
			assert_string_equal((char *)fixture.peer_memory, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(the_exposed_region_has_both_rights_and_our_text),
		with_fixture(a_client_that_leaves_our_region_unchanged_is_read),
		with_fixture(a_client_that_wrote_is_written_to),
		with_fixture(a_client_that_wrote_our_own_text_is_recognised),
		with_fixture(a_text_that_fills_the_region_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
