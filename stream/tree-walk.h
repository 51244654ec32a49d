/*
 * Walks files and folders in the order of a tree stream (protocol/tree.h): the entries of a folder
 * are sorted by name. Each folder is opened in the one that contains it, and never through a
 * symbolic link, except that a path to walk may itself be one.
 *
 * Of the entries other than folders, the walk reads only the names, which is all that it needs;
 * its user looks up the rest. It keeps the names of all folders that it is in. Their memory is
 * taken from the memory budget (host/memory-budget.h).
 *
 * One thread at a time uses a walk; any thread may release a folder. A function that fails returns
 * -errno and stores a message in `why`, which is safe to send to the peer.
 */
#ifndef STREAM_TREE_WALK_H
#define STREAM_TREE_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/worker.h"

/* An open folder, until all its users have released it. */
struct walk_folder {
	int descriptor;
	struct stat status;
	atomic_uint users;
};

enum walk_kind {
	WALK_FOLDER, /* its entries follow, up to WALK_LEAVE */
	WALK_LEAVE,  /* the end of the folder */
	WALK_FILE,   /* a regular file, or an entry that vanished */
	WALK_LINK,
	WALK_SPECIAL, /* a FIFO, socket or device: opening it may do something */
	WALK_CLOSED,  /* a folder that cannot be read: see `error` */
};

/* An entry. The walk owns everything; it is valid until the next call. */
struct walked {
	enum walk_kind kind;
	struct walk_folder *folder; /* the entry's; of a WALK_FOLDER, that folder itself; or NULL */
	bool is_root;               /* the path to walk, or what it leads to */
	const char *name;           /* in its folder; if that is NULL, a path */
	const char *path;           /* to be shown: it begins with the name of the path to walk */
	int error;                  /* of a WALK_CLOSED: -errno */
};

struct tree_walk;

/* Returns a walk that has no path yet, or NULL: ENOMEM. */
struct tree_walk *tree_walk_new(void);

/* Closes all folders that have no other users. NULL is allowed. */
void tree_walk_free(struct tree_walk *walk);

/*
 * Begins with a path, which must outlive the walk, and which is shown as this text. The walk must
 * be new or at its end.
 */
void tree_walk_begin(struct tree_walk *walk, const char *path, const char *shown);

/*
 * Leaves out what one of these patterns (base/path-pattern.h) matches, and what a folder that is
 * left out contains. Paths begin with the name of the path to walk. The caller keeps the patterns.
 */
void tree_walk_exclude(struct tree_walk *walk, const char *const *patterns, unsigned int count);

/* True if the walk leaves out the entry with this path. */
bool tree_walk_excludes(const struct tree_walk *walk, const char *path, bool is_folder);

/*
 * Finds the next entry. Returns 1, 0 after the last one, or -errno. If the path to walk cannot be
 * read, that is an error; other folders that cannot be read are found as WALK_CLOSED.
 */
int tree_walk_next(struct tree_walk *walk, struct walked *found, char why[WORKER_WHY_SIZE]);

/*
 * True if this -errno concerns the entry that was opened or read, not the resources of this
 * process: other entries may be readable. Any thread.
 */
bool tree_walk_may_go_on(int error);

/* Keeps a folder open, until it is released. NULL is allowed. Any thread. */
struct walk_folder *walk_folder_use(struct walk_folder *folder);
void walk_folder_release(struct walk_folder *folder);

/* Formats a line about an entry: "WHAT PATH: REASON". It is safe to print. Any thread. */
void tree_walk_describe(
	char line[WORKER_WHY_SIZE], const char *what, const char *path, const char *reason);

/* Formats the message of a failure: "cannot read ...". Returns the error. Any thread. */
int tree_walk_refuse(char why[WORKER_WHY_SIZE], const char *path, const char *reason, int error);

#endif
