/*
 * What can be digested of a part of the data before the data in front of it is: with a key, the
 * hashes of its whole blocks, which take nearly all of the time. So several threads share the work.
 */
#ifndef PROTOCOL_DIGEST_PART_H
#define PROTOCOL_DIGEST_PART_H

#include <stddef.h>
#include <stdint.h>

/* The most blocks of a part; what follows them is hashed when the part is added. */
#define DIGEST_PART_BLOCKS 64

struct digest_part {
	size_t before;      /* bytes in front of the first whole block */
	unsigned int count; /* whole blocks; 0: nothing was digested */
	uint8_t hashes[DIGEST_PART_BLOCKS][16];
};

#endif
