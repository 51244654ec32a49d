/*
 * The table of operations that a diagnosis tries: what each needs, what the server prepares, what
 * the client posts, and how both ends judge it. All functions belong to the thread of the end.
 *
 * protocol/operations.h lists the steps to add one.
 */
#ifndef CONTROL_OPERATION_TABLE_H
#define CONTROL_OPERATION_TABLE_H

#include "control/operation-end.h"

struct operation_row {
	enum operation_queue queue;

	/* Returns what this end's device lacks. Called again once the queue pair exists. */
	enum operation_lack (*lack)(const struct operation_end *end);

	/* What creating the queue pair may prove to be missing; LACK_NOTHING: it must exist. */
	enum operation_lack without_queue;

	/*
	 * Server: posts the receives, and fills the memory that the client accesses; the queue pair
	 * is connected. Returns 0 or -errno. NULL: nothing to prepare.
	 */
	int (*prepare)(struct operation_end *end, enum operation operation);

	/* Client: posts the requests. Returns 0 or -errno. */
	int (*post)(struct operation_end *end, enum operation operation,
		const struct operations_offer *theirs);

	/* Client: posts what must wait for the completion of the former. NULL: nothing. */
	int (*post_more)(struct operation_end *end, enum operation operation,
		const struct operations_offer *theirs);

	/* Client: judges requests that have all completed. NULL: there is nothing to judge. */
	void (*judge)(struct operation_end *end, enum operation operation);

	/* Server: the receives that must arrive, and their judgement. NULL: there is none. */
	uint8_t receives;
	void (*judge_there)(struct operation_end *end, enum operation operation);

	/* Client: this step must be refused by the peer's device; 0: none. */
	uint8_t refused_step;
};

extern const struct operation_row operation_rows[OPERATIONS];

#endif
