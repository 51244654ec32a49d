/*
 * Shared by exchanges and the main thread: the settings for all exchanges of a process, the
 * contents of a client's request, and the events that a connection posts to the main thread.
 */
#ifndef EXCHANGE_SETTINGS_H
#define EXCHANGE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/ordering.h"
#include "base/output.h"
#include "base/wakeup-queue.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "stream/output-file.h"
#include "stream/source.h"

/* The settings for all exchanges of a process. Constant while connections exist. */
struct exchange_settings {
	const struct output *output;
	struct wakeup_queue *wakeups; /* the main thread's */
	const char *message;          /* text to send if there is no input */
	size_t message_size;          /* including the terminating zero, at most SINK_TEXT_SIZE */
	const char *input;            /* path of the data to send; NULL: the message */
	const char *const *inputs;    /* all paths, if the plans say that we send a tree */
	unsigned int input_count;
	const char *const *excluded; /* patterns of what a tree omits */
	unsigned int excluded_count;
	unsigned int kept; /* attributes of trees: enum attributes_kept; a server's, if asked */
	bool numeric_ids;  /* users and groups keep their numbers */
	struct output_file_options output_file; /* for the peer's data; output NULL: print it */
	bool direct;                            /* read a file past the page cache */
	uint8_t plans;             /* what we send and store: enum hello_flag; 0: unknown */
	uint64_t buffer;           /* registered bytes for data per connection, both directions */
	bool buffer_grows;         /* it was not chosen: fast links have more */
	uint32_t chunk, depth;     /* 0: chosen for the device */
	unsigned int workers;      /* threads that read or write a file; 0: chosen for its size */
	enum ordering ordering;    /* of the data */
	int64_t timeout;           /* idle timeout of the peer, milliseconds */
	int dscp;                  /* requested for packets; -1: none */
	const char *secret_file;   /* NULL: none */
	struct secret *secret;     /* loaded from secret_file */
	int64_t handshake_timeout; /* passive side: from request to MSG_MR, milliseconds */
	uint64_t max_size;         /* bytes that the peer may send; 0: unlimited */
	bool active;               /* client side */
};

/*
 * Opens what to send: the input, the inputs or the message. Returns 0, or -1 with the failure of
 * this phase recorded. Waits for the input's file system. Any thread.
 */
int settings_open_source(const struct exchange_settings *settings, struct source **source,
	enum phase phase, struct failure *failure);

/* A client's request, as the passive side receives it. */
struct request {
	bool tutorial;                                /* the client is a tutorial program */
	bool counted;                                 /* failures of its address are only counted */
	struct hello theirs;                          /* otherwise, its hello */
	uint8_t hello_bytes[SECRET_HELLO_SIZE];       /* as received, if the client has a secret */
	uint8_t initiator_depth, responder_resources; /* rdmacm's parameters, as received */
	struct source *source;                        /* our opened input; NULL: not opened */
};

/* Events for the main thread. */
enum connection_event {
	CONNECTION_FINISHED = 1 << 0, /* the exchange is over; call connection_close() */
	CONNECTION_DRAINED = 1 << 1,  /* no work request is outstanding; the outcome is known */
	CONNECTION_ABANDONED = 1 << 2,
	CONNECTION_HANDSHAKE_DONE = 1 << 3, /* passive side: the peer's MSG_MR arrived */
	CONNECTION_AUTHENTICATED = 1 << 4,  /* the peer proved that it holds our secret */
};

#endif
