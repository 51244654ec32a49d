/*
 * A directory moves from a source to a sink that asks and answers what is there, through two rings
 * in each direction. What the receiver has is not sent; what an interrupted transfer left is used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/answers.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "tests/ring-copy.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

#define RING  ((size_t)128 << 10)
#define BLOCK ((size_t)16 << 10)
#define LARGE 700000

static char source_why[WORKER_WHY_SIZE];
static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};

/* One direction: a source, two rings and a sink. */
struct direction {
	uint8_t memory[2][RING];
	struct ring out, in;
	struct source *source;
	struct sink *sink;
	uint64_t moved;
	bool finished;
};

/* A transfer, and how it ends. */
static struct {
	bool update, keyed;
	unsigned int workers;
	uint64_t until; /* it is interrupted when this much has moved; 0: never */
	struct direction data, back;
	sem_t moved_on;
	enum sink_state state;
	const char *reason;
	uint64_t there; /* files */
} transfer;

static void wake(void *about)
{
	(void)about;
	sem_post(&transfer.moved_on);
}

static const struct worker_listener listener = {.moved = wake, .ended = wake};

static void start(struct direction *direction, unsigned int workers)
{
	direction->moved = 0;
	direction->finished = false;
	ring_init(&direction->out, direction->memory[0], RING);
	ring_init(&direction->in, direction->memory[1], RING);
	assert_int_equal(
		source_start(direction->source, &direction->out, BLOCK, workers, &listener), 0);
	assert_int_equal(sink_start(direction->sink, &direction->in, BLOCK, workers, &listener), 0);
	if (transfer.keyed) {
		source_set_key(direction->source, key);
		sink_set_key(direction->sink, key);
	}
}

static void begin(struct direction *direction, bool tree)
{
	const struct output_file_offer offer = {
		.name = "in", .size = 2, .fallback = "f", .tree = tree};

	source_begin(direction->source);
	sink_begin(direction->sink, &offer, false);
}

/* Moves what can be moved, and ends the sink after the source. False: there was nothing. */
static bool move(struct direction *direction)
{
	struct ring_level level = ring_level(&direction->out);
	size_t size = ring_copyable(&direction->out, &direction->in, direction->moved, BLOCK);
	struct digest digest;
	const char *reason;

	if (size > 0) {
		ring_copy(&direction->out, &direction->in, direction->moved, size);
		direction->moved += size;
		return true;
	}
	if (!level.ended || direction->moved < level.filled || direction->finished)
		return false;
	direction->finished = true;
	if (source_result(direction->source, &digest, &reason)) {
		transfer.reason = reason;
		sink_stop(direction->sink);
	} else {
		sink_finish(direction->sink, direction->moved, &digest);
	}
	return true;
}

static void end(struct direction *direction)
{
	source_stop(direction->source);
	sink_stop(direction->sink);
	source_close(direction->source);
	sink_close(direction->sink);
	ring_destroy(&direction->out);
	ring_destroy(&direction->in);
}

/* Moves until both directions are over, or one fails, or it is interrupted. */
static void move_all(void)
{
	while (sink_state(transfer.data.sink) == SINK_WORKING ||
		sink_state(transfer.back.sink) == SINK_WORKING) {
		bool moved = move(&transfer.data);

		moved |= move(&transfer.back);
		if (transfer.until > 0 && transfer.data.moved >= transfer.until)
			return;
		if (sink_state(transfer.data.sink) == SINK_FAILED)
			return;
		if (!moved)
			sem_wait(&transfer.moved_on);
	}
}

static void run(void)
{
	static const char *const paths[] = {"in"};
	const struct output_file_options options = {.output = "out/", .update = transfer.update},
					 none = {0};
	struct answers *answers = answers_new();
	static char failure[OUTPUT_FILE_WHY_SIZE];
	int ends[2], error;

	sem_init(&transfer.moved_on, 0, 0);
	transfer.reason = "";
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(source_open_tree(&transfer.data.source, paths, 1, source_why), 0);
	source_extend_tree(transfer.data.source);
	source_ask(transfer.data.source, answers);
	assert_int_equal(sink_open(&transfer.data.sink, &options, STREAM_SIZE_UNKNOWN), 0);
	sink_answer(transfer.data.sink, ends[1]);
	assert_int_equal(source_open_answers(&transfer.back.source, ends[0]), 0);
	assert_int_equal(sink_open(&transfer.back.sink, &none, STREAM_SIZE_UNKNOWN), 0);
	sink_collect(transfer.back.sink, answers);
	start(&transfer.data, transfer.workers ? transfer.workers : 1);
	start(&transfer.back, 1);
	begin(&transfer.data, true);
	begin(&transfer.back, false);
	move_all();
	if (sink_state(transfer.data.sink) == SINK_FAILED) {
		snprintf(failure, sizeof(failure), "%s", sink_error(transfer.data.sink, &error));
		transfer.reason = failure;
	}
	transfer.there = sink_tree(transfer.data.sink).kept;
	transfer.state = sink_state(transfer.data.sink);
	end(&transfer.data);
	end(&transfer.back);
	answers_free(answers);
	sem_destroy(&transfer.moved_on);
}

static void sh(const char *command)
{
	assert_int_equal(system(command), 0);
}

static const char alike[] =
	"test \"$(cd in && find . | LC_ALL=C sort)\" = \"$(cd out/in && find . | LC_ALL=C sort)\" && "
	"diff -r --no-dereference in out/in && "
	"test \"$(cd in && find . -printf '%p %m %y %T@ %n %l\\n' | LC_ALL=C sort)\" = "
	"\"$(cd out/in && find . -printf '%p %m %y %T@ %n %l\\n' | LC_ALL=C sort)\"";

/* Ten small files, one large, an empty one, one with holes, links. */
static void make_input(void)
{
	sh("umask 022; rm -rf in out; mkdir -p in/a/b in/closed out;"
	   "for i in 0 1 2 3 4 5 6 7 8 9; do printf %05000d $i >in/a/f$i; done;"
	   "head -c 700000 /dev/urandom >in/a/large; : >in/a/none;"
	   "truncate -s 3M in/holes; printf data | dd of=in/holes bs=1 seek=2000000 conv=notrunc "
	   "status=none;"
	   "ln in/a/f1 in/b-hard; ln -s a/f2 in/soft; echo x >in/closed/file;"
	   "touch -d @1000000000.25 in/a/f3; chmod 640 in/a/f4; chmod 555 in/closed");
}

static void assert_complete(uint64_t there)
{
	if (transfer.state != SINK_VERIFIED)
		fail_msg("%s", transfer.reason);
	assert_int_equal(transfer.there, there);
	sh(alike);
	sh("test \"$(ls -A out)\" = in");
}

/* The ring may hold what is not stored yet. */
static void a_transfer_resumes(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		uint64_t first;

		transfer.keyed = i % 2;
		transfer.workers = i < 2 ? 1 : 4;
		make_input();
		transfer.until = 500000;
		run();
		assert_int_equal(transfer.state, SINK_WORKING);
		sh("test ! -e out/in && test \"$(ls -A out | wc -l)\" = 1");
		first = transfer.data.moved;
		transfer.until = 0;
		run();
		if (transfer.state != SINK_VERIFIED)
			fail_msg("%s", transfer.reason);
		sh(alike);
		sh("test \"$(ls -A out)\" = in");
		/* Both together sent everything once, except what was under way. */
		assert_true(transfer.data.moved < LARGE + 60000 - first + 2 * RING + 4000);
		sh("chmod 755 in/closed out/in/closed");
	}
	transfer.workers = 1;
	transfer.keyed = false;
}

/* Each attempt is interrupted a little later than the one before it. */
static void many_attempts_resume(void **state)
{
	(void)state;
	make_input();
	for (uint64_t until = 2000; until < 1000000; until = until * 3 / 2) {
		transfer.until = until;
		run();
		if (transfer.state == SINK_VERIFIED)
			break;
		assert_int_equal(transfer.state, SINK_WORKING);
		sh("test ! -e out/in");
	}
	transfer.until = 0;
	if (transfer.state != SINK_VERIFIED)
		run();
	if (transfer.state != SINK_VERIFIED)
		fail_msg("%s", transfer.reason);
	sh(alike);
	sh("test \"$(ls -A out)\" = in; chmod 755 in/closed out/in/closed");
}

/* What has gone, changed or got another type at the sender is not taken from the first attempt. */
static void the_sender_changes_meanwhile(void **state)
{
	(void)state;
	make_input();
	transfer.until = 600000;
	run();
	assert_int_equal(transfer.state, SINK_WORKING);
	sh("cd in/a; rm f0 f1; mkdir f0; echo y >f0/y; echo 2 >>f2; ln -sf f3 f4; head -c 5000 large "
	   ">l2; mv l2 large; chmod 755 ../closed; rm -r ../closed; echo file >../closed");
	transfer.until = 0;
	run();
	if (transfer.state != SINK_VERIFIED)
		fail_msg("%s", transfer.reason);
	sh(alike);
	sh("test \"$(ls -A out)\" = in");
}

static void an_update_sends_what_differs(void **state)
{
	(void)state;
	transfer.update = true;
	for (int i = 0; i < 4; i++) {
		transfer.keyed = i % 2;
		transfer.workers = i < 2 ? 1 : 4;
		make_input();
		run();
		assert_complete(0);
		run();
		assert_complete(13); /* without the empty one and those that are links */
		assert_true(transfer.data.moved < 4000);
		sh("echo 1 >>in/a/f1; touch in/a/f2; chmod 600 in/a/f3; printf %05000d 7 >in/a/f8;"
		   "mkdir in/new; echo z >in/new/z; rm in/a/f9 out/in/a/f9");
		run();
		assert_complete(10);
		assert_true(transfer.data.moved < 25000);
		/* What the sender does not have stays. */
		sh("rm -r in/new in/a/f5; echo mine >out/in/mine");
		run();
		assert_int_equal(transfer.state, SINK_VERIFIED);
		sh("test -e out/in/new/z -a -e out/in/a/f5 -a \"$(cat out/in/mine)\" = mine");
		sh("chmod 755 in/closed out/in/closed");
	}
	transfer.update = transfer.keyed = false;
	transfer.workers = 1;
}

/* A file is not replaced by a directory, nor the other way around. */
static void another_kind_is_refused(void **state)
{
	static const struct {
		const char *change, *reason;
	} cases[] = {
		{"rm out/in/a/f1; mkdir out/in/a/f1", "cannot write in/a/f1: Is a directory"},
		{"rm -r out/in/a; echo file >out/in/a", "cannot write in/a/f0: Not a directory"},
		{"rm -r out/in/a; ln -s .. out/in/a", "cannot write in/a/f0: Not a directory"},
		{"rm out/in/soft; mkdir out/in/soft", "cannot write in/soft: Is a directory"},
		{"rm -r out/in; echo file >out/in", "cannot write in/a/f0: Not a directory"},
	};

	(void)state;
	transfer.update = true;
	for (size_t i = 0; i < COUNT(cases); i++) {
		make_input();
		run();
		assert_complete(0);
		sh(cases[i].change);
		sh("(cd out; find . -mindepth 1 -printf '%p %T@\\n' | LC_ALL=C sort) >before");
		run();
		assert_int_equal(transfer.state, SINK_FAILED);
		if (strncmp(transfer.reason, cases[i].reason, 20) != 0)
			fail_msg("%s: %s", cases[i].change, transfer.reason);
		sh("(cd out; find . -mindepth 1 -printf '%p %T@\\n' | LC_ALL=C sort) >after; diff before after");
		sh("chmod -R 755 in/closed out/in/closed 2>/dev/null; true");
	}
	transfer.update = false;
}

static void an_existing_directory_is_refused_without_update(void **state)
{
	(void)state;
	make_input();
	sh("mkdir out/in");
	run();
	assert_int_equal(transfer.state, SINK_FAILED);
	assert_int_equal(strncmp(transfer.reason, "cannot write in: Is a directory", 31), 0);
	assert_true(transfer.data.moved < 4000);
	sh("test \"$(ls -A out)\" = in; chmod 755 in/closed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(a_transfer_resumes),
		OUTPUT_FILE_TEST(many_attempts_resume),
		OUTPUT_FILE_TEST(the_sender_changes_meanwhile),
		OUTPUT_FILE_TEST(an_update_sends_what_differs),
		OUTPUT_FILE_TEST(another_kind_is_refused),
		OUTPUT_FILE_TEST(an_existing_directory_is_refused_without_update),
	};

	return cmocka_run_group_tests_name("tree-resume", tests, NULL, NULL);
}
