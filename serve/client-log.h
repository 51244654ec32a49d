/*
 * The lines that a server prints about clients that it refuses and about sessions that fail. A
 * hostile client can cause any number of them. Therefore, of each kind and address, only the first
 * refusal, or the first CLIENT_LOG_FAILURES failures, are printed within a minute; the others are
 * counted, and their number is printed at the end of that minute.
 *
 * The port of the client's address is ignored, and of an IPv6 address all but the network (/64), in
 * which one host can have any address. A client that does not have the secret counts as
 * refused, even if the connection was accepted so that it could prove that it has. The memory is
 * fixed: when all entries are in use, clients of further addresses are counted together.
 *
 * Nothing here reads the clock. Any thread.
 */
#ifndef SERVE_CLIENT_LOG_H
#define SERVE_CLIENT_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/output.h"

/* How long repetitions are counted until their number is printed, in milliseconds. */
#define CLIENT_LOG_PERIOD 60000

/* Failures of one kind and address that are printed in that time. */
#define CLIENT_LOG_FAILURES 50

/* Kinds and addresses that are known at the same time. */
#define CLIENT_LOG_ENTRIES 64

/* Refusals or failures of one kind and address. */
struct client_log_entry {
	deadline_t end; /* of the period; 0: this entry is free */
	char address[ADDRESS_TEXT_SIZE];
	enum failure_kind kind; /* FAILURE_REFUSED with the enum refusal as its code */
	enum phase phase;
	int code;
	unsigned int printed; /* lines in this period */
	uint64_t counted;     /* others in this period */
	char line[320];       /* what is printed with their number, truncated */
};

struct client_log {
	const struct output *output;
	pthread_mutex_t lock;                                    /* guards the members below */
	struct client_log_entry entries[CLIENT_LOG_ENTRIES + 1]; /* the last: other addresses */
};

void client_log_init(struct client_log *log, const struct output *output);

/* Reports that the client at `peer`, "ADDRESS:PORT", was refused. The cause is static text. */
void client_log_refusal(struct client_log *log, const char *peer, enum refusal refusal,
	const char *cause, deadline_t now);

/*
 * Reports that the session of this client failed. Returns the line, stored in text, even if it was
 * only counted; NULL if no failure is set.
 */
const char *client_log_failure(struct client_log *log, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE], deadline_t now);

/*
 * True if refusals or failures of this client's address are only counted now, so that nothing that
 * it causes should be printed.
 */
bool client_log_is_counting(struct client_log *log, const char *peer);

/* Prints a line of a client's transcript, unless repetitions of its address are being counted. */
void client_log_step(struct client_log *log, const char *peer, const char *step);

/* Milliseconds until client_log_print_counts() is due; -1: nothing to print. */
int client_log_next(struct client_log *log, deadline_t now);

/* Prints the numbers of the periods that have ended. */
void client_log_print_counts(struct client_log *log, deadline_t now);

/* Prints the numbers of all periods. The log must not be used any longer. */
void client_log_end(struct client_log *log);

#endif
