/*
 * The MSG_MR/MSG_DONE state machine: what has been sent, what has been received, and so what is to
 * be done next. It is a pure function of its state and the event; it knows no verbs, allocates
 * nothing and never blocks, so that every order of events can be tested on any machine.
 *
 * Both directions advance on their own: `sent` says how far our sending has come, `received` how
 * far the peer's. Completions may arrive in any order between the two directions (the peer's MSG_MR
 * before the completion of our own, its MSG_DONE before ours is sent); within one direction they
 * may not, and an event that breaks the order is refused. While `sent` is SENDING_DATA and
 * `received` is RECEIVED_MR the streams run, under the rules of exchange/flow-control.h.
 *
 * With a secret, MSG_PROOF comes before all else: the active side's, then the passive side's, and
 * only then the two MSG_MR, the active side's first. Whether a proof is right is for the caller to
 * say. Without a secret both sides start as if the proofs had been exchanged.
 *
 * A tutorial peer has only one receive posted at a time and posts the second when it has seen our
 * MSG_MR. Its MSG_DONE tells us that it is there, so with such a peer we hold our data and MSG_DONE
 * back until then. It knows no MSG_VERDICT, and it disconnects first, whichever its role.
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
	SENDING_DATA,    /* our stream runs */
	SENDING_DONE,    /* all of it is posted, and behind it MSG_DONE */
	SENT_DONE,       /* MSG_DONE completed */
	SENDING_VERDICT, /* MSG_VERDICT posted */
	SENT_ALL,        /* nothing left to send */
	SENDING_ABORT,   /* we gave up, and MSG_ABORT is posted */
	SENT_ABORT,      /* MSG_ABORT completed, or lost */
};

enum exchange_received {
	RECEIVED_NOTHING,
	RECEIVED_PROOF, /* a right one, or none is needed */
	RECEIVED_MR,
	RECEIVED_DONE,
	RECEIVED_VERDICT,
};

enum exchange_event {
	EVENT_ESTABLISHED, /* rdmacm: the connection stands */
	EVENT_SENT_PROOF,  /* completions of our own messages */
	EVENT_SENT_MR,
	EVENT_SENT_DONE,
	EVENT_SENT_VERDICT,
	EVENT_SENT_ABORT,
	EVENT_DATA_POSTED,    /* the last piece of our stream is posted or announced */
	EVENT_DELIVERED,      /* the peer's data is where it belongs, or found damaged */
	EVENT_RECEIVED_PROOF, /* the peer's messages; this one if its proof is right */
	EVENT_RECEIVED_MR,
	EVENT_RECEIVED_DONE,
	EVENT_RECEIVED_VERDICT,
	EVENT_RECEIVED_ABORT,
	EVENT_UNAUTHENTICATED, /* the peer's MSG_PROOF has come, and it is wrong */
	EVENT_ABORTED,         /* we cannot go on, and the peer is to be told why */
	EVENT_FAILED,          /* the connection broke */
	EVENT_DISCONNECTED,    /* rdmacm: the peer is gone, and the queue pair is drained */
	EVENT_COUNT,
	EVENT_NONE = EVENT_COUNT /* nothing happened: not for exchange_step() */
};

/*
 * What exchange_step() asks its caller to do; several may be set. The caller carries out
 * ACTION_SEND_PROOF first, then the sends and ACTION_DELIVER in the order below, and ACTION_FINISH
 * last: exchange/driver.c.
 */
enum exchange_action {
	ACTION_SEND_MR = 1 << 0,
	ACTION_SEND_DATA = 1 << 1, /* our stream may run */
	ACTION_SEND_DONE = 1 << 2,
	ACTION_DELIVER =
		1 << 3, /* the peer's data ends: verify and keep it, then EVENT_DELIVERED */
	ACTION_SEND_VERDICT = 1 << 4,
	ACTION_SEND_ABORT = 1 << 5,
	ACTION_FINISH = 1 << 6,    /* all is done, or all is lost: disconnect */
	ACTION_VIOLATION = 1 << 7, /* the event broke the order: exchange_violation() */
	ACTION_SEND_PROOF = 1 << 8,
};

/* What depends on whether the peer is one of our programs or one of the tutorial. */
struct exchange_rules {
	bool hello;    /* our private data is a hello */
	bool verdicts; /* MSG_VERDICT follows the data, and MSG_ABORT may end the exchange */
	enum exchange_received data_after; /* the peer's message after which our data may go */
};

extern const struct exchange_rules exchange_rules_ours, exchange_rules_tutorial;

struct exchange {
	const struct exchange_rules *rules;
	enum exchange_sent sent;
	enum exchange_received received;
	bool active;      /* the side that connected: it sends first and disconnects first */
	bool secret;      /* both have to prove that they hold it */
	bool established; /* the active side may send */
	bool delivered;   /* EVENT_DELIVERED has come */
	bool ended; /* failed, finished or disconnected: only an abort may still be under way */
};

/*
 * Prepares the machine for one exchange, with a secret or without. The rules may change until
 * EVENT_ESTABLISHED on the active side. Any thread, like all of this file: the caller serialises.
 */
void exchange_init(
	struct exchange *exchange, bool active, const struct exchange_rules *rules, bool secret);

/* Takes one event, returns the actions (enum exchange_action, or-ed) that it calls for. */
unsigned int exchange_step(struct exchange *exchange, enum exchange_event event);

/*
 * True when nothing of substance is missing: the peer's data is here, and the peer has said how
 * ours arrived (a tutorial peer: our MSG_DONE is acknowledged). Whether our own last word was
 * acknowledged no longer matters: the peer may disconnect as soon as it has it.
 */
bool exchange_complete(const struct exchange *exchange);

/* What the exchange is waiting for, as the end of "timed out waiting for ...". Static text. */
const char *exchange_awaits(const struct exchange *exchange);

/* What was wrong with a received message in this state: "MSG_DONE before its MSG_MR". Static. */
const char *exchange_violation(const struct exchange *exchange, enum exchange_event event);

#endif
