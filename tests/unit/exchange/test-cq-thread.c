/* The CQ thread handles completions however many wakeups it gets, on the fake device. */
#include "exchange/internal.h"
#include "exchange/mover.h"
#include "tests/unit/exchange/fixture.h"

/* Wakeups after which the message is considered lost. */
#define ENDLESS 1000

/* Used by the CQ thread only, except while it sleeps. */
static unsigned int turns, receives;

/*
 * Stands in for the mover's function, which runs whenever the connection has handled a wakeup or
 * completions. A message arrives during the first wakeup, and until it is received, each wakeup
 * posts the next one.
 */
static bool receive(struct connection *connection, enum exchange_event *event)
{
	*event = EVENT_NONE;
	if (turns++ == 0)
		fake_arrive(connection->id, "", 0);
	/* Once the message is handled, its receive is posted again. */
	if (fake_receives(connection->id) < receives && turns < ENDLESS)
		wakeup_queue_post(
			&connection->device->wakeups, &connection->to_thread, THREAD_MOVED);
	return false;
}

static void check(struct fixture *fixture)
{
	struct mover mover;

	fixture->input = "/dev/zero";
	fixture_start_data(fixture, PEER_MEMORY);
	if (fixture->mode == MODE_SEND)
		fixture_use_first_receives(fixture);
	mover = *fixture->connection->mover;
	mover.receive = receive;
	fixture->connection->mover = &mover;
	receives = fake_receives(fixture->id);
	turns = 0;
	wakeup_queue_post(&fixture->device->wakeups, &fixture->connection->to_thread, THREAD_MOVED);
	fake_settle();
	assert_in_range(turns, 2, 10);
	assert_int_equal(fake_receives(fixture->id), receives);
	fixture_end(fixture);
}

static void wakeups_do_not_starve_completions(void **state)
{
	(void)state;
	for_each_fixture(false, check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(wakeups_do_not_starve_completions),
	};

	return cmocka_run_group_tests_name("CQ thread", tests, NULL, NULL);
}
