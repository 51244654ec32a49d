/*
 * Explains failures: a constant table and the error lines built from it. Depends only on the codes
 * in base/failure.h, so that every other folder can use it. Any thread.
 */
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/local-failure.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Work completion statuses and InfiniBand CM reject reasons, numbered as in the InfiniBand
 * specification (volume 1, 11.6.2 and 12.6.7.2). Defined here because base/ does not depend on
 * verbs. A unit test compares them with the headers.
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
	REJ_TIMEOUT = REJECTED_TIMEOUT,
	REJ_INVALID_SERVICE_ID = REJECTED_NO_LISTENER,
	REJ_STALE_CONNECTION = 10,
	REJ_INVALID_MTU = 26,
	REJ_RESPONDER_RESOURCES = 27,
	REJ_CONSUMER = REJECTED_CONSUMER,
};

/* Whether the cause was observed or is only the most probable one. */
#define FACT  false
#define GUESS true

#define START_SERVER "start rdma-server on that host, or check the port number"
#define CHECK_PEER   "check whether the peer is still running and what it reports"
#define CHECK_RDMA \
	"check that both hosts' firewalls and the path pass UDP port 4791 (RoCE v2) both ways, " \
	"that `rdma link` on the peer shows an active device for this address, that both ends " \
	"use the same RoCE version, and that the server is not stuck"
#define CHECK_OWN_FIREWALL \
	"let UDP port 4791 pass this host's firewall and traffic control, in both directions"

/* The first matching row applies, so specific rows precede general ones. */
static const struct explanation rows[] = {
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no RDMA device",
		"load the adapter's driver, or create a soft-RoCE device: rdma link add rxe0 type rxe "
		"netdev INTERFACE",
		"rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_RDMA_CM, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA connection manager's device file is missing",
		"modprobe rdma_ucm; without it, --bootstrap tcp at both ends", "lsmod"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_ACCESS, STATUS_CONNECT, SIDE_HERE, FACT,
		"this user cannot open the RDMA device files",
		"allow read and write access to /dev/infiniband/* (udev rules, container options), "
		"or run as root",
		"ls -l /dev/infiniband"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUCH_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"no such RDMA device", "list the devices with `rdma link`", "rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DEVICE_ADDRESS, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device's network interface has no suitable address",
		"add one: ip address add ADDRESS/PREFIX dev INTERFACE", "ip -br address"},
	{FAILURE_HOST, PHASE_ANY, HOST_OTHER_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this address does not belong to the RDMA device given with --device",
		"change --device or the address", "rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_DEVICES_HIDDEN, STATUS_CONNECT, SIDE_HERE, FACT,
		"this network namespace has no RDMA device, and none is shared",
		"move one here (rdma dev set NAME netns NAMESPACE), or share all: rdma system set "
		"netns shared",
		"rdma system"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_UVERBS, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device's uverbs file is missing",
		"modprobe ib_uverbs; in a container, also pass the file in",
		"ls -l /dev/infiniband"},
	{FAILURE_HOST, PHASE_EXCHANGE, HOST_PORT_DOWN, STATUS_FAILED, SIDE_HERE, FACT,
		"this host's RDMA port is down",
		"bring up its network interface (ip link set INTERFACE up), and check the cable "
		"and the far end",
		"ip -br link; rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_PORT_DOWN, STATUS_CONNECT, SIDE_HERE, FACT,
		"no usable RDMA port is active",
		"bring up its network interface (ip link set INTERFACE up), and check the cable "
		"and the far end",
		"ip -br link; rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_SUBNET, STATUS_CONNECT, SIDE_HERE, FACT,
		"no subnet manager has configured this InfiniBand port",
		"start one (for example opensm) on a host or switch of this network", "sminfo"},
	{FAILURE_HOST, PHASE_ANY, HOST_LINK_LOCAL, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device's network interface has only link-local IPv6 addresses",
		"add another address: ip address add ADDRESS/PREFIX dev INTERFACE",
		"ip -br address"},
	{FAILURE_HOST, PHASE_ANY, HOST_LOCKED_MEMORY, STATUS_CONNECT, SIDE_HERE, FACT,
		"the locked-memory limit is too low for a queue pair",
		"raise `ulimit -l`, or grant CAP_IPC_LOCK", "ulimit -l"},
	{FAILURE_HOST, PHASE_ANY, HOST_MANAGER_DEAD, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host's soft-RoCE device no longer answers connection requests, not even its "
		"own",
		"recreate it: `rdma link delete DEVICE`, then `rdma link add DEVICE type rxe "
		"netdev INTERFACE`",
		"rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_VRF, STATUS_CONNECT, SIDE_HERE, FACT,
		"the soft-RoCE device's network interface is in a VRF, where soft-RoCE receives "
		"nothing",
		"take it out (ip link set INTERFACE nomaster); to keep its own routes, use a "
		"routing rule: ip rule add from ADDRESS lookup TABLE",
		"ip -br link show type vrf; ip link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NAMESPACE, STATUS_CONNECT, SIDE_HERE, FACT,
		"soft-RoCE receives nothing in this network namespace",
		"use it in the first network namespace (container option --network=host), or use "
		"software iWARP or an adapter",
		"ip netns identify; ss -ulna"},
	{FAILURE_HOST, PHASE_ANY, HOST_INTERFACE_ELSEWHERE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device's network interface is in another network namespace",
		"run there (ip netns exec NAMESPACE), or move the interface of an adapter here: "
		"ip link set INTERFACE netns NAMESPACE",
		"ip netns; rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_STACK, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA device does not serve this address, whose interface is above the device's "
		"own",
		"recreate it on the address's interface: `rdma link delete DEVICE`, then `rdma link "
		"add DEVICE type TYPE netdev INTERFACE`",
		"ip -d link; rdma link"},
	{FAILURE_HOST, PHASE_ANY, HOST_CONTROL_GROUP, STATUS_FAILED, SIDE_HERE, FACT,
		"a control group of this process limits its RDMA resources",
		"raise rdma.max of this group: an exchange or a diagnosis needs hca_handle=1 "
		"hca_object=8",
		"cat /proc/self/cgroup"},
	{FAILURE_HOST, PHASE_ANY, HOST_REFUSES, STATUS_FAILED, SIDE_HERE, FACT,
		"the kernel refuses this process another RDMA resource",
		"check rdma.max of its control group, which cannot be read from here, as in a "
		"container, and the limits of the device",
		"cat /proc/self/cgroup; rdma resource"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_MANAGER, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA connection manager does not support this device",
		"use the software that supports it, an InfiniBand, RoCE or iWARP adapter, or a "
		"soft-RoCE device: rdma link add rxe0 type rxe netdev INTERFACE",
		"rdma link; ibv_devinfo"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_INTERFACE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the RDMA port has no network interface, whose address the connection manager needs",
		"load its driver (InfiniBand: modprobe ib_ipoib), or, if the network is of the other "
		"type, change the port's link type: mstconfig -d PCI set LINK_TYPE_P1=ETH (or IB)",
		"rdma link; ip -br link"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_OPERATION, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the operation is not supported at both ends",
		"measure another operation, or use other devices", "ibv_devinfo -v"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_OPTION, STATUS_CONNECT, SIDE_EITHER, FACT,
		"an option is not supported at both ends",
		"leave it out or use a smaller value, or use other devices", "ibv_devinfo -v"},
	{FAILURE_NAME, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL,
		"check the name and the name service, or use an IP address", "getent ahosts HOST"},

	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NO_INTERFACE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no network interface of that name",
		"list the interfaces with `ip -br link`", "ip -br link"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NO_SCOPE, STATUS_CONNECT, SIDE_HERE, FACT,
		"a link-local address needs the name of a local interface",
		"append it: ADDRESS%INTERFACE", "ip -br link"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_MULTICAST, STATUS_CONNECT, SIDE_HERE, FACT,
		"this is a multicast address", "use an address of the server's RDMA interface",
		NULL},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_BROADCAST, STATUS_CONNECT, SIDE_HERE, FACT,
		"this is a broadcast address", "use an address of the server's RDMA interface",
		"ip -br address"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_CONTESTED, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"packets reach the wrong interface or host, because several MAC addresses answer "
		"ARP for this address",
		"if they are interfaces of one host: sysctl -w net.ipv4.conf.all.arp_ignore=1 "
		"net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2 there; otherwise "
		"change the address of one host",
		"ip neighbour show to HOST"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_GATEWAY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"packets reach the wrong interface or host, because several MAC addresses answer "
		"ARP for the gateway",
		"find out which of them is the router, and let nothing else answer for its address",
		"ip neighbour show to GATEWAY"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NEEDS_SOURCE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the routing rules of this host choose an RDMA device's route to this address only "
		"for certain source addresses",
		"use --source with that address, or --device", "ip rule; ip route show table all"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_IN_VRF, STATUS_CONNECT, SIDE_HERE, FACT,
		"the route of an RDMA device to this address is in a VRF",
		"run the program in the VRF, and with the interface's address: ip vrf exec VRF "
		"rdma-client --source ADDRESS",
		"ip -br link show type vrf; ip route show table all"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOWHERE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the route to this address uses an interface that leads to no other host",
		"check the address and the routes (`ip route get`)", "ip route get HOST"},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOT_MULTICAST, STATUS_CONNECT, SIDE_HERE, FACT,
		"this is not a multicast address", "use the address of a group, such as 239.1.2.3",
		NULL},
	{FAILURE_ADDRESS, PHASE_ANY, ADDRESS_NOT_OF_DEVICE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the local address belongs to no RDMA device",
		"use an address of an RDMA device, or --device", "rdma link; ip -br address"},
	{FAILURE_HOST, PHASE_ANY, HOST_NO_DATAGRAMS, STATUS_CONNECT, SIDE_HERE, FACT,
		"the device has no datagrams, which multicast needs",
		"use an InfiniBand or RoCE device", "rdma link"},
	{FAILURE_MULTICAST, PHASE_ANY, EMSGSIZE, STATUS_FAILED, SIDE_HERE, FACT,
		"a datagram must fit into one packet",
		"use a smaller --size or message, or raise the MTU of the interface", "rdma link"},
	{FAILURE_MULTICAST, PHASE_ANY, EOPNOTSUPP, STATUS_CONNECT, SIDE_HERE, FACT,
		"the kernel joins groups of this kind only over InfiniBand or RoCE v1",
		"use an IPv4 group, such as 239.1.2.3", NULL},
	{FAILURE_MULTICAST, PHASE_EXCHANGE, ETIMEDOUT, STATUS_FAILED, SIDE_HERE, GUESS,
		"the device does not send",
		"check that the link is up, and that flow control (PFC) does not stop it",
		"rdma link; rdma statistic"},
	{FAILURE_MULTICAST, PHASE_ANY, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the request to join the group was not answered",
		"on InfiniBand, check the subnet manager (`sminfo`)", "sminfo"},
	{FAILURE_MULTICAST, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT,
		"the group cannot be joined",
		"check that the interface is up and supports multicast, and on InfiniBand the subnet "
		"manager (`sminfo`)",
		"ip link; sminfo"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_PORT, STATUS_CONNECT, SIDE_EITHER, FACT,
		"one end has no active InfiniBand or RoCE port",
		"bring a port up there, or check --device and --ib-port", "rdma link"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_LAYER, STATUS_CONNECT, SIDE_EITHER, FACT,
		"one end has InfiniBand, the other RoCE",
		"choose devices of one network with --device at both ends", "rdma link"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_VERSION, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the GIDs are of different versions of RoCE",
		"choose a GID of the same version with --gid-index", "ibv_devinfo -v"},
	{FAILURE_PATH, PHASE_ANY, PATH_LINK_LOCAL, STATUS_CONNECT, SIDE_EITHER, FACT,
		"one end has only a link-local GID",
		"add an IP address to the interface of its RDMA port, or choose a link-local GID at "
		"the other end as well with --gid-index",
		"ip -br address"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_FAMILY, STATUS_CONNECT, SIDE_EITHER, FACT,
		"one end has only a GID of IPv4, the other only one of IPv6",
		"choose GIDs of one kind with --gid-index, or add an address to the interface of "
		"an RDMA port",
		"ibv_devinfo -v; ip -br address"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_RELEASE, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the other end is of a release with which this one cannot connect by TCP",
		"install the same release of rdma-pair at both ends", "rdma-client --version"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_SUBNET, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the ports are in different InfiniBand subnets",
		"choose ports of one subnet with --device and --ib-port", "ibv_devinfo -v"},
	{FAILURE_PATH, PHASE_ANY, PATH_OTHER_PKEY, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the ports have no partition in common",
		"choose entries of the same partition with --pkey-index; two limited members cannot "
		"communicate",
		"ibv_devinfo -v"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_ROUTE, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server's routes to this host's GID do not use its RDMA port",
		"check the addresses and routes of the RDMA interfaces, or choose a GID of the same "
		"subnet with --gid-index",
		"ip route get HOST"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_GID, STATUS_CONNECT, SIDE_HERE, FACT,
		"this entry of the GID table is empty",
		"choose another --gid-index, or none: the route then decides", "ibv_devinfo -v"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_PKEY, STATUS_CONNECT, SIDE_HERE, FACT,
		"this entry of the partition table is empty", "choose another --pkey-index",
		"ibv_devinfo -v"},
	{FAILURE_PATH, PHASE_ANY, PATH_IWARP, STATUS_CONNECT, SIDE_HERE, FACT,
		"queue pairs of iWARP can only be connected by rdmacm", "use --bootstrap rdmacm",
		"rdma link"},
	{FAILURE_PATH, PHASE_ANY, PATH_TCP_ONLY, STATUS_CONNECT, SIDE_HERE, FACT,
		"the rdma-server on this port accepts connections by TCP only",
		"use --bootstrap tcp, or start rdma-server with --bootstrap both", NULL},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_TCP, STATUS_CONNECT, SIDE_THERE, FACT,
		"nothing accepts TCP connections on this port",
		"start rdma-server there with --bootstrap tcp or both, or leave out --bootstrap tcp",
		"ss -tln"},
	{FAILURE_PATH, PHASE_ANY, PATH_SILENT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"no TCP connection to this port is possible",
		"check the address, and that no firewall drops TCP to this port", "ss -tln"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_SOURCE, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host does not have the source address",
		"set --source to one of its addresses, or leave it out", "ip -br address"},
	{FAILURE_PATH, PHASE_ANY, PATH_STRANGER, STATUS_CONNECT, SIDE_THERE, GUESS,
		"the program on this TCP port is not an rdma-server with --bootstrap tcp",
		"check the port number", "ss -tlnp"},
	{FAILURE_PATH, PHASE_ANY, PATH_NO_ANSWER, STATUS_CONNECT, SIDE_THERE, GUESS,
		"the program on this TCP port does not answer: it is overloaded, or not an rdma-server "
		"with --bootstrap tcp",
		"check the port number and the load of that host", "ss -tlnp; uptime"},
	{FAILURE_PATH, PHASE_ANY, PATH_UNRESOLVED, STATUS_CONNECT, SIDE_BEYOND, FACT,
		"the hardware address of the peer's GID cannot be found",
		"check that both RDMA ports are on the same network and VLAN, and their addresses",
		"ip neighbour show"},
	{FAILURE_PATH, PHASE_ANY, PATH_ATTRIBUTES, STATUS_CONNECT, SIDE_HERE, FACT,
		"the device rejects the attributes of the path",
		"check --gid-index, --mtu, --pkey-index and --sl, and that the GID still exists",
		"ibv_devinfo -v; dmesg"},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_SHORT_TIMEOUT, STATUS_CONNECT, SIDE_HERE, GUESS,
		"the --timeout is shorter than connecting usually takes",
		"raise it to a second or more", NULL},

	{FAILURE_ERRNO, PHASE_OPEN, EMFILE, STATUS_FAILED, SIDE_HERE, FACT,
		"this process has reached its open-file limit", "raise `ulimit -n`", "ulimit -n"},

	{FAILURE_ERRNO, PHASE_LISTEN, EADDRINUSE, STATUS_FAILED, SIDE_HERE, FACT,
		"another program is listening on this port",
		"choose another --port; 0 selects a free one", NULL},
	{FAILURE_ERRNO, PHASE_LISTEN, EADDRNOTAVAIL, STATUS_FAILED, SIDE_HERE, FACT,
		"this host does not have this address, or another program is listening on the port",
		"bind to an address of this host, and choose another --port", "ip -br address"},
	{FAILURE_ERRNO, PHASE_LISTEN, ENODEV, STATUS_CONNECT, SIDE_HERE, FACT,
		"the network interface of this address has no RDMA device",
		"bind to an address of an RDMA device", "rdma link"},
	{FAILURE_ERRNO, PHASE_LISTEN, EACCES, STATUS_FAILED, SIDE_HERE, FACT,
		"ports below 1024 require privileges", "choose a --port of 1024 or higher", NULL},

	{FAILURE_ERRNO, PHASE_ADDRESS, ENETUNREACH, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host has no route to this address",
		"check the address and the routes (`ip route get`)", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENETDOWN, STATUS_CONNECT, SIDE_HERE, FACT,
		"the network interface to this address is down or unusable",
		"bring it up (ip link set INTERFACE up), and check its cable and `ip route get`",
		"ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EHOSTUNREACH, STATUS_CONNECT, SIDE_BEYOND, FACT,
		"the network reports this address as unreachable",
		"check the address and the routes (`ip route get`)", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, STATUS_CONNECT, SIDE_HERE, FACT,
		"the route to this address uses a network interface without an RDMA device",
		"use addresses of RDMA devices at both ends", "rdma link; ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EADDRNOTAVAIL, STATUS_CONNECT, SIDE_HERE, FACT,
		"no RDMA device of this host has the source address",
		"set --source to the address of an RDMA device", "ip -br address"},
	{FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not reply to ARP or neighbour discovery",
		"check that it is up and on the same subnet and VLAN", "ip neighbour show to HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EINVAL, STATUS_CONNECT, SIDE_HERE, FACT,
		"this address cannot be used: a route that discards packets, a broadcast or "
		"multicast address, a link-local address without its interface, or a source of "
		"another address family",
		"check the route (`ip route get`) and --source", "ip route get HOST"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EACCES, STATUS_CONNECT, SIDE_HERE, FACT,
		"a prohibit route on this host blocks this address",
		"check the routes (`ip route get`)", "ip route get HOST"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_NOTHING_ASKED, STATUS_CONNECT, SIDE_HERE, GUESS,
		"this host is too busy: its kernel did not finish resolving the address, although the "
		"time for it had passed",
		"reduce its load, then retry", "uptime"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, CODE_DIAGNOSIS, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not reply to ARP or neighbour discovery",
		"check that it is up and on the same subnet and VLAN", "ip neighbour show to HOST"},
	{FAILURE_DEADLINE, PHASE_ADDRESS, EXPLAIN_ANY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the host does not reply to ARP or neighbour discovery in time",
		"check that it is up and on the same subnet and VLAN, or raise --timeout",
		"ip neighbour show to HOST"},

	{FAILURE_ERRNO, PHASE_ROUTE, ENODEV, STATUS_CONNECT, SIDE_HERE, FACT,
		"this is a loopback address, or no RDMA device has a GID for it",
		"use an address of an RDMA device's network interface", "rdma link"},
	{FAILURE_ERRNO, PHASE_ROUTE, ETIMEDOUT, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the path query was not answered",
		"on InfiniBand, check the subnet manager (`sminfo`) and the partition key",
		"sminfo"},
	{FAILURE_DEADLINE, PHASE_ROUTE, CODE_NOTHING_ASKED, STATUS_CONNECT, SIDE_HERE, GUESS,
		"this host is too busy: on Ethernet, it resolves a path without asking anyone",
		"reduce its load, then retry", "uptime"},
	{FAILURE_DEADLINE, PHASE_ROUTE, EXPLAIN_ANY, STATUS_CONNECT, SIDE_BEYOND, GUESS,
		"the path query was not answered",
		"on InfiniBand, check the subnet manager (`sminfo`) and the partition key",
		"sminfo"},

	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, EINVAL, STATUS_FAILED, SIDE_HERE, FACT,
		"the device does not support a queue pair of this size", "use a smaller --depth",
		"ibv_devinfo -v"},
	{FAILURE_ERRNO, PHASE_QUEUE_PAIR, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT,
		"the device or kernel cannot create more queue pairs, or the locked-memory limit "
		"is reached",
		"close other RDMA programs, or raise `ulimit -l`", "ulimit -l; rdma resource"},
	{FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT,
		"the locked-memory limit is too low",
		"raise it (`ulimit -l`, memlock in /etc/security/limits.d, --ulimit memlock=-1 for "
		"a container), or grant CAP_IPC_LOCK",
		"ulimit -l"},
	{FAILURE_ERRNO, PHASE_MEMORY, CODE_NO_MEMORY, STATUS_FAILED, SIDE_HERE, FACT,
		"the kernel or the device has no memory left for it",
		"close other RDMA programs, or use a smaller --buffer or --size",
		"free -m; rdma resource"},

	{FAILURE_REJECTED, PHASE_ANY, REJ_INVALID_SERVICE_ID, STATUS_CONNECT, SIDE_THERE, FACT,
		"nothing is listening on this port", START_SERVER, NULL},
	/* A firewall's TCP reset, of either host or between them, looks the same. */
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED, STATUS_CONNECT, SIDE_THERE, GUESS,
		"nothing is listening on this port, or a firewall rejects connections to it",
		START_SERVER, NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, ECONNRESET, STATUS_CONNECT, SIDE_THERE, GUESS,
		"the peer reset the connection", START_SERVER, NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_CONSUMER, STATUS_CONNECT, SIDE_THERE, GUESS,
		"the program on this port refused without a known reason, or listens on another "
		"address",
		"check that an rdma-server of this version listens on this address; if it is "
		"overloaded, retry in a moment",
		NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_STALE_CONNECTION, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer still has an older connection with the same queue pair number",
		"retry in a moment", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_NO_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer has no resources for another connection",
		"close connections on the peer, or retry later", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_TIMEOUT, STATUS_CONNECT, SIDE_BEYOND, FACT,
		"the peer timed out during the connection handshake",
		"check the load on both hosts and packet loss on the path, then retry", NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_INVALID_MTU, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the peer does not support the MTU of this host", "set the same MTU at both ends",
		NULL},
	{FAILURE_REJECTED, PHASE_ANY, REJ_RESPONDER_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer does not support the requested number of concurrent RDMA READs",
		"use write mode", "ibv_devinfo -v"},
	{FAILURE_REJECTED, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer's connection manager rejected the request",
		"check the peer's kernel log; --verbose prints the reason's number", NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT, STATUS_CONNECT, SIDE_ANYWHERE, FACT,
		"no reply to the RDMA connection request arrived", CHECK_RDMA, "rdma link"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_REPLY_DROPPED, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host drops the peer's packets: they arrive at its network interface, but not "
		"at its RDMA device",
		CHECK_OWN_FIREWALL, "nft list ruleset; tc -s qdisc"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_REQUEST_DROPPED, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host drops its own connection requests: they do not leave it",
		CHECK_OWN_FIREWALL, "nft list ruleset; tc -s qdisc"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_NOT_SENT, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host could not send the connection request",
		"check its routes, its firewall and the network namespace: rdma-client diagnose",
		"ip route get HOST; rdma link"},
	{FAILURE_DEADLINE, PHASE_CONNECT, CODE_TCP_SILENT, STATUS_CONNECT, SIDE_ANYWHERE, FACT,
		"no reply came from the server's TCP port",
		"check that the peer is up, and that both hosts' firewalls and the path let this "
		"TCP port pass",
		NULL},
	{FAILURE_DEADLINE, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_ANYWHERE, FACT,
		"no reply to the RDMA connection request arrived", CHECK_RDMA, "rdma link"},
	{FAILURE_GONE, PHASE_CONNECT, CODE_REPLY_LOST, STATUS_CONNECT, SIDE_ANYWHERE, FACT,
		"this server's replies do not arrive at the client",
		"check whether a firewall blocks UDP port 4791, or packets are lost, on the way to the "
		"client",
		NULL},
	{FAILURE_GONE, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the peer went away during the connection handshake", CHECK_PEER, NULL},

	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MODE, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"use the same mode at both ends, or run the server with `any`", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_VERSION, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SESSION, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_RESOURCES, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server could not allocate memory or a queue pair for another client",
		"check what the server reports; usually its locked-memory limit is too low", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_BUSY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server's input or output serves one client at a time and is in use",
		"retry later, raise --timeout, or let the server use a file or directory, so that "
		"it can serve several clients at once",
		NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_INPUT, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server cannot read its input", "check what the server reports", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEVICE, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server does not use the RDMA device with this address",
		"use an address assigned to the server's --device", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MALFORMED, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server could not parse the client's hello",
		"install the same release at both ends", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_DEPTH, STATUS_CONNECT, SIDE_HERE, FACT,
		"this host's RDMA device does not accept RDMA READs", "use write mode", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_STOPPING, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server is shutting down", "start it again, or retry later", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_FULL, STATUS_CONNECT, SIDE_THERE, FACT,
		"all of the server's slots for diagnoses and measurements are taken",
		"retry in a moment", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SECRET, STATUS_CONNECT, SIDE_EITHER, FACT,
		"client and server do not have the same secret",
		"use the same --secret-file at both ends, or none", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_OLD_SECRET, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server is of release 0.1, and requires a secret of that release",
		"install the same release at both ends, or use --secret-file at neither", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_CLIENTS, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server is full: its --max-clients limit is reached",
		"retry later, or raise --timeout to wait longer", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_PATH, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server's queue pair cannot be connected to this host's GID",
		"check that both GIDs are of one network and VLAN, or choose --device or --gid-index at "
		"both ends; the server prints the attributes",
		"ip neighbour show"},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_MEMORY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server is full: its clients use all the memory that they may take together",
		"retry later, or raise the server's --memory", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_ADDRESS, STATUS_CONNECT, SIDE_THERE, FACT,
		"too many clients from this address: the server's --max-clients-per-address limit "
		"is reached",
		"stop one of them, or retry later", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_SIZE, STATUS_CONNECT, SIDE_EITHER, FACT, NULL,
		"send less, or raise the server's --max-size", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_OUTPUT, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server has no --output, so it would not keep the data of --input",
		"start rdma-server with --output DIRECTORY/ or, to test only the path, --discard",
		NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_UNWANTED, STATUS_CONNECT, SIDE_HERE, FACT,
		"the server sends a file, but the client has no --output",
		"add --output FILE to the client or, to test only the path, --discard", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_DATA, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server has no --input, so there is nothing to store in --output",
		"start rdma-server with --input FILE, or omit the client's --output", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_NO_FOLDER, STATUS_CONNECT, SIDE_THERE, FACT,
		"the server cannot store a directory or several files",
		"start rdma-server with --output DIRECTORY/; release 0.1 stores single files only",
		NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_TREE, STATUS_CONNECT, SIDE_HERE, FACT,
		"the server sends a directory or several files, but the client's --output is a "
		"file",
		"use --output DIRECTORY/", NULL},
	{FAILURE_REFUSED, PHASE_ANY, REFUSAL_KEPT, STATUS_CONNECT, SIDE_THERE, FACT, NULL,
		"start rdma-server with the same options; release 0.1 has none of them", NULL},
	{FAILURE_REFUSED, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_EITHER, FACT,
		"the server refused for a reason unknown to this version",
		"install the same release at both ends", NULL},

	{FAILURE_COMPLETION, PHASE_ANY, WC_RETRY_EXC, STATUS_PEER, SIDE_ANYWHERE, GUESS,
		"the peer stopped acknowledging: it is down or the path is broken",
		"check the link, the peer and the firewalls of both hosts; if only large messages "
		"fail, check the path MTU and packet loss",
		NULL},
	{FAILURE_GONE, PHASE_ANY, CODE_UNACKNOWLEDGED, STATUS_PEER, SIDE_ANYWHERE, GUESS,
		"packets between the two hosts were lost, or late because a host was too busy, "
		"until the peer gave up",
		"check the link and the load of both hosts, and for a firewall at either host that "
		"drops UDP port 4791",
		NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_RNR_RETRY_EXC, STATUS_PEER, SIDE_THERE, FACT,
		"the peer had no receive posted for a message",
		"this is a bug in the peer's program", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_ACCESS, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's memory region denied access: wrong rkey, range or permission",
		"check that both ends run in the same mode", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_INV_REQ, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's device rejected the request: not permitted, READ depth exceeded or "
		"receive buffer too small",
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_REM_OP, STATUS_PEER, SIDE_THERE, FACT,
		"the peer's device could not complete the request", CHECK_PEER, NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_LEN, STATUS_PEER, SIDE_THERE, FACT,
		"the peer sent a message longer than the protocol allows",
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_PROT, STATUS_FAILED, SIDE_HERE, FACT,
		"the local device rejected a local memory buffer",
		"this is a bug: please report it", NULL},
	{FAILURE_COMPLETION, PHASE_ANY, WC_LOC_QP_OP, STATUS_FAILED, SIDE_HERE, GUESS,
		"the local device could not send",
		"check whether its link went down; otherwise this is a bug: please report it",
		"dmesg"},
	{FAILURE_COMPLETION, PHASE_ANY, WC_FLUSH, STATUS_PEER, SIDE_BEYOND, GUESS,
		"the connection broke before the exchange was complete", CHECK_PEER, NULL},
	{FAILURE_COMPLETION, PHASE_ANY, CODE_UNSENT, STATUS_FAILED, SIDE_HERE, GUESS,
		"this host dropped packets before they left, which breaks a soft-RoCE connection",
		"check its network interface for a full queue, a rate limit or a firewall rule, "
		"then retry",
		"tc -s qdisc; nft list ruleset"},
	{FAILURE_COMPLETION, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"the local device reported an error", "check this host's kernel log", "dmesg"},

	{FAILURE_ERRNO, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER, SIDE_BEYOND, FACT,
		"the connection manager reports the peer as unreachable", CHECK_PEER, NULL},
	{FAILURE_DEADLINE, PHASE_ANY, LIMIT_HANDSHAKE, STATUS_PEER, SIDE_BEYOND, GUESS, NULL,
		"check the client and the path, or raise --handshake-timeout", NULL},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_TOO_SLOW, STATUS_PEER, SIDE_ANYWHERE, FACT,
		"data moves, but too slowly to finish in time: a slow link or a busy host",
		"check the load of both hosts, and link speeds and rate limits (tc) at both ends "
		"and on the way, then retry",
		"tc -s qdisc"},
	{FAILURE_DEADLINE, PHASE_ANY, CODE_DIAGNOSIS, STATUS_PEER, SIDE_BEYOND, FACT,
		"the peer did not respond in time",
		"check whether its program is stopped, stuck or waiting for a processor, and the link",
		NULL},
	{FAILURE_DEADLINE, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_BEYOND, GUESS, NULL,
		"check the peer and the path, or raise --timeout", NULL},
	{FAILURE_GONE, PHASE_ANY, CODE_DIAGNOSIS, STATUS_PEER, SIDE_THERE, FACT,
		"the peer closed the connection, as happens when its program exits or is killed",
		CHECK_PEER, NULL},
	{FAILURE_GONE, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL, CHECK_PEER,
		NULL},
	{FAILURE_PROTOCOL, PHASE_ANY, PROTOCOL_UNAUTHENTICATED, STATUS_PEER, SIDE_EITHER, FACT,
		"the peer does not have the same secret",
		"give both programs the same --secret-file", NULL},
	{FAILURE_PROTOCOL, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL,
		"check that the peer's program speaks this protocol", NULL},
	{FAILURE_DAMAGED, PHASE_ANY, EXPLAIN_ANY, STATUS_DAMAGED, SIDE_EITHER, GUESS,
		"data from the peer arrived corrupted",
		"check the memory and RDMA devices of both hosts", NULL},
	{FAILURE_DAMAGED_THERE, PHASE_ANY, EXPLAIN_ANY, STATUS_DAMAGED, SIDE_EITHER, GUESS,
		"data sent to the peer arrived corrupted",
		"check the memory and RDMA devices of both hosts", NULL},
	{FAILURE_REMOVED, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"this host's RDMA device was removed",
		"check the kernel log, restore the device and start again", "dmesg"},
	{FAILURE_FILE, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT, NULL, NULL, NULL},
	{FAILURE_ABORTED, PHASE_ANY, EXPLAIN_ANY, STATUS_PEER, SIDE_THERE, FACT, NULL, NULL, NULL},
	{FAILURE_INTERRUPTED, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT,
		"interrupted by a signal", NULL, NULL},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_IDLE, STATUS_PEER, SIDE_THERE, FACT,
		"no data moved, and another client needed the slot",
		"raise --max-clients or --memory, or use an input and output that serve several "
		"clients",
		NULL},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_SIZE, STATUS_PEER, SIDE_THERE, FACT, NULL,
		"send less from the client, or raise --max-size", NULL},
	{FAILURE_LIMIT, PHASE_ANY, LIMIT_MEMORY, STATUS_FAILED, SIDE_HERE, FACT,
		"this program's connections may not take more of this host's memory",
		"stop other programs, use fewer connections or a smaller --buffer, or give this "
		"host or its control group more memory",
		NULL},

	{FAILURE_NO_HELLO, PHASE_ANY, EXPLAIN_ANY, STATUS_CONNECT, SIDE_THERE, FACT,
		"the program on this port is not rdma-server: it accepts without a hello, as the "
		"RDMA tutorial's programs do",
		START_SERVER, NULL},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_MTU, STATUS_PEER, SIDE_EITHER, FACT,
		"the network interfaces of the two hosts have different MTUs",
		"set the same MTU at both ends and on every switch between them", "ip link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_PATH, STATUS_PEER, SIDE_BEYOND, FACT,
		"packets as large as the MTU of this host do not reach the other host",
		"set the same MTU at both ends and on every switch and router between them",
		"tracepath HOST"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LARGE, STATUS_PEER, SIDE_BEYOND, GUESS,
		"packets as large as the MTU of this host do not reach the other host",
		"set the same MTU at both ends and on every switch and router between them; a "
		"firewall that drops only large datagrams has the same effect",
		"tracepath HOST"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LARGE_DATA, STATUS_PEER, SIDE_BEYOND, GUESS,
		"large packets between the two hosts are lost",
		"set the same MTU at both ends and on every switch and router between them",
		"ip link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_RDMA_MTU, STATUS_PEER, SIDE_EITHER, FACT,
		"the RDMA devices at the two ends have different active MTUs",
		"set the same MTU at both ends; on Ethernet, that of the network interfaces",
		"ibv_devinfo"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS, STATUS_PEER, SIDE_BEYOND, GUESS,
		"packets are lost on the path",
		"check for drops and errors at both ends and on every switch between them: cables, "
		"flow control (PFC), overloaded receivers",
		"ip -s link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS_TO, STATUS_PEER, SIDE_TO, FACT,
		"packets from this host to the other host are lost",
		"check for drops and errors on this host, on every switch between them, and in the "
		"other host's receive direction: cables, flow control (PFC), overloaded receivers",
		"ip -s link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LOSS_FROM, STATUS_PEER, SIDE_FROM, FACT,
		"packets from the other host to this host are lost",
		"check for drops and errors on the other host, on every switch between them, and in "
		"this host's receive direction: cables, flow control (PFC), overloaded receivers",
		"ip -s link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SLOW_TO, STATUS_PEER, SIDE_TO, FACT,
		"data to the other host is several times slower than data from it",
		"check this host's sending direction: link speed, rate limits (tc), a congested or "
		"slower link on the way",
		"tc -s qdisc"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SLOW_FROM, STATUS_PEER, SIDE_FROM, FACT,
		"data from the other host is several times slower than data to it",
		"check the other host's sending direction: link speed, rate limits (tc), a congested "
		"or slower link on the way",
		"tc -s qdisc"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_DELAY, STATUS_PEER, SIDE_EITHER, FACT,
		"each message takes long, although none is lost",
		"check for a long route, a VPN, traffic shaping (tc) or full queues on the way",
		"ping HOST"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_LINK, STATUS_PEER, SIDE_BEYOND, GUESS,
		"a cable, connector or transceiver is faulty",
		"clean or replace it, and check the same counters on the switch", "rdma statistic"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_SPEED, STATUS_PEER, SIDE_EITHER, GUESS,
		"the host's bus, the CPU or the network slows RDMA down",
		"check the adapter's PCIe slot and firmware and the CPU power settings",
		"lspci -vv"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_BUS, STATUS_PEER, SIDE_EITHER, FACT,
		"the adapter's PCIe slot is slower than its link",
		"use a full-width, full-speed slot", "lspci -vv"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_OPERATION, STATUS_PEER, SIDE_EITHER, FACT,
		"an operation fails that both devices say they have",
		"update the adapters' drivers and firmware; programs that need the operation will "
		"fail",
		"ibv_devinfo -v"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_EXPECTED, STATUS_FAILED, SIDE_EITHER, FACT,
		"the rate is lower than expected",
		"try other values of --size, --depth, --qps and --threads, or run rdma-client "
		"diagnose",
		NULL},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_UNKNOWN, STATUS_FAILED, SIDE_EITHER, FACT,
		"the link rate is unknown, so --expect cannot be a percentage",
		"give an absolute rate: --expect 1GB/s", "rdma link"},
	{FAILURE_IMPAIRED, PHASE_ANY, IMPAIRED_FULL, STATUS_PEER, SIDE_THERE, FACT,
		"the server has no slot for another client",
		"stop some clients, or raise its --max-clients or --max-clients-per-address", NULL},

	{FAILURE_ERRNO, PHASE_ANY, ENOMEM, STATUS_FAILED, SIDE_HERE, FACT, "out of memory", NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_ANY, EMFILE, STATUS_FAILED, SIDE_HERE, FACT,
		"this process has reached its open-file limit", "raise `ulimit -n`", "ulimit -n"},
	{FAILURE_ERRNO, PHASE_ADDRESS, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_ROUTE, EXPLAIN_ANY, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, EXPLAIN_LOCAL, STATUS_CONNECT, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_CONNECT, EXPLAIN_ANY, STATUS_CONNECT, SIDE_ANYWHERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_EXCHANGE, EXPLAIN_LOCAL, STATUS_FAILED, SIDE_HERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_EXCHANGE, EXPLAIN_ANY, STATUS_PEER, SIDE_ANYWHERE, FACT, NULL, NULL,
		NULL},
	{FAILURE_ERRNO, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED, SIDE_HERE, FACT, NULL, NULL, NULL},
};

/* For a failure that matches no row, which is a bug. */
static const struct explanation unknown = {FAILURE_NONE, PHASE_ANY, EXPLAIN_ANY, STATUS_FAILED,
	SIDE_HERE, FACT, "unknown cause", "this is a bug: please report it", NULL};

static bool row_has(const struct explanation *row, int code)
{
	return row->code == code || row->code == EXPLAIN_ANY ||
	       (row->code == EXPLAIN_LOCAL && local_failure_is(code, LOCAL_FAILURE_LATE));
}

const struct explanation *explain(enum failure_kind kind, enum phase phase, int code)
{
	if (phase == PHASE_DIAGNOSIS || phase == PHASE_MEASUREMENT)
		phase = PHASE_EXCHANGE;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].kind == kind &&
			(rows[i].phase == phase || rows[i].phase == PHASE_ANY) &&
			row_has(&rows[i], code))
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
		return code == CODE_UNSENT
			       ? "code"
			       : name_in(completion_names, COUNT(completion_names), code);
	case FAILURE_REJECTED:
		return name_in(reject_names, COUNT(reject_names), code);
	case FAILURE_REFUSED:
		return "refusal";
	default:
		return "code";
	}
}

const char *explain_side(enum side side)
{
	static const char *const sides[] = {
		[SIDE_HERE] = "this host",
		[SIDE_THERE] = "the other host",
		[SIDE_BEYOND] = "the other host or the path to it",
		[SIDE_EITHER] = "either host",
		[SIDE_TO] = "this host or the path from it",
		[SIDE_FROM] = "the other host or the path from it",
		[SIDE_ANYWHERE] = "this host, the other host or the path between them",
	};

	return sides[side];
}

/* "START LINK PEER END", for example "exchange with PEER failed"; without a peer "START END". */
static const struct attempt {
	const char *start;
	const char *link; /* NULL: do not mention the peer */
	const char *end;
} attempts[PHASE_COUNT] = {
	[PHASE_START] = {"cannot start", NULL, ""},
	[PHASE_OPEN] = {"cannot use RDMA", NULL, ""},
	[PHASE_NAME] = {"cannot resolve", " ", ""},
	[PHASE_LISTEN] = {"cannot listen", " on ", ""},
	[PHASE_ADDRESS] = {"cannot reach", " ", ""},
	[PHASE_ROUTE] = {"cannot find an RDMA path", " to ", ""},
	[PHASE_QUEUE_PAIR] = {"cannot create a queue pair", " for ", ""},
	[PHASE_ALLOCATION] = {"cannot allocate memory", " for ", ""},
	[PHASE_MEMORY] = {"cannot register memory", " for ", ""},
	[PHASE_CONNECT] = {"cannot connect", " to ", ""},
	[PHASE_EXCHANGE] = {"exchange", " with ", " failed"},
	[PHASE_DIAGNOSIS] = {"diagnosis", " with ", " failed"},
	[PHASE_MEASUREMENT] = {"measurement", " with ", " failed"},
	[PHASE_INCOMPLETE] = {"exchange", " with ", " is incomplete"},
};

/* Returns what follows the prefix, NULL if the line has another. */
static const char *after(const char *line, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(line, prefix, length) == 0 ? line + length : NULL;
}

/* The name of a file in what this says about it, NULL if it says something else or names none. */
static const char *file_named(const char *cause)
{
	const char *name = after(cause, "cannot write ");

	if (!name)
		name = after(cause, "cannot read ");
	return name && !after(name, "the output file") && !after(name, "to ") ? name : NULL;
}

/*
 * The cause, which the peer sees, too, names a file without its directory. Writes it with the
 * directory of the path, or with the path after it if that has another name: a symbolic link. A
 * path that ends with '/' is the directory.
 */
static void add_path(char *text, size_t size, const char *cause, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = file_named(cause), *rest = NULL;

	if (!slash || strstr(cause, path)) {
		snprintf(text, size, "%s", cause);
		return;
	}
	if (name)
		rest = after(name, slash + 1);
	if (rest && (!slash[1] || *rest == ':' || *rest == '/'))
		snprintf(text, size, "%.*s%.*s%s", (int)(name - cause), cause,
			(int)(slash + 1 - path), path, name);
	else
		snprintf(text, size, "%s (%s)", cause, path);
}

void explain_failure(
	const struct failure *failure, const char *peer, bool names, char *text, size_t size)
{
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	const struct attempt *attempt = &attempts[failure->phase];
	const char *cause = row->cause, *evidence = failure->evidence;
	bool named = peer && attempt->link;
	char library[160] = "", located[sizeof(failure->evidence) + PATH_MAX];

	if (!cause) {
		add_path(located, sizeof(located), evidence, failure->path ? failure->path : "");
		cause = located;
		evidence = "";
	}
	if (names)
		snprintf(library, sizeof(library), " [%s: %s %d]", failure->call,
			explain_name(failure->kind, failure->code), failure->code);
	snprintf(text, size, "%s%s%s%s: %s%s%s%s%s%s.%s", attempt->start,
		named ? attempt->link : "", named ? peer : "", attempt->end, cause,
		*evidence ? " (" : "", evidence, *evidence ? ")" : "", row->remedy ? "; " : "",
		row->remedy ? row->remedy : "", library);
}

/* Returns where the attempt ends in the line, with or without a peer; NULL if it is another. */
static const char *end_of_attempt(const char *line, const struct attempt *attempt)
{
	const char *rest = after(line, attempt->start), *peer;
	char end[16];

	if (!rest)
		return NULL;
	snprintf(end, sizeof(end), "%s: ", attempt->end);
	if (after(rest, end))
		return after(rest, end);
	peer = attempt->link ? after(rest, attempt->link) : NULL;
	peer = peer ? strstr(peer, end) : NULL;
	return peer ? peer + strlen(end) : NULL;
}

size_t explain_attempt_length(const char *line)
{
	for (size_t i = 0; i < COUNT(attempts); i++) {
		const char *end = end_of_attempt(line, &attempts[i]);

		if (end)
			return (size_t)(end - line);
	}
	return 0;
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
