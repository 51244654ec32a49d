/*
 * The explanations of failures: one constant table, and the sentences made of it. It depends on the
 * codes in base/failure.h alone, so that every other folder may use it. Any thread.
 */
#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Work completion statuses and InfiniBand CM reject reasons, as numbered in the InfiniBand
 * specification (volume 1, 11.6.2 and 12.6.7.2), because base/ does not depend on verbs. A unit
 * test compares them with the headers.
 */
enum {
	WC_LOC_LEN = 1,
	WC_LOC_QP_OP = 2,
	WC_LOC_PROT = 4,
	WC_FLUSH = 5,
	WC_REM_INV_REQ = 9,
	WC_REM_ACCESS = 10,
	WC_REM_OP = 11,
	WC_RETRY_EXC = 12,
	WC_RNR_RETRY_EXC = 13,

	REJ_NO_RESOURCES = 3,
	REJ_TIMEOUT = 4,
	REJ_INVALID_SERVICE_ID = 8,
	REJ_STALE_CONNECTION = 10,
	REJ_INVALID_MTU = 26,
	REJ_RESPONDER_RESOURCES = 27,
	REJ_CONSUMER = 28,
};

/* Whether the cause was seen or is the most probable one. */
#define FACT  false
#define GUESS true

#define START_SERVER "start rdma-server there, or check the port number"
#define CHECK_PEER   "see what the other side reports, and whether it still runs"
#define CHECK_RDMA \
	"check on the peer that `rdma link` shows an active device for this address, that a " \
	"firewall lets UDP port 4791 (RoCE v2) through, and that both ends use the same RoCE " \
	"version"

/* The first row that matches applies: specific rows stand before general ones. */
static const struct explanation rows[] = {
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no RDMA device",
		"load the driver of the adapter, or make a soft-RoCE device: scripts/softroce up",
		"rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_RDMA_CM, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA connection manager's device file is missing", "modprobe rdma_ucm",
		"lsmod"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_ACCESS, STATUS_CONNECT, SIDE_HERE, FACT,
		"this user may not open the RDMA device files",
		"allow reading and writing /dev/infiniband/* (udev rules, container options), or run "
		"as root",
		"ls -l /dev/infiniband"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUCH_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no RDMA device of that name", "see `rdma link` for the names",
		"rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE_ADDRESS, STATUS_CONNECT, SIDE_HERE, FACT,
		"that RDMA device's network interface has no address of the kind needed",
		"give it one: ip address add ADDRESS/PREFIX dev INTERFACE", "ip -br address"},
	{FAILURE_HOST, PHASE_ANY, HOST_OTHER_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"that address does not lead through the RDMA device that --device names",
		"name that device, or another address", "rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_DEVICES_HIDDEN, STATUS_CONNECT, SIDE_HERE, FACT,
		"this network namespace has no RDMA device, and none is shared",
		"move one here (rdma dev set NAME netns NAMESPACE), or share all of them: rdma "
		"system set netns shared",
		"rdma system"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_UVERBS, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device's file for programs is missing",
		"modprobe ib_uverbs, and pass the file into a container", "ls -l /dev/infiniband"},
	{FAILURE_HOST, PHASE_ANY, HOST_PORT_DOWN, STATUS_CONNECT, SIDE_HERE, FACT,
		"no RDMA port that may be used is active",
		"bring its network interface up (ip link set INTERFACE up), and check the cable and "
		"what is at its other end",
		"ip -br link; rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUBNET, STATUS_CONNECT, SIDE_HERE, FACT,
		"no subnet manager has set this InfiniBand port up",
		"start one on a host or a switch of this network, such as opensm", "sminfo"},
	{FAILURE_HOST, PHASE_ANY, HOST_LINK_LOCAL, STATUS_CONNECT, SIDE_HERE, FACT,
		"that RDMA device's network interface has link-local IPv6 addresses only",
		"give it another one: ip address add ADDRESS/PREFIX dev INTERFACE",
		"ip -br address"},
	{FAILURE_HOST, PHASE_ANY, HOST_LOCKED_MEMORY, STATUS_CONNECT, SIDE_HERE, FACT,
		"this process may lock too little memory to make a queue pair",
		"raise `ulimit -l`, or give it CAP_IPC_LOCK", "ulimit -l"},
	{FAILURE_NAME, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL,
		"check the spelling and the name service, or give the address itself",
		"getent ahosts HOST"},

	{FAILURE_ERRNO, PHASE_OPEN, EMFILE, STATUS_FAILED, SIDE_HERE, FACT,
		"this process has too many open files", "raise `ulimit -n`", "ulimit -n"},

	{FAILURE_ERRNO, PHASE_LISTEN, EADDRINUSE, STATUS_FAILED, SIDE_HERE, FACT,
		"another program listens on that port",
		"choose another --port, or none to let the system pick one", NULL},
	{FAILURE_ERRNO, PHASE_LISTEN, EADDRNOTAVAIL, STATUS_FAILED, SIDE_HERE, FACT,
		"this host does not have that address, or another program listens on that port",
		"bind to an address that it has, and choose another --port", "ip -br address"},
	{FAILURE_ERRNO, PHASE_LISTEN, ENODEV, STATUS_FAILED, SIDE_HERE, FACT,
		"the network interface of that address has no RDMA device",
		"bind to an address of an RDMA device", "rdma link"},
	{FAILURE_ERRNO, PHASE_LISTEN, EACCES, STATUS_FAILED, SIDE_HERE, FACT,
		"ports below 1024 need more rights", "choose a --port from 1024 up", NULL},

	{FAILURE_ERRNO, PHASE_ADDRESS, ENETUNREACH, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no network route to that address",
		"check the address and `ip route get` for it", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENETDOWN, STATUS_CONNECT, SIDE_HERE, FACT,
		"the network interface on the way to that address is down or cannot be used",
		"bring it up (ip link set INTERFACE up), check its cable, and `ip route get`",
		"ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EHOSTUNREACH, STATUS_CONNECT, SIDE_BEYOND, FACT,
		"the network says that this address cannot be reached",
		"check the address and `ip route get` for it", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, STATUS_CONNECT, SIDE_HERE, FACT,
		"the way to that address leads through a network interface without an RDMA device",
		"use addresses of RDMA devices at both ends", "rdma link; ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EADDRNOTAVAIL, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host does not have the source address, or has it on no RDMA device",
		"name an address of an RDMA device with --source", "ip -br address"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not answer address resolution (ARP or neighbour discovery)",
		"check that it is up and in the same subnet and VLAN", "ip neighbour show to HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EINVAL, STATUS_CONNECT, SIDE_HERE, FACT,
		"the address cannot be used from here: a route that forbids it, an address of many "
		"hosts or without its interface, or a source address of another kind",
		"check `ip route get` for it, and --source", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EACCES, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host's routes prohibit that address", "check `ip route get` for it",
		"ip route get HOST"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_DIAGNOSIS, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not answer address resolution (ARP or neighbour discovery)",
		"check that it is up and in the same subnet and VLAN", "ip neighbour show to HOST"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, EXPLAIN_ANY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not answer address resolution (ARP or neighbour discovery) in time",
		"check that it is up and in the same subnet and VLAN, and that --timeout is not too "
		"short",
		"ip neighbour show to HOST"},

	{FAILURE_ERRNO, PHASE_ROUTE, ENODEV, STATUS_CONNECT, SIDE_HERE, FACT,
		"this is a loopback address, or another one without a GID on an RDMA device",
		"use the address of an RDMA device's network interface", "rdma link"},
	{FAILURE_ERRNO, PHASE_ROUTE, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the path query went unanswered",
		"on InfiniBand check the subnet manager (`sminfo`) and the partition key, then retry",
		"sminfo"},
	{FAILURE_DEADLINE, PHASE_ROUTE, EXPLAIN_ANY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the path query went unanswered",
		"on InfiniBand check the subnet manager (`sminfo`) and the partition key, then retry",
		"sminfo"},

	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, EINVAL, STATUS_FAILED, SIDE_HERE, FACT,
		"the device does not allow a queue pair of this size", NULL, "ibv_devinfo -v"},
	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT,
		"the device or the kernel has no room for another queue pair, or the locked-memory "
		"limit is reached",
		"close other RDMA programs, or raise the limit (`ulimit -l`)",
		"ulimit -l; rdma resource"},
	{FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT,
		"the locked-memory limit is too low",
		"raise it (`ulimit -l`, memlock in /etc/security/limits.d, --ulimit memlock=-1 for a "
		"container), or give the program CAP_IPC_LOCK",
		"ulimit -l"},

	{FAILURE_REJECTED, PHASE_ANY, REJ_INVALID_SERVICE_ID, STATUS_CONNECT, SIDE_THERE, FACT,
		"nothing listens on that port", START_SERVER, NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED, STATUS_CONNECT, SIDE_THERE, FACT,
		"nothing listens on that port", START_SERVER, NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNRESET, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer reset the connection", START_SERVER, NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_CONSUMER, STATUS_CONNECT, SIDE_THERE, GUESS,
		"the port is in use there, but its program refused without a reason that we know, or "
		"listens on another address",
		"check that an rdma-server of this version listens there and on which address; when "
		"overloaded, it may accept a moment later",
		NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_STALE_CONNECTION, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer still remembers an older connection with the same queue pair number",
		"try again in a moment", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_NO_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer has no resources left for another connection",
		"close connections there, or try again later", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_TIMEOUT, STATUS_CONNECT, SIDE_BEYOND, FACT,
		"the peer gave up waiting in the connection handshake",
		"check the load on both hosts and the loss on the path, then retry", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_INVALID_MTU, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the peer cannot use our MTU", "set the same MTU at both ends", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_RESPONDER_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer cannot answer as many RDMA READs at a time as we asked for", NULL, NULL},
	{FAILURE_REJECTED, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer's connection manager rejected the request",
		"look at the peer's kernel log; --verbose shows the reason's number", NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host is up, but no RDMA answers there, or its program is stuck", CHECK_RDMA,
		"rdma link"},
	{FAILURE_DEADLINE, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host is up, but no RDMA answers there, or its program is stuck", CHECK_RDMA,
		"rdma link"},
	{FAILURE_GONE, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer went away during the connection handshake", CHECK_PEER, NULL},

	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MODE, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"use the same mode at both ends, or run the server with `any`", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_VERSION, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SESSION, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server could not get the memory or the queue pair for another client",
		"look at what the server reports; its locked-memory limit is the usual cause",
		NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_BUSY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server's input or output is one that only one client can have, and another has it",
		"try again later (a longer --timeout waits longer), or give the server a file or a directory, which serve any number of clients",
		NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_INPUT, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server cannot read its own input", "look at what the server reports", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEVICE, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server does not serve on the RDMA device behind that address",
		"use the address of the device that the server's --device names", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MALFORMED, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server could not make sense of our introduction",
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEPTH, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host's RDMA device allows the server no RDMA READ", "use write mode", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_STOPPING, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server is stopping and takes no more clients", START_SERVER, NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_FULL, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server serves as many diagnoses as it can", "try again in a moment", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SECRET, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server and this client do not hold the same secret",
		"give both the same --secret-file, or neither", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_CLIENTS, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server is full: as many clients as its --max-clients allows are connected",
		"try again later; a longer --timeout waits longer for a place", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_ADDRESS, STATUS_CONNECT, SIDE_THERE, FACT,
		"as many clients as the server's --max-clients-per-address allows are connected from "
		"this address",
		"end one of them, or try again later", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SIZE, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"send less, or raise the server's --max-size", NULL},
	{FAILURE_REFUSED, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server refused for a reason that this version does not know",
		"install the same release at both ends", NULL},

	{FAILURE_COMPLETION, PHASE_ANY, WC_RETRY_EXC, STATUS_PEER, SIDE_BEYOND, GUESS,
		"the peer stopped acknowledging: it is gone or the path is broken",
		"check the link and the peer; if only large messages fail, check the MTU along the "
		"path and packet loss",
		NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_RNR_RETRY_EXC, STATUS_PEER, SIDE_THERE, FACT,
		"the peer had no receive posted for our message", "the peer's program is at fault",
		NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_ACCESS, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's memory did not allow the access: wrong key, range or right",
		"check that both ends run in the same mode", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_INV_REQ, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's device refused the request: no READ depth left, or its receive buffer is "
		"too small",
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_OP, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's device could not complete the request", CHECK_PEER, NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_LEN, STATUS_PEER, SIDE_THERE, FACT,
		"the peer sent a message longer than the protocol's",
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_PROT, STATUS_FAILED, SIDE_HERE, FACT,
		"the device refused to use our own memory", "this is a bug: please report it",
		NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_QP_OP, STATUS_FAILED, SIDE_HERE, FACT,
		"the device refused our own work request", "this is a bug: please report it", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_FLUSH, STATUS_PEER, SIDE_BEYOND, GUESS,
		"the connection broke before the exchange was complete", CHECK_PEER, NULL},
	{FAILURE_COMPLETION, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"the device reported an error", "look at this host's kernel log", "dmesg"},

	{FAILURE_ERRNO, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER, SIDE_BEYOND, FACT,
		"the connection manager reports the peer as unreachable", CHECK_PEER, NULL},
	{FAILURE_DEADLINE, PHASE_ANY, LIMIT_HANDSHAKE, STATUS_PEER, SIDE_BEYOND, GUESS, NULL,
		"check the client and the path; --handshake-timeout gives it more time", NULL},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_DIAGNOSIS, STATUS_PEER, SIDE_BEYOND, FACT,
		"the peer does not answer any more",
		"see whether its program is stuck or stopped, and check the link", NULL},
	{FAILURE_DEADLINE, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_BEYOND, GUESS, NULL,
		"check the peer and the path; --timeout gives it more time", NULL},
	{FAILURE_GONE, PHASE_ANY, CODE_DIAGNOSIS, STATUS_PEER, SIDE_THERE, FACT,
		"the other side ended the connection, as it does when its program is killed or stops",
		CHECK_PEER, NULL},
	{FAILURE_GONE, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL, CHECK_PEER,
		NULL},
	{FAILURE_PROTOCOL, PHASE_ANY, PROTOCOL_UNAUTHENTICATED, STATUS_PEER, SIDE_EITHER, FACT,
		"it does not hold our secret", "give both programs the same --secret-file", NULL},
	{FAILURE_PROTOCOL, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL,
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_DAMAGED, PHASE_ANY, EXPLAIN_ANY, STATUS_DAMAGED, SIDE_EITHER, GUESS,
		"the peer's message arrived damaged here",
		"check the memory and the RDMA device of both hosts", NULL},
	{FAILURE_DAMAGED_THERE, PHASE_ANY, EXPLAIN_ANY, STATUS_DAMAGED, SIDE_EITHER, GUESS,
		"our message arrived damaged at the peer",
		"check the memory and the RDMA device of both hosts", NULL},
	{FAILURE_REMOVED, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"this host's RDMA device was removed",
		"see the kernel log; bring the device back, then start again", "dmesg"},
	{FAILURE_FILE, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT, NULL, NULL, NULL},
	{FAILURE_ABORTED, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL, NULL, NULL},
	{FAILURE_INTERRUPTED, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"interrupted by a signal", NULL, NULL},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_IDLE, STATUS_PEER, SIDE_THERE, FACT,
		"no data moved, and another client needed the place",
		"run the server with a larger --max-clients, or with an input and an output that any "
		"number of clients can have",
		NULL},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_SIZE, STATUS_PEER, SIDE_THERE, FACT, NULL,
		"let it send less, or raise --max-size", NULL},

	{FAILURE_NO_HELLO, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"what listens on that port is not rdma-server: it accepts without introducing "
		"itself, as the programs of the RDMA tutorial do",
		"start rdma-server there, or check the port number", NULL},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_MTU, STATUS_PEER, SIDE_EITHER, FACT,
		"the network interfaces at the two ends have different MTUs",
		"set the same MTU at both ends, and on every switch between them", "ip link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_PATH, STATUS_PEER, SIDE_BEYOND, FACT,
		"packets as large as this host's interface allows do not get there",
		"set the same MTU at both ends, and on every switch and router between them",
		"tracepath HOST"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_RDMA_MTU, STATUS_PEER, SIDE_EITHER, FACT,
		"the RDMA devices at the two ends have different active MTUs",
		"set the same MTU at both ends: on Ethernet that of the network interfaces",
		"ibv_devinfo"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS, STATUS_PEER, SIDE_BEYOND, GUESS,
		"packets are lost on the way",
		"look for drops and errors at both ends and on every switch between them: cables, "
		"flow control (PFC), overloaded receivers",
		"ip -s link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LINK, STATUS_PEER, SIDE_BEYOND, GUESS,
		"the cable, a connector or a transceiver is bad",
		"clean or change them, and look at the same counters of the switch",
		"rdma statistic"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SPEED, STATUS_PEER, SIDE_EITHER, GUESS,
		"something slows RDMA down: the host's bus, the processor or the network",
		"check the adapter's PCIe slot, its firmware and the processors' power settings",
		"lspci -vv"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_BUS, STATUS_PEER, SIDE_EITHER, FACT,
		"the adapter sits in a slot whose bus carries less than its link",
		"put it into a slot of its full width and speed", "lspci -vv"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_EXPECTED, STATUS_FAILED, SIDE_EITHER, FACT,
		"it is slower than expected",
		"compare with another --size, --depth, --qps and --threads, and let rdma-client diagnose the link",
		NULL},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_UNKNOWN, STATUS_FAILED, SIDE_EITHER, FACT,
		"a share of the link is expected, of which is not known what it can carry",
		"let --expect name a rate, as 1GB/s", "rdma link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_FULL, STATUS_PEER, SIDE_THERE, FACT,
		"the server serves as many clients as it may",
		"end some of them, or raise its --max-clients or --max-clients-per-address", NULL},

	{FAILURE_ERRNO, PHASE_ANY, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT,
		"there is not enough memory", NULL, NULL},
	{FAILURE_ERRNO, PHASE_ANY, EMFILE, STATUS_FAILED, SIDE_HERE, FACT,
		"this process has too many open files", "raise `ulimit -n`", "ulimit -n"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_ROUTE, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT, NULL, NULL, NULL},
};

/* Explains a failure that no row matches, which is a bug. */
static const struct explanation unknown = {FAILURE_NONE, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED,
	SIDE_HERE, FACT, "the cause is unknown", "this is a bug: please report it", NULL};

const struct explanation *explain(enum failure_kind kind, enum phase phase, int code)
{
	if (phase == PHASE_DIAGNOSIS || phase == PHASE_MEASUREMENT)
		phase = PHASE_EXCHANGE;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].kind == kind &&
			(rows[i].phase == phase || rows[i].phase == PHASE_ANY) &&
			(rows[i].code == code || rows[i].code == EXPLAIN_ANY))
			return &rows[i];
	return &unknown;
}

const struct explanation *explain_row(unsigned int index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

static const char *const completion_names[] = {
	"IBV_WC_SUCCESS",
	"IBV_WC_LOC_LEN_ERR",
	"IBV_WC_LOC_QP_OP_ERR",
	"IBV_WC_LOC_EEC_OP_ERR",
	"IBV_WC_LOC_PROT_ERR",
	"IBV_WC_WR_FLUSH_ERR",
	"IBV_WC_MW_BIND_ERR",
	"IBV_WC_BAD_RESP_ERR",
	"IBV_WC_LOC_ACCESS_ERR",
	"IBV_WC_REM_INV_REQ_ERR",
	"IBV_WC_REM_ACCESS_ERR",
	"IBV_WC_REM_OP_ERR",
	"IBV_WC_RETRY_EXC_ERR",
	"IBV_WC_RNR_RETRY_EXC_ERR",
};

static const char *const reject_names[] = {
	[REJ_NO_RESOURCES] = "no resources",
	[REJ_TIMEOUT] = "timeout",
	[REJ_INVALID_SERVICE_ID] = "invalid service ID",
	[REJ_STALE_CONNECTION] = "stale connection",
	[REJ_INVALID_MTU] = "invalid path MTU",
	[REJ_RESPONDER_RESOURCES] = "insufficient responder resources",
	[REJ_CONSUMER] = "consumer reject",
};

static const char *name_in(const char *const *names, size_t count, int code)
{
	return code >= 0 && (size_t)code < count && names[code] ? names[code] : "number";
}

const char *explain_name(enum failure_kind kind, int code)
{
	const char *name;

	switch (kind) {
	case FAILURE_ERRNO:
	case FAILURE_FILE:
		name = strerrorname_np(code);
		return name ? name : "errno";
	case FAILURE_NAME:
		return gai_strerror(code);
	case FAILURE_COMPLETION:
		return name_in(completion_names, COUNT(completion_names), code);
	case FAILURE_REJECTED:
		return name_in(reject_names, COUNT(reject_names), code);
	case FAILURE_REFUSED:
		return "refusal";
	default:
		return "code";
	}
}

/* What failed: the beginning of a sentence that goes on with the peer. */
static const char *const attempts[PHASE_COUNT] = {
	[PHASE_OPEN] = "cannot use RDMA on this host",
	[PHASE_NAME] = "cannot find the host",
	[PHASE_LISTEN] = "cannot listen on",
	[PHASE_ADDRESS] = "cannot reach",
	[PHASE_ROUTE] = "cannot find an RDMA path to",
	[PHASE_QUEUE_PAIR] = "cannot create a queue pair for",
	[PHASE_MEMORY] = "cannot register memory for",
	[PHASE_CONNECT] = "cannot connect to",
	[PHASE_EXCHANGE] = "the exchange failed with",
	[PHASE_DIAGNOSIS] = "the diagnosis failed with",
	[PHASE_MEASUREMENT] = "the measurement failed with",
};

void explain_failure(
	const struct failure *failure, const char *peer, bool names, char *text, size_t size)
{
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	const char *cause = row->cause, *evidence = failure->evidence;
	bool named = peer && failure->phase != PHASE_OPEN;
	char library[160] = "";

	if (!cause) {
		cause = evidence;
		evidence = "";
	}
	if (names)
		snprintf(library, sizeof(library), " [%s: %s %d]", failure->call,
			explain_name(failure->kind, failure->code), failure->code);
	snprintf(text, size, "%s%s%s: %s%s%s%s%s%s.%s", attempts[failure->phase], named ? " " : "",
		named ? peer : "", cause, *evidence ? " (" : "", evidence, *evidence ? ")" : "",
		row->cure ? "; " : "", row->cure ? row->cure : "", library);
}

void explain_cause(const struct failure *failure, char *text, size_t size)
{
	const char *cause = explain(failure->kind, failure->phase, failure->code)->cause;

	snprintf(text, size, "%s", cause ? cause : failure->evidence);
}

enum exit_status explain_status(const struct failure *failure)
{
	return failure_is_set(failure)
		       ? explain(failure->kind, failure->phase, failure->code)->status
		       : STATUS_OK;
}
