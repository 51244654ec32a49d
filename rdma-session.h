/*
 * What both programs do alike with what their users ask for: the session that all exchanges have in
 * common, and the line that shows how far they are. Main thread.
 */
#ifndef RDMA_SESSION_H
#define RDMA_SESSION_H

#include "lib/deadline.h"
#include "lib/options.h"
#include "lib/progress.h"
#include "rdma-common.h"

/*
 * Reads the command line. True if there is nothing left to do, after --help, --version or a mistake:
 * then *status is what to exit with.
 */
bool session_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status);

/* Where lines go: not to standard output if that has data or documents to take. */
struct output session_output(const char *program, const struct options *options);

/*
 * Finds the addresses that --source names, until the deadline; none if there is no such option. The
 * caller frees them: freeaddrinfo(3). Returns 0, or -1 with the failure recorded.
 */
int session_find_source(const struct options *options, deadline_t deadline,
	struct addrinfo **sources, struct failure *failure);

/*
 * Chooses the address to connect from to one of that family, as --source, found before, or --device
 * want it; AF_UNSPEC for any. Returns 0, or -1 with the failure recorded.
 */
int session_source(const struct options *options, const struct addrinfo *sources, int family,
	struct sockaddr_storage *source, struct failure *failure);

/*
 * The address may lead through another device than --device names: then records that. Returns 0 or -1.
 */
int session_check_device(
	const struct options *options, const struct rdma_cm_id *id, struct failure *failure);

/* The server, as the command line names it: "host:port". */
#define SESSION_PEER_SIZE (ADDRESS_TEXT_SIZE + 64)

void session_peer(const struct options *options, char text[SESSION_PEER_SIZE]);

/* A server that has no place is asked again after so long. */
#define SESSION_AGAIN_MS 500

/* Says that it is. */
void session_tell_full(const struct output *output);

/* Makes the session of the options, with this text if they have neither message nor input. */
void session_init(struct session *session, const struct options *options,
	const struct output *output, struct mailbox *mailbox, const char *greeting);

/*
 * True if all who open that input or output have to do with the same bytes: standard input and
 * output, a FIFO, a terminal. One peer at a time can have it.
 */
bool session_shares(const char *path);

/* Reads the secret out of that file, unless it is NULL. Returns 0, or -1 having said why not. */
int session_load_secret(struct secret **secret, const char *path, const struct output *output);

/*
 * Reads the secret, and looks whether the input can be read and the output be written, before anybody
 * is bothered: but not into what is shared, as whoever is at its other end would take that for the use
 * of it. Returns 0, or -1 having said why not. Input and output may still fail later.
 */
int session_prepare(struct session *session);

/* Forgets the secret. All connections are gone. */
void session_end(struct session *session);

/* Prints the document of an exchange that did not come to be, on standard output. */
void session_report(const struct session *session, const struct mode *mode, const char *peer,
	enum exit_status status, const char *error);

/* The progress that is shown while data moves. */
struct meter {
	bool wanted, running;
	struct progress progress;
	deadline_t next;
};

void meter_init(struct meter *meter, const struct options *options);

/* Milliseconds until a line is due, -1 if none is; busy: data may be moving. */
int meter_next(struct meter *meter, bool busy);

/* Shows a line: so many bytes of that total, or of PROGRESS_UNKNOWN. */
void meter_show(struct meter *meter, const struct output *output, uint64_t bytes, uint64_t total);

#endif
