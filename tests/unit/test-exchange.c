/*
 * The state machine in every order of events that two correct ends can produce.
 *
 * A world is two ends that talk to each other, each with what it has posted, what of that has
 * completed and what it has taken of the other's messages. From its start, walk() tries everything
 * that can happen next, then everything that can happen after that, and so on until every reachable
 * world has been seen. Causality comes for free: only what was posted completes, only what was sent
 * arrives. One end may be a program of the tutorial, modelled after its published source.
 *
 * In each world every event is also given to a copy of our machines: one that cannot happen there
 * must be refused by name and leave the state alone.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/exchange.h"
#include "unit.h"

/* What an end posts, in this order, and so also the order of its completions. */
enum work { WORK_MR, WORK_RDMA, WORK_DONE, WORK_VERDICT, WORKS };

struct end {
	bool tutorial;           /* runs the tutorial's rules instead of our machine */
	struct exchange machine; /* ours */
	unsigned int actions;    /* all that our machine has asked for */
	bool established;        /* rdmacm has said so */
	unsigned int posted;     /* work requests, */
	unsigned int completed;  /* of these */
	unsigned int taken;      /* messages of the other end */
	unsigned int receives;   /* the tutorial's: posted so far */
	bool left;               /* has disconnected, or has seen the other do so */
};

struct world {
	struct end ends[2]; /* the active one first */
};

/* What can happen to an end. */
enum occurrence {
	OCCURS_ESTABLISHED,
	OCCURS_COMPLETION,
	OCCURS_MESSAGE,
	OCCURS_LEAVING,
	OCCURRENCES
};

static const enum exchange_event sent_events[WORKS] = {
	EVENT_SENT_MR, EVENT_SENT_RDMA, EVENT_SENT_DONE, EVENT_SENT_VERDICT};
static const enum exchange_event received_events[] = {
	EVENT_RECEIVED_MR, EVENT_RECEIVED_DONE, EVENT_RECEIVED_VERDICT};

#define ALL_ACTIONS \
	(ACTION_SEND_MR | ACTION_SEND_DATA | ACTION_DELIVER | ACTION_SEND_VERDICT | ACTION_FINISH)

/* Every world seen, and which states of our machines were among them. */
static struct world seen[1024];
static size_t seen_count;
static bool sent_seen[SENT_ALL + 1], received_seen[RECEIVED_VERDICT + 1];

static struct world new_world(bool active_tutorial, bool passive_tutorial)
{
	struct world world;

	/* Worlds are compared by their bytes: padding too must be zero. */
	memset(&world, 0, sizeof(world));
	world.ends[0].tutorial = active_tutorial;
	world.ends[1].tutorial = passive_tutorial;
	for (unsigned int i = 0; i < 2; i++) {
		world.ends[i].machine.active = i == 0;
		world.ends[i].machine.tutorial = world.ends[!i].tutorial;
		world.ends[i].receives = 1;
	}
	return world;
}

/* How many messages are among so many work requests: the RDMA operation is none. */
static unsigned int messages(unsigned int requests)
{
	return requests - (requests > WORK_RDMA);
}

/* How many messages of this end can arrive: those not acknowledged are lost when it leaves. */
static unsigned int sent_messages(const struct end *end)
{
	return messages(end->left ? end->completed : end->posted);
}

static bool can_occur(const struct world *world, unsigned int which, enum occurrence occurrence)
{
	const struct end *end = &world->ends[which], *other = &world->ends[!which];

	if (end->left)
		return false;
	switch (occurrence) {
	case OCCURS_ESTABLISHED: /* the active end's first, the passive one's any time later */
		return !end->established && (which == 0 || other->established);
	case OCCURS_COMPLETION: /* a message completes when the other end has a receive for it */
		return end->completed < end->posted &&
		       (!other->tutorial || messages(end->completed + 1) <= other->receives);
	case OCCURS_MESSAGE:
		return end->taken < sent_messages(other);
	case OCCURS_LEAVING:
		/*
		 * What was sent before arrives before. The acknowledgement of our last message may
		 * be lost then; of a tutorial peer it is the only word that we have.
		 */
		return other->left && end->taken >= sent_messages(other) &&
		       (!other->tutorial || messages(end->completed) == other->taken);
	default:
		return false;
	}
}

/* The published program: counts its completions, and acts when both counts are right. */
static void tutorial_step(struct end *end, bool active, enum occurrence occurrence)
{
	if (occurrence == OCCURS_MESSAGE && ++end->taken == 1) {
		end->receives = 2;
		if (end->posted == 0)
			end->posted = 1;
	}
	if (occurrence == OCCURS_COMPLETION)
		end->completed++;
	if (occurrence == OCCURS_ESTABLISHED && active)
		end->posted = 1;
	if (occurrence == OCCURS_LEAVING)
		end->left = true;
	if (occurrence != OCCURS_COMPLETION && occurrence != OCCURS_MESSAGE)
		return;
	if (end->completed == 1 && end->taken == 1)
		end->posted = 3;
	else if (end->completed == 3 && end->taken == 2)
		end->left = true;
}

/* What a step may ask for: nothing twice, nothing before what comes first, an end only when due. */
static void check_actions(const struct end *end, unsigned int actions, enum exchange_event event)
{
	assert_false(actions & ACTION_VIOLATION);
	if (actions != 0)
		assert_true((actions & -actions) > end->actions);
	if (actions & ACTION_DELIVER)
		assert_true(end->taken >= 2 && end->completed >= 3);
	if (actions & ACTION_SEND_DATA && end->machine.tutorial)
		assert_int_equal(end->taken, 2);
	if (actions & ACTION_FINISH && event != EVENT_DISCONNECTED)
		assert_true(end->machine.active && !end->machine.tutorial &&
			    exchange_complete(&end->machine));
	if (!end->machine.active && end->taken == 0)
		assert_false(actions & ACTION_SEND_MR);
}

static void our_step(struct end *end, enum occurrence occurrence)
{
	enum exchange_event event = EVENT_ESTABLISHED;
	unsigned int actions;

	if (occurrence == OCCURS_COMPLETION)
		event = sent_events[end->completed++];
	else if (occurrence == OCCURS_MESSAGE)
		event = received_events[end->taken++];
	else if (occurrence == OCCURS_LEAVING)
		event = EVENT_DISCONNECTED;
	if (event >= EVENT_RECEIVED_MR && event <= EVENT_RECEIVED_VERDICT)
		assert_null(exchange_violation(&end->machine, event));
	actions = exchange_step(&end->machine, event);
	check_actions(end, actions, event);
	end->actions |= actions;
	if (actions & ACTION_SEND_MR)
		end->posted = 1;
	if (actions & ACTION_SEND_DATA)
		end->posted = 3;
	if (actions & ACTION_SEND_VERDICT)
		end->posted = 4;
	if (actions & ACTION_FINISH)
		end->left = true;
}

static void occur(struct world *world, unsigned int which, enum occurrence occurrence)
{
	struct end *end = &world->ends[which];

	if (occurrence == OCCURS_ESTABLISHED)
		end->established = true;
	if (end->tutorial)
		tutorial_step(end, which == 0, occurrence);
	else
		our_step(end, occurrence);
}

/* May this event come to our end now? More than can_occur(): the peer's speed is not ours to know.
 */
static bool is_right(const struct end *end, enum exchange_event event)
{
	switch (event) {
	case EVENT_SENT_MR:
	case EVENT_SENT_RDMA:
	case EVENT_SENT_DONE:
	case EVENT_SENT_VERDICT:
		return end->completed < end->posted && sent_events[end->completed] == event;
	case EVENT_RECEIVED_MR:
		return end->taken == 0;
	case EVENT_RECEIVED_DONE: /* the peer answers our MSG_MR */
		return end->taken == 1 && end->posted > WORK_MR;
	case EVENT_RECEIVED_VERDICT: /* the peer answers our MSG_DONE; the tutorial's knows none */
		return end->taken == 2 && end->posted > WORK_DONE && !end->machine.tutorial;
	default:
		return true;
	}
}

static void assert_refused(const struct exchange *before, enum exchange_event event)
{
	struct exchange machine = *before;
	const char *violation = exchange_violation(before, event);

	assert_int_equal(exchange_step(&machine, event), ACTION_VIOLATION | ACTION_FINISH);
	assert_true(machine.ended);
	assert_int_equal(machine.sent, before->sent);
	assert_int_equal(machine.received, before->received);
	/* Our own completions out of order are nothing that a peer could be blamed for by name. */
	if (event >= EVENT_RECEIVED_MR)
		assert_true(violation && *violation);
}

/* Gives every event to copies of the machine: wrong ones, ends, and what comes after the end. */
static void try_every_event(const struct end *end)
{
	for (enum exchange_event event = 0; event < EVENT_COUNT; event++) {
		struct exchange machine = end->machine;
		bool ends = event == EVENT_FAILED || event == EVENT_DISCONNECTED;

		if (machine.ended) {
			assert_int_equal(exchange_step(&machine, event), 0);
			assert_int_equal(machine.sent, end->machine.sent);
			assert_int_equal(machine.received, end->machine.received);
			assert_true(machine.ended);
		} else if (!is_right(end, event)) {
			assert_refused(&end->machine, event);
		} else if (ends) {
			assert_int_equal(exchange_step(&machine, event), ACTION_FINISH);
			assert_true(machine.ended);
			assert_int_equal(machine.sent, end->machine.sent);
			assert_int_equal(machine.received, end->machine.received);
		} else {
			assert_false(exchange_step(&machine, event) & ACTION_VIOLATION);
		}
	}
}

static void check_end(const struct end *end)
{
	const char *awaited;

	if (end->tutorial)
		return;
	awaited = exchange_awaits(&end->machine);
	assert_true(awaited && *awaited);
	/* Done means that both messages are where they belong and, between our programs, verified.
	 */
	if (exchange_complete(&end->machine))
		assert_true(end->actions & ACTION_DELIVER &&
			    end->taken == (end->machine.tutorial ? 2 : 3));
	sent_seen[end->machine.sent] = true;
	received_seen[end->machine.received] = true;
	try_every_event(end);
}

/* Where nothing can happen any more, all must have happened. */
static void check_final(const struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct end *end = &world->ends[i];

		assert_true(end->left);
		if (end->tutorial)
			continue;
		assert_true(exchange_complete(&end->machine));
		assert_int_equal(end->actions,
			end->machine.tutorial ? ALL_ACTIONS & ~ACTION_SEND_VERDICT : ALL_ACTIONS);
	}
}

static bool is_new(const struct world *world)
{
	for (size_t i = 0; i < seen_count; i++)
		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the padding is zero */
		if (memcmp(&seen[i], world, sizeof(*world)) == 0)
			return false;
	assert_true(seen_count < COUNT(seen));
	memcpy(&seen[seen_count++], world, sizeof(*world));
	return true;
}

static void walk(const struct world *world)
{
	bool final = true;

	if (!is_new(world))
		return;
	check_end(&world->ends[0]);
	check_end(&world->ends[1]);
	for (unsigned int i = 0; i < 2; i++)
		for (enum occurrence occurrence = 0; occurrence < OCCURRENCES; occurrence++) {
			struct world next;

			if (!can_occur(world, i, occurrence))
				continue;
			memcpy(&next, world, sizeof(next));
			occur(&next, i, occurrence);
			walk(&next);
			final = false;
		}
	if (final)
		check_final(world);
}

static void walk_from_start(bool active_tutorial, bool passive_tutorial, size_t at_least)
{
	const struct world world = new_world(active_tutorial, passive_tutorial);

	seen_count = 0;
	walk(&world);
	/* A walk that is cut short would pass as well. */
	assert_true(seen_count >= at_least);
}

static void ends_well_between_our_programs(void **state)
{
	(void)state;
	walk_from_start(false, false, 150);
}

static void ends_well_with_a_tutorial_server(void **state)
{
	(void)state;
	walk_from_start(false, true, 60);
}

static void ends_well_with_a_tutorial_client(void **state)
{
	(void)state;
	walk_from_start(true, false, 60);
}

static void reached_every_state(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sent_seen); i++)
		assert_true(sent_seen[i]);
	for (size_t i = 0; i < COUNT(received_seen); i++)
		assert_true(received_seen[i]);
}

static void starts_with_nothing_done(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct exchange machine;

		memset(&machine, 0xa5, sizeof(machine));
		exchange_init(&machine, i & 1, i & 2);
		assert_int_equal(machine.sent, SENT_NOTHING);
		assert_int_equal(machine.received, RECEIVED_NOTHING);
		assert_int_equal(machine.active, i & 1);
		assert_int_equal(machine.tutorial, (i & 2) != 0);
		assert_false(machine.ended);
		assert_false(exchange_complete(&machine));
	}
}

/* On iWARP the passive end may not be the first to send. */
static void passive_end_waits_for_the_first_message(void **state)
{
	struct exchange machine;

	(void)state;
	exchange_init(&machine, false, false);
	assert_int_equal(exchange_step(&machine, EVENT_ESTABLISHED), 0);
	assert_int_equal(exchange_step(&machine, EVENT_RECEIVED_MR), ACTION_SEND_MR);
}

static void says_what_it_waits_for(void **state)
{
	static const struct waiting {
		struct exchange machine;
		const char *awaited;
	} table[] = {
		{{.sent = SENT_NOTHING}, "its MSG_MR"},
		{{.sent = SENDING_MR}, "the acknowledgement of our MSG_MR"},
		{{.sent = SENT_MR}, "its MSG_MR"},
		{{.sent = SENT_MR, .received = RECEIVED_MR, .tutorial = true}, "its MSG_DONE"},
		{{.sent = SENDING_DATA, .received = RECEIVED_MR},
			"the completion of our RDMA operation"},
		{{.sent = SENT_DATA, .received = RECEIVED_DONE},
			"the acknowledgement of our MSG_DONE"},
		{{.sent = SENT_DONE, .received = RECEIVED_MR}, "its MSG_DONE"},
		{{.sent = SENDING_VERDICT, .received = RECEIVED_DONE}, "its MSG_VERDICT"},
		{{.sent = SENT_ALL, .received = RECEIVED_DONE}, "its MSG_VERDICT"},
		{{.sent = SENT_ALL, .received = RECEIVED_VERDICT}, "it to disconnect"},
		{{.sent = SENDING_VERDICT, .received = RECEIVED_VERDICT}, "it to disconnect"},
		{{.sent = SENT_ALL, .received = RECEIVED_DONE, .tutorial = true},
			"it to disconnect"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++)
		assert_string_equal(exchange_awaits(&table[i].machine), table[i].awaited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_nothing_done),
		cmocka_unit_test(passive_end_waits_for_the_first_message),
		cmocka_unit_test(ends_well_between_our_programs),
		cmocka_unit_test(ends_well_with_a_tutorial_server),
		cmocka_unit_test(ends_well_with_a_tutorial_client),
		cmocka_unit_test(reached_every_state),
		cmocka_unit_test(says_what_it_waits_for),
	};

	return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
