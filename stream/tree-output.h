/*
 * Stores a tree stream (protocol/tree.h) in a folder. Until it is verified, everything is in a
 * hidden folder there (stream/staging.h); then its files and folders get their final names.
 * Existing folders are never replaced, existing files only with force. Permissions, modification
 * times, symbolic and hard links are kept; holes remain holes, and blocks of zeros become some. On
 * request, attributes are kept as well (stream/attributes.h); the setuid and the sticky bit only
 * with the owner, the setgid bit only with the group.
 *
 * The stream is untrusted. Each entry is created in a folder that the tree output holds open, under
 * a name of one component, and never through a symbolic link, so nothing is created outside the
 * hidden folder.
 *
 * One thread at a time uses a tree output. A function that fails returns -errno and stores a
 * message in `why`, which is safe to print and to send to the peer; -EPROTO: the stream is invalid.
 */
#ifndef STREAM_TREE_OUTPUT_H
#define STREAM_TREE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/digest.h"
#include "stream/attributes.h"
#include "stream/file-name.h"
#include "stream/tree-progress.h"
#include "stream/writer.h"

struct tree_output;

struct tree_output_options {
	bool force;    /* replace existing files */
	bool update;   /* merge into existing folders, and replace existing files */
	bool checksum; /* compare the data of existing files, even if size and time are equal */
	/*
	 * If the sender asks for what is here: the stream's digester, without data, and where the
	 * answers go, which the tree output closes after the last one. On failure, it stays open:
	 * otherwise, the sender would take it for the last answer, and send data. It then resumes
	 * what interrupted transfers have left. Otherwise NULL.
	 */
	const struct digester *keyed;
	struct writer *answers;
	/* The attributes that the sender must send; names and list outlive the tree output. */
	struct keeping keeping;
};

/*
 * Creates the hidden folder in the directory, which must stay open. The name, for the hidden
 * folder, must be a safe one: stream/file-name.h.
 */
int tree_output_open(struct tree_output **output, int directory, const char *name,
	const struct tree_output_options *options, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Lets a crew of this many threads (stream/crew.h) store small files side by side, if the memory
 * budget has room. Its first member writes the stream; the others call tree_output_help(), which
 * returns after tree_output_end(). If the stream is complete, tree_output_end() first waits until
 * everything is stored. It returns 0 or -errno. Call tree_output_use_workers() before all of them.
 */
void tree_output_use_workers(struct tree_output *output, unsigned int workers);
void tree_output_help(struct tree_output *output);
int tree_output_end(struct tree_output *output, bool complete, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Counts the stream's files there, which must outlive the output. Call it before
 * tree_output_write().
 */
void tree_output_count_in(struct tree_output *output, struct tree_progress *progress);

/* Takes the next bytes of the stream. After a failure, the output can only be closed. */
int tree_output_write(
	struct tree_output *output, const void *data, size_t size, char why[OUTPUT_FILE_WHY_SIZE]);

/*
 * Makes the files and folders durable under their final names. If a name was taken in the meantime,
 * those before it stay. Call it once, after the whole stream.
 */
int tree_output_commit(struct tree_output *output, char why[OUTPUT_FILE_WHY_SIZE]);

/* The number of files and folders in the stream that are not in a folder of it. */
unsigned long tree_output_count(const struct tree_output *output);

/*
 * Frees the output. With `keep`, leaves what the next transfer can resume, if the sender asks, and
 * returns true if there is anything; otherwise removes what was not committed. NULL is allowed.
 */
bool tree_output_close(struct tree_output *output, bool keep);

#endif
