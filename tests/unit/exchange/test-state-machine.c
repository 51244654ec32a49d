/* The state machine in every order of events that two correct ends can produce.
 *
 * From the initial world (tests/unit/exchange/state-machine-model.h), walk() tries everything that
 * can happen next, and continues from each result until every reachable world has been visited. In
 * some walks our ends may also abort or lose the connection at any time.
 *
 * In each world every event is also passed to a copy of our machines. An event that is impossible
 * there must be reported as a violation and must not change what counts as received. */
#include <string.h>

#include "tests/unit/exchange/seen-states.h"
#include "tests/unit/exchange/state-machine-model.h"
#include "tests/unit/unit.h"

#define ALL_TO_TUTORIAL \
	(ACTION_SEND_MR | ACTION_SEND_DATA | ACTION_SEND_DONE | ACTION_DELIVER | ACTION_FINISH)
#define ALL_ACTIONS (ALL_TO_TUTORIAL | ACTION_SEND_VERDICT)

/* All actions of our end with a secret. */
#define ALL_WITH_SECRET (ALL_ACTIONS | ACTION_SEND_PROOF)

/* The states of our machines that the walks have reached. */
static bool sent_seen[SENT_ABORT + 1], received_seen[RECEIVED_VERDICT + 1];

/* True if our end may receive this event now. Allows more than can_occur(), because the peer's
 * speed is unknown. */
static bool is_valid(const struct end *end, enum exchange_event event)
{
	unsigned int received = end->received & ~(1U << WORK_PROOF);
	bool proved = !end->machine.secret || end->received & 1 << WORK_PROOF;
	/* With a secret the passive end sends each message in reply to one of the active end. */
	bool only_answers = end->machine.secret && end->machine.active;

	switch (event) {
	case EVENT_SENT_PROOF:
	case EVENT_SENT_MR:
	case EVENT_SENT_DONE:
	case EVENT_SENT_VERDICT:
		return end->completed < end->posted &&
		       sent_events[end->works[end->completed]] == event;
	case EVENT_DATA_POSTED:
		return (end->actions & ACTION_SEND_DATA) && !end->data_posted;
	case EVENT_DELIVERED:
		return (received & 1 << WORK_DONE) && !end->delivered;
	case EVENT_UNAUTHENTICATED:
	case EVENT_RECEIVED_PROOF:
		return !proved && (!only_answers || has_posted(end, WORK_PROOF));
	case EVENT_RECEIVED_MR:
		return proved && received == 0 && (!only_answers || has_posted(end, WORK_MR));
	case EVENT_RECEIVED_DONE: /* sent after our MSG_MR */
		return received == 1 << WORK_MR && has_posted(end, WORK_MR);
	case EVENT_RECEIVED_VERDICT: /* sent after our MSG_DONE; the tutorial has none */
		return received == (1 << WORK_MR | 1 << WORK_DONE) && has_posted(end, WORK_DONE) &&
		       end->machine.rules->verdicts;
	default:
		return true;
	}
}

/* The expected actions of an abort in this state. */
static unsigned int abort_actions(const struct end *end)
{
	return has_posted(end, first_work(end)) && end->machine.rules->verdicts ? ACTION_SEND_ABORT
										: ACTION_FINISH;
}

static void assert_refused(const struct end *end, enum exchange_event event)
{
	const char *violation = exchange_violation(&end->machine, event);
	struct exchange machine = end->machine;
	bool complete = exchange_complete(&machine);

	assert_int_equal(exchange_step(&machine, event), ACTION_VIOLATION | abort_actions(end));
	assert_true(machine.ended);
	assert_int_equal(machine.received, end->machine.received);
	assert_int_equal(exchange_complete(&machine), complete && !machine.rules->verdicts);
	/* Only messages are violations of the peer. Local completions out of order are not. */
	if (event >= EVENT_RECEIVED_PROOF && event <= EVENT_RECEIVED_VERDICT)
		assert_true(violation && *violation);
	else
		assert_null(violation);
}

/* After the end nothing more is sent. Only an abort in flight is awaited. */
static void assert_over(const struct exchange *before, enum exchange_event event)
{
	bool aborts = event == EVENT_SENT_ABORT || event == EVENT_FAILED ||
		      event == EVENT_DISCONNECTED || event == EVENT_RECEIVED_ABORT;
	struct exchange machine = *before;
	unsigned int actions = exchange_step(&machine, event);

	assert_true(machine.ended);
	assert_int_equal(machine.received, before->received);
	assert_int_equal(exchange_complete(&machine), exchange_complete(before));
	if (before->sent == SENDING_ABORT && aborts) {
		assert_int_equal(actions, ACTION_FINISH);
		assert_int_equal(machine.sent, SENT_ABORT);
	} else {
		assert_int_equal(actions, 0);
		assert_int_equal(machine.sent, before->sent);
	}
}

/* Passes every event to a copy of the machine: invalid events, ends, and events after the end. */
static void try_every_event(const struct end *end)
{
	for (enum exchange_event event = 0; event < EVENT_COUNT; event++) {
		struct exchange machine = end->machine;

		if (machine.ended) {
			assert_over(&machine, event);
		} else if (!is_valid(end, event)) {
			assert_refused(end, event);
		} else if (event == EVENT_FAILED || event == EVENT_DISCONNECTED ||
			   event == EVENT_RECEIVED_ABORT) {
			assert_int_equal(exchange_step(&machine, event), ACTION_FINISH);
			assert_true(machine.ended);
			assert_int_equal(machine.sent, end->machine.sent);
			assert_int_equal(machine.received, end->machine.received);
		} else if (event == EVENT_UNAUTHENTICATED) {
			assert_int_equal(exchange_step(&machine, event), ACTION_SEND_ABORT);
			assert_true(machine.ended);
			assert_int_equal(machine.sent, SENDING_ABORT);
			assert_false(exchange_complete(&machine));
		} else if (event == EVENT_ABORTED) {
			assert_int_equal(exchange_step(&machine, event), abort_actions(end));
			assert_true(machine.ended);
			assert_true(!machine.rules->verdicts || !exchange_complete(&machine));
		} else {
			assert_false(exchange_step(&machine, event) & ACTION_VIOLATION);
		}
	}
}

/* Complete means that both streams are delivered and, between our programs, verified. */
static void check_complete(const struct end *end, const struct end *other)
{
	if (!end->machine.rules->verdicts) {
		assert_true(end->actions & ACTION_DELIVER && has_completed(end, WORK_DONE));
		return;
	}
	assert_true(end->delivered && other->delivered);
	assert_true(has_posted(end, WORK_VERDICT) && has_posted(other, WORK_VERDICT));
	assert_false(end->aborted);
}

static void check_end(const struct end *end, const struct end *other)
{
	const char *awaited;

	if (end->tutorial)
		return;
	awaited = exchange_awaits(&end->machine);
	assert_true(awaited && *awaited);
	if (exchange_complete(&end->machine))
		check_complete(end, other);
	sent_seen[end->machine.sent] = true;
	received_seen[end->machine.received] = true;
	try_every_event(end);
}

/* An end with an unauthenticated peer sends only an abort, and neither end transfers data. */
static void check_refused(const struct end *end)
{
	assert_false(exchange_complete(&end->machine));
	assert_false(end->actions & (ACTION_SEND_DATA | ACTION_SEND_DONE | ACTION_SEND_VERDICT));
	if (end->rejects_proof)
		assert_false(end->actions & ACTION_SEND_MR);
}

/* When no further event is certain, both ends have disconnected, and the exchange is complete
 * unless an abort or a failure prevented it. */
static void check_final(const struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct end *end = &world->ends[i], *other = &world->ends[!i];
		bool strange = end->rejects_proof || other->rejects_proof;
		bool calm = !end->aborted && !other->aborted && !end->broke && !other->broke;

		assert_true(end->left);
		if (end->tutorial)
			continue;
		if (strange)
			check_refused(end);
		else if (calm)
			assert_int_equal(end->actions, other->tutorial       ? ALL_TO_TUTORIAL
						       : end->machine.secret ? ALL_WITH_SECRET
									     : ALL_ACTIONS);
		if (!exchange_complete(&end->machine))
			assert_true(strange || end->aborted || end->broke || other->broke ||
				    (other->aborted && !exchange_complete(&other->machine)));
	}
}

static void walk(const struct world *world)
{
	bool final = true;

	if (!seen_add(world, sizeof(*world)))
		return;
	check_end(&world->ends[0], &world->ends[1]);
	check_end(&world->ends[1], &world->ends[0]);
	for (unsigned int i = 0; i < 2; i++)
		for (enum occurrence occurrence = 0; occurrence < OCCURRENCES; occurrence++) {
			struct world next;

			if (!can_occur(world, i, occurrence))
				continue;
			memcpy(&next, world, sizeof(next));
			occur(&next, i, occurrence);
			walk(&next);
			final &= !must_occur(world, i, occurrence);
		}
	if (final)
		check_final(world);
}

static void walk_from_start(struct world world, size_t at_least)
{
	seen_clear();
	walk(&world);
	/* Detects a truncated walk, which would pass as well. */
	assert_true(seen_count() >= at_least);
}

static void completes_between_our_programs(void **state)
{
	(void)state;
	walk_from_start(new_world(false, false), 150);
}

static void completes_with_a_tutorial_server(void **state)
{
	(void)state;
	walk_from_start(new_world(false, true), 60);
}

static void completes_with_a_tutorial_client(void **state)
{
	(void)state;
	walk_from_start(new_world(true, false), 60);
}

static void completes_with_a_secret(void **state)
{
	(void)state;
	walk_from_start(new_world_with_secret(), 150);
}

/* One end or both reject the other's proof. */
static void unauthenticated_peers_receive_nothing(void **state)
{
	(void)state;
	for (unsigned int i = 1; i < 16; i++) {
		struct world world = new_world_with_secret();

		if ((i & 3) == 0)
			continue;
		world.ends[0].rejects_proof = i & 1;
		world.ends[1].rejects_proof = i & 2;
		world.may_give_up = i & 4;
		world.may_break = i & 8;
		walk_from_start(world, 8);
	}
}

static void ends_after_any_abort_or_break(void **state)
{
	(void)state;
	for (unsigned int tutorial = 0; tutorial < 4; tutorial++)
		for (unsigned int fault = 1; fault < 4; fault++) {
			struct world world = tutorial == 3
						     ? new_world_with_secret()
						     : new_world(tutorial == 1, tutorial == 2);

			world.may_give_up = fault & 1;
			world.may_break = fault & 2;
			walk_from_start(world, 100);
		}
}

static void every_state_was_reached(void **state)
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
	for (unsigned int i = 0; i < 8; i++) {
		const struct exchange_rules *rules =
			i & 2 ? &exchange_rules_tutorial : &exchange_rules_ours;
		struct exchange machine;

		memset(&machine, 0xa5, sizeof(machine));
		exchange_init(&machine, i & 1, rules, i & 4);
		/* Without a secret no proof is needed. */
		assert_int_equal(machine.sent, i & 4 ? SENT_NOTHING : SENT_PROOF);
		assert_int_equal(machine.received, i & 4 ? RECEIVED_NOTHING : RECEIVED_PROOF);
		assert_int_equal(machine.active, i & 1);
		assert_ptr_equal(machine.rules, rules);
		assert_false(machine.established);
		assert_false(machine.delivered);
		assert_false(machine.ended);
		assert_false(exchange_complete(&machine));
	}
}

/* On iWARP the passive end must not send first. */
static void passive_side_waits_for_the_first_message(void **state)
{
	struct exchange machine;

	(void)state;
	exchange_init(&machine, false, &exchange_rules_ours, false);
	assert_int_equal(exchange_step(&machine, EVENT_ESTABLISHED), 0);
	assert_int_equal(exchange_step(&machine, EVENT_RECEIVED_MR), ACTION_SEND_MR);
}

/* A hostile server may send MSG_MR before the client knows that the connection is established. */
static void msg_done_must_follow_our_msg_mr(void **state)
{
	struct exchange machine;

	(void)state;
	exchange_init(&machine, true, &exchange_rules_ours, false);
	assert_int_equal(exchange_step(&machine, EVENT_RECEIVED_MR), 0);
	assert_string_equal(exchange_violation(&machine, EVENT_RECEIVED_DONE),
		"MSG_DONE before sending MSG_MR");
	assert_int_equal(exchange_step(&machine, EVENT_ESTABLISHED), ACTION_SEND_MR);
	assert_null(exchange_violation(&machine, EVENT_RECEIVED_DONE));
}

/* The violations of a peer whose proof is missing, early, repeated or unexpected. */
static void names_proof_violations(void **state)
{
	struct exchange passive, active, plain;

	(void)state;
	exchange_init(&passive, false, &exchange_rules_ours, true);
	exchange_init(&active, true, &exchange_rules_ours, true);
	exchange_init(&plain, false, &exchange_rules_ours, false);
	assert_string_equal(
		exchange_violation(&passive, EVENT_RECEIVED_MR), "MSG_MR before MSG_PROOF");
	assert_string_equal(
		exchange_violation(&passive, EVENT_RECEIVED_DONE), "MSG_DONE before MSG_MR");
	assert_string_equal(
		exchange_violation(&active, EVENT_RECEIVED_PROOF), "a message out of turn");
	assert_string_equal(
		exchange_violation(&plain, EVENT_RECEIVED_PROOF), "an unexpected MSG_PROOF");
	assert_int_equal(exchange_step(&passive, EVENT_RECEIVED_PROOF), ACTION_SEND_PROOF);
	assert_string_equal(
		exchange_violation(&passive, EVENT_RECEIVED_PROOF), "a second MSG_PROOF");
	/* The acknowledgement of the local proof may arrive late. */
	assert_int_equal(exchange_step(&passive, EVENT_RECEIVED_MR), 0);
	assert_int_equal(exchange_step(&passive, EVENT_SENT_PROOF), ACTION_SEND_MR);
	assert_int_equal(exchange_step(&active, EVENT_ESTABLISHED), ACTION_SEND_PROOF);
	assert_int_equal(exchange_step(&active, EVENT_RECEIVED_PROOF), 0);
	assert_string_equal(
		exchange_violation(&active, EVENT_RECEIVED_MR), "a message out of turn");
	assert_int_equal(exchange_step(&active, EVENT_SENT_PROOF), ACTION_SEND_MR);
	assert_null(exchange_violation(&active, EVENT_RECEIVED_MR));
}

static void names_the_awaited_message(void **state)
{
	static const struct waiting {
		struct exchange machine;
		const char *awaited;
	} table[] = {
		{{.sent = SENT_NOTHING}, "MSG_PROOF"},
		{{.sent = SENDING_PROOF}, "the acknowledgement of MSG_PROOF"},
		{{.sent = SENT_PROOF}, "MSG_PROOF"},
		{{.sent = SENT_PROOF, .received = RECEIVED_PROOF}, "MSG_MR"},
		{{.sent = SENDING_MR}, "the acknowledgement of MSG_MR"},
		{{.sent = SENT_MR, .received = RECEIVED_PROOF}, "MSG_MR"},
		{{.sent = SENT_MR, .received = RECEIVED_MR, .rules = &exchange_rules_tutorial},
			"MSG_DONE, the end of its data"},
		{{.sent = SENDING_DATA, .received = RECEIVED_MR}, "the next message"},
		{{.sent = SENDING_ABORT, .received = RECEIVED_MR},
			"the acknowledgement of MSG_ABORT"},
		{{.sent = SENT_ABORT, .received = RECEIVED_MR}, "MSG_DONE, the end of its data"},
		{{.sent = SENDING_DONE, .received = RECEIVED_DONE},
			"the acknowledgement of MSG_DONE"},
		{{.sent = SENT_DONE, .received = RECEIVED_MR}, "MSG_DONE, the end of its data"},
		{{.sent = SENDING_VERDICT, .received = RECEIVED_DONE}, "MSG_VERDICT"},
		{{.sent = SENT_ALL, .received = RECEIVED_DONE}, "MSG_VERDICT"},
		{{.sent = SENT_ALL, .received = RECEIVED_VERDICT}, "the peer to disconnect"},
		{{.sent = SENDING_VERDICT, .received = RECEIVED_VERDICT, .delivered = true},
			"the peer to disconnect"},
		{{.sent = SENT_ALL, .received = RECEIVED_DONE, .rules = &exchange_rules_tutorial},
			"the peer to disconnect"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct exchange machine = table[i].machine;

		if (!machine.rules)
			machine.rules = &exchange_rules_ours;
		assert_string_equal(exchange_awaits(&machine), table[i].awaited);
	}
}

static void keepalives_follow_the_first_message(void **state)
{
	static const struct {
		struct exchange machine;
		bool allowed;
	} table[] = {
		{{.received = RECEIVED_PROOF}, false},
		{{.received = RECEIVED_MR}, true},
		{{.received = RECEIVED_NOTHING, .secret = true}, false},
		{{.received = RECEIVED_PROOF, .secret = true}, true},
		{{.received = RECEIVED_MR, .rules = &exchange_rules_tutorial}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct exchange machine = table[i].machine;

		if (!machine.rules)
			machine.rules = &exchange_rules_ours;
		assert_int_equal(exchange_allows_keepalives(&machine), table[i].allowed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_nothing_done),
		cmocka_unit_test(passive_side_waits_for_the_first_message),
		cmocka_unit_test(msg_done_must_follow_our_msg_mr),
		cmocka_unit_test(completes_between_our_programs),
		cmocka_unit_test(completes_with_a_tutorial_server),
		cmocka_unit_test(completes_with_a_tutorial_client),
		cmocka_unit_test(completes_with_a_secret),
		cmocka_unit_test(unauthenticated_peers_receive_nothing),
		cmocka_unit_test(ends_after_any_abort_or_break),
		cmocka_unit_test(keepalives_follow_the_first_message),
		cmocka_unit_test(every_state_was_reached),
		cmocka_unit_test(names_proof_violations),
		cmocka_unit_test(names_the_awaited_message),
	};

	return cmocka_run_group_tests_name("state-machine", tests, NULL, NULL);
}
