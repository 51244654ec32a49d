/*
 * One failure, recorded where it is detected and explained by base/explain.h where it is printed.
 * The first failure wins: the flushed work requests and the disconnect that follow are its
 * consequences.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of both programs, as in the man pages. */
enum exit_status {
	STATUS_OK = 0,      /* exchanged and verified */
	STATUS_FAILED = 1,  /* local failure */
	STATUS_USAGE = 2,   /* usage error */
	STATUS_CONNECT = 3, /* could not connect */
	STATUS_PEER = 4,    /* the peer failed, vanished or violated the protocol */
	STATUS_DAMAGED = 5, /* data arrived corrupted */
};

/* The meaning of a failure's code. */
enum failure_kind {
	FAILURE_NONE = 0,
	FAILURE_ERRNO,         /* errno of a call, or of an rdmacm event with a negative status */
	FAILURE_NAME,          /* EAI_... of getaddrinfo() */
	FAILURE_HOST,          /* this host is not ready for RDMA: enum readiness */
	FAILURE_REJECTED,      /* InfiniBand CM reject reason of rdmacm's REJECTED event */
	FAILURE_REFUSED,       /* rdma-server refused: enum refusal */
	FAILURE_COMPLETION,    /* a work request failed: enum ibv_wc_status or CODE_UNSENT */
	FAILURE_DEADLINE,      /* timeout: LIMIT_HANDSHAKE, CODE_... or any other code */
	FAILURE_GONE,          /* the peer disconnected too early: CODE_DIAGNOSIS or any other */
	FAILURE_PROTOCOL,      /* protocol violation: PROTOCOL_UNAUTHENTICATED or any other */
	FAILURE_DAMAGED,       /* data from the peer arrived corrupted */
	FAILURE_DAMAGED_THERE, /* data sent to the peer arrived corrupted */
	FAILURE_REMOVED,       /* the RDMA device was removed */
	FAILURE_FILE,          /* errno of the local input or output */
	FAILURE_ABORTED,       /* the peer gave up and sent the reason */
	FAILURE_INTERRUPTED,   /* a signal */
	FAILURE_LIMIT,         /* the peer reached a local limit: enum limit */
	FAILURE_NO_HELLO,      /* the accepting program sent no hello: it is not rdma-server */
	FAILURE_ADDRESS,       /* the address cannot be that of a host: enum address_fault */
	FAILURE_IMPAIRED,      /* RDMA works, but not as it should: enum impairment */
	FAILURE_MULTICAST,     /* of a group: an errno */
	FAILURE_PATH,          /* without rdmacm, two ports cannot be connected: enum path_fault */
};

/* Whether this host can use RDMA, or the first thing that is missing: host/readiness.h. */
enum readiness {
	HOST_READY = 0,
	HOST_NO_DEVICE,         /* /sys/class/infiniband is empty or missing */
	HOST_NO_RDMA_CM,        /* /dev/infiniband/rdma_cm is missing */
	HOST_NO_ACCESS,         /* no permission to open a file of /dev/infiniband */
	HOST_NO_SUCH_DEVICE,    /* no device has the name given with --device */
	HOST_NO_DEVICE_ADDRESS, /* the device has no address of the requested family */
	HOST_OTHER_DEVICE,      /* the address is reached through a device other than --device */
	HOST_DEVICES_HIDDEN,    /* every device belongs to another network namespace */
	HOST_NO_UVERBS,         /* no device has a file /dev/infiniband/uverbsN */
	HOST_PORT_DOWN,         /* no port is ACTIVE */
	HOST_NO_SUBNET,         /* no subnet manager has configured the InfiniBand port */
	HOST_LINK_LOCAL,        /* all addresses are link-local IPv6 addresses */
	HOST_LOCKED_MEMORY,     /* the limit on locked memory is too low */
	HOST_MANAGER_DEAD,      /* the device does not answer connection requests of its own host */
	HOST_VRF,               /* soft-RoCE on an interface that belongs to a VRF */
	HOST_NAMESPACE,         /* soft-RoCE receives nothing in this network namespace */
	HOST_INTERFACE_ELSEWHERE, /* the device's interface is in another network namespace */
	HOST_STACK,         /* the device is below the address's interface: host/stack-table.h */
	HOST_CONTROL_GROUP, /* a control group limits RDMA resources: host/control-group.h */
	HOST_REFUSES,       /* the kernel refuses RDMA resources, and control groups are unseen */
	HOST_NO_MANAGER,    /* rdmacm does not support any device: host/device-support.h */
	HOST_NO_INTERFACE,  /* no port has a network interface: host/device-support.h */
	HOST_NO_OPERATION,  /* it, or the peer, does not support the operation to be measured */
	HOST_NO_DATAGRAMS,  /* its queue pairs have no datagrams, as over iWARP */
	HOST_NO_OPTION,     /* it, or the peer, does not support an option of the measurement */
};

/* Why an address cannot be that of a host, or cannot be reached as it is. */
enum address_fault {
	ADDRESS_FINE = 0,
	ADDRESS_NO_INTERFACE, /* its scope is not an interface of this host */
	ADDRESS_NO_SCOPE,     /* a link-local address without its interface */
	ADDRESS_MULTICAST,
	ADDRESS_BROADCAST,
	ADDRESS_NOT_MULTICAST, /* it should be that of a group */
	ADDRESS_CONTESTED,     /* several MAC addresses answer for it, and its host does not */
	ADDRESS_GATEWAY,       /* several MAC addresses answer for the gateway to a silent host */
	ADDRESS_NEEDS_SOURCE,  /* only packets from certain source addresses have a route to it */
	ADDRESS_IN_VRF,        /* the route to it is in a VRF, in which the program does not run */
	ADDRESS_NOWHERE,       /* its route uses an interface that leads to no other host */
	ADDRESS_NOT_OF_DEVICE, /* a local address of no RDMA device */
};

/* Why a server refuses a connection. The numbers are part of the protocol and never change. */
enum refusal {
	REFUSAL_NONE = 0,
	REFUSAL_MODE = 1,       /* it runs in another mode, which is in `mode` of the hello */
	REFUSAL_VERSION = 2,    /* it speaks another protocol version, which is in `version` */
	REFUSAL_SESSION = 3,    /* it does not recognize the requested session type */
	REFUSAL_RESOURCES = 4,  /* it could not allocate memory or a queue pair */
	REFUSAL_DEVICE = 6,     /* it does not use the device through which the request arrived */
	REFUSAL_MALFORMED = 7,  /* it cannot parse the hello */
	REFUSAL_STOPPING = 8,   /* it is shutting down */
	REFUSAL_DEPTH = 9,      /* the mode needs READs, but the client's device allows none */
	REFUSAL_BUSY = 10,      /* another client is using its input or output */
	REFUSAL_FILES = 11,     /* it exchanges files, which the tutorial's programs cannot do */
	REFUSAL_INPUT = 12,     /* it cannot read its input */
	REFUSAL_FULL = 13,      /* all slots for control sessions are in use */
	REFUSAL_SECRET = 14,    /* the secrets differ, or only one side has a secret */
	REFUSAL_CLIENTS = 15,   /* --max-clients is reached */
	REFUSAL_ADDRESS = 16,   /* --max-clients-per-address is reached for this address */
	REFUSAL_SIZE = 17,      /* the stream exceeds --max-size, which is in `size` of the hello */
	REFUSAL_NO_OUTPUT = 18, /* the client sends a file, which the server would not keep */
	REFUSAL_UNWANTED = 19,  /* the server sends a file, which the client would not keep */
	REFUSAL_NO_DATA = 20,   /* the client stores data; the server sends none */
	REFUSAL_NO_FOLDER = 21, /* the client sends a tree; the server's output is not a folder */
	REFUSAL_TREE = 22,      /* the server sends a tree; the client's output is not a folder */
	REFUSAL_MEMORY = 23,    /* its clients use all the memory that they may take together */
	REFUSAL_PATH = 24,      /* without rdmacm: its queue pair cannot be connected to ours */
	REFUSAL_KEPT = 25,      /* it does not keep the attributes that the client asks for */
	REFUSAL_OLD_SECRET = 26, /* only the client is of release 0.1, whose secrets differ */
};

/*
 * Why a bootstrap by TCP finds no path between two ports, or cannot use it. The server sends those
 * up to PATH_OTHER_RELEASE; their numbers never change. Of those about a pair of GIDs, up to
 * PATH_NO_ROUTE, a higher one got further.
 */
enum path_fault {
	PATH_FINE = 0,
	PATH_NO_PORT = 1,       /* an end has no active port that can do without rdmacm */
	PATH_OTHER_LAYER = 2,   /* InfiniBand at one end, Ethernet at the other */
	PATH_OTHER_VERSION = 3, /* RoCE v1 at one end, v2 at the other */
	PATH_LINK_LOCAL = 4,    /* a link-local GID at one end, none at the other */
	PATH_OTHER_FAMILY = 5,  /* RoCE: an IPv4 address at one end, IPv6 at the other */
	PATH_OTHER_SUBNET = 6,  /* InfiniBand: the subnet prefixes differ */
	PATH_OTHER_PKEY = 7,    /* the partitions differ */
	PATH_NO_ROUTE = 8,      /* the routes of the server lead elsewhere */
	PATH_OTHER_RELEASE = 9, /* the ends speak different versions of the protocol of frames */
	PATH_FAULTS_SENT,
	PATH_NO_GID,     /* the entry of --gid-index is empty or beyond the table */
	PATH_NO_PKEY,    /* the entry of --pkey-index is empty or beyond the table */
	PATH_IWARP,      /* the device's queue pairs can only be connected by rdmacm */
	PATH_TCP_ONLY,   /* the server does not accept connections by rdmacm */
	PATH_NO_TCP,     /* nothing accepts TCP connections on the port */
	PATH_SILENT,     /* TCP does not connect */
	PATH_NO_SOURCE,  /* the address of --source is not one of this host */
	PATH_STRANGER,   /* something else listens there */
	PATH_NO_ANSWER,  /* it accepts the TCP connection, and does not answer the offer */
	PATH_UNRESOLVED, /* a transition failed: no answer for the peer's hardware address */
	PATH_ATTRIBUTES, /* a transition failed: the device rejects an attribute */
};

/*
 * Limits that a server imposes on its clients. The values differ from all errnos, because
 * LIMIT_HANDSHAKE shares a kind with them.
 */
enum limit {
	LIMIT_HANDSHAKE = 1001, /* time from the connection request to the client's MSG_MR */
	LIMIT_IDLE,             /* time without data while another client needs the slot */
	LIMIT_SIZE,             /* bytes of the client's stream */
	LIMIT_MEMORY,           /* memory for all connections of this process together */
};

/* Impairments that a diagnosis or measurement finds even though RDMA works. */
enum impairment {
	IMPAIRED_MTU,        /* the interfaces of the two hosts have different MTUs */
	IMPAIRED_PATH,       /* IP packets as large as the interface MTU do not arrive */
	IMPAIRED_RDMA_MTU,   /* the devices at the two ends have different active MTUs */
	IMPAIRED_LOSS,       /* packets were lost, in an unknown direction or in both */
	IMPAIRED_LOSS_TO,    /* packets to the other host were lost */
	IMPAIRED_LOSS_FROM,  /* packets from the other host were lost */
	IMPAIRED_SLOW_TO,    /* the rate to the other host is a fraction of that from it */
	IMPAIRED_SLOW_FROM,  /* the other way round */
	IMPAIRED_DELAY,      /* the round trip takes long */
	IMPAIRED_LINK,       /* the port counted link errors */
	IMPAIRED_SPEED,      /* bandwidth far below the link rate */
	IMPAIRED_BUS,        /* the same, with a host's bus slower than the link */
	IMPAIRED_EXPECTED,   /* bandwidth below --expect */
	IMPAIRED_UNKNOWN,    /* --expect is a percentage of an unknown link rate */
	IMPAIRED_FULL,       /* the server has no slot for another client */
	IMPAIRED_LARGE,      /* small IP packets are answered, those of the interface MTU are not */
	IMPAIRED_LARGE_DATA, /* small RDMA messages are acknowledged, large ones are not */
	IMPAIRED_OPERATION,  /* an operation fails that the devices say they have */
};

/*
 * The code of a FAILURE_DEADLINE or FAILURE_GONE in a control session, where the evidence is not
 * the cause and no option raises the timeout.
 */
#define CODE_DIAGNOSIS 2001

/* The code of a FAILURE_DEADLINE if --timeout leaves too little time to connect. */
#define CODE_SHORT_TIMEOUT 2002

/*
 * The codes of a FAILURE_DEADLINE while connecting if this host is at fault: it drops packets that
 * arrive from the peer, or its own before they leave.
 */
#define CODE_REPLY_DROPPED   2003
#define CODE_REQUEST_DROPPED 2004

/*
 * The code of a FAILURE_GONE of a server whose client gave up without having received the server's
 * reply, after more than a moment.
 */
#define CODE_REPLY_LOST 2005

/*
 * The code of a FAILURE_GONE if, for seconds before the peer disconnected, nothing that this side
 * had sent was acknowledged.
 */
#define CODE_UNACKNOWLEDGED 2006

/* The code of a FAILURE_DEADLINE if packets still pass: data moves, but too slowly. */
#define CODE_TOO_SLOW 2007

/* The code of a FAILURE_DEADLINE while connecting if this host did not send the request. */
#define CODE_NOT_SENT 2008

/*
 * The code of a FAILURE_DEADLINE while the path is resolved on Ethernet, for which this host sends
 * nothing; or while the address is resolved, if the kernel did not even report its own timeout.
 */
#define CODE_NOTHING_ASKED 2009

/* The code of a FAILURE_ERRNO instead of ENOMEM if no limit of locked memory applies. */
#define CODE_NO_MEMORY 2010

/*
 * The code of a FAILURE_COMPLETION if the device of this host could not send packets, which breaks
 * its queue pairs.
 */
#define CODE_UNSENT 2011

/* The code of a FAILURE_DEADLINE while connecting over iWARP if TCP does not connect. */
#define CODE_TCP_SILENT 2012

/* The code of a FAILURE_ABORTED if the peer aborted because this side violated the protocol. */
#define CODE_VIOLATION 2013

/* The code of a FAILURE_REJECTED if nothing listens: InfiniBand specification, 12.6.7.2. */
#define REJECTED_NO_LISTENER 8

/* The same if the program on the port refused. */
#define REJECTED_CONSUMER 28

/* The same if the peer waited too long for a message of the handshake. */
#define REJECTED_TIMEOUT 4

/* The code of a FAILURE_PROTOCOL if the peer does not have the local secret. */
#define PROTOCOL_UNAUTHENTICATED (-EKEYREJECTED)

/* What the program was doing. */
enum phase {
	PHASE_START,      /* read the files that the options name */
	PHASE_OPEN,       /* open RDMA on this host */
	PHASE_NAME,       /* host name to address */
	PHASE_LISTEN,     /* bind and listen */
	PHASE_ADDRESS,    /* address to RDMA device and neighbour */
	PHASE_ROUTE,      /* path to the peer */
	PHASE_QUEUE_PAIR, /* create queue pair, completion queue, protection domain */
	PHASE_ALLOCATION, /* allocate or map memory */
	PHASE_MEMORY,     /* register memory */
	PHASE_CONNECT,    /* connect or accept */
	PHASE_EXCHANGE,   /* messages and data */
	/* These two share the explanations of PHASE_EXCHANGE. */
	PHASE_DIAGNOSIS,
	PHASE_MEASUREMENT,
	PHASE_INCOMPLETE, /* both ends are done, but some files could not be read */
	PHASE_COUNT,
	PHASE_ANY = PHASE_COUNT,
};

struct failure {
	enum failure_kind kind;
	enum phase phase;
	int code;           /* its meaning depends on kind */
	const char *call;   /* the function or event that reported it; static text */
	char evidence[320]; /* what was observed; may be empty */
	const char *path;   /* FAILURE_FILE: path of the file, never sent to the peer; NULL: none */
};

/*
 * Records a failure unless one is already recorded. The format, which may be "", produces the
 * evidence. Always returns -1, so that a caller can return it. Any thread; the owner of the struct
 * serialises the calls.
 */
int failure_set(struct failure *failure, enum failure_kind kind, enum phase phase, int code,
	const char *call, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Records the errno of a call, with strerror(error) as evidence. */
int failure_errno(struct failure *failure, enum phase phase, const char *call, int error);

/* Records how the peer violated the protocol, in PHASE_EXCHANGE. */
int failure_protocol(struct failure *failure, const char *call, const char *violation);

/* Records that this message has no valid proof: the peer does not have the local secret. */
int failure_set_unauthenticated(struct failure *failure, const char *message);

static inline bool failure_is_set(const struct failure *failure)
{
	return failure->kind != FAILURE_NONE;
}

/* True if this process's connections use all the memory that they may: memory_budget_take(). */
bool failure_is_for_memory(const struct failure *failure);

/*
 * True if the server is full, or if its input or output is in use by another client: a client may
 * retry.
 */
bool failure_is_full(const struct failure *failure);

#endif
