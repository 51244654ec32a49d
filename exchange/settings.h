/*
 * What exchanges and the main thread agree on: the settings that all exchanges of a process share,
 * what a request says of its client, and the events by which a connection wakes the main thread.
 */
#ifndef EXCHANGE_SETTINGS_H
#define EXCHANGE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/output.h"
#include "base/wakeup-queue.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "stream/output-file.h"

/* What all exchanges of a process have in common. Constant while there are connections. */
struct exchange_settings {
	const struct output *output;
	struct wakeup_queue *wakeups; /* of the main thread */
	const char *message;          /* sent if there is no input; a text */
	size_t message_size;          /* with its terminating zero, at most SINK_TEXT_SIZE */
	const char *input;            /* sent; NULL: the message */
	struct output_file_options output_file; /* for the peer's data; output NULL: shown */
	uint64_t buffer;           /* registered bytes for data of a connection, both ways */
	uint32_t chunk, depth;     /* 0: what suits the device */
	int64_t timeout;           /* idle time of the peer, milliseconds */
	const char *secret_file;   /* NULL: none */
	struct secret *secret;     /* what it holds */
	int64_t handshake_timeout; /* passive side: from a request to the peer's MSG_MR */
	uint64_t max_size;         /* bytes that the peer may send; 0: any number */
	bool active;               /* the client's side */
};

/* What the passive side knows of a client from its request. */
struct request {
	bool tutorial;                                /* it is a program of the tutorial */
	struct hello theirs;                          /* else what it says of itself */
	uint8_t hello_bytes[SECRET_HELLO_SIZE];       /* the same as received, if it has a secret */
	uint8_t initiator_depth, responder_resources; /* of rdmacm's parameters, as received */
};

/* Events for the main thread. */
enum connection_event {
	CONNECTION_FINISHED = 1 << 0, /* the exchange is over: connection_close() it */
	CONNECTION_DRAINED = 1 << 1,  /* all work requests are back: the outcome is known */
	CONNECTION_ABANDONED = 1 << 2,
	CONNECTION_HANDSHAKE_DONE = 1 << 3, /* passive side: the peer's MSG_MR arrived */
	CONNECTION_AUTHENTICATED = 1 << 4,  /* the peer has proved that it holds our secret */
};

#endif
