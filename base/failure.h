/*
 * One failure, recorded where it was seen and explained where it is printed. The first one wins:
 * what follows (flushed work requests, a disconnect) is its effect, never its cause.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* The exit statuses of both programs, as in the man pages. */
enum exit_status {
	STATUS_OK = 0,      /* exchanged and verified */
	STATUS_FAILED = 1,  /* this side failed */
	STATUS_USAGE = 2,   /* wrong usage */
	STATUS_CONNECT = 3, /* could not connect */
	STATUS_PEER = 4,    /* the peer failed, vanished or broke the protocol */
	STATUS_DAMAGED = 5, /* data arrived damaged */
};

/* What kind of thing the code of a failure is. */
enum failure_kind {
	FAILURE_NONE = 0,
	FAILURE_ERRNO,      /* a call, or an rdmacm event with a negative status: errno */
	FAILURE_NAME,       /* getaddrinfo(): EAI_... */
	FAILURE_HOST,       /* this host lacks something: enum readiness */
	FAILURE_REJECTED,   /* rdmacm REJECTED: InfiniBand CM reject reason */
	FAILURE_REFUSED,    /* our server refused: enum refusal */
	FAILURE_COMPLETION, /* a work completion: enum ibv_wc_status */
	FAILURE_DEADLINE,   /* nothing came in time: LIMIT_HANDSHAKE, CODE_DIAGNOSIS or any other */
	FAILURE_GONE,       /* the peer disconnected too early: CODE_DIAGNOSIS or any other */
	FAILURE_PROTOCOL,   /* the peer broke the protocol */
	FAILURE_DAMAGED,    /* the peer's message arrived damaged here */
	FAILURE_DAMAGED_THERE, /* our message arrived damaged at the peer */
	FAILURE_REMOVED,       /* the RDMA device was removed */
	FAILURE_FILE,          /* our input or output: errno */
	FAILURE_ABORTED,       /* the peer gave up, and said why */
	FAILURE_INTERRUPTED,   /* a signal */
	FAILURE_LIMIT,         /* the peer met a limit of ours: enum limit */
	FAILURE_STRANGER,      /* whoever answers is not our server */
	FAILURE_IMPAIRED,      /* it works, but not as it should: enum impairment */
};

/* Whether this host can use RDMA, or the first thing that it lacks: host/readiness.h. */
enum readiness {
	HOST_READY = 0,
	HOST_NO_DEVICE,         /* /sys/class/infiniband is empty or missing */
	HOST_NO_RDMA_CM,        /* /dev/infiniband/rdma_cm is missing */
	HOST_NO_ACCESS,         /* a file of /dev/infiniband may not be opened */
	HOST_NO_SUCH_DEVICE,    /* no device has the name that --device gives */
	HOST_NO_DEVICE_ADDRESS, /* the device has no address of the requested family */
	HOST_OTHER_DEVICE,      /* an address leads through another device than --device */
	HOST_DEVICES_HIDDEN,    /* each device belongs to a network namespace, none to this one */
	HOST_NO_UVERBS,         /* no device has a file /dev/infiniband/uverbsN */
	HOST_PORT_DOWN,         /* no port is ACTIVE */
	HOST_NO_SUBNET,         /* no subnet manager has set up the InfiniBand port */
	HOST_LINK_LOCAL,        /* there are only link-local IPv6 addresses */
	HOST_LOCKED_MEMORY,     /* the limit on locked memory is too low */
};

/* What a server allows its clients; no errno, with which one of them shares a kind. */
enum limit {
	LIMIT_HANDSHAKE = 1001, /* time from the request to its MSG_MR */
	LIMIT_IDLE,             /* time without moving data, while others wait for the place */
	LIMIT_SIZE,             /* bytes of its stream */
};

/* What a diagnosis finds where everything works. */
enum impairment {
	IMPAIRED_MTU,      /* the interfaces at the two ends have different MTUs */
	IMPAIRED_PATH,     /* IP packets of the interface's size do not get through */
	IMPAIRED_RDMA_MTU, /* the devices at the two ends have different active MTUs */
	IMPAIRED_LOSS,     /* packets had to be sent again */
	IMPAIRED_LINK,     /* the port counted errors of the wire */
	IMPAIRED_SPEED,    /* far less than the link promises */
	IMPAIRED_BUS,      /* and a host's bus carries less than the link */
	IMPAIRED_EXPECTED, /* less than --expect wants */
	IMPAIRED_UNKNOWN,  /* --expect wants a share of nobody knows what */
	IMPAIRED_FULL,     /* the server has no place for another client */
};

/*
 * The code of a FAILURE_DEADLINE and a FAILURE_GONE in a diagnosis: what is seen there is no cause, and
 * no option gives it more time.
 */
#define CODE_DIAGNOSIS 2001

/* The code of a FAILURE_PROTOCOL: the peer does not hold our secret. */
#define PROTOCOL_UNAUTHENTICATED (-EKEYREJECTED)

/* What was being done. */
enum phase {
	PHASE_OPEN,       /* getting at RDMA on this host */
	PHASE_NAME,       /* host name to address */
	PHASE_LISTEN,     /* binding and listening */
	PHASE_ADDRESS,    /* address to RDMA device and neighbour */
	PHASE_ROUTE,      /* path to the peer */
	PHASE_QUEUE_PAIR, /* making queue pair, completion queue, protection domain */
	PHASE_MEMORY,     /* registering memory */
	PHASE_CONNECT,    /* connect or accept */
	PHASE_EXCHANGE,   /* messages and data */
	/* What goes wrong in an exchange goes wrong in these, too: base/explain.c. */
	PHASE_DIAGNOSIS,
	PHASE_MEASUREMENT,
	PHASE_COUNT,
	PHASE_ANY = PHASE_COUNT,
};

struct failure {
	enum failure_kind kind;
	enum phase phase;
	int code;           /* its meaning depends on kind */
	const char *call;   /* the library's function or event, static text */
	char evidence[320]; /* what was seen, possibly empty */
};

/*
 * Records a failure unless one is recorded already; the format, which may be "", makes the
 * evidence. Returns -1 always, so that a caller can return it. The caller owns the struct and
 * serialises.
 */
int failure_set(struct failure *failure, enum failure_kind kind, enum phase phase, int code,
	const char *call, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Records that the peer, whose proof was looked for in that message, does not hold our secret. */
int failure_set_unauthenticated(struct failure *failure, const char *message);

static inline bool failure_is_set(const struct failure *failure)
{
	return failure->kind != FAILURE_NONE;
}

/*
 * Writes the sentences that explain the failure into text: what failed, with whom (peer, may be
 * NULL), the cause, the evidence, what to do. With names, adds the library's own names and
 * numbers. Cuts at size bytes. Any thread.
 */
void failure_explain(
	const struct failure *failure, const char *peer, bool names, char *text, size_t size);

/* Writes what the peer may hear of it: the cause, without what to do here. Any thread. */
void failure_tell(const struct failure *failure, char *text, size_t size);

/* The exit status that the failure leads to. Any thread. */
enum exit_status failure_status(const struct failure *failure);

#endif
