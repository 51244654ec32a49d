/*
 * A sink owns its output file, its digester and, unless it displays a text, the thread that empties
 * the ring. That thread writes the members of the result before it sets the state; other threads
 * read them afterwards.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/memory-budget.h"
#include "protocol/tree.h"
#include "stream/crew.h"
#include "stream/direct.h"
#include "stream/file-digest.h"
#include "stream/file-name.h"
#include "stream/sink.h"
#include "stream/source.h"

/* Bytes copied at a time if the digest is keyed, and if the file is written directly. */
#define COPY_SIZE   ((size_t)128 << 10)
#define DIRECT_SIZE ((size_t)1 << 20)

struct sink {
	const struct output_file_options *options; /* output NULL: the data is not kept */
	bool threaded;
	struct ring *ring;
	size_t most;          /* bytes per write */
	unsigned int workers; /* threads that write blocks, or the files of a tree */
	struct pace pace;     /* of the threads */
	struct worker worker;

	/* set before the ring begins */
	struct output_file_offer offer; /* its names point to: */
	char name[FILE_NAME_MAX], fallback[FILE_NAME_MAX + 1];
	bool has_key, resumes;

	/* what is already here, set by the emptying thread before `knows_have` */
	uint64_t have_size;
	struct digest have_digest;
	bool takes_holes; /* the file can be stored if its holes are left out */
	atomic_bool knows_have;
	uint64_t start; /* where the data continues, set before there is data in the ring */
	bool sparse;    /* and consists of runs, set likewise */

	/* set before the ring ends */
	uint64_t expected_size;
	struct digest expected;

	/* owned by the emptying thread until it sets `state` */
	struct output_file *file;
	struct digester *digester;
	struct digester *keyed;  /* the digester without data, if the sender of a tree asks */
	struct writer answering; /* where the answers go; its descriptor is -1 if there are none */
	struct answers *answers; /* what the data is, instead of a file: the caller's, or NULL */
	struct digester *unused; /* the digester without the data that is already here, or NULL */
	uint8_t *copies;         /* for each worker, if keyed or direct */
	size_t copy_size;        /* bytes of data that fit into one */
	uint64_t copies_memory;  /* bytes taken from the memory budget for all of them */
	uint64_t copies_filled;  /* of these, once they are allocated */
	uint64_t total;          /* the announced size, or STREAM_SIZE_UNKNOWN */
	pthread_mutex_t
		taking;    /* of workers: for the next member and, without a key, the digester */
	uint64_t size;     /* bytes taken from the ring */
	uint64_t place;    /* of a file with runs: where its next byte belongs */
	uint64_t run_left; /* bytes of the current run's data */
	uint8_t run_header[TREE_RUN_SIZE]; /* of the next one, */
	size_t run_got;                    /* and its bytes so far */
	atomic_int_fast64_t left_out;      /* bytes of holes, less the headers of runs */
	bool there;                        /* the whole file was already here */
	bool left;                         /* data stays that the next transfer resumes */
	uint8_t text[SINK_TEXT_SIZE];      /* the first bytes */
	int error;
	char why[OUTPUT_FILE_WHY_SIZE];
	char kept[FILE_NAME_MAX + 1];
	char path[PATH_MAX]; /* of the output file, once it is open, whatever becomes of the data */
	unsigned long entries; /* of a tree stream */
	struct tree_progress tree_progress;
	struct id_names *names; /* for attributes, or NULL: none are kept */
	struct omitted lost;    /* entries of which attributes could not be kept */

	_Atomic enum sink_state state;
};

int sink_open(struct sink **result, const struct output_file_options *options, uint64_t size)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return -ENOMEM;
	sink->worker.stop_fd = sink->answering.descriptor = -1;
	pthread_mutex_init(&sink->taking, NULL);
	sink->tree_progress = (struct tree_progress)TREE_PROGRESS_INITIAL;
	sink->options = options;
	sink->total = size;
	sink->threaded = options->output || size > SINK_TEXT_SIZE;
	omitted_start(&sink->lost);
	sink->digester = digester_new();
	if (options->kept)
		sink->names = id_names_new();
	if (!sink->digester || (options->kept && !sink->names)) {
		sink_close(sink);
		return -ENOMEM;
	}
	*result = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (!sink)
		return;
	worker_join(&sink->worker);
	output_file_close(sink->file);
	writer_close(&sink->answering);
	digester_free(sink->digester);
	digester_free(sink->keyed);
	id_names_free(sink->names);
	omitted_end(&sink->lost);
	digester_free(sink->unused);
	free(sink->copies);
	memory_budget_return(sink->copies_memory, sink->copies_filled);
	pthread_mutex_destroy(&sink->taking);
	free(sink);
}

/*
 * Keeps the beginning of the data, which may be a text. Returns the bytes to digest and write: the
 * peer can still write to the ring, so a text, which is displayed later, is copied first.
 */
static const uint8_t *keep_text(struct sink *sink, const struct span *span)
{
	size_t space = sink->size < SINK_TEXT_SIZE ? SINK_TEXT_SIZE - (size_t)sink->size : 0;

	if (space == 0)
		return span->start;
	memcpy(sink->text + sink->size, span->start, span->size < space ? span->size : space);
	return span->size <= space ? sink->text + sink->size : span->start;
}

/*
 * Data taken from the ring: where it belongs in the stream, its bytes, and when it was there,
 * digested or copied, and written.
 */
struct taken {
	uint64_t position;
	const uint8_t *bytes;
	size_t size;
	uint64_t arrived, digested, written;
};

/*
 * Takes the next data from the ring, at most this much. The workers do that in turn; without a key,
 * they digest it as well, so the digest is that of the stream.
 */
static enum ring_wait take(struct sink *sink, size_t most, struct taken *taken)
{
	enum ring_wait wait;
	struct span span;

	pthread_mutex_lock(&sink->taking);
	wait = ring_await_data_at(sink->ring, sink->size, most, &span);
	if (wait == RING_READY) {
		*taken = (struct taken){.position = sink->size,
			.bytes = keep_text(sink, &span),
			.size = span.size,
			.arrived = clock_now_ns()};
		if (!sink->has_key && !sink->sparse)
			digester_add(sink->digester, taken->bytes, taken->size);
		sink->size += taken->size;
	}
	pthread_mutex_unlock(&sink->taking);
	return wait;
}

/*
 * With a key, data is written and digested as this copy of it; to be written directly, it is copied
 * if its address does not fit. Side by side with other workers, digests as much as is possible
 * without the data in front of it.
 */
static void copy_data(
	struct sink *sink, struct taken *taken, uint8_t *copy, struct digest_part *part)
{
	off_t offset = (off_t)(sink->start + taken->position);

	if (sink->has_key || !direct_fits(taken->bytes, offset))
		taken->bytes = memcpy(copy + offset % DIRECT_BLOCK, taken->bytes, taken->size);
	if (sink->has_key && sink->workers > 1)
		digester_prepare(sink->digester, sink->start + taken->position, taken->bytes,
			taken->size, part);
}

/* The data is answers of the peer. Returns 0 or -errno. */
static int take_answers(struct sink *sink, const struct taken *taken)
{
	int error = answers_take(sink->answers, taken->bytes, taken->size);

	if (error)
		snprintf(sink->why, sizeof(sink->why), "cannot use the peer's answers: %s",
			strerror(-error));
	return error;
}

static int refuse_runs(struct sink *sink, const char *reason)
{
	snprintf(sink->why, sizeof(sink->why), "the peer's file is not a valid stream: %s", reason);
	return -EPROTO;
}

/* Begins a run, whose header is complete. Returns 0 or -errno. */
static int begin_run(struct sink *sink)
{
	struct tree_run next;

	sink->run_got = 0;
	if (tree_run_decode(&next, sink->run_header, sink->total - sink->place))
		return refuse_runs(sink, "a hole or the data behind it does not fit in its file");
	output_file_skip(sink->file, next.hole);
	sink->place += next.hole;
	sink->run_left = next.data;
	sink->left_out += (int64_t)next.hole - TREE_RUN_SIZE;
	return file_digest_add_hole(sink->digester, next.hole, sink->worker.stop_fd);
}

/* Takes bytes of a run's data. Returns their number or -errno. */
static ssize_t take_run_data(struct sink *sink, const uint8_t *bytes, size_t size)
{
	size_t most = size < sink->run_left ? size : (size_t)sink->run_left;
	int error;

	digester_add(sink->digester, bytes, most);
	error = output_file_write(sink->file, bytes, most, sink->why);
	sink->place += most;
	sink->run_left -= most;
	return error ? error : (ssize_t)most;
}

/* Takes bytes of a file that consists of runs. Returns 0 or -errno. */
static int take_runs(struct sink *sink, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		size_t missing = sizeof(sink->run_header) - sink->run_got;
		ssize_t taken = size < missing ? (ssize_t)size : (ssize_t)missing;
		int error = 0;

		if (sink->place == sink->total)
			return refuse_runs(sink, "it does not end with its file");
		if (sink->run_left > 0) {
			taken = take_run_data(sink, bytes, size);
			if (taken < 0)
				return (int)taken;
		} else {
			memcpy(sink->run_header + sink->run_got, bytes, (size_t)taken);
			sink->run_got += (size_t)taken;
			if (sink->run_got == sizeof(sink->run_header))
				error = begin_run(sink);
		}
		if (error)
			return error;
		bytes += taken;
		size -= (size_t)taken;
	}
	return 0;
}

/*
 * Finishes data in its turn: everything in front of it is. With `written`, it is in the file,
 * unless there was an error. Returns 0 or -errno of the output.
 */
static int finish_data(struct sink *sink, const struct taken *taken, bool written, int error,
	struct digest_part *part)
{
	struct pace *pace = &sink->pace;

	pace_until(pace, PACE_LINK, taken->arrived);
	pace_until(pace, PACE_DIGEST, taken->digested);
	pace_until(pace, PACE_FILE, taken->written);
	if (sink->has_key && !sink->sparse)
		digester_add_prepared(sink->digester, taken->bytes, taken->size, part);
	pace_until(pace, PACE_DIGEST, clock_now_ns());
	if (error)
		return output_file_refuse(sink->file, error, sink->why);
	if (sink->answers)
		error = take_answers(sink, taken);
	else if (sink->sparse)
		error = take_runs(sink, taken->bytes, taken->size);
	else if (written)
		output_file_advance(sink->file, taken->size);
	else if (sink->file)
		error = output_file_write(sink->file, taken->bytes, taken->size, sink->why);
	pace_until(pace, PACE_FILE, clock_now_ns());
	return error;
}

/*
 * Reports a failure if there are other workers, without waiting for their writes, which may hang.
 * One worker removes the file first.
 */
static void fail_early(struct sink *sink)
{
	const struct worker_listener *listener = sink->worker.listener;

	if (sink->workers == 1)
		return;
	sink->state = SINK_FAILED;
	listener->moved(listener->about);
}

/*
 * Writes one block at a time, side by side with the other workers, and frees them in their order.
 */
static void write_blocks(void *argument, unsigned int number)
{
	struct sink *sink = argument;
	const struct worker_listener *listener = sink->worker.listener;
	size_t step = sink->copy_size + DIRECT_BLOCK;
	uint8_t *copy = sink->copies ? sink->copies + number * step : NULL;
	size_t most = copy && sink->most > sink->copy_size ? sink->copy_size : sink->most;
	bool blocks = sink->file && output_file_takes_blocks(sink->file) && !sink->sparse;
	struct digest_part part = {0};
	struct taken taken;
	int error = 0;

	while (take(sink, most, &taken) == RING_READY) {
		if (copy)
			copy_data(sink, &taken, copy, &part);
		taken.digested = clock_now_ns();
		if (blocks)
			error = output_file_write_at(
				sink->file, taken.bytes, taken.size, sink->start + taken.position);
		taken.written = clock_now_ns();
		if (ring_await_freed(sink->ring, taken.position) != RING_READY)
			return;
		sink->error = finish_data(sink, &taken, blocks, error, &part);
		if (sink->error) { /* the first one in the stream */
			ring_stop(sink->ring);
			if (blocks)
				fail_early(sink);
			return;
		}
		/* The CQ thread is woken when a part of the ring is free again. */
		if (ring_free_to(sink->ring, taken.position + taken.size) && sink->threaded)
			listener->moved(listener->about);
		if (blocks)
			output_file_write_back(
				sink->file, sink->start + taken.position, taken.size);
	}
}

/* True if all data was taken from the ring and written. */
static bool is_complete(struct sink *sink)
{
	struct ring_level level = ring_level(sink->ring);

	return !sink->error && level.ended && level.freed == level.filled;
}

/* Stores a tree: the first worker takes it from the ring, all of them write its files. */
static void write_tree(void *argument, unsigned int number)
{
	struct sink *sink = argument;
	int error;

	if (number > 0) {
		output_file_help(sink->file);
		return;
	}
	write_blocks(sink, 0);
	pace_until(&sink->pace, PACE_LINK, clock_now_ns());
	error = output_file_end(sink->file, is_complete(sink), sink->why);
	pace_until(&sink->pace, PACE_FILE, clock_now_ns());
	if (error)
		sink->error = error;
	if (sink->error)
		fail_early(sink);
}

/* Empties the ring until it ends. Sets the error, 0 if there is none. */
static void empty_ring(struct sink *sink)
{
	bool blocks = sink->file && output_file_takes_blocks(sink->file) && !sink->sparse, tree;
	struct pace *pace = &sink->pace;
	size_t block =
		sink->copy_size && sink->copy_size < sink->most ? sink->copy_size : sink->most;

	pace_start(pace, 1, block);
	tree = sink->file && output_file_use_workers(sink->file, sink->workers);
	if (tree)
		pace->workers = crew_run(sink->workers, "sink", write_tree, sink);
	else
		pace->workers = crew_run(blocks ? sink->workers : 1, "sink", write_blocks, sink);
	if (!sink->error && !is_complete(sink))
		sink->error = -ECANCELED;
}

/* Verifies the complete data; commits the output file if the data is intact. */
static enum sink_state verify(struct sink *sink)
{
	struct digest digest = digester_result(sink->digester, DIGEST_STREAM);

	if (sink->size != sink->expected_size || !digest_equal(&digest, &sink->expected)) {
		if (sink->file)
			output_file_spoil(sink->file);
		return SINK_DAMAGED;
	}
	if (sink->sparse && sink->place != sink->total) {
		sink->error = refuse_runs(sink, "it is incomplete");
		return SINK_FAILED;
	}
	if (sink->answers)
		answers_end(sink->answers);
	if (!sink->file)
		return SINK_VERIFIED;
	sink->there = output_file_is_there(sink->file);
	pace_until(&sink->pace, PACE_LINK, clock_now_ns());
	if (!sink->there)
		sink->error = output_file_commit(sink->file, sink->why);
	pace_until(&sink->pace, PACE_FILE, clock_now_ns()); /* it was synced */
	if (sink->error)
		return SINK_FAILED;
	snprintf(sink->kept, sizeof(sink->kept), "%s", output_file_name(sink->file));
	sink->entries = output_file_entries(sink->file);
	return SINK_VERIFIED;
}

static int open_output_file(struct sink *sink)
{
	int error;

	if (!sink->options->output)
		return 0;
	if (sink->answering.descriptor >= 0) {
		sink->keyed = digester_copy(sink->digester);
		if (!sink->keyed)
			return -ENOMEM;
		sink->offer.keyed = sink->keyed;
		sink->answering.stop_fd = sink->worker.stop_fd;
		sink->offer.answers = &sink->answering;
	}
	error = output_file_open(
		&sink->file, sink->options, &sink->offer, sink->worker.stop_fd, sink->why);
	if (!error)
		snprintf(sink->path, sizeof(sink->path), "%s", output_file_path(sink->file));
	return error;
}

/* Starts the digest anew, without the data that is already here. */
static void forget_existing(struct sink *sink)
{
	digester_free(sink->digester);
	sink->digester = sink->unused;
	sink->unused = NULL;
}

/* Finds and digests the data that is already here. Returns 0 or -ECANCELED. */
static int find_existing(struct sink *sink)
{
	uint64_t size = 0;
	int file = sink->file ? output_file_existing(sink->file, &size) : -1, error;

	sink->takes_holes = sink->file && output_file_takes_holes(sink->file);
	if (file < 0)
		return 0;
	sink->unused = digester_copy(sink->digester);
	if (!sink->unused)
		return 0;
	error = file_digest_add(sink->digester, file, size, sink->worker.stop_fd);
	if (error == -ECANCELED)
		return error;
	if (error) { /* the peer sends everything */
		forget_existing(sink);
		return 0;
	}
	sink->have_size = size;
	sink->have_digest = digester_result(sink->digester, DIGEST_EXISTING);
	return 0;
}

/* Waits until the peer's data starts, and continues where it does. Returns 0 or -errno. */
static int continue_file(struct sink *sink)
{
	uint64_t size;
	struct span span;

	if (ring_await_data(sink->ring, 1, &span) == RING_STOPPED)
		return -ECANCELED;
	if (sink->start == 0 && sink->unused)
		forget_existing(sink);
	sink->place = sink->start;
	/* Runs are one after the other. */
	if (sink->sparse)
		sink->workers = 1;
	if (!sink->file || output_file_existing(sink->file, &size) < 0)
		return 0;
	return output_file_start(sink->file, sink->start, sink->why);
}

/* Takes memory for copies, for fewer workers if there is not enough for all. Returns 0 or -1. */
static int take_copies(
	struct sink *sink, size_t copy_size, unsigned int *workers, struct failure *failure)
{
	/* A copy begins as far into a block as in the file. */
	const uint64_t step = copy_size + DIRECT_BLOCK;

	while (memory_budget_take(*workers * step, failure)) {
		if (*workers == 1)
			return -1;
		*failure = (struct failure){0};
		*workers /= 2;
	}
	sink->copy_size = copy_size;
	sink->copies_memory = *workers * step;
	return 0;
}

/* Makes the copies, if they are needed. Returns 0 or -ENOMEM. */
static int make_copies(struct sink *sink)
{
	bool direct = sink->file && output_file_is_direct(sink->file);
	struct failure failure = {0};

	if (!direct && !sink->has_key)
		return 0;
	if (sink->copies_memory > 0 ||
		take_copies(sink, direct ? DIRECT_SIZE : COPY_SIZE, &sink->workers, &failure) == 0)
		sink->copies = aligned_alloc(DIRECT_BLOCK, sink->copies_memory);
	if (sink->copies) {
		memory_budget_filled(sink->copies_memory);
		sink->copies_filled = sink->copies_memory;
		return 0;
	}
	snprintf(sink->why, sizeof(sink->why), "cannot write: %s", strerror(ENOMEM));
	return -ENOMEM;
}

static void run(void *argument)
{
	struct sink *sink = argument;
	enum sink_state state = SINK_FAILED;

	sink->error =
		ring_await_begin(sink->ring) == RING_READY ? open_output_file(sink) : -ECANCELED;
	if (!sink->error && sink->resumes) {
		sink->error = find_existing(sink);
		sink->knows_have = true;
		sink->worker.listener->moved(sink->worker.listener->about);
	}
	if (!sink->error && sink->resumes)
		sink->error = continue_file(sink);
	if (!sink->error)
		sink->error = make_copies(sink);
	if (!sink->error)
		empty_ring(sink);
	if (!sink->error)
		state = verify(sink);
	/* An unverified file is removed before the state shows that the sink is done. */
	sink->left = output_file_close(sink->file);
	sink->file = NULL;
	sink->state = state;
	sink->worker.listener->moved(sink->worker.listener->about);
}

int sink_reserve(struct sink *sink, unsigned int *workers, bool keyed, struct failure *failure)
{
	bool direct = sink->options->output && sink->options->direct;

	if (!sink->threaded || (!direct && !keyed))
		return 0;
	return take_copies(sink, direct ? DIRECT_SIZE : COPY_SIZE, workers, failure);
}

int sink_start(struct sink *sink, struct ring *ring, size_t most, unsigned int workers,
	const struct worker_listener *listener)
{
	sink->ring = ring;
	sink->most = most;
	sink->workers = workers;
	return sink->threaded ? worker_start(&sink->worker, "sink", run, sink, listener) : 0;
}

void sink_set_key(struct sink *sink, const uint8_t key[DIGEST_KEY_SIZE])
{
	digester_set_key(sink->digester, key);
	sink->has_key = true;
}

void sink_begin(struct sink *sink, const struct output_file_offer *offer, bool resumes)
{
	bool knows_size = sink->total != STREAM_SIZE_UNKNOWN;

	sink->resumes = resumes;
	sink->offer = *offer;
	sink->offer.name = sink->name;
	sink->offer.progress = &sink->tree_progress;
	sink->offer.keeping.kept &= sink->options->kept;
	sink->offer.keeping.numeric = sink->options->numeric;
	sink->offer.keeping.names = sink->names;
	sink->offer.keeping.lost = &sink->lost;
	if (sink->offer.size > sizeof(sink->name))
		sink->offer.size = sizeof(sink->name);
	memcpy(sink->name, offer->name, sink->offer.size);
	sink->offer.fallback = sink->fallback;
	snprintf(sink->fallback, sizeof(sink->fallback), "%s", offer->fallback);
	sink->offer.total = resumes && knows_size ? sink->total : 0;
	sink->offer.length = knows_size ? sink->total : 0;
	ring_begin(sink->ring);
}

void sink_answer(struct sink *sink, int descriptor)
{
	sink->answering = (struct writer){.descriptor = descriptor, .ours = true, .most = PIPE_BUF};
}

void sink_collect(struct sink *sink, struct answers *answers)
{
	sink->answers = answers;
}

bool sink_have(struct sink *sink, uint64_t *size, struct digest *digest, bool *holes)
{
	if (!sink->knows_have)
		return false;
	*size = sink->have_size;
	*digest = sink->have_digest;
	*holes = sink->takes_holes;
	return true;
}

void sink_continue(struct sink *sink, uint64_t start, bool holes)
{
	sink->start = start;
	sink->sparse = holes;
}

int64_t sink_left_out(const struct sink *sink)
{
	return sink->left_out;
}

bool sink_is_there(const struct sink *sink)
{
	return sink->there;
}

void sink_finish(struct sink *sink, uint64_t size, const struct digest *digest)
{
	sink->expected_size = size;
	sink->expected = *digest;
	ring_end(sink->ring);
	if (sink->threaded)
		return;
	empty_ring(sink);
	sink->state = sink->error ? SINK_FAILED : verify(sink);
}

enum sink_state sink_state(const struct sink *sink)
{
	return sink->state;
}

const char *sink_error(const struct sink *sink, int *error)
{
	*error = sink->error;
	return sink->why;
}

const char *sink_name(const struct sink *sink)
{
	return sink->kept;
}

unsigned long sink_entries(const struct sink *sink)
{
	return sink->entries;
}

struct omitted *sink_lost(struct sink *sink)
{
	return sink->offer.keeping.kept ? &sink->lost : NULL;
}

struct tree_state sink_tree(struct sink *sink)
{
	return tree_progress_state(&sink->tree_progress, UINT64_MAX);
}

const char *sink_path(const struct sink *sink)
{
	return sink->state == SINK_VERIFIED ? sink->path : "";
}

const char *sink_target(const struct sink *sink)
{
	return sink->path;
}

bool sink_has_left(const struct sink *sink)
{
	return sink->left;
}

bool sink_has_output(const struct sink *sink)
{
	return sink->options->output;
}

const uint8_t *sink_text(const struct sink *sink, size_t *size)
{
	*size = (size_t)sink->size;
	return sink->options->output || sink->size > SINK_TEXT_SIZE ? NULL : sink->text;
}

void sink_stop(struct sink *sink)
{
	if (!sink)
		return;
	if (sink->ring)
		ring_stop(sink->ring);
	worker_stop(&sink->worker);
}

const struct pace *sink_pace(const struct sink *sink)
{
	return &sink->pace;
}

bool sink_is_running(const struct sink *sink)
{
	return sink && sink->worker.running;
}
