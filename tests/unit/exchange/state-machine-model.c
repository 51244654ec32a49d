/* The transitions of the state machine model: which events can occur, and what they change. */
#include <string.h>

#include "tests/unit/exchange/state-machine-model.h"
#include "tests/unit/unit.h"

const enum exchange_event sent_events[] = {
	EVENT_SENT_MR, EVENT_SENT_DONE, EVENT_SENT_VERDICT, EVENT_SENT_ABORT, EVENT_SENT_PROOF};
static const enum exchange_event received_events[] = {EVENT_RECEIVED_MR, EVENT_RECEIVED_DONE,
	EVENT_RECEIVED_VERDICT, EVENT_RECEIVED_ABORT, EVENT_RECEIVED_PROOF};
static const enum exchange_event other_events[OCCURRENCES] = {
	[OCCURS_ESTABLISHED] = EVENT_ESTABLISHED,
	[OCCURS_DATA_POSTED] = EVENT_DATA_POSTED,
	[OCCURS_DELIVERED] = EVENT_DELIVERED,
	[OCCURS_LEAVING] = EVENT_DISCONNECTED,
	[OCCURS_FLUSH] = EVENT_FAILED,
	[OCCURS_GIVING_UP] = EVENT_ABORTED,
	[OCCURS_BREAK] = EVENT_FAILED,
};

struct world new_world(bool active_tutorial, bool passive_tutorial)
{
	struct world world;

	/* Worlds are compared bytewise, so padding must be zero. */
	memset(&world, 0, sizeof(world));
	world.ends[0].tutorial = active_tutorial;
	world.ends[1].tutorial = passive_tutorial;
	for (unsigned int i = 0; i < 2; i++) {
		world.ends[i].machine.active = i == 0;
		world.ends[i].machine.rules =
			world.ends[!i].tutorial ? &exchange_rules_tutorial : &exchange_rules_ours;
		world.ends[i].machine.sent = SENT_PROOF;
		world.ends[i].machine.received = RECEIVED_PROOF;
		world.ends[i].receives = 1;
	}
	return world;
}

struct world new_world_with_secret(void)
{
	struct world world = new_world(false, false);

	for (unsigned int i = 0; i < 2; i++) {
		world.ends[i].machine.secret = true;
		world.ends[i].machine.sent = SENT_NOTHING;
		world.ends[i].machine.received = RECEIVED_NOTHING;
	}
	return world;
}

enum work first_work(const struct end *end)
{
	return end->machine.secret ? WORK_PROOF : WORK_MR;
}

static void post(struct end *end, enum work work)
{
	assert_true(end->posted < WORKS_MAX);
	end->works[end->posted++] = work;
}

bool has_posted(const struct end *end, enum work work)
{
	for (unsigned int i = 0; i < end->posted; i++)
		if (end->works[i] == work)
			return true;
	return false;
}

bool has_completed(const struct end *end, enum work work)
{
	for (unsigned int i = 0; i < end->completed; i++)
		if (end->works[i] == work)
			return true;
	return false;
}

/* Counts the messages among the first `works` works. An RDMA operation is not a message. */
static unsigned int messages(const struct end *end, unsigned int works)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < works; i++)
		count += end->works[i] != WORK_RDMA;
	return count;
}

static enum work message_at(const struct end *end, unsigned int index)
{
	unsigned int at = 0;

	while (end->works[at] == WORK_RDMA || index-- > 0)
		at++;
	return end->works[at];
}

/* Counts the messages of this end that can arrive. Unacknowledged ones are lost when it
 * disconnects. */
static unsigned int sent_messages(const struct end *end)
{
	return messages(end, end->left ? end->completed : end->posted);
}

/* A message completes only if the other end is connected and has posted a receive for it. */
static bool can_complete(const struct end *end, const struct end *other)
{
	unsigned int needed = messages(end, end->completed + 1);

	if (end->completed == end->posted)
		return false;
	return other->left ? needed <= other->taken : !other->tutorial || needed <= other->receives;
}

/* True if the other end has disconnected and everything it sent before has been received. */
static bool sees_leaving(const struct end *end, const struct end *other)
{
	if (!other->left || end->taken < sent_messages(other))
		return false;
	/* The acknowledgement of the last message may be lost. With a tutorial peer it must arrive,
	 * because it is the only confirmation. */
	return !other->tutorial || messages(end, end->completed) == other->taken;
}

bool can_occur(const struct world *world, unsigned int which, enum occurrence occurrence)
{
	const struct end *end = &world->ends[which], *other = &world->ends[!which];
	bool runs = !end->left && !end->tutorial && !end->machine.ended;

	if (end->left)
		return false;
	switch (occurrence) {
	case OCCURS_ESTABLISHED: /* at the active end first, at the passive end any time later */
		return !end->established && (which == 0 || other->established);
	case OCCURS_COMPLETION:
		return can_complete(end, other);
	case OCCURS_MESSAGE:
		return end->taken < sent_messages(other);
	case OCCURS_DATA_POSTED:
		return runs && (end->actions & ACTION_SEND_DATA) && !end->data_posted;
	case OCCURS_DELIVERED: /* a tutorial peer's text is delivered at once */
		return runs && (end->actions & ACTION_DELIVER) && !other->tutorial &&
		       !end->delivered;
	case OCCURS_LEAVING:
		return sees_leaving(end, other);
	case OCCURS_FLUSH:
		return !end->tutorial && sees_leaving(end, other) && end->completed < end->posted;
	case OCCURS_GIVING_UP:
		return world->may_give_up && runs;
	case OCCURS_BREAK:
		return world->may_break && !end->tutorial;
	default:
		return false;
	}
}

bool must_occur(const struct world *world, unsigned int which, enum occurrence occurrence)
{
	const struct end *other = &world->ends[!which];

	/* Once the other end has aborted, it may stop accepting our data. */
	if (occurrence == OCCURS_DATA_POSTED)
		return !other->left && (other->tutorial || !other->machine.ended);
	return occurrence != OCCURS_GIVING_UP && occurrence != OCCURS_BREAK;
}

/* The published program counts its completions and acts when both counts match. */
static void tutorial_step(struct end *end, bool active, enum occurrence occurrence)
{
	if (occurrence == OCCURS_MESSAGE && ++end->taken == 1) {
		end->receives = 2;
		if (end->posted == 0)
			post(end, WORK_MR);
	}
	if (occurrence == OCCURS_COMPLETION)
		end->completed++;
	if (occurrence == OCCURS_ESTABLISHED && active)
		post(end, WORK_MR);
	if (occurrence == OCCURS_LEAVING)
		end->left = true;
	if (occurrence != OCCURS_COMPLETION && occurrence != OCCURS_MESSAGE)
		return;
	if (end->completed == 1 && end->taken == 1) {
		post(end, WORK_RDMA);
		post(end, WORK_DONE);
	} else if (end->completed == 3 && end->taken == 2) {
		end->left = true;
	}
}

/* Checks that no message is sent before the one that it answers. */
static void check_sending(const struct end *end, unsigned int actions, enum exchange_event event)
{
	const struct exchange *machine = &end->machine;

	if (actions & ACTION_SEND_PROOF)
		assert_true(machine->secret &&
			    (machine->active ? end->established : end->received & 1 << WORK_PROOF));
	/* The MSG_MR may be sent only after both proofs are accepted. */
	if (actions & ACTION_SEND_MR)
		assert_true((machine->active ? end->established : end->received & 1 << WORK_MR) &&
			    (!machine->secret || (has_completed(end, WORK_PROOF) &&
							 end->received & 1 << WORK_PROOF &&
							 !end->rejects_proof)));
	if (actions & ACTION_SEND_DATA)
		assert_true(has_completed(end, WORK_MR) &&
			    end->received & 1 << (machine->rules->verdicts ? WORK_MR : WORK_DONE));
	if (actions & ACTION_SEND_DONE)
		assert_true(event == EVENT_DATA_POSTED);
	if (actions & ACTION_DELIVER)
		assert_true(end->received & 1 << WORK_DONE &&
			    (machine->rules->verdicts || has_completed(end, WORK_DONE)));
	if (actions & ACTION_SEND_VERDICT)
		assert_true(machine->rules->verdicts && end->delivered &&
			    has_completed(end, WORK_DONE));
	if (actions & ACTION_SEND_ABORT)
		assert_true(machine->rules->verdicts &&
			    (event == EVENT_UNAUTHENTICATED ||
				    (event == EVENT_ABORTED && has_posted(end, first_work(end)))));
}

/* Checks the requested actions: none is repeated, none follows an abort, and the exchange finishes
 * only when due. */
static void check_actions(const struct end *end, unsigned int actions, enum exchange_event event)
{
	static const unsigned int ends = 1U << EVENT_DISCONNECTED | 1U << EVENT_FAILED |
					 1U << EVENT_RECEIVED_ABORT | 1U << EVENT_SENT_ABORT |
					 1U << EVENT_ABORTED | 1U << EVENT_UNAUTHENTICATED;

	assert_false(actions & ACTION_VIOLATION);
	assert_false(actions & end->actions);
	if (end->actions & ACTION_SEND_ABORT)
		assert_false(actions & ~(unsigned int)ACTION_FINISH);
	check_sending(end, actions, event);
	if ((actions & ACTION_FINISH) && !(ends & 1U << event))
		assert_true(end->machine.active && end->machine.rules->verdicts &&
			    exchange_complete(&end->machine));
}

static enum exchange_event event_of(
	struct end *end, const struct end *other, enum occurrence occurrence)
{
	enum work work;

	if (occurrence == OCCURS_COMPLETION)
		return sent_events[end->works[end->completed++]];
	if (occurrence != OCCURS_MESSAGE)
		return other_events[occurrence];
	work = message_at(other, end->taken++);
	if (!end->machine.ended)
		end->received |= 1U << work;
	return work == WORK_PROOF && end->rejects_proof ? EVENT_UNAUTHENTICATED
							: received_events[work];
}

static void our_step(struct end *end, const struct end *other, enum occurrence occurrence)
{
	enum exchange_event event = event_of(end, other, occurrence);
	unsigned int actions;

	end->data_posted |= event == EVENT_DATA_POSTED;
	end->delivered |= event == EVENT_DELIVERED;
	end->aborted |= event == EVENT_ABORTED;
	end->broke |= occurrence == OCCURS_BREAK;
	if (occurrence == OCCURS_MESSAGE && !end->machine.ended)
		assert_null(exchange_violation(&end->machine, event));
	actions = exchange_step(&end->machine, event);
	check_actions(end, actions, event);
	if (actions & (ACTION_FINISH | ACTION_SEND_ABORT))
		assert_true(end->machine.ended);
	end->actions |= actions;
	if (actions & ACTION_SEND_PROOF)
		post(end, WORK_PROOF);
	if (actions & ACTION_SEND_MR)
		post(end, WORK_MR);
	if (actions & ACTION_SEND_DONE)
		post(end, WORK_DONE);
	if (actions & ACTION_SEND_VERDICT)
		post(end, WORK_VERDICT);
	if (actions & ACTION_SEND_ABORT)
		post(end, WORK_ABORT);
	if (actions & ACTION_FINISH)
		end->left = true;
}

void occur(struct world *world, unsigned int which, enum occurrence occurrence)
{
	struct end *end = &world->ends[which];

	if (occurrence == OCCURS_ESTABLISHED)
		end->established = true;
	if (end->tutorial)
		tutorial_step(end, which == 0, occurrence);
	else
		our_step(end, &world->ends[!which], occurrence);
}
