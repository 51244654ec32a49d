/*
 * The MSG_MR/MSG_DONE state machine: what has been sent, what has been received, and what to do
 * next. It is a pure function of its state and the event: it uses no verbs, allocates nothing and
 * never blocks, so every order of events can be tested on any machine.
 *
 * The two directions advance independently: `sent` is the progress of our messages, `received` the
 * progress of the peer's. Completions of different directions may arrive in any order (the peer's
 * MSG_MR before the completion of our own, its MSG_DONE before ours is sent). Within one direction,
 * they arrive in order, and an out-of-order event is refused. While `sent` is SENDING_DATA and
 * `received` is RECEIVED_MR, the streams run under the rules of exchange/flow-control.h.
 *
 * With a secret, MSG_PROOF precedes everything else: first the active side's, then the passive
 * side's, and only then the two MSG_MR messages, the active side's first. The caller verifies the
 * proof. Without a secret, both sides start as if the proofs had been exchanged.
 *
 * A tutorial peer has only one receive posted at a time and posts the second after receiving our
 * MSG_MR. Its MSG_DONE shows that this receive is posted, so our data and MSG_DONE are held back
 * until then. It does not know MSG_VERDICT, and it disconnects first in either role.
 */
#ifndef EXCHANGE_STATE_MACHINE_H
#define EXCHANGE_STATE_MACHINE_H

#include <stdbool.h>

enum exchange_sent {
	SENT_NOTHING,
	SENDING_PROOF,   /* MSG_PROOF posted */
	SENT_PROOF,      /* MSG_PROOF completed, or not needed */
	SENDING_MR,      /* MSG_MR posted */
	SENT_MR,         /* MSG_MR completed */
	SENDING_DATA,    /* our stream is running */
	SENDING_DONE,    /* all data is posted, followed by MSG_DONE */
	SENT_DONE,       /* MSG_DONE completed */
	SENDING_VERDICT, /* MSG_VERDICT posted */
	SENT_ALL,        /* nothing left to send */
	SENDING_ABORT,   /* we aborted; MSG_ABORT posted */
	SENT_ABORT,      /* MSG_ABORT completed, or lost */
};

enum exchange_received {
	RECEIVED_NOTHING,
	RECEIVED_PROOF, /* proof verified, or none needed */
	RECEIVED_MR,
	RECEIVED_DONE,
	RECEIVED_VERDICT,
};

enum exchange_event {
	EVENT_ESTABLISHED, /* rdmacm: the connection is established */
	EVENT_SENT_PROOF,  /* completions of our messages */
	EVENT_SENT_MR,
	EVENT_SENT_DONE,
	EVENT_SENT_VERDICT,
	EVENT_SENT_ABORT,
	EVENT_DATA_POSTED,    /* the last piece of our stream was posted or announced */
	EVENT_DELIVERED,      /* the peer's data was stored, or found damaged */
	EVENT_RECEIVED_PROOF, /* messages from the peer; this one if its proof is valid */
	EVENT_RECEIVED_MR,
	EVENT_RECEIVED_DONE,
	EVENT_RECEIVED_VERDICT,
	EVENT_RECEIVED_ABORT,
	EVENT_UNAUTHENTICATED, /* the peer's MSG_PROOF is invalid */
	EVENT_ABORTED,         /* we cannot continue; the peer must be notified */
	EVENT_FAILED,          /* the connection broke */
	EVENT_DISCONNECTED,    /* rdmacm: the peer disconnected, the queue pair is drained */
	EVENT_COUNT,
	EVENT_NONE = EVENT_COUNT /* no event; never passed to exchange_step() */
};

/*
 * Actions that exchange_step() requests; several may be set. The caller carries out
 * ACTION_SEND_PROOF first, then the sends and ACTION_DELIVER in the order below, and ACTION_FINISH
 * last: exchange/driver.c.
 */
enum exchange_action {
	ACTION_SEND_MR = 1 << 0,
	ACTION_SEND_DATA = 1 << 1, /* our stream may start */
	ACTION_SEND_DONE = 1 << 2,
	ACTION_DELIVER = 1 << 3, /* verify and keep the peer's data, then EVENT_DELIVERED */
	ACTION_SEND_VERDICT = 1 << 4,
	ACTION_SEND_ABORT = 1 << 5,
	ACTION_FINISH = 1 << 6,    /* completed or failed: disconnect */
	ACTION_VIOLATION = 1 << 7, /* the event is out of order: exchange_violation() */
	ACTION_SEND_PROOF = 1 << 8,
};

/* Rules that depend on whether the peer is one of our programs or a tutorial program. */
struct exchange_rules {
	bool hello;    /* our private data contains a hello */
	bool verdicts; /* MSG_VERDICT follows the data, and MSG_ABORT is understood */
	enum exchange_received data_after; /* the peer's message after which we send data */
};

extern const struct exchange_rules exchange_rules_ours, exchange_rules_tutorial;

struct exchange {
	const struct exchange_rules *rules;
	enum exchange_sent sent;
	enum exchange_received received;
	bool active;      /* the side that connected: it sends and disconnects first */
	bool secret;      /* both sides must prove that they hold it */
	bool established; /* the active side may send */
	bool delivered;   /* EVENT_DELIVERED occurred */
	bool ended;       /* failed, finished or disconnected: only an abort may be in flight */
};

/*
 * Initialises the state machine of an exchange, with or without a secret. On the active side the
 * rules may change until EVENT_ESTABLISHED. Any thread, like all functions here: the caller
 * serialises.
 */
void exchange_init(
	struct exchange *exchange, bool active, const struct exchange_rules *rules, bool secret);

/* Handles one event. Returns the required actions (enum exchange_action, ORed together). */
unsigned int exchange_step(struct exchange *exchange, enum exchange_event event);

/*
 * True once nothing essential is missing: the peer's data has arrived, and the peer has sent its
 * verdict on ours (a tutorial peer has acknowledged our MSG_DONE). The acknowledgement of our last
 * message no longer matters: the peer may disconnect as soon as it receives that message.
 */
bool exchange_complete(const struct exchange *exchange);

/* True once the peer's first message has arrived. */
bool exchange_has_first_message(const struct exchange *exchange);

/* True once both sides may send keepalives, which a tutorial peer does not understand. */
bool exchange_allows_keepalives(const struct exchange *exchange);

/* Returns the end of the sentence "timed out waiting for ...". Static text. */
const char *exchange_awaits(const struct exchange *exchange);

/*
 * If the event is not allowed in this state, returns the end of the sentence "received ...", for
 * example "MSG_DONE before MSG_MR". Otherwise returns NULL. Static text.
 */
const char *exchange_violation(const struct exchange *exchange, enum exchange_event event);

#endif
