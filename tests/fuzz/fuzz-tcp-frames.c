/*
 * Bytes on the TCP connection of a bootstrap, from anyone: frames are found, decoded and encoded
 * again, as are multicast datagrams.
 */
#include <errno.h>

#include "protocol/datagram.h"
#include "protocol/tcp-frames.h"
#include "tests/fuzz/fuzz.h"

/* A frame that was decoded survives encoding and decoding again, but for unused bytes. */
static void check_again(const uint8_t *frame, size_t size, enum tcp_frame_type type)
{
	struct tcp_queue_pair pair;
	uint8_t bytes[TCP_FRAME_MAX];
	struct tcp_offer offer;
	struct tcp_path path;
	size_t encoded = size;

	if (type == TCP_OFFER && tcp_offer_decode(&offer, frame) == 0) {
		fuzz_check(offer.count <= TCP_GIDS_MAX);
		encoded = tcp_offer_encode(&offer, bytes);
		fuzz_check(tcp_offer_decode(&offer, bytes) == 0);
	} else if (type == TCP_PATH && tcp_path_decode(&path, frame) == 0) {
		fuzz_check(path.refusal < PATH_FAULTS_SENT && path.count <= TCP_GIDS_MAX);
		fuzz_check(path.refusal != PATH_FINE || path.count > 0);
		/* The rest of a refusal that this release does not know is not decoded. */
		if (path.refusal != PATH_OTHER_RELEASE)
			encoded = tcp_path_encode(&path, bytes);
		else
			tcp_path_encode(&path, bytes);
		fuzz_check(tcp_path_decode(&path, bytes) == 0);
	} else if ((type == TCP_REQUEST || type == TCP_REPLY) &&
		   tcp_queue_pair_decode(&pair, frame) == 0) {
		fuzz_check(pair.number < 1U << 24 && pair.sequence < 1U << 24);
		fuzz_check(pair.mtu >= TCP_MTU_MIN && pair.mtu <= TCP_MTU_MAX);
		encoded = tcp_queue_pair_encode(type, &pair, bytes);
		fuzz_check(tcp_queue_pair_decode(&pair, bytes) == 0);
	}
	fuzz_check(encoded == size);
}

static void check_datagram(const uint8_t *data, size_t size)
{
	uint8_t bytes[DATAGRAM_HEADER];
	struct datagram datagram, again;

	if (datagram_decode(&datagram, data, size))
		return;
	fuzz_check(size >= DATAGRAM_HEADER && datagram.count <= DATAGRAM_COUNT_MAX);
	fuzz_check(datagram.end || datagram.number < datagram.count);
	fuzz_check(!datagram.end || (datagram.number > 0 && datagram.number <= datagram.count));
	datagram_encode(&datagram, bytes);
	fuzz_check(datagram_decode(&again, bytes, sizeof(bytes)) == 0);
	fuzz_check(again.stream == datagram.stream && again.number == datagram.number &&
		   again.elapsed == datagram.elapsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t private_size, frame[TCP_FRAME_MAX] = {0};
	size_t have;
	int complete;

	check_datagram(data, size);
	for (have = 0; have < size && have < sizeof(frame); have++)
		frame[have] = data[have];
	complete = tcp_frame_size(frame, have);
	fuzz_check(complete == -EPROTO || (complete >= 0 && (size_t)complete <= have));
	if (complete == 0)
		fuzz_check(tcp_frame_missing(frame, have) > 0 &&
			   have + tcp_frame_missing(frame, have) <= sizeof(frame));
	if (complete <= 0)
		return 0;
	/* Whatever else has arrived is not part of the frame. */
	memset(frame + complete, 0xff, sizeof(frame) - (size_t)complete);
	check_again(frame, (size_t)complete, (enum tcp_frame_type)tcp_frame_type(frame));
	fuzz_check(tcp_reject_data(frame, &private_size) == frame + TCP_HEADER_SIZE);
	fuzz_check(private_size <= TCP_PRIVATE_MAX);
	return 0;
}
