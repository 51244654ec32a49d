/* The frames of a bootstrap by TCP: what is encoded is decoded, and nothing else. */
#include <errno.h>
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/tcp-frames.h"
#include "tests/unit/unit.h"

static struct tcp_gid a_gid(uint8_t last)
{
	struct tcp_gid gid = {.type = TCP_GID_ROCE_V2,
		.mtu = 3,
		.port = 1,
		.carries_tcp = true,
		.index = 300,
		.lid = 7,
		.pkey = 0xffff,
		.interface = "a-name-of-15-ch"};

	gid.gid[15] = last;
	return gid;
}

static void assert_same(const struct tcp_gid *one, const struct tcp_gid *other)
{
	assert_memory_equal(one->gid, other->gid, sizeof(one->gid));
	assert_int_equal(one->type, other->type);
	assert_int_equal(one->mtu, other->mtu);
	assert_int_equal(one->port, other->port);
	assert_int_equal(one->carries_tcp, other->carries_tcp);
	assert_int_equal(one->index, other->index);
	assert_int_equal(one->lid, other->lid);
	assert_int_equal(one->pkey, other->pkey);
	assert_string_equal(one->interface, other->interface);
}

/* A frame is complete with its last byte, and not before. */
static void assert_complete(const uint8_t *frame, size_t size, enum tcp_frame_type type)
{
	for (size_t have = 0; have < size; have++) {
		const size_t known = have < TCP_HEADER_SIZE ? TCP_HEADER_SIZE : size;

		assert_int_equal(tcp_frame_size(frame, have), 0);
		assert_int_equal(tcp_frame_missing(frame, have), known - have);
	}
	assert_int_equal(tcp_frame_size(frame, size), size);
	assert_int_equal(tcp_frame_type(frame), type);
}

static void offers_are_decoded(void **state)
{
	struct tcp_offer offer = {0}, decoded;
	uint8_t frame[TCP_FRAME_MAX];
	size_t size;

	(void)state;
	for (unsigned int count = 0; count <= TCP_GIDS_MAX; count++) {
		offer.count = count;
		for (unsigned int i = 0; i < count; i++)
			offer.gids[i] = a_gid((uint8_t)i);
		size = tcp_offer_encode(&offer, frame);
		assert_complete(frame, size, TCP_OFFER);
		assert_int_equal(tcp_offer_decode(&decoded, frame), 0);
		assert_int_equal(decoded.count, count);
		for (unsigned int i = 0; i < count; i++)
			assert_same(&decoded.gids[i], &offer.gids[i]);
	}
}

static void paths_are_decoded(void **state)
{
	struct tcp_path path = {.chosen = 3, .count = 1, .rdmacm = true, .gids = {a_gid(9)}};
	struct tcp_path decoded;
	uint8_t frame[TCP_FRAME_MAX];

	(void)state;
	assert_complete(frame, tcp_path_encode(&path, frame), TCP_PATH);
	assert_int_equal(tcp_path_decode(&decoded, frame), 0);
	assert_int_equal(decoded.refusal, PATH_FINE);
	assert_int_equal(decoded.chosen, 3);
	assert_true(decoded.rdmacm);
	assert_same(&decoded.gids[0], &path.gids[0]);
	path = (struct tcp_path){.refusal = PATH_NO_ROUTE};
	tcp_path_encode(&path, frame);
	assert_int_equal(tcp_path_decode(&decoded, frame), 0);
	assert_int_equal(decoded.refusal, PATH_NO_ROUTE);
	assert_false(decoded.rdmacm);
	/* A path has a GID. */
	path.refusal = PATH_FINE;
	tcp_path_encode(&path, frame);
	assert_int_equal(tcp_path_decode(&decoded, frame), -EPROTO);
	/* A reason of a later release. */
	path.refusal = PATH_FAULTS_SENT;
	tcp_path_encode(&path, frame);
	assert_int_equal(tcp_path_decode(&decoded, frame), 0);
	assert_int_equal(decoded.refusal, PATH_OTHER_RELEASE);
	assert_int_equal(decoded.count, 0);
}

static void queue_pairs_are_decoded(void **state)
{
	struct tcp_queue_pair pair = {.number = 0xabcdef,
				      .sequence = 0x123456,
				      .mtu = TCP_MTU_MAX,
				      .initiator_depth = 16,
				      .traffic_class = 104,
				      .responder_resources = 128},
			      decoded;
	uint8_t frame[TCP_FRAME_MAX];

	(void)state;
	for (unsigned int size = 0; size <= TCP_PRIVATE_MAX; size++) {
		pair.private_size = (uint8_t)size;
		memset(pair.private_data, (int)size, size);
		assert_complete(
			frame, tcp_queue_pair_encode(TCP_REQUEST, &pair, frame), TCP_REQUEST);
		assert_int_equal(tcp_queue_pair_decode(&decoded, frame), 0);
		assert_int_equal(decoded.number, pair.number);
		assert_int_equal(decoded.sequence, pair.sequence);
		assert_int_equal(decoded.mtu, pair.mtu);
		assert_int_equal(decoded.initiator_depth, 16);
		assert_int_equal(decoded.responder_resources, 128);
		assert_int_equal(decoded.traffic_class, 104);
		assert_int_equal(decoded.private_size, size);
		assert_memory_equal(decoded.private_data, pair.private_data, size);
	}
}

/* Each number that no device could have. */
static void impossible_queue_pairs_are_rejected(void **state)
{
	static const struct {
		const char *name;
		struct tcp_queue_pair pair;
	} cases[] = {
		{"number", {.number = 1U << 24, .mtu = TCP_MTU_MIN}},
		{"sequence", {.sequence = 1U << 24, .mtu = TCP_MTU_MIN}},
		{"no MTU", {.mtu = 0}},
		{"MTU", {.mtu = TCP_MTU_MAX + 1}},
	};
	struct tcp_queue_pair decoded;
	uint8_t frame[TCP_FRAME_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		tcp_queue_pair_encode(TCP_REPLY, &cases[i].pair, frame);
		check_case(cases[i].name, tcp_queue_pair_decode(&decoded, frame) == -EPROTO);
	}
	/* The size of the private data is not that of the frame. */
	tcp_queue_pair_encode(TCP_REPLY, &(struct tcp_queue_pair){.mtu = TCP_MTU_MIN}, frame);
	frame[TCP_HEADER_SIZE + 11] = 1;
	assert_int_equal(tcp_queue_pair_decode(&decoded, frame), -EPROTO);
	frame[TCP_HEADER_SIZE + 11] = 255;
	le_put16(frame + 2, 16 + 255);
	assert_int_equal(tcp_queue_pair_decode(&decoded, frame), -EPROTO);
	le_put16(frame + 2, 3);
	assert_int_equal(tcp_queue_pair_decode(&decoded, frame), -EPROTO);
}

static void impossible_offers_are_rejected(void **state)
{
	const struct tcp_offer offer = {.count = 2, .gids = {a_gid(1), a_gid(2)}};
	const size_t second = TCP_HEADER_SIZE + 12 + 48;
	struct tcp_offer decoded;
	uint8_t frame[TCP_FRAME_MAX];
	struct {
		const char *name;
		size_t at;
		uint8_t value;
	} cases[] = {
		{"magic", TCP_HEADER_SIZE, 'x'},
		{"count", TCP_HEADER_SIZE + 10, 3},
		{"too many", TCP_HEADER_SIZE + 10, TCP_GIDS_MAX + 1},
		{"size", 2, 107},
		{"no MTU", second + 17, 0},
		{"MTU", second + 17, 6},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		tcp_offer_encode(&offer, frame);
		frame[cases[i].at] = cases[i].value;
		check_case(cases[i].name, tcp_offer_decode(&decoded, frame) == -EPROTO);
	}
}

static void offers_of_later_releases_are_recognized(void **state)
{
	const struct tcp_offer offer = {.count = 2, .gids = {a_gid(1), a_gid(2)}};
	struct tcp_offer decoded;
	uint8_t frame[TCP_FRAME_MAX];

	(void)state;
	tcp_offer_encode(&offer, frame);
	frame[TCP_HEADER_SIZE + 12 + 16] = 200;
	assert_int_equal(tcp_offer_decode(&decoded, frame), 0);
	assert_int_equal(decoded.gids[0].type, TCP_GID_TYPES);
	assert_int_equal(decoded.gids[1].type, TCP_GID_ROCE_V2);
	frame[TCP_HEADER_SIZE + 8] = 2;
	assert_int_equal(tcp_offer_decode(&decoded, frame), -EPROTONOSUPPORT);
}

static void what_begins_no_frame_is_rejected(void **state)
{
	static const char http[] = "GET / HTTP/1.1";
	uint8_t header[TCP_HEADER_SIZE] = {TCP_OFFER, 0, 0xff, 0xff};

	(void)state;
	assert_int_equal(tcp_frame_size((const uint8_t *)http, 1), 0);
	for (size_t have = 2; have <= sizeof(http); have++)
		assert_int_equal(tcp_frame_size((const uint8_t *)http, have), -EPROTO);
	assert_int_equal(tcp_frame_size(header, sizeof(header)), -EPROTO);
	le_put16(header + 2, TCP_FRAME_MAX - TCP_HEADER_SIZE);
	assert_int_equal(tcp_frame_size(header, sizeof(header)), 0);
	le_put16(header + 2, TCP_FRAME_MAX - TCP_HEADER_SIZE + 1);
	assert_int_equal(tcp_frame_size(header, sizeof(header)), -EPROTO);
	le_put16(header, 0);
	assert_int_equal(tcp_frame_size(header, 2), -EPROTO);
}

static void rejections_carry_data(void **state)
{
	uint8_t frame[TCP_FRAME_MAX], size;

	(void)state;
	assert_complete(frame, tcp_reject_encode("why", 3, frame), TCP_REJECT);
	assert_memory_equal(tcp_reject_data(frame, &size), "why", 3);
	assert_int_equal(size, 3);
	assert_complete(frame, tcp_reject_encode(NULL, 0, frame), TCP_REJECT);
	tcp_reject_data(frame, &size);
	assert_int_equal(size, 0);
	le_put16(frame + 2, TCP_FRAME_MAX - TCP_HEADER_SIZE);
	tcp_reject_data(frame, &size);
	assert_int_equal(size, TCP_PRIVATE_MAX);
	assert_complete(frame, tcp_ready_encode(frame), TCP_READY);
}

static void types_have_names(void **state)
{
	(void)state;
	assert_string_equal(tcp_gid_type_name(TCP_GID_ROCE_V1), "RoCE v1");
	assert_string_equal(tcp_gid_type_name(TCP_GID_ROCE_V2), "RoCE v2");
	assert_string_equal(tcp_gid_type_name(TCP_GID_INFINIBAND), "InfiniBand");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers_are_decoded),
		cmocka_unit_test(paths_are_decoded),
		cmocka_unit_test(queue_pairs_are_decoded),
		cmocka_unit_test(impossible_queue_pairs_are_rejected),
		cmocka_unit_test(impossible_offers_are_rejected),
		cmocka_unit_test(offers_of_later_releases_are_recognized),
		cmocka_unit_test(what_begins_no_frame_is_rejected),
		cmocka_unit_test(rejections_carry_data),
		cmocka_unit_test(types_have_names),
	};

	return cmocka_run_group_tests_name("tcp-frames", tests, NULL, NULL);
}
