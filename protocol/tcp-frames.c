/* Encodes and decodes the frames of a bootstrap by TCP: see protocol/tcp-frames.h. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/address.h"
#include "protocol/little-endian.h"
#include "protocol/tcp-frames.h"

/* The beginning of an offer: any other program's first bytes differ. */
static const uint8_t magic[8] = {'R', 'D', 'M', 'A', 'p', 'a', 'i', 'r'};

#define VERSION 1

/* Sizes of the fixed parts of bodies, and of a GID. */
#define OFFER_SIZE 12 /* magic, version, count */
#define PATH_SIZE  8  /* refusal, chosen, count, flags */
#define PAIR_SIZE  16 /* number, sequence, MTU, depths, size of the private data, class */
#define GID_SIZE   48

/* Flags of a path; a client ignores those that it does not know. */
#define PATH_RDMACM 1U

#define NUMBER_MAX 0xffffff

_Static_assert(OFFER_SIZE <= 16 && PATH_SIZE <= 16, "a frame has room for a list of GIDs");
_Static_assert(TCP_HEADER_SIZE + PAIR_SIZE + TCP_PRIVATE_MAX <= TCP_FRAME_MAX, "private data fits");

static size_t finish(enum tcp_frame_type type, size_t body, uint8_t *frame)
{
	le_put16(frame, (uint16_t)type);
	le_put16(frame + 2, (uint16_t)body);
	return TCP_HEADER_SIZE + body;
}

static void put_gid(uint8_t *at, const struct tcp_gid *gid)
{
	memset(at, 0, GID_SIZE);
	memcpy(at, gid->gid, sizeof(gid->gid));
	at[16] = (uint8_t)gid->type;
	at[17] = gid->mtu;
	at[18] = gid->port;
	at[19] = gid->carries_tcp;
	le_put16(at + 20, gid->index);
	le_put16(at + 22, gid->lid);
	le_put16(at + 24, gid->pkey);
	memcpy(at + 32, gid->interface, strnlen(gid->interface, TCP_INTERFACE_SIZE - 1));
}

static int get_gid(struct tcp_gid *gid, const uint8_t *at)
{
	*gid = (struct tcp_gid){
		.type = at[16] < TCP_GID_TYPES ? (enum tcp_gid_type)at[16] : TCP_GID_TYPES,
		.mtu = at[17],
		.port = at[18],
		.carries_tcp = at[19] & 1,
		.index = le_get16(at + 20),
		.lid = le_get16(at + 22),
		.pkey = le_get16(at + 24),
	};
	memcpy(gid->gid, at, sizeof(gid->gid));
	for (size_t i = 0; i < TCP_INTERFACE_SIZE - 1 && at[32 + i]; i++)
		gid->interface[i] =
			(char)(at[32 + i] > ' ' && at[32 + i] < 0x7f ? at[32 + i] : '?');
	return gid->mtu >= TCP_MTU_MIN && gid->mtu <= TCP_MTU_MAX ? 0 : -EPROTO;
}

static size_t put_gids(uint8_t *at, const struct tcp_gid *gids, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		put_gid(at + (size_t)i * GID_SIZE, &gids[i]);
	return (size_t)count * GID_SIZE;
}

/* Reads a list that must end with the frame. Returns 0 or -EPROTO. */
static int get_gids(struct tcp_gid *gids, unsigned int count, const uint8_t *frame, size_t before)
{
	const uint8_t *at = frame + TCP_HEADER_SIZE + before;

	if (count > TCP_GIDS_MAX || le_get16(frame + 2) != before + (size_t)count * GID_SIZE)
		return -EPROTO;
	for (unsigned int i = 0; i < count; i++)
		if (get_gid(&gids[i], at + (size_t)i * GID_SIZE))
			return -EPROTO;
	return 0;
}

size_t tcp_offer_encode(const struct tcp_offer *offer, uint8_t frame[TCP_FRAME_MAX])
{
	uint8_t *body = frame + TCP_HEADER_SIZE;

	memcpy(body, magic, sizeof(magic));
	le_put16(body + 8, VERSION);
	le_put16(body + 10, (uint16_t)offer->count);
	return finish(TCP_OFFER,
		OFFER_SIZE + put_gids(body + OFFER_SIZE, offer->gids, offer->count), frame);
}

int tcp_offer_decode(struct tcp_offer *offer, const uint8_t *frame)
{
	const uint8_t *body = frame + TCP_HEADER_SIZE;

	*offer = (struct tcp_offer){0};
	if (le_get16(frame + 2) < OFFER_SIZE || memcmp(body, magic, sizeof(magic)) != 0)
		return -EPROTO;
	if (le_get16(body + 8) != VERSION)
		return -EPROTONOSUPPORT;
	offer->count = le_get16(body + 10);
	return get_gids(offer->gids, offer->count, frame, OFFER_SIZE);
}

size_t tcp_path_encode(const struct tcp_path *path, uint8_t frame[TCP_FRAME_MAX])
{
	uint8_t *body = frame + TCP_HEADER_SIZE;

	le_put16(body, (uint16_t)path->refusal);
	le_put16(body + 2, (uint16_t)path->chosen);
	le_put16(body + 4, (uint16_t)path->count);
	le_put16(body + 6, path->rdmacm ? PATH_RDMACM : 0);
	return finish(
		TCP_PATH, PATH_SIZE + put_gids(body + PATH_SIZE, path->gids, path->count), frame);
}

int tcp_path_decode(struct tcp_path *path, const uint8_t *frame)
{
	const uint8_t *body = frame + TCP_HEADER_SIZE;

	*path = (struct tcp_path){0};
	if (le_get16(frame + 2) < PATH_SIZE)
		return -EPROTO;
	path->refusal = le_get16(body) < PATH_FAULTS_SENT ? (enum path_fault)le_get16(body)
							  : PATH_OTHER_RELEASE;
	if (path->refusal == PATH_OTHER_RELEASE)
		return 0; /* what follows may differ, too */
	path->chosen = le_get16(body + 2);
	path->count = le_get16(body + 4);
	path->rdmacm = le_get16(body + 6) & PATH_RDMACM;
	if (get_gids(path->gids, path->count, frame, PATH_SIZE))
		return -EPROTO;
	return path->refusal == PATH_FINE && path->count == 0 ? -EPROTO : 0;
}

size_t tcp_queue_pair_encode(
	enum tcp_frame_type type, const struct tcp_queue_pair *pair, uint8_t frame[TCP_FRAME_MAX])
{
	uint8_t *body = frame + TCP_HEADER_SIZE;

	le_put32(body, pair->number);
	le_put32(body + 4, pair->sequence);
	body[8] = pair->mtu;
	body[9] = pair->initiator_depth;
	body[10] = pair->responder_resources;
	body[11] = pair->private_size;
	body[12] = pair->traffic_class;
	body[13] = body[14] = body[15] = 0;
	memcpy(body + PAIR_SIZE, pair->private_data, pair->private_size);
	return finish(type, PAIR_SIZE + (size_t)pair->private_size, frame);
}

int tcp_queue_pair_decode(struct tcp_queue_pair *pair, const uint8_t *frame)
{
	const uint8_t *body = frame + TCP_HEADER_SIZE;
	size_t size = le_get16(frame + 2);

	*pair = (struct tcp_queue_pair){0};
	if (size < PAIR_SIZE || body[11] > TCP_PRIVATE_MAX || size != PAIR_SIZE + (size_t)body[11])
		return -EPROTO;
	pair->number = le_get32(body);
	pair->sequence = le_get32(body + 4);
	pair->mtu = body[8];
	pair->initiator_depth = body[9];
	pair->responder_resources = body[10];
	pair->private_size = body[11];
	pair->traffic_class = body[12];
	memcpy(pair->private_data, body + PAIR_SIZE, pair->private_size);
	return pair->number > NUMBER_MAX || pair->sequence > NUMBER_MAX ||
			       pair->mtu < TCP_MTU_MIN || pair->mtu > TCP_MTU_MAX
		       ? -EPROTO
		       : 0;
}

size_t tcp_reject_encode(const void *data, uint8_t size, uint8_t frame[TCP_FRAME_MAX])
{
	if (size > 0)
		memcpy(frame + TCP_HEADER_SIZE, data, size);
	return finish(TCP_REJECT, size, frame);
}

const uint8_t *tcp_reject_data(const uint8_t *frame, uint8_t *size)
{
	uint16_t body = le_get16(frame + 2);

	*size = (uint8_t)(body < TCP_PRIVATE_MAX ? body : TCP_PRIVATE_MAX);
	return frame + TCP_HEADER_SIZE;
}

size_t tcp_ready_encode(uint8_t frame[TCP_FRAME_MAX])
{
	return finish(TCP_READY, 0, frame);
}

int tcp_frame_size(const uint8_t *bytes, size_t have)
{
	size_t size;

	/* The bytes of another program are recognized as soon as possible. */
	if (have >= 2 && (le_get16(bytes) < TCP_OFFER || le_get16(bytes) > TCP_READY))
		return -EPROTO;
	if (have < TCP_HEADER_SIZE)
		return 0;
	size = TCP_HEADER_SIZE + (size_t)le_get16(bytes + 2);
	if (size > TCP_FRAME_MAX)
		return -EPROTO;
	return have >= size ? (int)size : 0;
}

size_t tcp_frame_missing(const uint8_t *bytes, size_t have)
{
	const size_t known = have < TCP_HEADER_SIZE ? 0 : le_get16(bytes + 2);

	return TCP_HEADER_SIZE + known - have;
}

unsigned int tcp_frame_type(const uint8_t *frame)
{
	return le_get16(frame);
}

const char *tcp_gid_type_name(enum tcp_gid_type type)
{
	switch (type) {
	case TCP_GID_ROCE_V1:
		return "RoCE v1";
	case TCP_GID_ROCE_V2:
		return "RoCE v2";
	case TCP_GID_INFINIBAND:
		return "InfiniBand";
	case TCP_GID_TYPES:
		break;
	}
	return "of an unknown type";
}

bool tcp_gid_is_link_local(const struct tcp_gid *gid)
{
	return gid->type != TCP_GID_INFINIBAND && gid->gid[0] == 0xfe &&
	       (gid->gid[1] & 0xc0) == 0x80;
}

void tcp_gid_address(const uint8_t gid[16], struct sockaddr_storage *address)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	v6->sin6_family = AF_INET6;
	memcpy(&v6->sin6_addr, gid, sizeof(v6->sin6_addr));
	address_unmap(address);
}
