/*
 * The MSG_MR/MSG_DONE state machine: one table for our messages, one for the peer's, and the rules
 * that combine the two states. Owns nothing; the caller serialises access.
 */
#include <stddef.h>

#include "exchange/state-machine.h"

/*
 * Our messages: the required and the next state of `sent`. The queue pair completes sends in order,
 * so each event is valid in exactly one state.
 */
static const struct sent_row {
	enum exchange_sent from, to;
} sent_rows[EVENT_COUNT] = {
	[EVENT_SENT_PROOF] = {SENDING_PROOF, SENT_PROOF},
	[EVENT_SENT_MR] = {SENDING_MR, SENT_MR},
	[EVENT_DATA_POSTED] = {SENDING_DATA, SENDING_DONE},
	[EVENT_SENT_DONE] = {SENDING_DONE, SENT_DONE},
	[EVENT_SENT_VERDICT] = {SENDING_VERDICT, SENT_ALL},
};

/*
 * The peer's messages: the required and the next state of `received`, and the minimum state of
 * `sent`, because the peer's message is a reply to ours.
 */
static const struct received_row {
	enum exchange_received from, to;
	enum exchange_sent at_least;
	const char *early, *repeated, *unasked;
} received_rows[EVENT_COUNT] = {
	[EVENT_RECEIVED_PROOF] = {RECEIVED_NOTHING, RECEIVED_PROOF, SENT_NOTHING, NULL,
		"a second MSG_PROOF", NULL},
	[EVENT_RECEIVED_MR] = {RECEIVED_PROOF, RECEIVED_MR, SENT_NOTHING, "MSG_MR before MSG_PROOF",
		"a second MSG_MR", NULL},
	[EVENT_RECEIVED_DONE] = {RECEIVED_MR, RECEIVED_DONE, SENDING_MR, "MSG_DONE before MSG_MR",
		"a second MSG_DONE", "MSG_DONE before sending MSG_MR"},
	[EVENT_RECEIVED_VERDICT] = {RECEIVED_DONE, RECEIVED_VERDICT, SENDING_DONE,
		"MSG_VERDICT before MSG_DONE", "a second MSG_VERDICT",
		"MSG_VERDICT before sending MSG_DONE"},
};

const struct exchange_rules exchange_rules_ours = {
	.hello = true,
	.verdicts = true,
	.data_after = RECEIVED_MR,
};
const struct exchange_rules exchange_rules_tutorial = {
	.data_after = RECEIVED_DONE,
};

void exchange_init(
	struct exchange *exchange, bool active, const struct exchange_rules *rules, bool secret)
{
	*exchange = (struct exchange){
		.rules = rules,
		.sent = secret ? SENT_NOTHING : SENT_PROOF,
		.received = secret ? RECEIVED_NOTHING : RECEIVED_PROOF,
		.active = active,
		.secret = secret,
	};
}

/* With a secret, every message but the first is a reply to a message from the active side. */
static bool is_premature(const struct exchange *exchange, enum exchange_event event)
{
	if (!exchange->secret || !exchange->active)
		return false;
	return (event == EVENT_RECEIVED_PROOF && exchange->sent < SENDING_PROOF) ||
	       (event == EVENT_RECEIVED_MR && exchange->sent < SENDING_MR);
}

const char *exchange_violation(const struct exchange *exchange, enum exchange_event event)
{
	const struct received_row *row = &received_rows[event];

	if (row->to == RECEIVED_NOTHING)
		return NULL;
	if (event == EVENT_RECEIVED_VERDICT && !exchange->rules->verdicts)
		return "MSG_VERDICT, which tutorial programs do not send";
	if (event == EVENT_RECEIVED_PROOF && !exchange->secret)
		return "an unexpected MSG_PROOF";
	if (exchange->received < row->from)
		return row->early;
	if (exchange->received > row->from)
		return row->repeated;
	if (is_premature(exchange, event))
		return "a message out of turn";
	return exchange->sent < row->at_least ? row->unasked : NULL;
}

/* Records the event. Returns false if the event is not currently allowed. */
static bool advance(struct exchange *exchange, enum exchange_event event)
{
	const struct sent_row *sent = &sent_rows[event];
	const struct received_row *received = &received_rows[event];

	if (event == EVENT_ESTABLISHED) {
		exchange->established = true;
	} else if (event == EVENT_DELIVERED) {
		if (exchange->received < RECEIVED_DONE || exchange->delivered)
			return false;
		exchange->delivered = true;
	} else if (sent->to != SENT_NOTHING) {
		if (exchange->sent != sent->from)
			return false;
		exchange->sent = sent->to;
	} else if (received->to != RECEIVED_NOTHING) {
		if (exchange_violation(exchange, event))
			return false;
		exchange->received = received->to;
	}
	return true;
}

bool exchange_has_first_message(const struct exchange *exchange)
{
	return exchange->received >= (exchange->secret ? RECEIVED_PROOF : RECEIVED_MR);
}

bool exchange_allows_keepalives(const struct exchange *exchange)
{
	return exchange->rules->hello && exchange_has_first_message(exchange);
}

/*
 * True if the queue pair can send. The active side can send once rdmacm reports the connection
 * established, even if the peer's message arrives earlier. The passive side only replies: iWARP
 * requires this, and the peer's message proves that the connection is established.
 */
static bool may_send(const struct exchange *exchange)
{
	return exchange->active ? exchange->established : exchange_has_first_message(exchange);
}

/*
 * Our region is announced once the peer has authenticated itself. Again, the passive side only
 * replies.
 */
static bool may_send_region(const struct exchange *exchange)
{
	return exchange->sent == SENT_PROOF && may_send(exchange) &&
	       exchange->received >= (exchange->active ? RECEIVED_PROOF : RECEIVED_MR);
}

/* Without verdicts, the exchange is complete once our RDMA operation and MSG_DONE are. */
static unsigned int finish_without_verdict(struct exchange *exchange)
{
	if (exchange->sent != SENT_DONE || exchange->received < RECEIVED_DONE)
		return 0;
	exchange->sent = SENT_ALL;
	return ACTION_DELIVER;
}

/* Requests, in order, every action that the state now allows. */
static unsigned int act(struct exchange *exchange, enum exchange_event event)
{
	unsigned int actions = 0;

	if (exchange->sent == SENT_NOTHING && may_send(exchange)) {
		exchange->sent = SENDING_PROOF;
		actions |= ACTION_SEND_PROOF;
	}
	if (may_send_region(exchange)) {
		exchange->sent = SENDING_MR;
		actions |= ACTION_SEND_MR;
	}
	if (exchange->sent == SENT_MR && exchange->received >= exchange->rules->data_after) {
		exchange->sent = SENDING_DATA;
		actions |= ACTION_SEND_DATA;
	}
	if (event == EVENT_DATA_POSTED)
		actions |= ACTION_SEND_DONE;
	if (!exchange->rules->verdicts)
		return actions | finish_without_verdict(exchange);
	if (event == EVENT_RECEIVED_DONE)
		actions |= ACTION_DELIVER;
	if (exchange->sent == SENT_DONE && exchange->delivered) {
		exchange->sent = SENDING_VERDICT;
		actions |= ACTION_SEND_VERDICT;
	}
	if (exchange->sent == SENT_ALL && exchange->received == RECEIVED_VERDICT &&
		exchange->active) {
		exchange->ended = true;
		actions |= ACTION_FINISH;
	}
	return actions;
}

/*
 * Refuses a peer that does not hold our secret. Its message shows that it can receive the
 * MSG_ABORT.
 */
static unsigned int reject_peer(struct exchange *exchange)
{
	exchange->ended = true;
	exchange->sent = SENDING_ABORT;
	return ACTION_SEND_ABORT;
}

/* Aborts: the peer is notified, if it understands MSG_ABORT, before the connection ends. */
static unsigned int abort_exchange(struct exchange *exchange)
{
	exchange->ended = true;
	if (!exchange->rules->verdicts || !may_send(exchange))
		return ACTION_FINISH;
	exchange->sent = SENDING_ABORT;
	return ACTION_SEND_ABORT;
}

/* After the end, waits for MSG_ABORT, the only message that may still be in flight. */
static unsigned int step_after_end(struct exchange *exchange, enum exchange_event event)
{
	if (exchange->sent != SENDING_ABORT)
		return 0;
	if (event != EVENT_SENT_ABORT && event != EVENT_FAILED && event != EVENT_DISCONNECTED &&
		event != EVENT_RECEIVED_ABORT)
		return 0;
	exchange->sent = SENT_ABORT;
	return ACTION_FINISH;
}

unsigned int exchange_step(struct exchange *exchange, enum exchange_event event)
{
	if (exchange->ended)
		return step_after_end(exchange, event);
	switch (event) {
	case EVENT_FAILED:
	case EVENT_DISCONNECTED:
	case EVENT_RECEIVED_ABORT:
	case EVENT_SENT_ABORT:
		exchange->ended = true;
		return ACTION_FINISH;
	case EVENT_ABORTED:
		return abort_exchange(exchange);
	case EVENT_UNAUTHENTICATED:
		/* A proof out of order is a violation, whether or not it is valid. */
		if (exchange_violation(exchange, EVENT_RECEIVED_PROOF))
			return ACTION_VIOLATION | abort_exchange(exchange);
		return reject_peer(exchange);
	case EVENT_ESTABLISHED:
	case EVENT_SENT_PROOF:
	case EVENT_SENT_MR:
	case EVENT_SENT_DONE:
	case EVENT_SENT_VERDICT:
	case EVENT_DATA_POSTED:
	case EVENT_DELIVERED:
	case EVENT_RECEIVED_PROOF:
	case EVENT_RECEIVED_MR:
	case EVENT_RECEIVED_DONE:
	case EVENT_RECEIVED_VERDICT:
	case EVENT_NONE:
		break;
	}
	if (!advance(exchange, event))
		return ACTION_VIOLATION | abort_exchange(exchange);
	return act(exchange, event);
}

bool exchange_complete(const struct exchange *exchange)
{
	if (!exchange->rules->verdicts)
		return exchange->sent == SENT_ALL;
	return exchange->received == RECEIVED_VERDICT &&
	       (exchange->sent == SENDING_VERDICT || exchange->sent == SENT_ALL) &&
	       exchange->delivered;
}

/* The next message expected from the peer. */
static const char *missing(const struct exchange *exchange)
{
	static const char *const messages[] = {
		[RECEIVED_NOTHING] = "MSG_PROOF",
		[RECEIVED_PROOF] = "MSG_MR",
		[RECEIVED_MR] = "MSG_DONE, the end of its data",
		[RECEIVED_DONE] = "MSG_VERDICT",
	};

	if (exchange->received == RECEIVED_VERDICT || exchange_complete(exchange))
		return "the peer to disconnect";
	return messages[exchange->received];
}

const char *exchange_awaits(const struct exchange *exchange)
{
	switch (exchange->sent) {
	case SENDING_PROOF:
		return "the acknowledgement of MSG_PROOF";
	case SENDING_MR:
		return "the acknowledgement of MSG_MR";
	case SENDING_DATA:
		return "the next message";
	case SENDING_DONE:
		return "the acknowledgement of MSG_DONE";
	case SENDING_ABORT:
		return "the acknowledgement of MSG_ABORT";
	case SENT_NOTHING:
	case SENT_PROOF:
	case SENT_MR:
	case SENT_DONE:
	case SENDING_VERDICT:
	case SENT_ALL:
	case SENT_ABORT:
		break;
	}
	return missing(exchange);
}
