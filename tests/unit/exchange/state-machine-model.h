/*
 * Two ends of an exchange as a model: what each has posted, what of that has completed, what it has
 * taken of the other's messages, and what can happen next. Ours is the state machine; the other may
 * be a program of the tutorial, modelled after its published source. Causality comes for free: only
 * what was posted completes, only what was sent arrives.
 */
#ifndef TESTS_UNIT_EXCHANGE_STATE_MACHINE_MODEL_H
#define TESTS_UNIT_EXCHANGE_STATE_MACHINE_MODEL_H

#include <stdbool.h>

#include "exchange/state-machine.h"

/* What an end posts; in the order of posting it completes, and arrives. */
enum work {
	WORK_MR,
	WORK_DONE,
	WORK_VERDICT,
	WORK_ABORT,
	WORK_PROOF, /* with a secret */
	WORK_RDMA,  /* the tutorial's */
};

#define WORKS_MAX 5

struct end {
	bool tutorial;           /* runs the tutorial's rules instead of our machine */
	struct exchange machine; /* ours */
	unsigned int actions;    /* all that our machine has asked for */
	bool established;        /* rdmacm has said so */
	enum work works[WORKS_MAX];
	unsigned int posted;    /* of works, */
	unsigned int completed; /* of these */
	unsigned int taken;     /* messages of the other end, */
	unsigned int received;  /* of these kinds (1 << enum work) */
	unsigned int receives;  /* the tutorial's: posted so far */
	bool data_posted;       /* our stream has come to its end */
	bool delivered;         /* the other's is where it belongs */
	bool aborted, broke;
	bool rejects_proof; /* to it the other's proof is wrong */
	bool left;          /* has disconnected, or has seen the other do so */
};

struct world {
	struct end ends[2]; /* the active one first */
	bool may_give_up, may_break;
};

/* What can happen to an end. */
enum occurrence {
	OCCURS_ESTABLISHED,
	OCCURS_COMPLETION,
	OCCURS_MESSAGE,
	OCCURS_DATA_POSTED,
	OCCURS_DELIVERED,
	OCCURS_LEAVING, /* the other has left */
	OCCURS_FLUSH,   /* and what we had posted comes back */
	OCCURS_GIVING_UP,
	OCCURS_BREAK,
	OCCURRENCES
};

/* The event that the completion of a work is to our machine. */
extern const enum exchange_event sent_events[];

struct world new_world(bool active_tutorial, bool passive_tutorial);

/* One of two of our programs that have to prove that they hold a secret. */
struct world new_world_with_secret(void);

/* What our end sends before all else. */
enum work first_work(const struct end *end);
bool has_posted(const struct end *end, enum work work);
bool has_completed(const struct end *end, enum work work);

/* True if this can happen to that end next. */
bool can_occur(const struct world *world, unsigned int which, enum occurrence occurrence);

/* True if it will happen some day, whatever else does not. */
bool must_occur(const struct world *world, unsigned int which, enum occurrence occurrence);

/* Makes it happen. Fails the test if our machine asks for something that is not due. */
void occur(struct world *world, unsigned int which, enum occurrence occurrence);

#endif
