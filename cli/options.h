/*
 * The parsed command line of either program: cli/parse.h fills it in, and the rest of the program
 * reads it. Strings point into argv. Constant once parsed; any thread.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ordering.h"
#include "base/output.h"
#include "base/text.h"
#include "host/path-settings.h"
#include "protocol/mode.h"
#include "protocol/test-parameters.h"

/* Maximum length of --message: the tutorial's 1,024 bytes minus the terminator. */
#define OPTIONS_MESSAGE_MAX 1023

/* The default port of both programs, also that of rping and rcopy. */
#define OPTIONS_PORT 7471

/* Maximum number of files to send. */
#define OPTIONS_INPUTS_MAX 16384

/* Size of the longest HOST: a host name of 255 bytes and the terminator. */
#define OPTIONS_HOST_SIZE 256

/* Size of the longest CAUSE to explain; a longer one is truncated. */
#define OPTIONS_QUERY_SIZE 1024

/* Maximum --threads: each has a connection, and a server has slots for this many measurements. */
#define OPTIONS_THREADS_MAX 4

/* Maximum length of an error, before unprintable characters are escaped. */
#define OPTIONS_ERROR_MAX 320

/* The commands, described in cli/commands.h: two for the server, the others for the client. */
enum cli_command_id {
	CLI_SERVE,
	CLI_STATUS,
	CLI_RECEIVE_GROUP, /* the server's `multicast` */
	CLI_EXCHANGE,
	CLI_COPY,
	CLI_BANDWIDTH,
	CLI_LATENCY,
	CLI_SEND_GROUP, /* the client's `multicast` */
	CLI_COMPARE,
	CLI_DIAGNOSE,
	CLI_EXPLAIN,
	CLI_MESH,
	CLI_MESH_AGENT,
	CLI_COMMANDS /* in struct options: no command is known */
};

/* The result of parsing a command line or one of its options. */
enum options_result {
	OPTIONS_RUN,     /* run the command */
	OPTIONS_HELP,    /* print the help and exit with STATUS_OK */
	OPTIONS_VERSION, /* print the version and exit with STATUS_OK */
	OPTIONS_WRONG,   /* print options.error and exit with STATUS_USAGE */
};

enum progress_wanted {
	PROGRESS_AUTO, /* if standard error is a terminal */
	PROGRESS_ALWAYS,
	PROGRESS_NEVER,
};

/* In the order of the choices of --poll. */
enum poll_wanted {
	POLL_AUTO, /* measure/waiting.h chooses */
	POLL_SPIN,
	POLL_EVENT,
};

/* In the order of the choices of --unit, after that without the option. */
enum rate_unit {
	UNIT_AUTO, /* 1,000 operations per second for atomic operations, otherwise UNIT_MB */
	UNIT_MB,   /* 10^6 bytes per second */
	UNIT_MIB,  /* 2^20 bytes per second */
	UNIT_GBIT, /* 10^9 bits per second */
};

/* The options of a measurement. */
struct options_measure {
	bool bandwidth, latency;    /* exactly one of them is true in a measurement */
	uint64_t smallest, largest; /* range of operation sizes in bytes, swept by doubling */
	uint64_t iterations;        /* operations per queue pair; 0: measure for the duration */
	int64_t duration, warm_up;  /* milliseconds */
	uint32_t threads;           /* each with its own connection */
	uint32_t queue_pairs;       /* per connection */
	uint32_t inline_below;      /* operations of fewer bytes are inline; 0: the default */
	uint32_t signal_every;      /* operations for one completion; 0: those of one call */
	uint32_t gathers;           /* pieces of an operation's local data; 0: one */
	bool shares;                /* the queue pairs share their receives */
	bool bidirectional, verify, histogram;
	const char *plot; /* a picture; NULL: none */
	bool csv;         /* print comma-separated values instead of text */
	enum poll_wanted poll;
	enum test_transport transport;
	enum rate_unit unit;
	double expect; /* bytes per second, or a fraction of the link rate; 0: none */
	bool expect_percent;
};

/* What `copy` has besides the options of an exchange: what is at the other host. */
struct options_copy {
	bool pulls;                     /* from the other host */
	char remote[OPTIONS_HOST_SIZE]; /* [USER@]HOST, as ssh(1) takes it */
	const char **paths;             /* of files there, or of one DESTINATION */
	unsigned int path_count;
	const char *rsh;         /* --rsh; NULL: RDMA_RSH or ssh */
	const char *server_path; /* of rdma-server; NULL: in PATH */
};

/* How the agents of a mesh are started, in the order of the choices of --via after the first. */
enum options_via {
	VIA_AUTO, /* by what is there: mesh/launcher.h */
	VIA_SSH,
	VIA_SRUN,
	VIA_CLUSH,
	VIA_PDSH,
	VIA_MPIRUN,
	VIA_NONE, /* they are started otherwise */
};

/* RDMA devices that take part in a mesh at each host. */
#define OPTIONS_DEVICES_MAX 16

/* The options of `mesh` and of its agents. */
struct options_mesh {
	const char *hosts, *hosts_file; /* NULL: not given */
	enum options_via via;
	bool quick, suggest_drain;
	bool together;          /* all rails at the same time */
	bool cross_rail;        /* also from each device to those of other names */
	uint32_t concurrency;   /* tests at a time; 0: as many as a round has */
	const char *html;       /* a page to write; NULL: none */
	const char *topology;   /* a file; NULL: none */
	const char *agent_path; /* of rdma-client at the hosts; NULL: in PATH */
	const char *listen;     /* [ADDRESS:]PORT; NULL: all addresses, any port */
	int64_t start_timeout;  /* milliseconds until all agents are connected */
	/* an agent's */
	const char *name;       /* of its host; NULL: the host name */
	const char **addresses; /* of the coordinator */
	unsigned int address_count;
};

/*
 * Receives that a connection needs for one operation in flight on each of its queue pairs, if they
 * share them: 17 for each, and twice a reserve of 25 (share_receives() in control/control.c).
 */
#define OPTIONS_SHARED_RECEIVES(queue_pairs) (17 * (uint64_t)(queue_pairs) + 50)

/* The same over unreliable queue pairs, which do not share them. */
#define OPTIONS_LOSSY_RECEIVES(queue_pairs) (17 * (uint64_t)(queue_pairs))

/* The most threads that read or write one file. */
#define OPTIONS_WORKERS_MAX 64

/* The ways to connect: verbs/bootstrap.h. The order is that of --bootstrap's words. */
enum options_bootstrap {
	BOOTSTRAP_RDMACM,
	BOOTSTRAP_TCP,
	BOOTSTRAP_BOTH, /* a server only */
};

/* What a server needs for one diagnosis, or for one exchange with any --depth, in bytes. */
#define OPTIONS_MEMORY_MIN (UINT64_C(4) << 20)

/* What `multicast` sends. */
struct options_multicast {
	uint64_t count; /* datagrams */
	uint32_t rate;  /* datagrams per second */
	uint32_t size;  /* bytes of a datagram with its header; 0: the MTU */
};

struct options {
	enum cli_command_id command;
	const struct mode *mode; /* NULL: the server's `any`, the client's `diagnose` */
	const struct test_operation *operation; /* that a measurement measures */
	const char *message;                    /* NULL: the default message */
	const char *device;                     /* NULL: any RDMA device */
	int64_t timeout;                        /* idle timeout of the peer, milliseconds */
	const char *secret_file;                /* NULL: none */
	int dscp; /* of the packets, 0 to 63; -1: as the system chooses */
	enum options_bootstrap bootstrap;
	struct path_settings path; /* of connections without rdmacm */
	bool verbose, quiet;
	enum output_coloring color;

	/* streams */
	const char *input;   /* a file or folder; "-": standard input; NULL: send the message */
	const char **inputs; /* all files and folders to send, of which the first is input */
	unsigned int input_count;
	const char **excluded; /* patterns of what a directory's transfer omits */
	unsigned int excluded_count;
	const char *output; /* a file; "FOLDER/"; "-": standard output; NULL: print the message */
	bool dry_run;       /* list what would be sent, and stop */
	bool force;         /* replace output files */
	bool update;        /* merge into existing directories, and replace their files */
	bool checksum;      /* of their files, compare the data even if size and time are equal */
	unsigned int kept;  /* attributes of files: enum attributes_kept */
	bool numeric_ids;   /* owners and groups keep their numbers, not their names */
	bool direct;        /* read and write files past the page cache */
	bool discard;       /* accept data that is not stored */
	uint64_t buffer;    /* registered bytes for a connection's data, both directions */
	bool buffer_grows;  /* it was not given: fast links have more */
	uint32_t chunk;     /* bytes of an operation, up to buffer / 2; 0: the device's default */
	uint32_t depth;     /* operations in flight; 0: the device's default */
	uint32_t workers;   /* threads that read or write a file; 0: by size and processors */
	enum ordering ordering;
	enum progress_wanted progress;
	bool json;           /* print a JSON document for each connection on standard output */
	const char *metrics; /* a file for Prometheus; NULL: none */

	/* server */
	const char *bind;                     /* NULL: all addresses */
	const char *port_file;                /* NULL: none */
	bool stdio;                           /* serve/stdio.h */
	bool timestamps;                      /* lines begin with the time */
	uint64_t count;                       /* clients to serve; 0: no limit */
	unsigned int max_clients;             /* at a time */
	unsigned int max_clients_per_address; /* 0: no limit other than max_clients */
	uint64_t max_size;                    /* bytes of a client's stream; 0: no limit */
	uint64_t memory;                      /* bytes for all clients; 0: half of what is there */
	int64_t handshake_timeout;            /* milliseconds */

	/* client */
	struct options_multicast multicast;
	const char *source; /* NULL: the route's source address */
	const char *host;   /* NULL: diagnose only this host */
	bool port_given;    /* PORT is on the command line */
	bool watch;         /* diagnose: print events of this host's devices */
	int64_t interval;   /* diagnose: repeat after this many milliseconds; 0: once */
	struct options_measure measure;
	struct options_copy copy;
	struct options_mesh mesh;
	const char *files[2]; /* compare: saved documents */

	uint16_t port;                     /* 0: any free port (server), or all (status) */
	char host_text[OPTIONS_HOST_SIZE]; /* what host points to */
	char query[OPTIONS_QUERY_SIZE];    /* `explain`: the CAUSE; "": list all */
	char error[TEXT_ESCAPED_SIZE(OPTIONS_ERROR_MAX)];
	bool advised; /* the error includes advice */
};

/*
 * Returns the bytes of memory that a measurement needs for its largest size. A verified bandwidth
 * test alternates between two buffers.
 */
static inline size_t options_measure_memory(const struct options_measure *measure)
{
	uint64_t buffers = measure->verify && measure->bandwidth ? 2 : 1;

	return (size_t)(measure->largest * measure->queue_pairs * buffers);
}

#endif
