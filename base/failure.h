/*
 * One failure, recorded where it was seen; base/explain.h makes the sentence where it is printed.
 * The first failure wins: flushed work requests and the disconnect that follow are its effects.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of both programs, as in the man pages. */
enum exit_status {
	STATUS_OK = 0,      /* exchanged and verified */
	STATUS_FAILED = 1,  /* this side failed */
	STATUS_USAGE = 2,   /* wrong usage */
	STATUS_CONNECT = 3, /* could not connect */
	STATUS_PEER = 4,    /* the peer failed, vanished or broke the protocol */
	STATUS_DAMAGED = 5, /* data arrived damaged */
};

/* What a failure's code means. */
enum failure_kind {
	FAILURE_NONE = 0,
	FAILURE_ERRNO,      /* errno of a call, or of an rdmacm event with a negative status */
	FAILURE_NAME,       /* EAI_... of getaddrinfo() */
	FAILURE_HOST,       /* this host lacks something: enum readiness */
	FAILURE_REJECTED,   /* InfiniBand CM reject reason of rdmacm's REJECTED event */
	FAILURE_REFUSED,    /* our server refused: enum refusal */
	FAILURE_COMPLETION, /* a work request failed: enum ibv_wc_status */
	FAILURE_DEADLINE, /* nothing arrived in time: LIMIT_HANDSHAKE, CODE_DIAGNOSIS or any other */
	FAILURE_GONE,     /* the peer disconnected too early: CODE_DIAGNOSIS or any other */
	FAILURE_PROTOCOL, /* the peer broke the protocol: PROTOCOL_UNAUTHENTICATED or any other */
	FAILURE_DAMAGED,  /* the peer's data arrived damaged here */
	FAILURE_DAMAGED_THERE, /* our data arrived damaged at the peer */
	FAILURE_REMOVED,       /* the RDMA device was removed */
	FAILURE_FILE,          /* errno of our input or output */
	FAILURE_ABORTED,       /* the peer gave up and sent the reason */
	FAILURE_INTERRUPTED,   /* a signal */
	FAILURE_LIMIT,         /* the peer reached a limit of ours: enum limit */
	FAILURE_NO_HELLO,      /* the program that accepted sent no hello: it is not our server */
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

/* Why a server refuses a connection. The numbers go over the wire and never change. */
enum refusal {
	REFUSAL_NONE = 0,
	REFUSAL_MODE = 1,      /* it runs in another mode: `mode` of the hello has it */
	REFUSAL_VERSION = 2,   /* it speaks another version: `version` has it */
	REFUSAL_SESSION = 3,   /* it does not know the kind of session requested */
	REFUSAL_RESOURCES = 4, /* it could not get the memory or the queue pair */
	REFUSAL_DEVICE = 6,    /* it does not serve the device that the request came through */
	REFUSAL_MALFORMED = 7, /* it cannot read the hello */
	REFUSAL_STOPPING = 8,  /* it is stopping */
	REFUSAL_DEPTH = 9,     /* the mode needs READs, and the client's device allows it none */
	REFUSAL_BUSY = 10,     /* another client has its input or output */
	REFUSAL_FILES = 11,    /* it exchanges files, which the tutorial's programs cannot */
	REFUSAL_INPUT = 12,    /* it cannot read its own input */
	REFUSAL_FULL = 13,     /* it serves as many control sessions as it can */
	REFUSAL_SECRET = 14,   /* the two do not hold the same secret, or only one has one */
	REFUSAL_CLIENTS = 15,  /* it serves --max-clients already */
	REFUSAL_ADDRESS = 16,  /* it serves --max-clients-per-address from that address already */
	REFUSAL_SIZE = 17,     /* the stream is larger than `size` of the hello, its --max-size */
};

/*
 * Limits that a server sets its clients. No errno, because LIMIT_HANDSHAKE shares a kind with
 * those.
 */
enum limit {
	LIMIT_HANDSHAKE = 1001, /* time from the connection request to the client's MSG_MR */
	LIMIT_IDLE,             /* time without data while another client waits for the slot */
	LIMIT_SIZE,             /* bytes of the client's stream */
};

/* What a diagnosis or a measurement finds where everything works. */
enum impairment {
	IMPAIRED_MTU,      /* the interfaces at the two ends have different MTUs */
	IMPAIRED_PATH,     /* IP packets of the interface's size do not arrive */
	IMPAIRED_RDMA_MTU, /* the devices at the two ends have different active MTUs */
	IMPAIRED_LOSS,     /* packets were retransmitted */
	IMPAIRED_LINK,     /* the port counted errors of the link */
	IMPAIRED_SPEED,    /* far less than the link's rate */
	IMPAIRED_BUS,      /* and a host's bus carries less than the link */
	IMPAIRED_EXPECTED, /* less than --expect asks for */
	IMPAIRED_UNKNOWN,  /* --expect asks for a percentage of an unknown link rate */
	IMPAIRED_FULL,     /* the server has no slot for another client */
};

/*
 * The code of a FAILURE_DEADLINE or FAILURE_GONE in a control session: what was seen there is not
 * the cause, and no option gives it more time.
 */
#define CODE_DIAGNOSIS 2001

/* The code of a FAILURE_PROTOCOL: the peer does not hold our secret. */
#define PROTOCOL_UNAUTHENTICATED (-EKEYREJECTED)

/* What the program was doing. */
enum phase {
	PHASE_OPEN,       /* open RDMA on this host */
	PHASE_NAME,       /* host name to address */
	PHASE_LISTEN,     /* bind and listen */
	PHASE_ADDRESS,    /* address to RDMA device and neighbour */
	PHASE_ROUTE,      /* path to the peer */
	PHASE_QUEUE_PAIR, /* create queue pair, completion queue, protection domain */
	PHASE_MEMORY,     /* register memory */
	PHASE_CONNECT,    /* connect or accept */
	PHASE_EXCHANGE,   /* messages and data */
	/* These fail in the same ways as an exchange, and have its explanations. */
	PHASE_DIAGNOSIS,
	PHASE_MEASUREMENT,
	PHASE_COUNT,
	PHASE_ANY = PHASE_COUNT,
};

struct failure {
	enum failure_kind kind;
	enum phase phase;
	int code;           /* its meaning depends on kind */
	const char *call;   /* the function or event that reported it, static text */
	char evidence[320]; /* what was seen, possibly empty */
};

/*
 * Records a failure unless one is recorded already. The format, which may be "", makes the
 * evidence. Returns -1 always, so that a caller can return it. Any thread; the struct's owner
 * serialises.
 */
int failure_set(struct failure *failure, enum failure_kind kind, enum phase phase, int code,
	const char *call, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Records the errno of a call; its text is the evidence. */
int failure_errno(struct failure *failure, enum phase phase, const char *call, int error);

/* Records how the peer broke the protocol, in PHASE_EXCHANGE. */
int failure_protocol(struct failure *failure, const char *call, const char *violation);

/* Records that the proof in that message is missing or wrong: the peer does not hold our secret. */
int failure_set_unauthenticated(struct failure *failure, const char *message);

static inline bool failure_is_set(const struct failure *failure)
{
	return failure->kind != FAILURE_NONE;
}

#endif
