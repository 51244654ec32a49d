/* A model of two ends of an exchange: the work that each has posted, what of it has completed,
 * which of the other end's messages it has received, and what can happen next. Our ends run the
 * real state machine; the other may follow the rules of a tutorial program, modelled on its
 * published source. Causality is built in: only posted work completes, only sent messages
 * arrive. */
#ifndef TESTS_UNIT_EXCHANGE_STATE_MACHINE_MODEL_H
#define TESTS_UNIT_EXCHANGE_STATE_MACHINE_MODEL_H

#include <stdbool.h>

#include "exchange/state-machine.h"

/* Work that an end posts. It completes and arrives in the order of posting. */
enum work {
	WORK_MR,
	WORK_DONE,
	WORK_VERDICT,
	WORK_ABORT,
	WORK_PROOF, /* only with a secret */
	WORK_RDMA,  /* only from a tutorial program */
};

#define WORKS_MAX 5

struct end {
	bool tutorial;           /* follows the tutorial's rules instead of the state machine */
	struct exchange machine; /* unused in a tutorial end */
	unsigned int actions;    /* all actions that the machine has requested */
	bool established;        /* RDMA_CM_EVENT_ESTABLISHED was received */
	enum work works[WORKS_MAX];
	unsigned int posted;    /* number of valid works */
	unsigned int completed; /* number of these that have completed */
	unsigned int taken;     /* messages received from the other end */
	unsigned int received;  /* their types, a set of 1 << enum work */
	unsigned int receives;  /* receives posted so far, tutorial only */
	bool data_posted;       /* the whole local stream is posted */
	bool delivered;         /* the other end's stream is delivered */
	bool aborted, broke;
	bool rejects_proof; /* treats the other end's proof as wrong */
	bool left;          /* has disconnected or has seen the other end disconnect */
};

struct world {
	struct end ends[2]; /* active end first */
	bool may_give_up, may_break;
};

/* What can happen to an end. */
enum occurrence {
	OCCURS_ESTABLISHED,
	OCCURS_COMPLETION,
	OCCURS_MESSAGE,
	OCCURS_DATA_POSTED,
	OCCURS_DELIVERED,
	OCCURS_LEAVING, /* the other end has disconnected */
	OCCURS_FLUSH,   /* outstanding work is flushed after that */
	OCCURS_GIVING_UP,
	OCCURS_BREAK,
	OCCURRENCES
};

/* The state machine event for the completion of each work, indexed by enum work. */
extern const enum exchange_event sent_events[];

struct world new_world(bool active_tutorial, bool passive_tutorial);

/* Both ends are ours and must prove that they hold the secret. */
struct world new_world_with_secret(void);

/* Returns the first message that our end sends. */
enum work first_work(const struct end *end);
bool has_posted(const struct end *end, enum work work);
bool has_completed(const struct end *end, enum work work);

/* True if this can happen to the end next. */
bool can_occur(const struct world *world, unsigned int which, enum occurrence occurrence);

/* True if this happens eventually, regardless of what else does not. */
bool must_occur(const struct world *world, unsigned int which, enum occurrence occurrence);

/* Applies the occurrence. Fails the test if the machine requests an action that is not due. */
void occur(struct world *world, unsigned int which, enum occurrence occurrence);

#endif
