/*
 * What both programs do alike with what their users ask for: the session that all exchanges have in
 * common, and the line that shows how far they are. Main thread.
 */
#ifndef RDMA_SESSION_H
#define RDMA_SESSION_H

#include "base/deadline.h"
#include "base/progress.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "rdma-common.h"

/*
 * Reads the command line. True if there is nothing left to do, after --help, --version or a mistake:
 * then *status is what to exit with.
 */
bool startup_options(struct options *options, enum program program, int argc, char *argv[],
	const struct output *output, enum exit_status *status);

/* Where lines go: not to standard output if that has data or documents to take. */
struct output startup_output(const char *program, const struct options *options);

/*
 * Finds the addresses that --source names, until the deadline; none if there is no such option. The
 * caller frees them: freeaddrinfo(3). Returns 0, or -1 with the failure recorded.
 */
int server_addresses_find_source(const struct options *options, deadline_t deadline,
	struct addrinfo **sources, struct failure *failure);

/*
 * Chooses the address to connect from to one of that family, as --source, found before, or --device
 * want it; AF_UNSPEC for any. Returns 0, or -1 with the failure recorded.
 */
int server_addresses_source(const struct options *options, const struct addrinfo *sources,
	int family, struct sockaddr_storage *source, struct failure *failure);

/*
 * The address may lead through another device than --device names: then records that. Returns 0 or -1.
 */
int server_addresses_check_device(
	const struct options *options, const struct rdma_cm_id *id, struct failure *failure);

/* The server, as the command line names it: "host:port". */
#define SERVER_NAME_SIZE (ADDRESS_TEXT_SIZE + 64)

void server_name(const struct options *options, char text[SERVER_NAME_SIZE]);

/* A server that has no place is asked again after so long. */
#define RETRY_WHEN_FULL_MS 500

/* Says that it is. */
void report_server_full(const struct output *output);

/* Makes the session of the options, with this text if they have neither message nor input. */
void exchange_settings_init(struct exchange_settings *settings, const struct options *options,
	const struct output *output, struct wakeup_queue *wakeups, const char *greeting);

/*
 * True if all who open that input or output have to do with the same bytes: standard input and
 * output, a FIFO, a terminal. One peer at a time can have it.
 */
bool output_file_is_shared(const char *path);

/* Reads the secret out of that file, unless it is NULL. Returns 0, or -1 having said why not. */
int load_secret(struct secret **secret, const char *path, const struct output *output);

/*
 * Reads the secret, and looks whether the input can be read and the output be written, before anybody
 * is bothered: but not into what is shared, as whoever is at its other end would take that for the use
 * of it. Returns 0, or -1 having said why not. Input and output may still fail later.
 */
int exchange_settings_prepare(struct exchange_settings *settings);

/* Forgets the secret. All connections are gone. */
void exchange_settings_end(struct exchange_settings *settings);

/* Prints the document of an exchange that did not come to be, on standard output. */
void exchange_settings_report(const struct exchange_settings *settings, const struct mode *mode,
	const char *peer, enum exit_status status, const char *error);

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
