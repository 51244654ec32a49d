/* The digest of a file that is already here. Any thread. */
#ifndef STREAM_FILE_DIGEST_H
#define STREAM_FILE_DIGEST_H

#include <stdint.h>

#include "protocol/digest.h"

/*
 * Adds the first bytes of an open file to a digest, unless stop_fd, an eventfd or -1, becomes
 * readable. Returns 0; -ECANCELED; or -EIO if the file cannot be read, or is shorter. pread(2).
 */
int file_digest_add(struct digester *digester, int file, uint64_t size, int stop_fd);

/*
 * Adds the zeros of a hole, unless stop_fd becomes readable. Returns 0 or -ECANCELED.
 */
int file_digest_add_hole(struct digester *digester, uint64_t size, int stop_fd);

/*
 * Digests these bytes alone, with the key of a digester without data: DIGEST_EXISTING. Returns 0,
 * -ENOMEM, or the same.
 */
int file_digest(
	const struct digester *keyed, int file, uint64_t size, int stop_fd, struct digest *digest);

#endif
