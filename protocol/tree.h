/*
 * A tree stream carries several files and folders in one stream. It is a sequence of entries, each
 * a header of TREE_HEADER_SIZE bytes, a name and contents. See docs/protocol.md, "Tree streams".
 * Any thread.
 *
 * Names have one component, and folders nest by order: what follows a folder is in it, up to
 * TREE_LEAVE. So no entry can name a place outside the folder that receives the stream.
 */
#ifndef PROTOCOL_TREE_H
#define PROTOCOL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/digest.h"

#define TREE_HEADER_SIZE 24
#define TREE_NAME_MAX    255  /* bytes */
#define TREE_LINK_MAX    4095 /* bytes of a link's target */
#define TREE_DEPTH_MAX   128  /* nested folders */
#define TREE_RUN_SIZE    16   /* bytes before the data of a run */

enum tree_kind {
	TREE_START = 1,  /* the first entry; size: bytes of storage that the tree needs */
	TREE_FOLDER = 2, /* its entries follow, up to TREE_LEAVE */
	TREE_FILE = 3,   /* contents: its data */
	TREE_LINK = 4,   /* a symbolic link; contents: its target */
	TREE_LEAVE = 5,  /* the end of the folder */

	/* Only if the peer understands them: `extended` of its hello. */
	TREE_SPARSE = 6,    /* a file with holes; contents: its runs */
	TREE_HARD_LINK = 7, /* another name of an earlier file; contents: that file's path */

	/* Only if the peer answers: `answers` of its hello. Asks precede TREE_START. */
	TREE_ASK = 8,        /* for what the peer has of a file; contents: its size and path */
	TREE_ASKED = 9,      /* no further ask follows */
	TREE_KEPT = 10,      /* a file that the peer has as it is; no contents */
	TREE_CONTINUED = 11, /* the same as TREE_SPARSE, but the first hole is what the peer has */

	/* Only if both ends keep attributes: protocol/attributes.h. */
	TREE_ATTRIBUTES = 12, /* of the next entry, which is not a hard link; contents: they */

	/* Only if the peer understands it: `extended` of its hello. */
	TREE_WITHDRAWN = 13 /* the file before is not valid, because it changed when it was read */
};

struct tree_entry {
	enum tree_kind kind;
	uint16_t mode;        /* permissions, at most 0777; TREE_START: enum attributes_kept */
	uint32_t nanoseconds; /* of the modification time */
	int64_t seconds;      /* of the modification time, since 1970 */
	uint64_t size; /* bytes of the contents, or of a file that has some; at most INT64_MAX */
	uint8_t name_size; /* bytes */
};

/* A run of a sparse file: a hole, which may be empty, and the data behind it. */
struct tree_run {
	uint64_t hole, data; /* bytes; only the last run may have no data */
};

void tree_encode(const struct tree_entry *entry, uint8_t header[TREE_HEADER_SIZE]);

/* Decodes a header. Returns 0, or -EPROTO if a field is invalid for its kind. */
int tree_decode(struct tree_entry *entry, const uint8_t header[TREE_HEADER_SIZE]);

void tree_run_encode(const struct tree_run *run, uint8_t bytes[TREE_RUN_SIZE]);

/*
 * Decodes a run. left: bytes of the file that are still missing. Returns 0, or -EPROTO if the run
 * exceeds them, or has no data although it does not end the file.
 */
int tree_run_decode(struct tree_run *run, const uint8_t bytes[TREE_RUN_SIZE], uint64_t left);

/*
 * The mode of a TREE_ASK: the file has several names; the modification time in the header and the
 * size tell whether the peer has it.
 */
#define TREE_ASK_LINKED  1
#define TREE_ASK_BY_TIME 2

/* Bytes before the path in the contents of a TREE_ASK: the file's size. */
#define TREE_ASK_SIZE 8
#define TREE_ASK_MAX  (TREE_ASK_SIZE + TREE_LINK_MAX)

/* What the receiver of a tree has of a file: the answer to an ask. */
struct tree_answer {
	uint64_t number;      /* of the ask, from 0; less than 2^63 */
	uint64_t size;        /* bytes, the first ones of the file */
	bool by_time;         /* all of it, because size and time are equal; without a digest */
	struct digest digest; /* of these bytes: DIGEST_EXISTING */
};

#define TREE_ANSWER_SIZE (16 + DIGEST_SIZE)

void tree_answer_encode(const struct tree_answer *answer, uint8_t bytes[TREE_ANSWER_SIZE]);
void tree_answer_decode(struct tree_answer *answer, const uint8_t bytes[TREE_ANSWER_SIZE]);

/*
 * In a TREE_START, the modification time is replaced by what the stream consists of: its bytes and
 * its files, including symbolic links. Both are 0 if the sender does not say: release 0.1.
 */
void tree_start_count(struct tree_entry *start, uint64_t total, uint64_t files);
uint64_t tree_start_total(const struct tree_entry *start);
uint64_t tree_start_files(const struct tree_entry *start);

/* Checks the peer's name of an entry. Returns 0, or -EPROTO if it is not a single component. */
int tree_check_name(const char *name, size_t size);

#endif
