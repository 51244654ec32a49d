/*
 * XXH3 once more, compiled from libxxhash's header without vector instructions. The library's own
 * code uses those that every processor of its kind has, and is faster by far, but where they are
 * emulated (a guest without hardware support) this is four times as fast. digest.c chooses.
 */
#ifndef PROTOCOL_DIGEST_PLAIN_H
#define PROTOCOL_DIGEST_PLAIN_H

#include <stddef.h>

/*
 * As XXH3_128bits_update(), on the library's state: both have the same layout, and the same results.
 * Any thread.
 */
void digest_plain_update(void *state, const void *data, size_t size);

#endif
