/*
 * Tries one of each operation between two hosts, in a diagnosis: see docs/protocol.md,
 * "Operations". The client sends COMMAND_OPERATIONS with its queue pairs; the server connects its
 * own to them, prepares each operation, and answers with its memory. Over iWARP, it listens, and
 * the client connects to it before the operations are prepared: COMMAND_OPERATIONS_LINK. The
 * client then carries all of them out, and sends COMMAND_OPERATIONS_END; the server answers with
 * what has arrived.
 *
 * An operation that fails breaks its queue pair, and thereby what was posted after it, which is
 * tried again in another round, with new queue pairs. All functions belong to the thread of the
 * control connection.
 */
#ifndef CONTROL_OPERATIONS_H
#define CONTROL_OPERATIONS_H

#include "control/operation-end.h"

/*
 * Client: tries all operations. Each has a result afterwards; those that the deadline did not allow
 * are OPERATION_SKIPPED. Returns 0, or -1 if the control connection has failed.
 */
int operations_try(
	struct control *control, deadline_t deadline, struct operation_result results[OPERATIONS]);

/*
 * Server: executes COMMAND_OPERATIONS with this text, and writes that of the reply. The end keeps
 * what it creates until operations_end() or operation_end_close(). Returns 0, or -EPROTO if the
 * text is malformed; nothing is kept then.
 */
int operations_begin(struct operation_end *end, struct control *control, const char *text,
	size_t size, uint8_t reply[OPERATIONS_OFFER_SIZE]);

/*
 * Server: executes COMMAND_OPERATIONS_LINK with this text, and writes that of the reply. Waits up
 * to two seconds for the client's requests. Returns 0, or -EPROTO if the text is malformed, or
 * nothing was offered over iWARP.
 */
int operations_link(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_OFFER_SIZE]);

/*
 * Server: executes COMMAND_OPERATIONS_END with this text, and writes that of the reply. Frees
 * everything. Returns 0, or -EPROTO if the text is malformed, or nothing has begun.
 */
int operations_end(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_RESULTS_SIZE]);

#endif
