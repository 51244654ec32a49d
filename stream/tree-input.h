/*
 * Reads several files and folders as one tree stream (protocol/tree.h). Regular files, folders and
 * symbolic links are sent; anything else is skipped. A symbolic link that is itself an input is
 * followed.
 *
 * What cannot be opened, or vanished, is left out, unless it is itself an input. A file whose
 * contents cannot be read, or that shrinks meanwhile, ends the stream.
 *
 * One thread at a time uses a tree input. A function that fails returns -errno and stores a message
 * in `why`, which is safe to send to the peer: paths in it start at the base name of an input.
 */
#ifndef STREAM_TREE_INPUT_H
#define STREAM_TREE_INPUT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/worker.h"
#include "protocol/tree.h"
#include "stream/answers.h"
#include "stream/attributes.h"
#include "stream/omitted.h"
#include "stream/tree-progress.h"

struct tree_input;

/*
 * Opens the inputs, which must exist and have different names. The paths belong to the caller and
 * must outlive the tree input. Returns 0 or -errno: -EEXIST if two names are equal.
 */
int tree_input_open(struct tree_input **input, const char *const paths[], unsigned int count,
	char why[WORKER_WHY_SIZE]);

/*
 * Leaves out what these patterns match: tree_walk_exclude(). The texts belong to the caller and
 * must outlive the tree input. Returns 0 or -ENOMEM. Call it at most once, before
 * tree_input_read().
 */
int tree_input_exclude(struct tree_input *input, const char *const patterns[], unsigned int count);

/* Closes everything. NULL is allowed. */
void tree_input_close(struct tree_input *input);

/*
 * Lets a crew of this many threads (stream/crew.h) read small files ahead, if the memory budget has
 * room. Its first member reads the stream; the others call tree_input_help(), which returns after
 * tree_input_end(). Call it before all of them.
 */
void tree_input_use_workers(struct tree_input *input, unsigned int workers);
void tree_input_help(struct tree_input *input);
void tree_input_end(struct tree_input *input);

/*
 * Asks the peer what it has of each file, and sends only the rest; by_time: of files that are in
 * their places, size and time are compared before data. The answers, and the stream's digester
 * without data, belong to the caller and must outlive the tree input. Call it before
 * tree_input_read().
 */
void tree_input_ask(struct tree_input *input, struct answers *answers, bool by_time,
	const struct digester *keyed);

/*
 * True if the last tree_input_read() ended early, because the next one may take long, or waits for
 * answers: what it has read must reach the peer.
 */
bool tree_input_awaits(const struct tree_input *input);

/*
 * Sends holes and hard links as such (TREE_SPARSE, TREE_HARD_LINK), which the peer must understand.
 * Call it before tree_input_read().
 */
void tree_input_extend(struct tree_input *input);

/*
 * Sends these attributes (TREE_ATTRIBUTES), for which the peer must have asked. What cannot be read
 * is listed in `lost` when the stream passes it. Names and list belong to the caller and must
 * outlive the tree input. Call it before tree_input_read().
 */
void tree_input_keep(struct tree_input *input, const struct keeping *keeping);

/*
 * Counts the stream's files there, which must outlive the tree input. Call it before
 * tree_input_read().
 */
void tree_input_count_in(struct tree_input *input, struct tree_progress *progress);

/*
 * Lists what the stream leaves out when it passes it: FIFOs, sockets and devices, and what could
 * not be read. The lists must outlive the tree input. Call it before tree_input_read().
 */
void tree_input_list_omitted(
	struct tree_input *input, struct omitted *skipped, struct omitted *unreadable);

/* An entry that would be sent. The texts are valid until the call returns. */
struct tree_listed {
	enum tree_kind kind;
	const char *path;   /* begins with the base name of an input */
	uint64_t size;      /* bytes of a file, with its holes */
	const char *target; /* of a link, or NULL */
};

/*
 * Opens each entry that tree_input_read() would send, but reads no file, and calls `list` for it,
 * in the order of the stream. What it would leave out is in the lists of
 * tree_input_list_omitted(). Returns 0 or -errno. Call it instead of tree_input_read().
 */
int tree_input_list(struct tree_input *input,
	void (*list)(void *user, const struct tree_listed *listed), void *user,
	char why[WORKER_WHY_SIZE]);

/* The name of the first input that is not excluded. */
const char *tree_input_name(const struct tree_input *input);

/*
 * Reads the next bytes of the stream. A file whose size or time are not the same at the end as at
 * the beginning, or that cannot be read to its end, is listed as unreadable and withdrawn, if the
 * peer understands that. The first call walks all inputs to sum up files, bytes and
 * the storage that they need, unless stop_fd becomes readable. Returns the number of bytes, 0 at
 * the end, or -errno: -ECANCELED...
 */
ssize_t tree_input_read(struct tree_input *input, void *buffer, size_t size, int stop_fd,
	char why[WORKER_WHY_SIZE]);

#endif
