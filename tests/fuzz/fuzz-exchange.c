/*
 * The state machine with a peer, a queue pair and a main thread that do anything: each byte is an
 * event. Beside it stands what has happened, in plain words, and what may follow from that.
 */
#include "exchange/state-machine.h"
#include "tests/fuzz/fuzz.h"

#define EVENT(event) (1U << (event))

/* What may be asked for but once in an exchange: everything. */
struct history {
	unsigned int events;  /* that came and were in order */
	unsigned int actions; /* that were asked for */
	bool ended;
};

static bool had(const struct history *history, enum exchange_event event)
{
	return history->events & EVENT(event);
}

/* With a secret each message of the passive side's, but for its last, answers one of ours. */
static bool is_answer(
	const struct exchange *exchange, const struct history *history, enum exchange_event event)
{
	if (!exchange->secret || !exchange->active)
		return true;
	if (event == EVENT_RECEIVED_PROOF)
		return history->actions & ACTION_SEND_PROOF;
	return event != EVENT_RECEIVED_MR || history->actions & ACTION_SEND_MR;
}

/* Whether an event is right now: the completion of what was asked for, or what the peer may say. */
static bool may_come(
	const struct exchange *exchange, const struct history *history, enum exchange_event event)
{
	/* What must have been asked for, and what must have come. */
	static const struct {
		unsigned int actions, events;
	} needs[EVENT_COUNT] = {
		[EVENT_SENT_PROOF] = {ACTION_SEND_PROOF, 0},
		[EVENT_SENT_MR] = {ACTION_SEND_MR, 0},
		[EVENT_DATA_POSTED] = {ACTION_SEND_DATA, 0},
		[EVENT_SENT_DONE] = {ACTION_SEND_DONE, 0},
		[EVENT_SENT_VERDICT] = {ACTION_SEND_VERDICT, 0},
		[EVENT_DELIVERED] = {0, EVENT(EVENT_RECEIVED_DONE)},
		[EVENT_RECEIVED_DONE] = {ACTION_SEND_MR, EVENT(EVENT_RECEIVED_MR)},
		[EVENT_RECEIVED_VERDICT] = {ACTION_SEND_DONE, EVENT(EVENT_RECEIVED_DONE)},
	};

	if (event == EVENT_ESTABLISHED)
		return true;
	if (event == EVENT_RECEIVED_VERDICT && exchange->tutorial)
		return false;
	if (event == EVENT_RECEIVED_PROOF && !exchange->secret)
		return false;
	if (event == EVENT_RECEIVED_MR && exchange->secret && !had(history, EVENT_RECEIVED_PROOF))
		return false;
	return !had(history, event) && !(needs[event].actions & ~history->actions) &&
	       !(needs[event].events & ~history->events) && is_answer(exchange, history, event);
}

static bool is_end(enum exchange_event event)
{
	return event == EVENT_SENT_ABORT || event == EVENT_RECEIVED_ABORT ||
	       event == EVENT_UNAUTHENTICATED || event == EVENT_ABORTED || event == EVENT_FAILED ||
	       event == EVENT_DISCONNECTED;
}

/* Our proof and our MSG_MR are sent as soon as they may be, and not before. */
static void check_opening(const struct exchange *exchange, const struct history *history)
{
	bool proved = !exchange->secret ||
		      (had(history, EVENT_RECEIVED_PROOF) && had(history, EVENT_SENT_PROOF));
	bool proves = exchange->secret &&
		      had(history, exchange->active ? EVENT_ESTABLISHED : EVENT_RECEIVED_PROOF);
	bool tells =
		proved && had(history, exchange->active ? EVENT_ESTABLISHED : EVENT_RECEIVED_MR);

	fuzz_check(proves || !(history->actions & ACTION_SEND_PROOF));
	fuzz_check(tells || !(history->actions & ACTION_SEND_MR));
	if (!exchange->ended)
		fuzz_check((!proves || history->actions & ACTION_SEND_PROOF) &&
			   (!tells || history->actions & ACTION_SEND_MR));
}

/* Whoever gives up has said something before, but for the server that does not know its client. */
static void check_abort(
	const struct exchange *exchange, const struct history *history, enum exchange_event event)
{
	unsigned int first = exchange->secret ? ACTION_SEND_PROOF : ACTION_SEND_MR;

	fuzz_check(!exchange->tutorial);
	fuzz_check(
		history->actions & first || (event == EVENT_UNAUTHENTICATED && !exchange->active));
}

/* Each of our messages follows what it answers. */
static void check_sending(const struct exchange *exchange, const struct history *history,
	unsigned int actions, enum exchange_event event)
{
	enum exchange_event data_needs =
		exchange->tutorial ? EVENT_RECEIVED_DONE : EVENT_RECEIVED_MR;

	if (actions & ACTION_SEND_DATA)
		fuzz_check(had(history, EVENT_SENT_MR) && had(history, data_needs));
	if (actions & ACTION_SEND_DONE)
		fuzz_check(event == EVENT_DATA_POSTED && history->actions & ACTION_SEND_DATA);
	if (actions & ACTION_DELIVER)
		fuzz_check(had(history, EVENT_RECEIVED_DONE));
	if (actions & ACTION_SEND_VERDICT)
		fuzz_check(!exchange->tutorial && had(history, EVENT_DELIVERED) &&
			   had(history, EVENT_SENT_DONE));
	if (actions & ACTION_SEND_ABORT)
		check_abort(exchange, history, event);
}

/* All is over at once, or when the peer had the time to hear why. */
static void check_end(
	const struct exchange *exchange, const struct history *history, unsigned int actions)
{
	static const unsigned int last_actions = ACTION_SEND_ABORT | ACTION_FINISH;

	fuzz_check(!(actions & ACTION_VIOLATION) || actions & last_actions);
	fuzz_check((actions & last_actions) != last_actions);
	if (exchange->ended)
		fuzz_check((history->actions | actions) & last_actions);
	else
		fuzz_check(!(actions & last_actions));
	if (history->ended)
		fuzz_check(exchange->ended && !(actions & ~(unsigned int)ACTION_FINISH));
}

static void check_complete(const struct exchange *exchange, const struct history *history)
{
	const char *awaited = exchange_awaits(exchange);

	fuzz_check(awaited && *awaited);
	if (!exchange_complete(exchange))
		return;
	fuzz_check(had(history, EVENT_RECEIVED_DONE) && had(history, EVENT_SENT_DONE));
	fuzz_check(history->actions & ACTION_DELIVER);
	if (!exchange->tutorial)
		fuzz_check(had(history, EVENT_RECEIVED_VERDICT) && had(history, EVENT_DELIVERED) &&
			   history->actions & ACTION_SEND_VERDICT &&
			   !(history->actions & ACTION_SEND_ABORT));
}

/* A wrong proof is the end: its sender is told so, if a proof was due. */
static void check_unauthenticated(
	const struct exchange *exchange, const struct history *history, unsigned int actions)
{
	fuzz_check(exchange->ended);
	if (may_come(exchange, history, EVENT_RECEIVED_PROOF))
		fuzz_check(actions == ACTION_SEND_ABORT && !exchange_complete(exchange));
	else
		fuzz_check(actions & ACTION_VIOLATION);
}

static void take(struct exchange *exchange, struct history *history, enum exchange_event event)
{
	struct exchange before = *exchange, twin = *exchange;
	const char *violation = exchange_violation(exchange, event);
	unsigned int actions = exchange_step(exchange, event);

	/* A pure function. */
	fuzz_check(exchange_step(&twin, event) == actions);
	fuzz_check(twin.sent == exchange->sent && twin.received == exchange->received);
	fuzz_check(twin.delivered == exchange->delivered && twin.ended == exchange->ended);
	fuzz_check(exchange->sent >= before.sent && exchange->received >= before.received);
	fuzz_check(!(history->actions & actions));
	fuzz_check(before.ended || !violation || (*violation && actions & ACTION_VIOLATION));
	if (!before.ended && !is_end(event))
		fuzz_check(may_come(exchange, history, event) == !(actions & ACTION_VIOLATION));
	if (!before.ended && event == EVENT_UNAUTHENTICATED)
		check_unauthenticated(exchange, history, actions);
	if (!before.ended && !(actions & ACTION_VIOLATION))
		history->events |= EVENT(event);
	check_end(exchange, history, actions);
	history->ended = exchange->ended;
	check_sending(exchange, history, actions, event);
	history->actions |= actions;
	check_opening(exchange, history);
	check_complete(exchange, history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct history history = {0};
	struct exchange exchange;
	uint8_t kind = fuzz_byte(&input);

	/* No program of the tutorial has a secret. */
	exchange_init(&exchange, kind & 1, (kind & 6) == 2, kind & 4);
	while (input.left > 0)
		take(&exchange, &history, (enum exchange_event)(fuzz_byte(&input) % EVENT_COUNT));
	/* Whatever came before, the connection's end is the end. */
	take(&exchange, &history, EVENT_DISCONNECTED);
	fuzz_check(exchange.ended && history.actions & ACTION_FINISH);
	return 0;
}
