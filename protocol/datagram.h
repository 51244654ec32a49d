/*
 * The header of a multicast datagram: docs/protocol.md. A stream is a sender's series of numbered
 * datagrams; what follows the header is a text, or the pattern of the datagram's number
 * (protocol/test-pattern.h). Any thread.
 */
#ifndef PROTOCOL_DATAGRAM_H
#define PROTOCOL_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the header, which the size of a datagram includes. */
#define DATAGRAM_HEADER 40

/* Bytes of the largest datagram: that of the largest MTU. */
#define DATAGRAM_MAX 4096

/* Bytes of a text. */
#define DATAGRAM_TEXT_MAX 1024

/* Datagrams of a stream. A receiver keeps one bit for each. */
#define DATAGRAM_COUNT_MAX UINT64_C(100000000)

struct datagram {
	uint64_t stream;  /* random, so that streams of several senders differ */
	uint64_t number;  /* from 0; of the end: how many were sent, at least 1 */
	uint64_t count;   /* planned for the stream, without its end; 1 to DATAGRAM_COUNT_MAX */
	uint32_t elapsed; /* milliseconds since the stream began */
	bool text;        /* the payload is a text */
	bool end;         /* no datagram follows; has no payload */
};

void datagram_encode(const struct datagram *datagram, uint8_t bytes[DATAGRAM_HEADER]);

/* Decodes the header of `size` bytes that arrived. Returns 0 or -EPROTO. */
int datagram_decode(struct datagram *datagram, const uint8_t *bytes, size_t size);

#endif
