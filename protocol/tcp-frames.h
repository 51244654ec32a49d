/*
 * The bytes of a bootstrap by TCP: how two ends that do not use rdmacm find a path between two of
 * their ports and tell each other the numbers of their queue pairs. docs/protocol.md describes the
 * conversation. A frame is a header, type and size, and a body; numbers are little-endian.
 *
 *   client                      server
 *   OFFER: its GIDs     ----->
 *                       <-----  PATH: the pair of GIDs to use, or the reason why there is none
 *   REQUEST             ----->
 *                       <-----  REPLY, or REJECT with its reason
 *   READY               ----->
 *
 * The bytes come from anyone who can connect: the decoders check every length and value. Any
 * thread; nothing is allocated.
 */
#ifndef PROTOCOL_TCP_FRAMES_H
#define PROTOCOL_TCP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/failure.h"

/* The codes of a path MTU, for 256 to 4096 bytes: those of enum ibv_mtu. */
#define TCP_MTU_MIN 1
#define TCP_MTU_MAX 5

/* GIDs that an offer or a refusal may list. */
#define TCP_GIDS_MAX 16

/* Private data of a request, a reply and a rejection, in bytes: rdma_connect(3) has no more. */
#define TCP_PRIVATE_MAX 196

/* The name of a network interface, as IF_NAMESIZE. */
#define TCP_INTERFACE_SIZE 16

#define TCP_HEADER_SIZE 4
#define TCP_FRAME_MAX   (TCP_HEADER_SIZE + 16 + TCP_GIDS_MAX * 48)

enum tcp_frame_type {
	TCP_OFFER = 1,
	TCP_PATH,
	TCP_REQUEST,
	TCP_REPLY,
	TCP_REJECT,
	TCP_READY,
};

/* How packets are addressed with a GID. */
enum tcp_gid_type {
	TCP_GID_INFINIBAND,
	TCP_GID_ROCE_V1,
	TCP_GID_ROCE_V2,
	TCP_GID_TYPES, /* or one that this release does not know */
};

/* A GID of a port that is active, with what the other end needs to reach it. */
struct tcp_gid {
	uint8_t gid[16];
	enum tcp_gid_type type;
	uint8_t mtu;      /* of the port as a code, or the smaller one of --mtu */
	uint8_t port;     /* of its device; informative */
	bool carries_tcp; /* its interface carries the TCP connection */
	uint16_t index, lid;
	uint16_t pkey;                      /* the partition key itself */
	char interface[TCP_INTERFACE_SIZE]; /* network interface, "": unknown; informative */
};

/* An offer of the client: its GIDs, the preferred one first. */
struct tcp_offer {
	unsigned int count;
	struct tcp_gid gids[TCP_GIDS_MAX];
};

/* The server's choice, and its GIDs: if there is a path, the one to use first. */
struct tcp_path {
	enum path_fault refusal; /* PATH_FINE: none */
	unsigned int chosen;     /* of the client's offer */
	unsigned int count;      /* at least 1 if there is a path */
	bool rdmacm;             /* the server accepts connections by rdmacm, too */
	struct tcp_gid gids[TCP_GIDS_MAX];
};

/* A request or a reply. */
struct tcp_queue_pair {
	uint32_t number;   /* of the queue pair, 24 bits */
	uint32_t sequence; /* first packet sequence number that it sends, 24 bits */
	uint8_t mtu;       /* enum ibv_mtu */
	uint8_t initiator_depth, responder_resources; /* of its sender: rdma_connect(3) */
	uint8_t traffic_class; /* that its packets have; 0: the other end decides */
	uint8_t private_size;
	uint8_t private_data[TCP_PRIVATE_MAX];
};

/* The encoders return the number of bytes written to the frame. */
size_t tcp_offer_encode(const struct tcp_offer *offer, uint8_t frame[TCP_FRAME_MAX]);
size_t tcp_path_encode(const struct tcp_path *path, uint8_t frame[TCP_FRAME_MAX]);
size_t tcp_queue_pair_encode(
	enum tcp_frame_type type, const struct tcp_queue_pair *pair, uint8_t frame[TCP_FRAME_MAX]);
size_t tcp_reject_encode(const void *data, uint8_t size, uint8_t frame[TCP_FRAME_MAX]);
size_t tcp_ready_encode(uint8_t frame[TCP_FRAME_MAX]);

/*
 * Looks at what has arrived. Returns the size of the first frame, 0 if more bytes are needed, or
 * -EPROTO if these bytes begin no frame of a permitted size.
 */
int tcp_frame_size(const uint8_t *bytes, size_t have);

/* While it returns 0: how many bytes may be read next, so that what follows the frame is not. */
size_t tcp_frame_missing(const uint8_t *bytes, size_t have);

/* The type of a complete frame; unknown types are possible. */
unsigned int tcp_frame_type(const uint8_t *frame);

/*
 * Each decodes a complete frame of its type. Returns 0 or -EPROTO; for an offer in another version
 * of the protocol, -EPROTONOSUPPORT. A refusal for a reason that this release does not know is
 * PATH_OTHER_RELEASE.
 */
int tcp_offer_decode(struct tcp_offer *offer, const uint8_t *frame);
int tcp_path_decode(struct tcp_path *path, const uint8_t *frame);
int tcp_queue_pair_decode(struct tcp_queue_pair *pair, const uint8_t *frame);

/* The private data of a rejection and its size. */
const uint8_t *tcp_reject_data(const uint8_t *frame, uint8_t *size);

/* "RoCE v2" and so on; static. */
const char *tcp_gid_type_name(enum tcp_gid_type type);

/* True for a GID of RoCE that is an address of one link: fe80::/10. */
bool tcp_gid_is_link_local(const struct tcp_gid *gid);

/* The address of a GID, without a port: IPv4 if it is mapped, otherwise IPv6. */
void tcp_gid_address(const uint8_t gid[16], struct sockaddr_storage *address);

#endif
