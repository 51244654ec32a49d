/*
 * A source owns its descriptor or tree input, its digester and, for a file or a tree, the thread
 * that fills the ring. That thread writes the members of the result before it ends the ring; other
 * threads read them afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/text.h"
#include "stream/answers.h"
#include "stream/crew.h"
#include "stream/direct.h"
#include "stream/file-digest.h"
#include "stream/file-state.h"
#include "stream/holes.h"
#include "stream/source.h"
#include "stream/storage.h"
#include "stream/tree-input.h"

/* Full reads per wakeup of the CQ thread. */
#define READS_PER_WAKEUP 8

struct source {
	const void *text;        /* NULL: the input is a file */
	struct tree_input *tree; /* the input is a tree, or NULL */
	struct tree_progress tree_progress;
	struct omitted skipped, unreadable; /* of the tree */
	struct keeping keeping;             /* its attributes that may be sent, */
	struct omitted lost;                /* and entries without them */
	bool is_tree;                       /* `tree` is NULL once it was read */
	const char *fifo;                   /* path of a FIFO that is not open yet, or NULL */
	int descriptor;                     /* -1: not open yet */
	int direct;              /* another descriptor of the file, for direct input, or 0 */
	bool regular;            /* reads never wait for a writer */
	struct file_state state; /* of a regular file: how it was when it began to be read */
	uint64_t size;           /* or STREAM_SIZE_UNKNOWN */
	uint64_t storage;        /* bytes that the file needs at the peer, 0 if unknown */
	char name[256];          /* base name */
	struct ring *ring;
	size_t most;          /* bytes per read */
	unsigned int workers; /* threads that read blocks, or the files of a tree */
	struct pace pace;     /* of the threads */
	off_t offset;         /* of the file's first byte to send */
	struct worker worker;
	struct digester *digester; /* NULL for a text */
	struct answers *answers;   /* of the peer, about a tree: the caller's, or NULL */
	bool by_time;              /* they may be by size and time */
	struct digester *keyed;    /* for them: without data */
	struct source *next;       /* in a list of the owner */

	/* set before the ring begins */
	uint64_t have_size; /* bytes that the peer already has */
	struct digest have_digest;
	bool takes_holes; /* the peer can store a file whose holes are left out */

	/* set by the filling thread before `knows_start` */
	uint64_t start; /* where the data in the ring starts */
	bool sparse;    /* and consists of runs */
	atomic_bool knows_start;
	atomic_int_fast64_t left_out; /* bytes of holes, less the headers of runs */

	/* of the workers */
	pthread_mutex_t claiming;
	uint64_t claimed;       /* the position in the ring up to which blocks have a reader */
	_Atomic uint64_t woken; /* the position in the ring of which the CQ thread knows */

	/* set before the ring ends, constant afterwards */
	int error;
	struct digest digest;
	char why[WORKER_WHY_SIZE];
};

/* Formats the failure message. Returns the error. */
static int cannot_read(char why[WORKER_WHY_SIZE], const char *name, const char *reason, int error)
{
	char printable[TEXT_ESCAPED_SIZE(64)];

	/* A long name is truncated, so that the text fits into a message. */
	text_escape_utf8(printable, name, strnlen(name, 64));
	snprintf(why, WORKER_WHY_SIZE, "cannot read %.160s: %s",
		*name ? printable : "standard input", reason);
	return error;
}

static int was_truncated(struct source *source)
{
	return cannot_read(source->why, source->name, FILE_STATE_TRUNCATED, -EIO);
}

/* Determines the size of the input, if it is known. */
static void find_size(struct source *source, const struct stat *status)
{
	off_t offset = lseek(source->descriptor, 0, SEEK_CUR);

	source->offset = offset;
	source->regular = S_ISREG(status->st_mode);
	source->state = file_state_of(status);
	/* The kernel reports its virtual files, such as those in /proc, as empty. */
	if (source->regular && status->st_size > 0 && offset >= 0)
		source->size = status->st_size > offset ? (uint64_t)(status->st_size - offset) : 0;
	else
		source->size = STREAM_SIZE_UNKNOWN;
	if (source->regular && offset == 0)
		source->storage = storage_of(status);
}

/*
 * Opening a FIFO lets its writer start, and closing it loses the data, so it is opened only when
 * the peer is ready, and never for a peer that is refused or unauthenticated.
 */
static int defer_fifo(struct source *source, const char *input, const char *shown, char *why)
{
	source->descriptor = -1;
	source->fifo = input;
	source->size = STREAM_SIZE_UNKNOWN;
	return faccessat(AT_FDCWD, input, R_OK, AT_EACCESS)
		       ? cannot_read(why, shown, strerror(errno), -errno)
		       : 0;
}

/* Opens the FIFO without waiting for a writer: worker_await() does that. */
static int open_fifo(struct source *source)
{
	source->descriptor = open(source->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (source->descriptor < 0)
		return cannot_read(source->why, source->name, strerror(errno), -errno);
	return 0;
}

static int open_input(struct source *source, const char *input, char why[WORKER_WHY_SIZE])
{
	const char *slash = strrchr(input, '/'), *shown = "";
	struct stat status;

	if (strcmp(input, "-") == 0) {
		if (output_was_closed(STDIN_FILENO))
			return cannot_read(why, "", "it is closed", -EBADF);
	} else {
		snprintf(source->name, sizeof(source->name), "%s", slash ? slash + 1 : input);
		/* A path that ends in a slash has no base name, but is not standard input. */
		shown = *source->name ? source->name : input;
		if (stat(input, &status) == 0 && S_ISFIFO(status.st_mode))
			return defer_fifo(source, input, shown, why);
		source->descriptor = open(input, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (source->descriptor < 0)
			return cannot_read(why, shown, strerror(errno), -errno);
	}
	if (fstat(source->descriptor, &status))
		return cannot_read(why, shown, strerror(errno), -errno);
	if (S_ISDIR(status.st_mode))
		return cannot_read(why, shown, strerror(EISDIR), -EISDIR);
	find_size(source, &status);
	return 0;
}

static struct source *new_source(void)
{
	struct source *source = calloc(1, sizeof(*source));

	if (source) {
		source->worker.stop_fd = -1;
		source->tree_progress = (struct tree_progress)TREE_PROGRESS_INITIAL;
		source->descriptor = STDIN_FILENO;
		pthread_mutex_init(&source->claiming, NULL);
		omitted_start(&source->skipped);
		omitted_start(&source->unreadable);
		omitted_start(&source->lost);
	}
	return source;
}

int source_open_tree(struct source **result, const char *const paths[], unsigned int count,
	char why[WORKER_WHY_SIZE])
{
	struct source *source = new_source();
	int error;

	if (!source)
		return cannot_read(why, "", strerror(ENOMEM), -ENOMEM);
	source->size = STREAM_SIZE_UNKNOWN;
	source->regular = true;
	source->digester = digester_new();
	error = source->digester ? tree_input_open(&source->tree, paths, count, why)
				 : cannot_read(why, "", strerror(ENOMEM), -ENOMEM);
	if (error) {
		source_close(source);
		return error;
	}
	source->is_tree = true;
	tree_input_count_in(source->tree, &source->tree_progress);
	tree_input_list_omitted(source->tree, &source->skipped, &source->unreadable);
	snprintf(source->name, sizeof(source->name), "%s", tree_input_name(source->tree));
	*result = source;
	return 0;
}

int source_exclude(struct source *source, const char *const patterns[], unsigned int count,
	char why[WORKER_WHY_SIZE])
{
	int error = tree_input_exclude(source->tree, patterns, count);

	if (error)
		return cannot_read(why, source->name, strerror(-error), error);
	snprintf(source->name, sizeof(source->name), "%s", tree_input_name(source->tree));
	return 0;
}

int source_offer_attributes(
	struct source *source, unsigned int kept, bool numeric, char why[WORKER_WHY_SIZE])
{
	source->keeping = (struct keeping){
		.kept = kept, .numeric = numeric, .names = id_names_new(), .lost = &source->lost};
	return source->keeping.names ? 0
				     : cannot_read(why, source->name, strerror(ENOMEM), -ENOMEM);
}

int source_open(struct source **result, const char *input, const void *text, size_t text_size,
	char why[WORKER_WHY_SIZE])
{
	struct source *source = new_source();
	int error;

	if (!source)
		return cannot_read(why, "", strerror(ENOMEM), -ENOMEM);
	if (input) {
		source->digester = digester_new();
		error = source->digester ? open_input(source, input, why)
					 : cannot_read(why, "", strerror(ENOMEM), -ENOMEM);
		if (error) {
			source_close(source);
			return error;
		}
	} else {
		source->text = text;
		source->size = text_size;
		source->digest = digest_of(text, text_size);
	}
	*result = source;
	return 0;
}

int source_open_answers(struct source **result, int descriptor)
{
	struct source *source = new_source();

	if (!source || !(source->digester = digester_new())) {
		source_close(source);
		return -ENOMEM;
	}
	source->descriptor = descriptor;
	source->size = STREAM_SIZE_UNKNOWN;
	*result = source;
	return 0;
}

void source_ask(struct source *source, struct answers *answers, bool by_time)
{
	source->answers = answers;
	source->by_time = by_time;
}

int source_use_direct(struct source *source, const char *input, char why[WORKER_WHY_SIZE])
{
	int direct;

	if (source->text)
		return 0;
	if (source->tree || !source->regular || source->size == STREAM_SIZE_UNKNOWN)
		return cannot_read(
			why, source->name, "--direct needs a single regular file", -EINVAL);
	direct = direct_open(AT_FDCWD, input, O_RDONLY, source->descriptor);
	if (direct < 0)
		return cannot_read(why, source->name,
			direct == -EOPNOTSUPP ? DIRECT_REFUSED : strerror(-direct), direct);
	source->direct = direct;
	return 0;
}

struct source *source_next(const struct source *source)
{
	return source->next;
}

void source_set_next(struct source *source, struct source *next)
{
	source->next = next;
}

static void close_input(struct source *source)
{
	if (source->descriptor > STDIN_FILENO)
		close(source->descriptor);
	source->descriptor = -1;
	if (source->direct)
		close(source->direct);
	source->direct = 0;
	tree_input_close(source->tree);
	source->tree = NULL;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	worker_join(&source->worker);
	close_input(source);
	digester_free(source->digester);
	digester_free(source->keyed);
	pthread_mutex_destroy(&source->claiming);
	omitted_end(&source->skipped);
	omitted_end(&source->unreadable);
	omitted_end(&source->lost);
	id_names_free(source->keeping.names);
	free(source);
}

uint64_t source_size(const struct source *source)
{
	return source->size;
}

uint64_t source_storage(const struct source *source)
{
	return source->storage;
}

const char *source_name(const struct source *source)
{
	return source->name;
}

struct tree_state source_tree(struct source *source, uint64_t moved)
{
	return tree_progress_state(&source->tree_progress, moved);
}

struct omitted *source_skipped(struct source *source)
{
	return source->is_tree ? &source->skipped : NULL;
}

struct omitted *source_unreadable(struct source *source)
{
	return source->is_tree ? &source->unreadable : NULL;
}

struct omitted *source_lost(struct source *source)
{
	return source->is_tree && source->keeping.kept ? &source->lost : NULL;
}

const struct pace *source_pace(const struct source *source)
{
	return &source->pace;
}

bool source_is_text(const struct source *source)
{
	return source->text;
}

/* Reads once. Returns the number of bytes, 0 at the end, or -errno; -ECANCELED: stopped. */
static ssize_t read_once(struct source *source, const struct span *space, uint64_t position)
{
	uint64_t left = source->size - position; /* practically unlimited if the size is unknown */
	size_t most = space->size < left ? space->size : (size_t)left;
	ssize_t got;

	if (source->tree)
		return tree_input_read(source->tree, space->start, space->size,
			source->worker.stop_fd, source->why);
	do {
		if (!source->regular && worker_await(&source->worker, source->descriptor, POLLIN))
			return -ECANCELED;
		got = read(source->descriptor, space->start, most);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got < 0)
		return cannot_read(source->why, source->name, strerror(errno), -errno);
	if (got == 0 && most > 0 && source->size != STREAM_SIZE_UNKNOWN)
		return was_truncated(source);
	return got;
}

/*
 * Takes note of digested bytes that were read to the place of the next position, and wakes the CQ
 * thread: not after every read, but before no thread can read on.
 */
static void add_bytes(struct source *source, size_t size)
{
	const struct worker_listener *listener = source->worker.listener;
	struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
	struct ring_level level;

	ring_fill(source->ring, size);
	level = ring_level(source->ring);
	if (level.filled - source->woken >= (uint64_t)READS_PER_WAKEUP * source->most ||
		level.filled - level.freed == source->ring->size ||
		(!source->regular && poll(&input, 1, 0) == 0) ||
		(source->answers && source->tree && tree_input_awaits(source->tree))) {
		source->woken = level.filled;
		listener->moved(listener->about);
	}
}

/*
 * Digests the first bytes of the file. Returns true if they have the peer's digest; otherwise
 * starts anew.
 */
static bool skip_existing(struct source *source)
{
	struct digester *unused = digester_copy(source->digester);
	struct pollfd stop = {.fd = source->worker.stop_fd, .events = POLLIN};
	uint64_t position = 0;
	struct span space;
	struct digest digest;
	ssize_t got = 1;

	if (!unused)
		return false;
	/* The ring is empty, so its memory is free. */
	while (got > 0 && position < source->have_size && poll(&stop, 1, 0) == 0) {
		uint64_t left = source->have_size - position;

		if (ring_await_space(source->ring, source->most, &space) != RING_READY)
			break;
		got = read(source->descriptor, space.start,
			space.size < left ? space.size : (size_t)left);
		if (got > 0)
			digester_add(source->digester, space.start, (size_t)got);
		position += got > 0 ? (uint64_t)got : 0;
	}
	digest = digester_result(source->digester, DIGEST_EXISTING);
	if (position == source->have_size && digest_equal(&digest, &source->have_digest)) {
		digester_free(unused);
		return true;
	}
	digester_free(source->digester);
	source->digester = unused;
	lseek(source->descriptor, source->offset, SEEK_SET);
	return false;
}

/* True if the file has holes, and they are left out. */
static bool is_sparse(const struct source *source)
{
	struct stat status;

	return source->takes_holes && source->regular && !source->tree && !source->direct &&
	       source->size != STREAM_SIZE_UNKNOWN && source->offset == 0 &&
	       fstat(source->descriptor, &status) == 0 && holes_likely(&status);
}

/* Notes the time of a file that is going to be read. Its size was announced when it was opened. */
static void note_state(struct source *source)
{
	struct stat status;

	if (!source->regular || source->tree || fstat(source->descriptor, &status))
		return;
	source->state.modified = status.st_mtim;
	file_state_settle(&source->state, source->worker.stop_fd);
}

/*
 * A file that changed while it was read is no state that it ever had; of one that grew, the size
 * that was announced is sent. Returns 0 or -errno.
 */
static int check_state(struct source *source)
{
	if (!source->regular || source->is_tree ||
		file_state_lasts(&source->state, source->descriptor) ||
		file_state_grew(&source->state, source->descriptor))
		return 0;
	return cannot_read(source->why, source->name, FILE_STATE_CHANGED, -EIO);
}

/* Determines where the data starts. */
static void find_start(struct source *source)
{
	const struct worker_listener *listener = source->worker.listener;

	if (source->have_size > 0 && source->regular && source->size != STREAM_SIZE_UNKNOWN &&
		source->have_size <= source->size && skip_existing(source))
		source->start = source->have_size;
	source->sparse = is_sparse(source);
	source->knows_start = true;
	listener->moved(listener->about);
}

/* Fills the ring with what the input has, one read after the other. Returns 0 or -errno. */
static int read_stream(struct source *source)
{
	uint64_t position = source->start;
	struct span space;
	ssize_t got;

	while (position < source->size) {
		if (ring_await_space(source->ring, source->most, &space) != RING_READY)
			return -ECANCELED;
		pace_until(&source->pace, PACE_LINK, clock_now_ns());
		got = read_once(source, &space, position);
		pace_until(&source->pace, PACE_FILE, clock_now_ns());
		if (got <= 0)
			return (int)got;
		digester_add(source->digester, space.start, (size_t)got);
		pace_until(&source->pace, PACE_DIGEST, clock_now_ns());
		add_bytes(source, (size_t)got);
		position += (uint64_t)got;
	}
	return 0;
}

/* Fills the ring with the header of a run, which is not digested. Returns 0 or -ECANCELED. */
static int add_run(struct source *source, const struct tree_run *run)
{
	uint8_t header[TREE_RUN_SIZE];
	struct span space;

	tree_run_encode(run, header);
	for (size_t used = 0; used < sizeof(header); used += space.size) {
		if (ring_await_space(source->ring, sizeof(header) - used, &space) != RING_READY)
			return -ECANCELED;
		memcpy(space.start, header + used, space.size);
		add_bytes(source, space.size);
	}
	return file_digest_add_hole(source->digester, run->hole, source->worker.stop_fd);
}

/* Fills the ring with the data of a run. Returns 0 or -errno. */
static int read_run(struct source *source, uint64_t position, uint64_t size)
{
	struct span space;
	ssize_t got;

	for (uint64_t end = position + size; position < end; position += (uint64_t)got) {
		size_t most =
			end - position < source->most ? (size_t)(end - position) : source->most;

		if (ring_await_space(source->ring, most, &space) != RING_READY)
			return -ECANCELED;
		pace_until(&source->pace, PACE_LINK, clock_now_ns());
		do {
			got = pread(source->descriptor, space.start, space.size, (off_t)position);
		} while (got < 0 && errno == EINTR);
		pace_until(&source->pace, PACE_FILE, clock_now_ns());
		if (got < 0)
			return cannot_read(source->why, source->name, strerror(errno), -errno);
		if (got == 0)
			return was_truncated(source);
		digester_add(source->digester, space.start, (size_t)got);
		pace_until(&source->pace, PACE_DIGEST, clock_now_ns());
		add_bytes(source, (size_t)got);
	}
	return 0;
}

/* Fills the ring with the runs of a file that has holes. Returns 0 or -errno. */
static int read_runs(struct source *source)
{
	uint64_t position = source->start;
	struct tree_run next;

	while (position < source->size) {
		int error = holes_find(source->descriptor, position, source->size, &next);

		if (error)
			return error == -ENODATA ? was_truncated(source)
						 : cannot_read(source->why, source->name,
							   strerror(-error), error);
		error = add_run(source, &next);
		if (!error)
			error = read_run(source, position + next.hole, next.data);
		if (error)
			return error;
		position += next.hole + next.data;
		source->left_out += (int64_t)next.hole - TREE_RUN_SIZE;
	}
	return 0;
}

/* After an error, ends the ring without waiting for the reads of other workers, which may hang. */
static void end_early(struct source *source)
{
	const struct worker_listener *listener = source->worker.listener;

	ring_stop(source->ring);
	ring_end(source->ring);
	listener->moved(listener->about);
}

/* Reads a tree: the first worker fills the ring with what all of them read. */
static void read_tree(void *argument, unsigned int number)
{
	struct source *source = argument;

	if (number > 0) {
		tree_input_help(source->tree);
		return;
	}
	source->error = read_stream(source);
	tree_input_end(source->tree);
	if (source->error)
		end_early(source);
}

/*
 * Claims the next block for the calling worker, and finds its place in the ring. Returns false if
 * no block is left, or the source was stopped.
 */
static bool claim_block(struct source *source, struct span *block, uint64_t *position)
{
	uint64_t left;
	bool claimed;

	pthread_mutex_lock(&source->claiming);
	*position = source->claimed;
	left = source->size - source->start - *position;
	claimed = left > 0 &&
		  ring_await_space_at(source->ring, *position,
			  left < source->most ? (size_t)left : source->most, block) == RING_READY;
	if (claimed)
		source->claimed += block->size;
	pthread_mutex_unlock(&source->claiming);
	return claimed;
}

/* Reads all of a block. Returns 0 or -errno. */
static int read_block(const struct source *source, const struct span *block, off_t offset)
{
	size_t have = 0;
	ssize_t got;

	while (have < block->size) {
		got = direct_read(source->direct, source->descriptor, block->start + have,
			block->size - have, offset + (off_t)have);
		if (got == 0)
			return -ENODATA;
		if (got < 0 && errno != EINTR)
			return -errno;
		have += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* Reports a block that could not be read, in its turn: the first one in the file. */
static void fail_block(struct source *source, int error)
{
	if (error == -ENODATA)
		source->error = was_truncated(source);
	else
		source->error = cannot_read(source->why, source->name,
			error == -EOPNOTSUPP && source->direct ? DIRECT_REFUSED : strerror(-error),
			error);
	end_early(source);
}

/* Reads blocks side by side with the other workers, and adds them to the ring in their order. */
static void read_blocks(void *argument, unsigned int number)
{
	struct source *source = argument;
	struct digest_part part = {0};
	struct span block;
	uint64_t position, start, claimed, have;
	int error;

	(void)number;
	while (claim_block(source, &block, &position)) {
		claimed = clock_now_ns();
		start = source->start + position;
		error = read_block(source, &block, source->offset + (off_t)start);
		have = clock_now_ns();
		if (!error && source->workers > 1)
			digester_prepare(source->digester, start, block.start, block.size, &part);
		if (ring_await_filled(source->ring, position) != RING_READY)
			return;
		if (error) {
			fail_block(source, error);
			return;
		}
		digester_add_prepared(source->digester, block.start, block.size, &part);
		pace_until(&source->pace, PACE_LINK, claimed);
		pace_until(&source->pace, PACE_FILE, have);
		pace_until(&source->pace, PACE_DIGEST, clock_now_ns());
		add_bytes(source, block.size);
	}
}

/* Fills the ring until the end of the input. Sets the error, 0 if there is none. */
static void fill_ring(struct source *source)
{
	bool blocks = source->regular && !source->tree && source->size != STREAM_SIZE_UNKNOWN &&
		      source->descriptor != STDIN_FILENO;

	if (ring_await_begin(source->ring) != RING_READY) {
		source->error = -ECANCELED;
		return;
	}
	source->error = source->descriptor < 0 ? open_fifo(source) : 0;
	if (source->error)
		return;
	note_state(source);
	find_start(source);
	pace_start(&source->pace, 1, source->most);
	if (source->tree && source->answers) {
		source->keyed = digester_copy(source->digester);
		if (!source->keyed) {
			source->error = cannot_read(source->why, "", strerror(ENOMEM), -ENOMEM);
			return;
		}
		tree_input_ask(source->tree, source->answers, source->by_time, source->keyed);
	}
	if (source->tree) {
		tree_input_use_workers(source->tree, source->workers);
		source->pace.workers = crew_run(source->workers, "source", read_tree, source);
		return;
	}
	if (source->sparse || !blocks) {
		source->error = source->sparse ? read_runs(source) : read_stream(source);
		return;
	}
	source->pace.workers = crew_run(source->workers, "source", read_blocks, source);
	if (!source->error && ring_level(source->ring).filled < source->size - source->start)
		source->error = -ECANCELED;
}

static void run(void *argument)
{
	struct source *source = argument;

	fill_ring(source);
	if (!source->error)
		source->error = check_state(source);
	source->knows_start = true; /* after a failure, too */
	if (!source->error)
		source->digest = digester_result(source->digester, DIGEST_STREAM);
	ring_end(source->ring);
	source->worker.listener->moved(source->worker.listener->about);
	/* This may wait for the file system, so it is not left to the main thread. */
	close_input(source);
}

/* A text is in the ring from the start: a tutorial peer may READ it before its MSG_MR arrives. */
static void put_text(struct source *source)
{
	memcpy(source->ring->start, source->text, (size_t)source->size);
	ring_fill(source->ring, (size_t)source->size);
	ring_end(source->ring);
}

int source_start(struct source *source, struct ring *ring, size_t most, unsigned int workers,
	const struct worker_listener *listener)
{
	source->ring = ring;
	source->most = most;
	source->workers = workers;
	if (source->text) {
		put_text(source);
		return 0;
	}
	if (source->regular && !source->tree)
		posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
	return worker_start(&source->worker, "source", run, source, listener);
}

void source_set_key(struct source *source, const uint8_t key[DIGEST_KEY_SIZE])
{
	if (source->text)
		source->digest = digest_of_keyed(key, source->ring->start, (size_t)source->size);
	else
		digester_set_key(source->digester, key);
}

void source_extend_tree(struct source *source)
{
	if (source->tree)
		tree_input_extend(source->tree);
}

void source_keep(struct source *source, unsigned int kept)
{
	source->keeping.kept &= kept;
	if (source->tree)
		tree_input_keep(source->tree, &source->keeping);
}

void source_begin(struct source *source)
{
	ring_begin(source->ring);
}

void source_begin_after(
	struct source *source, uint64_t size, const struct digest *digest, bool holes)
{
	source->takes_holes = holes;
	source->have_size = size;
	source->have_digest = *digest;
	source_begin(source);
}

bool source_start_of(const struct source *source, uint64_t *start, bool *holes)
{
	if (!source->text && !source->knows_start)
		return false;
	*start = source->start;
	*holes = source->sparse;
	return true;
}

int64_t source_left_out(const struct source *source)
{
	return source->left_out;
}

int source_result(struct source *source, struct digest *digest, const char **why)
{
	*digest = source->digest;
	*why = source->why;
	return source->error;
}

void source_stop(struct source *source)
{
	if (!source)
		return;
	if (source->ring)
		ring_stop(source->ring);
	if (source->answers)
		answers_stop(source->answers);
	worker_stop(&source->worker);
}

bool source_is_running(const struct source *source)
{
	return source && source->worker.running;
}
