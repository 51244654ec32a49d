/* See protocol/datagram.h. */
#include <errno.h>
#include <string.h>

#include "protocol/datagram.h"
#include "protocol/little-endian.h"

static const uint8_t magic[8] = {'R', 'D', 'M', 'A', 'm', 'c', 's', 't'};

#define FLAG_TEXT 1U
#define FLAG_END  2U

void datagram_encode(const struct datagram *datagram, uint8_t bytes[DATAGRAM_HEADER])
{
	memset(bytes, 0, DATAGRAM_HEADER);
	memcpy(bytes, magic, sizeof(magic));
	le_put64(bytes + 8, datagram->stream);
	le_put64(bytes + 16, datagram->number);
	le_put64(bytes + 24, datagram->count);
	le_put32(bytes + 32, (datagram->text ? FLAG_TEXT : 0) | (datagram->end ? FLAG_END : 0));
	le_put32(bytes + 36, datagram->elapsed);
}

int datagram_decode(struct datagram *datagram, const uint8_t *bytes, size_t size)
{
	uint32_t flags;

	*datagram = (struct datagram){0};
	if (size < DATAGRAM_HEADER || memcmp(bytes, magic, sizeof(magic)) != 0)
		return -EPROTO;
	flags = le_get32(bytes + 32);
	datagram->stream = le_get64(bytes + 8);
	datagram->number = le_get64(bytes + 16);
	datagram->count = le_get64(bytes + 24);
	datagram->text = flags & FLAG_TEXT;
	datagram->end = flags & FLAG_END;
	datagram->elapsed = le_get32(bytes + 36);
	if (datagram->count == 0 || datagram->count > DATAGRAM_COUNT_MAX)
		return -EPROTO;
	/* The end of a stream that was interrupted has a number below the count. */
	if (datagram->end)
		return datagram->number > 0 && datagram->number <= datagram->count ? 0 : -EPROTO;
	return datagram->number < datagram->count ? 0 : -EPROTO;
}
