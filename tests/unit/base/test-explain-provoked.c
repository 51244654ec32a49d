/*
 * Maps every row of the explanation table to the one-host or two-host test that provokes the
 * failure and checks for these words in its message, or to the reason why no test exists. Fails if
 * a row has no entry here, or if a test has been renamed or no longer checks for the words. Must be
 * run from the top of the source tree, as `make check` does.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "protocol/hello.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

/* No test exists; `words` is the reason. */
#define NO_TEST NULL

/* Reasons shared by several rows. */
#define UNFORESEEN \
	"an error that nobody has foreseen: whatever can be provoked has a row of its own"
#define OF_SUBNET  "of InfiniBand: RoCE asks no subnet manager for a path"
#define OF_GIDS    "mistakes with GIDs, ports and partitions are named, with the GIDs of both ends"
#define OF_PORTS   "ports of another network than soft-RoCE: test-path-choice.c has them"
#define OF_TWO     "between two hosts, faults of the path are named"
#define OF_ONE_WAY "a server that accepts one way only, and a client of the other"
#define OF_OTHERS \
	"Linux rejects for other reasons, so a peer with another connection manager is needed"
#define OF_ADDRESSES \
	"multicast and broadcast addresses, a link-local address without scope, an absent gateway"
#define OF_ADAPTERS "of adapters: test-device-support.c has a fake one for each"
#define OUR_BUG     "a fault of our own, of which none is known"

/* In the order of the table in base/explain.c. */
static const struct {
	enum failure_kind kind;
	enum phase phase;
	int code;
	const char *test, *words;
} rows[] = {
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE, "no RDMA device", "this host has no RDMA device"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_RDMA_CM, "rdma_ucm is not loaded",
		"the RDMA connection manager's device file is missing"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_ACCESS, "no permission to open the RDMA device files",
		"this user cannot open the RDMA device files"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUCH_DEVICE, "a device that does not exist",
		"no such RDMA device"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE_ADDRESS,
		"the interface of the device has no address, or only a link-local one",
		"interface has no suitable address"},
	{FAILURE_HOST, PHASE_ANY, HOST_OTHER_DEVICE, "--device restricts the server to one device",
		"does not belong to the RDMA device given with --device"},
	{FAILURE_HOST, PHASE_ANY, HOST_DEVICES_HIDDEN, "the device is in another network namespace",
		"this network namespace has no RDMA device, and none is shared"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_UVERBS, "the uverbs device file is missing",
		"the RDMA device's uverbs file is missing"},
	{FAILURE_HOST, PHASE_EXCHANGE, HOST_PORT_DOWN,
		"the link of this host goes down during an exchange",
		"this host's RDMA port is down"},
	{FAILURE_HOST, PHASE_ANY, HOST_PORT_DOWN, "the interface is down",
		"no usable RDMA port is active"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUBNET, NO_TEST, OF_SUBNET},
	{FAILURE_HOST, PHASE_ANY, HOST_LINK_LOCAL,
		"the interface of the device has no address, or only a link-local one",
		"interface has only link-local IPv6 addresses"},
	{FAILURE_HOST, PHASE_ANY, HOST_LOCKED_MEMORY,
		"the locked memory limit: too low at the client, too low at the server, sufficient at 8 MiB",
		"the locked-memory limit is too low for a queue pair"},
	{FAILURE_HOST, PHASE_ANY, HOST_MANAGER_DEAD,
		"a connection manager that died is recognised: diagnose agrees with an exchange on "
		"this host",
		"no longer answers connection requests"},
	{FAILURE_HOST, PHASE_ANY, HOST_VRF, "an interface in a VRF", "is in a VRF"},
	{FAILURE_HOST, PHASE_ANY, HOST_NAMESPACE,
		"another network namespace: the interface and the device apart, and together",
		"soft-RoCE receives nothing in this network namespace"},
	{FAILURE_HOST, PHASE_ANY, HOST_INTERFACE_ELSEWHERE,
		"another network namespace: the interface and the device apart, and together",
		"network interface is in another network namespace"},
	{FAILURE_HOST, PHASE_ANY, HOST_STACK, "a device below the interface of its address",
		"does not serve this address"},
	{FAILURE_HOST, PHASE_ANY, HOST_CONTROL_GROUP, "a control group limits RDMA resources",
		"control group of this process limits its RDMA resources"},
	{FAILURE_HOST, PHASE_ANY, HOST_REFUSES,
		"a container's control group limits handles, objects and threads",
		"the kernel refuses this process another RDMA resource"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_MANAGER, NO_TEST, OF_ADAPTERS},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_INTERFACE, NO_TEST, OF_ADAPTERS},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_OPERATION,
		"atomic operations: measured and verified, and refused without them",
		"the operation is not supported at both ends"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_OPTION,
		"options of operations: measured, and refused beyond the limits",
		"an option is not supported at both ends"},
	{FAILURE_NAME, PHASE_ANY, EXPLAIN_ANY, "a host name that does not exist",
		"cannot resolve no.such.host.invalid"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NO_INTERFACE, OF_ADDRESSES,
		"this host has no network interface of that name"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NO_SCOPE, OF_ADDRESSES,
		"a link-local address needs the name of a local interface"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_MULTICAST, OF_ADDRESSES,
		"this is a multicast address"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_BROADCAST, OF_ADDRESSES,
		"this is a broadcast address"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_CONTESTED,
		"two interfaces of the other host in one subnet: ARP flux",
		"several MAC addresses answer ARP for this address"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_GATEWAY, NO_TEST,
		"a router between the hosts: test-address-conflicts.c has a gateway"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NEEDS_SOURCE, "a routing rule for one source address",
		"only for certain source addresses"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_IN_VRF,
		"software iWARP in a VRF: only a program in the VRF can use it",
		"the route of an RDMA device to this address is in a VRF"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOWHERE,
		"an address of another host on a dummy interface",
		"uses an interface that leads to no other host"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOT_MULTICAST,
		"a group that is none, and what does not fit: one sentence each",
		"this is not a multicast address"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOT_OF_DEVICE,
		"a group that is none, and what does not fit: one sentence each",
		"the local address belongs to no RDMA device"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DATAGRAMS,
		"over iWARP, multicast is refused at both ends",
		"the device has no datagrams, which multicast needs"},
	{FAILURE_MULTICAST, PHASE_ANY, EMSGSIZE,
		"a group that is none, and what does not fit: one sentence each",
		"a datagram must fit into one packet"},
	{FAILURE_MULTICAST, PHASE_ANY, EOPNOTSUPP,
		"a group that is none, and what does not fit: one sentence each",
		"the kernel joins groups of this kind only over InfiniBand or RoCE v1"},
	{FAILURE_MULTICAST, PHASE_EXCHANGE, ETIMEDOUT,
		"a device that does not send, because its link is held up",
		"the device does not send"},
	{FAILURE_MULTICAST, PHASE_ANY, ETIMEDOUT, NO_TEST, OF_SUBNET},
	{FAILURE_MULTICAST, PHASE_ANY, EXPLAIN_ANY, NO_TEST, OF_SUBNET},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_PORT, OF_GIDS,
		"one end has no active InfiniBand or RoCE port"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_LAYER, NO_TEST, OF_PORTS},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_VERSION, NO_TEST, OF_PORTS},
	{FAILURE_PATH, PHASE_ANY, PATH_LINK_LOCAL, OF_GIDS, "one end has only a link-local GID"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_FAMILY, OF_GIDS,
		"one end has only a GID of IPv4, the other only one of IPv6"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_RELEASE, "another release is recognized by TCP",
		"the other end is of a release with which this one cannot connect by TCP"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_SUBNET, NO_TEST, OF_PORTS},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_PKEY, NO_TEST, OF_PORTS},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_ROUTE, OF_TWO,
		"routes to this host's GID do not use its RDMA port"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_GID, OF_GIDS, "this entry of the GID table is empty"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_PKEY, OF_GIDS,
		"this entry of the partition table is empty"},
	{FAILURE_PATH, PHASE_ANY, PATH_IWARP, "over iWARP, TCP is refused at both ends",
		"queue pairs of iWARP can only be connected by rdmacm"},
	{FAILURE_PATH, PHASE_ANY, PATH_TCP_ONLY, OF_ONE_WAY,
		"the rdma-server on this port accepts connections by TCP only"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_TCP, OF_ONE_WAY,
		"nothing accepts TCP connections on this port"},
	{FAILURE_PATH, PHASE_ANY, PATH_SILENT, OF_TWO,
		"no TCP connection to this port is possible"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_SOURCE, OF_GIDS,
		"this host does not have the source address"},
	{FAILURE_PATH, PHASE_ANY, PATH_STRANGER,
		"a port in use is named for the way that cannot have it",
		"is not an rdma-server with --bootstrap tcp"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_ANSWER,
		"a port in use is named for the way that cannot have it",
		"does not answer: it is overloaded, or not an rdma-server"},
	{FAILURE_PATH, PHASE_ANY, PATH_UNRESOLVED, OF_TWO,
		"the hardware address of the peer's GID cannot be found"},
	{FAILURE_PATH, PHASE_ANY, PATH_ATTRIBUTES, NO_TEST,
		"a device that rejects an attribute: test-tcp-bootstrap.c has one"},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_SHORT_TIMEOUT,
		"an absent host, a host without RDMA, a smaller MTU on the path",
		"--timeout is shorter than connecting usually takes"},

	{FAILURE_ERRNO, PHASE_OPEN, EMFILE, "too few file descriptors",
		"this process has reached its open-file limit"},

	{FAILURE_ERRNO, PHASE_LISTEN, EADDRINUSE, "unavailable ports and addresses",
		"another program is listening on this port"},
	{FAILURE_ERRNO, PHASE_LISTEN, EADDRNOTAVAIL, "unavailable ports and addresses",
		"does not have this address"},
	{FAILURE_ERRNO, PHASE_LISTEN, ENODEV,
		"a route through an interface without an RDMA device; a loopback address",
		"the network interface of this address has no RDMA device"},
	{FAILURE_ERRNO, PHASE_LISTEN, EACCES, "unavailable ports and addresses",
		"ports below 1024 require privileges"},

	{FAILURE_ERRNO, PHASE_ADDRESS, ENETUNREACH,
		"no network route, and routes that prohibit, discard or are unreachable",
		"this host has no route to this address"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENETDOWN, "the outgoing interface has no carrier",
		"the network interface to this address is down"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EHOSTUNREACH,
		"no network route, and routes that prohibit, discard or are unreachable",
		"the network reports this address as unreachable"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENODEV,
		"a route through an interface without an RDMA device; a loopback address",
		"uses a network interface without an RDMA device"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EADDRNOTAVAIL,
		"--source and --device select the path of a diagnosis",
		"no RDMA device of this host has the source address"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT,
		"an absent host, a host without RDMA, a smaller MTU on the path",
		"the host does not reply to ARP or neighbour discovery"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EINVAL,
		"no network route, and routes that prohibit, discard or are unreachable",
		"this address cannot be used"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EACCES,
		"no network route, and routes that prohibit, discard or are unreachable",
		"a prohibit route on this host blocks this address"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_NOTHING_ASKED,
		"a kernel without a processor for its work is this host's fault",
		"this host is too busy: its kernel did not finish resolving the address"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_DIAGNOSIS, NO_TEST,
		"the check before waits longer for the neighbour, and the kernel's own time is as long"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, EXPLAIN_ANY,
		"an absent host, a host without RDMA, a smaller MTU on the path",
		"ARP or neighbour discovery in time"},

	{FAILURE_ERRNO, PHASE_ROUTE, ENODEV,
		"a route through an interface without an RDMA device; a loopback address",
		"this is a loopback address"},
	{FAILURE_ERRNO, PHASE_ROUTE, ETIMEDOUT, NO_TEST, OF_SUBNET},
	{FAILURE_DEADLINE, PHASE_ROUTE, CODE_NOTHING_ASKED,
		"a kernel without a processor for its work is this host's fault",
		"this host is too busy: on Ethernet"},
	{FAILURE_DEADLINE, PHASE_ROUTE, EXPLAIN_ANY, NO_TEST, OF_SUBNET},

	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, EINVAL, NO_TEST,
		"what is asked for is cut to what the device allows; only a driver that is wrong about "
		"that refuses it"},
	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, NO_TEST,
		"soft-RoCE locks no memory for a queue pair, and has room for a million"},
	{FAILURE_ERRNO, PHASE_MEMORY, ENOMEM,
		"the locked memory limit: too low at the client, too low at the server, sufficient at 8 MiB",
		"the locked-memory limit is too low"},
	{FAILURE_ERRNO, PHASE_MEMORY, CODE_NO_MEMORY, NO_TEST,
		"a kernel without memory kills the test, too; see tests/unit/verbs/test-memory.c"},

	{FAILURE_REJECTED, PHASE_ANY, 8, "nothing listens on the port",
		"nothing is listening on this port"},
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED,
		"a port on which nothing listens, and that of a TCP program",
		"nothing is listening on this port"},
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNRESET,
		"a port on which nothing listens, and that of a TCP program",
		"the peer reset the connection"},
	{FAILURE_REJECTED, PHASE_ANY, 28, "a server that refuses: a message for each reason",
		"refused without a known reason"},
	{FAILURE_REJECTED, PHASE_ANY, 10, NO_TEST,
		"needs a device that numbers its queue pairs as before, at a peer that has not noticed"},
	{FAILURE_REJECTED, PHASE_ANY, 3, NO_TEST, OF_OTHERS},
	{FAILURE_REJECTED, PHASE_ANY, 4, NO_TEST,
		"Linux tells it to a server, for which it is a client that went away, never to a client"},
	{FAILURE_REJECTED, PHASE_ANY, 26, NO_TEST, OF_OTHERS},
	{FAILURE_REJECTED, PHASE_ANY, 27, NO_TEST, OF_OTHERS},
	{FAILURE_REJECTED, PHASE_ANY, EXPLAIN_ANY, NO_TEST, OF_OTHERS},
	{FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT,
		"a host without RDMA: the connection manager times out",
		"no reply to the RDMA connection request arrived"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED,
		"either host drops the RoCE packets that arrive",
		"this host drops the peer's packets"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_REQUEST_DROPPED, NO_TEST,
		"soft-RoCE of Linux 6.1 resends a packet that the host refuses without a pause"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_NOT_SENT,
		"a connection request that cannot be sent is this host's fault",
		"this host could not send the connection request"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_TCP_SILENT,
		"over iWARP, silence of the server's TCP port ends at --timeout",
		"no reply came from the server's TCP port"},
	{FAILURE_DEADLINE, PHASE_CONNECT, EXPLAIN_ANY,
		"an absent host, a host without RDMA, a smaller MTU on the path",
		"no reply to the RDMA connection request arrived"},
	{FAILURE_GONE, PHASE_CONNECT, CODE_REPLY_LOST,
		"the server knows that its replies are lost, and the client why",
		"this server's replies do not arrive at the client"},
	{FAILURE_GONE, PHASE_CONNECT, EXPLAIN_ANY,
		"a server whose process is stopped, and what it reports when it continues",
		"the peer went away during the connection handshake"},

	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MODE, "mode mismatch in both directions",
		"runs in read mode"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_VERSION,
		"a server that refuses: a message for each reason", "speaks protocol version 99"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SESSION,
		"a server that refuses: a message for each reason",
		"does not support this kind of session"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_RESOURCES,
		"the locked memory limit: too low at the client, too low at the server, sufficient at 8 MiB",
		"the server could not allocate memory or a queue pair"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_BUSY,
		"standard input and output serve one client at a time",
		"the server's input or output serves one client at a time"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_INPUT,
		"a server whose input disappeared reports it, and the client receives the reason",
		"the server cannot read its input"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEVICE, "--device restricts the server to one device",
		"the server does not use the RDMA device with this address"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MALFORMED,
		"a server that refuses: a message for each reason",
		"could not parse the client's hello"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEPTH,
		"a server that refuses: a message for each reason",
		"this host's RDMA device does not accept RDMA READs"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_STOPPING,
		"a server that refuses: a message for each reason", "is shutting down"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_FULL,
		"4 diagnoses run concurrently; a fifth is refused with the reason",
		"slots for diagnoses and measurements are taken"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SECRET, "a diagnosis needs the secret",
		"client and server do not have the same secret"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_OLD_SECRET,
		"a server of release 0.1 that requires a secret is named",
		"the server is of release 0.1, and requires a secret of that release"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_CLIENTS,
		"a full server: the client retries until a slot is free or its timeout expires",
		"the server is full: its --max-clients limit is reached"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_PATH, OF_TWO,
		"queue pair cannot be connected to this host's GID"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MEMORY,
		"clients that stall cannot exhaust the memory of the server's control group",
		"its clients use all the memory that they may take together"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_ADDRESS,
		"the limit per address leaves slots to other addresses",
		"the server's --max-clients-per-address limit is reached"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SIZE,
		"input larger than --max-size is refused, or aborted once it exceeds the limit",
		"accepts at most 10,240 bytes from a client; send less"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_OUTPUT,
		"no data is verified and thrown away, and no greeting is stored",
		"the server has no --output"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_UNWANTED,
		"no data is verified and thrown away, and no greeting is stored",
		"the server sends a file, but the client has no --output"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_DATA,
		"no data is verified and thrown away, and no greeting is stored",
		"the server has no --input"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_FOLDER,
		"directories and several files need a directory at the receiver",
		"the server cannot store a directory or several files"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_TREE,
		"directories and several files need a directory at the receiver",
		"the server sends a directory or several files"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_KEPT,
		"a server keeps only what it was started with, and says so before any data moves",
		"the server keeps no owners, groups, ACLs or extended attributes"},
	{FAILURE_REFUSED, PHASE_ANY, EXPLAIN_ANY,
		"a server that refuses: a message for each reason",
		"for a reason unknown to this version"},

	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_RETRY_EXC_ERR,
		"lost acknowledgements: the sender gives up and names both ends",
		"the peer stopped acknowledging: it is down or the path is broken"},
	{FAILURE_GONE, PHASE_ANY, CODE_UNACKNOWLEDGED,
		"a firewall that begins to drop packets during a transfer",
		"packets between the two hosts were lost, or late because a host was too busy, "
		"until the peer gave up"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_RNR_RETRY_EXC_ERR,
		"a peer without a posted receive: idle timeout or RNR retries exhausted",
		"the peer had no receive posted for a message"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_REM_ACCESS_ERR,
		"memory accesses that either end does not permit",
		"the peer's memory region denied access"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_REM_INV_REQ_ERR,
		"a peer whose queue pair permits no WRITE, or that receives into invalid memory",
		"the peer's device rejected the request: not permitted, READ depth exceeded"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_REM_OP_ERR,
		"a peer whose queue pair permits no WRITE, or that receives into invalid memory",
		"the peer's device could not complete the request"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_LOC_LEN_ERR, "messages with invalid contents",
		"the peer sent a message longer than the protocol allows"},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_LOC_PROT_ERR, NO_TEST, OUR_BUG},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_LOC_QP_OP_ERR, NO_TEST, OUR_BUG},
	{FAILURE_COMPLETION, PHASE_ANY, IBV_WC_WR_FLUSH_ERR,
		"memory accesses that either end does not permit",
		"the connection broke before the exchange was complete"},
	{FAILURE_COMPLETION, PHASE_ANY, CODE_UNSENT,
		"this host's interface drops packets: the files arrive, or this host is at fault",
		"this host dropped packets before they left"},
	{FAILURE_COMPLETION, PHASE_ANY, EXPLAIN_ANY, NO_TEST, UNFORESEEN},

	{FAILURE_ERRNO, PHASE_EXCHANGE, ETIMEDOUT, NO_TEST,
		"on RoCE the connection manager speaks so only before a connection stands"},
	{FAILURE_DEADLINE, PHASE_ANY, LIMIT_HANDSHAKE,
		"silent clients are dropped, and a good one is admitted",
		"timed out waiting for MSG_MR; .*--handshake-timeout"},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_TOO_SLOW, NO_TEST,
		"of a link or host that is slow enough for the data check, but not for the connection"},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_DIAGNOSIS,
		"the server is stopped during a diagnosis: the client times out",
		"did not respond in time"},
	{FAILURE_DEADLINE, PHASE_ANY, EXPLAIN_ANY,
		"an idle connection uses no CPU time at either end",
		"timed out waiting for MSG_DONE"},
	{FAILURE_GONE, PHASE_ANY, CODE_DIAGNOSIS, "the server is killed during a diagnosis",
		"the peer closed the connection"},
	{FAILURE_GONE, PHASE_ANY, EXPLAIN_ANY, "peers that disconnect or exit at each step",
		"connection closed by the peer while waiting for MSG_MR"},
	{FAILURE_PROTOCOL, PHASE_ANY, PROTOCOL_UNAUTHENTICATED,
		"a wrong secret and no secret get the same answer and change nothing",
		"the peer does not have the same secret"},
	{FAILURE_PROTOCOL, PHASE_ANY, EXPLAIN_ANY, "messages with invalid contents",
		"received an invalid MSG_MR"},
	{FAILURE_DAMAGED, PHASE_ANY, EXPLAIN_ANY, "a corrupted message: exit 5 at both ends",
		"data from the peer arrived corrupted"},
	{FAILURE_DAMAGED_THERE, PHASE_ANY, EXPLAIN_ANY, "a corrupted message: exit 5 at both ends",
		"data sent to the peer arrived corrupted"},
	{FAILURE_REMOVED, PHASE_ANY, EXPLAIN_ANY, "the RDMA device is removed during a diagnosis",
		"this host's RDMA device was removed"},
	{FAILURE_FILE, PHASE_ANY, EXPLAIN_ANY,
		"a full file system at either end: both report it, no partial file remains",
		"cannot write data: No space left on device"},
	{FAILURE_ABORTED, PHASE_ANY, EXPLAIN_ANY,
		"a full file system at either end: both report it, no partial file remains",
		"the peer aborted: cannot write data: No space left on device"},
	{FAILURE_INTERRUPTED, PHASE_ANY, EXPLAIN_ANY,
		"SIGINT at a client during a transfer: the server receives the reason",
		"interrupted by a signal"},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_IDLE,
		"a server full of idle clients evicts the longest idle and sends it the reason",
		"no data moved, and another client needed the slot"},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_SIZE,
		"input larger than --max-size is refused, or aborted once it exceeds the limit",
		"received more than the 10,240 bytes that --max-size allows"},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_MEMORY,
		"a client in a small control group takes less memory, or says why it cannot",
		"may not take more of this host's memory"},

	{FAILURE_NO_HELLO, PHASE_ANY, EXPLAIN_ANY, "a tutorial program listens on the port",
		"the program on this port is not rdma-server"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_MTU, "1,400-byte MTU at this host",
		"the network interfaces of the two hosts have different MTUs"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_PATH, NO_TEST,
		"a router between the hosts: test-path-mtu.c has one"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LARGE, "large packets are lost, or the MTUs differ",
		"packets as large as the MTU of this host do not reach the other host"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LARGE_DATA,
		"an exchange of messages fails if the MTUs differ or large packets are lost",
		"large packets between the two hosts are lost"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_RDMA_MTU,
		"equal interface MTUs, different RDMA MTUs",
		"the RDMA devices at the two ends have different active MTUs"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS, "loss in both directions",
		"packets are lost on the path"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS_TO,
		"loss, a low rate and delay: the cause and the direction are named",
		"packets from this host to the other host are lost"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS_FROM,
		"loss at either host: the direction is named",
		"packets from the other host to this host are lost"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SLOW_TO,
		"a rate of 20 Mbit/s at either host: works, but slowly, and the direction is named",
		"data to the other host is several times slower"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SLOW_FROM,
		"loss, a low rate and delay: the cause and the direction are named",
		"data from the other host is several times slower"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_DELAY,
		"200 ms of delay at either host: works, but slowly, without loss",
		"each message takes long, although none is lost"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LINK, NO_TEST,
		"soft-RoCE does not count what is wrong with a wire"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SPEED, NO_TEST,
		"nothing is promised of RDMA in software, so nothing is too slow"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_BUS, NO_TEST, "soft-RoCE sits in no slot"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_OPERATION, NO_TEST,
		"a device that lacks what it offers: test-operations.c has one"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_EXPECTED,
		"a rate below --expect: exit 1 and the measured rate",
		"the rate is lower than expected"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_UNKNOWN,
		"--expect with a percentage of an unknown link rate: exit 1 before measuring",
		"the link rate is unknown, so --expect cannot be a percentage"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_FULL,
		"diagnoses have their own slots, a limit per address and an idle timeout",
		"the server has no slot for another client"},

	{FAILURE_ERRNO, PHASE_ANY, ENOMEM, "too little memory for all clients", "out of memory"},
	{FAILURE_ERRNO, PHASE_ANY, EMFILE, "too few file descriptors for all clients",
		"reached its open-file limit"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EXPLAIN_ANY, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_ROUTE, EXPLAIN_ANY, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_CONNECT, EXPLAIN_LOCAL, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_CONNECT, EXPLAIN_ANY, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_EXCHANGE, EXPLAIN_LOCAL, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_EXCHANGE, EXPLAIN_ANY, NO_TEST, UNFORESEEN},
	{FAILURE_ERRNO, PHASE_ANY, EXPLAIN_ANY, NO_TEST, UNFORESEEN},
};

static void every_row_has_an_entry(void **state)
{
	const struct explanation *row;
	unsigned int i;

	(void)state;
	for (i = 0; (row = explain_row(i)); i++)
		if (i >= COUNT(rows) || rows[i].kind != row->kind || rows[i].phase != row->phase ||
			rows[i].code != row->code)
			fail_msg("row %u of base/explain.c, '%s', has no line at its place here", i,
				row->cause ? row->cause : "(what was seen)");
	assert_int_equal(i, COUNT(rows));
}

/* True if a single test file contains both the test and the words. */
static bool is_tested(const glob_t *files, const char *test, const char *words)
{
	char title[256];
	bool found = false;

	snprintf(title, sizeof(title), "@test \"%s\" {", test);
	for (size_t i = 0; i < files->gl_pathc && !found; i++) {
		char *text = document_read(files->gl_pathv[i]);

		found = strstr(text, title) && strstr(text, words);
		free(text);
	}
	return found;
}

/* If the row has a cause, the words must be part of it. */
static void every_entry_matches_its_test(void **state)
{
	glob_t files;

	(void)state;
	document_tests(&files);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *cause = explain_row((unsigned int)i)->cause, *words = rows[i].words;

		check_case(words, strlen(words) > 10);
		if (!rows[i].test)
			continue;
		check_case(words, !cause || strstr(cause, words));
		if (!is_tested(&files, rows[i].test, words))
			fail_msg("no file has the test \"%s\" and looks for '%s'", rows[i].test,
				words);
	}
	globfree(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_an_entry),
		cmocka_unit_test(every_entry_matches_its_test),
	};

	return cmocka_run_group_tests_name("explain-provoked", tests, NULL, NULL);
}
