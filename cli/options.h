/* The command line of both programs: one table of options, one struct of results. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "protocol/mode.h"

#define PROJECT_VERSION "0.1.0"

/* The longest --message: the tutorial's 1,024 bytes, less the terminating zero. */
#define OPTIONS_MESSAGE_MAX 1023

/* The most --threads: each has a connection, and a server has places for so many measurements. */
#define OPTIONS_THREADS_MAX 4

/* The longest error, before what cannot be printed in it is escaped. */
#define OPTIONS_ERROR_MAX 160

enum program {
	PROGRAM_SERVER = 1 << 0,
	PROGRAM_CLIENT = 1 << 1,
};

/* What options_parse() found that the program is to do. */
enum options_result {
	OPTIONS_RUN,     /* run */
	OPTIONS_HELP,    /* print options_help() and exit with STATUS_OK */
	OPTIONS_VERSION, /* print the version and exit with STATUS_OK */
	OPTIONS_WRONG,   /* print options.error and exit with STATUS_USAGE */
};

enum progress_wanted {
	PROGRESS_AUTO, /* if standard error is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

enum poll_wanted {
	POLL_AUTO, /* what turns out to be faster */
	POLL_SPIN,
	POLL_EVENT,
};

enum rate_unit {
	UNIT_MB,  /* 10^6 bytes in a second */
	UNIT_MIB, /* 2^20 bytes */
	UNIT_GBIT /* 10^9 bits */
};

/* What is to be measured, and how. */
struct options_measure {
	bool bandwidth, latency; /* one of them, if it is a measurement */
	uint64_t smallest,
		largest; /* bytes of an operation: all powers of two of the one up to the other */
	uint64_t iterations; /* operations on each queue pair; 0: as many as fit in the duration */
	int64_t duration, warm_up; /* milliseconds */
	uint32_t threads;          /* each with a connection of its own */
	uint32_t queue_pairs;      /* of each connection */
	bool bidirectional, verify, histogram;
	enum poll_wanted poll;
	enum rate_unit unit;
	double expect; /* bytes in a second, or with expect_percent of what the link carries; 0: none */
	bool expect_percent;
};

struct options {
	const struct mode *mode; /* NULL: the server's `any`, the client's `diagnose` */
	const char *message;     /* NULL: the default message */
	const char *device;      /* NULL: any RDMA device */
	int64_t timeout;         /* of a peer's silence, in milliseconds */
	const char *secret_file; /* NULL: none */
	bool verbose, quiet;

	/* streams */
	const char *input;  /* a file; "-": standard input; NULL: the message is sent */
	const char *output; /* a file; "FOLDER/"; "-": standard output; NULL: print the message */
	bool force;         /* replace output files */
	uint64_t buffer;    /* registered bytes for a connection's data, both directions */
	uint32_t chunk;     /* bytes of an operation, up to buffer / 2; 0: the device's choice */
	uint32_t depth;     /* operations in flight; 0: the device's choice */
	enum progress_wanted progress;
	bool json; /* a document for each exchange on standard output, instead of lines */

	/* the server's */
	const char *bind;                     /* NULL: all addresses */
	const char *port_file;                /* NULL: none */
	uint64_t count;                       /* clients to serve, 0: no limit */
	unsigned int max_clients;             /* at a time */
	unsigned int max_clients_per_address; /* 0: no limit but that */
	uint64_t max_size;                    /* bytes of a client's stream, 0: no limit */
	int64_t handshake_timeout;            /* milliseconds */

	/* the client's */
	const char *source; /* NULL: whichever the route has */
	bool diagnose;
	const char *host; /* NULL: diagnose this host alone */
	struct options_measure measure;

	uint64_t given; /* the options, a bit each */
	uint16_t port;  /* 0: the server lets the system choose, `diagnose` has none */
	char error[TEXT_ESCAPED_SIZE(OPTIONS_ERROR_MAX)];
};

/*
 * Reads the command line of that program. Texts in the result point into argv. Uses getopt_long(3)
 * and so its global state: main thread, once per process (tests: one after another).
 */
enum options_result options_parse(
	struct options *options, enum program program, int argc, char *argv[]);

/* Bytes of memory that a measurement needs for its largest size; to verify, two pieces of it. */
size_t options_measure_memory(const struct options_measure *measure);

/* Prints the program's --help. */
void options_help(FILE *stream, enum program program);

#endif
