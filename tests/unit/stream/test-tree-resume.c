/*
 * A directory moves from a source to a sink that asks and answers what is there, through two rings
 * in each direction. What the receiver has is not sent; what an interrupted transfer left is used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/answers.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "stream/staging.h"
#include "stream/tree-output.h"
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
	bool by_time; /* at the sender; the receiver always answers so if it may */
	unsigned int workers;
	uint64_t until;     /* it is interrupted when this much has moved; 0: never */
	const char *during; /* a command between the answers and the data, or NULL */
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
	if (transfer.during && direction == &transfer.back)
		assert_int_equal(system(transfer.during), 0);
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
	source_ask(transfer.data.source, answers, transfer.by_time);
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

/* Checks that all of the tree, and nothing else, has arrived. */
static void assert_arrived(void)
{
	if (transfer.state != SINK_VERIFIED)
		fail_msg("%s", transfer.reason);
	sh(alike);
	sh("test \"$(ls -A out)\" = in");
}

static void run_verified(void)
{
	run();
	assert_arrived();
}

/* Runs, and checks that it is interrupted when this much has moved. */
static void interrupt(uint64_t until)
{
	transfer.until = until;
	run();
	transfer.until = 0;
	assert_int_equal(transfer.state, SINK_WORKING);
}

/* The same, with this many files that were there. */
static void run_with(uint64_t there)
{
	run_verified();
	assert_int_equal(transfer.there, there);
}

/* What is still in the rings when a transfer is interrupted moves again. */
static void a_transfer_resumes(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		uint64_t first;

		transfer.keyed = i % 2;
		transfer.workers = i < 2 ? 1 : 4;
		make_input();
		interrupt(500000);
		sh("test ! -e out/in && test \"$(ls -A out | wc -l)\" = 1");
		first = transfer.data.moved;
		run_verified();
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
	assert_arrived();
	sh("chmod 755 in/closed out/in/closed");
}

/* What has gone, changed or got another type at the sender is not taken from the first attempt. */
static void the_sender_changes_meanwhile(void **state)
{
	(void)state;
	make_input();
	interrupt(600000);
	sh("cd in/a; rm f0 f1; mkdir f0; echo y >f0/y; echo 2 >>f2; ln -sf f3 f4; head -c 5000 large "
	   ">l2; mv l2 large; chmod 755 ../closed; rm -r ../closed; echo file >../closed");
	run_verified();
}

static void an_update_sends_what_differs(void **state)
{
	(void)state;
	transfer.update = true;
	for (int i = 0; i < 8; i++) {
		transfer.keyed = i % 2;
		transfer.workers = i % 4 < 2 ? 1 : 4;
		transfer.by_time = i / 4;
		make_input();
		run_with(0);
		run_with(13); /* without the empty one and those that are links */
		assert_true(transfer.data.moved < 4000);
		sh("echo 1 >>in/a/f1; touch in/a/f2; chmod 600 in/a/f3; printf %05000d 7 >in/a/f8;"
		   "mkdir in/new; echo z >in/new/z; rm in/a/f9 out/in/a/f9");
		run_with(10);
		assert_true(transfer.data.moved < 25000);
		/* What the sender does not have stays. */
		sh("rm -r in/new in/a/f5; echo mine >out/in/mine");
		run();
		assert_int_equal(transfer.state, SINK_VERIFIED);
		sh("test -e out/in/new/z -a -e out/in/a/f5 -a \"$(cat out/in/mine)\" = mine");
		sh("chmod 755 in/closed out/in/closed");
	}
	transfer.update = transfer.keyed = transfer.by_time = false;
	transfer.workers = 1;
}

/* Without reading the files; but never what an interrupted transfer has left. */
static void size_and_time_may_suffice(void **state)
{
	(void)state;
	transfer.update = transfer.by_time = true;
	make_input();
	interrupt(600000);
	sh("sync; f=$(find out -name f3); test -n \"$f\"; touch -r $f t; "
	   "printf %05000d 7 >$f; touch -r t $f");
	run_verified();
	sh("printf %05000d 7 >out/in/a/f3; touch -r t out/in/a/f3");
	run();
	assert_int_equal(transfer.state, SINK_VERIFIED);
	assert_int_equal(transfer.there, 13);
	sh("! cmp -s in/a/f3 out/in/a/f3");
	transfer.by_time = false;
	run_with(12);
	transfer.update = false;
	sh("chmod 755 in/closed out/in/closed");
}

/* Runs as another user, with this many files that were there. */
static void run_as_other(uint64_t there)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		run();
		_exit(transfer.state != SINK_VERIFIED ? 2 : transfer.there != there ? 3 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The new permissions of a directory do not let its owner find the files that stay there. */
static void files_change_before_their_directories(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	transfer.update = transfer.by_time = true;
	sh("umask 022; mkdir -p in/a out; echo 1 >in/a/f; chmod 755 .; chown 65534 out");
	run_as_other(0);
	sh("chmod 604 in/a/f; chmod 055 in/a; touch -d @1000000000 in/a/f");
	run_as_other(1);
	sh("test \"$(stat -c '%a %Y' out/in/a out/in/a/f)\" = \"$(stat -c '%a %Y' in/a in/a/f)\"");
	/* That of a user whose permissions it cannot change is replaced. */
	sh("chmod 755 out/in/a in/a; chown 0 out/in/a/f");
	run_as_other(0);
	sh("test $(stat -c %u:%a out/in/a/f) = 65534:604");
	transfer.update = transfer.by_time = false;
}

/* Between the questions and the data. */
static void a_file_that_gets_another_time_is_sent(void **state)
{
	(void)state;
	transfer.update = transfer.by_time = true;
	make_input();
	run_with(0);
	transfer.during = "printf %05000d 8 >in/a/f1; touch in/a/f2";
	run_with(11);
	transfer.during = NULL;
	transfer.update = transfer.by_time = false;
	sh("chmod 755 in/closed out/in/closed");
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
		run_with(0);
		sh(cases[i].change);
		sh("(cd out; find . -mindepth 1 ! -path './.*' -printf '%p %T@\\n' | LC_ALL=C sort) >before");
		run();
		assert_int_equal(transfer.state, SINK_FAILED);
		if (strncmp(transfer.reason, cases[i].reason, 20) != 0)
			fail_msg("%s: %s", cases[i].change, transfer.reason);
		assert_true(transfer.data.moved < 4000);
		sh("(cd out; find . -mindepth 1 ! -path './.*' -printf '%p %T@\\n' | LC_ALL=C sort) >after; diff before after");
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

/* A hole behind what is there: what the receiver has behind it is not the sender's. */
static void a_file_with_holes_continues(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		sh("rm -rf in out; mkdir -p in out; head -c 1M /dev/zero | tr '\\0' a >in/f; "
		   "truncate -s 2M in/f; head -c 1M /dev/zero | tr '\\0' b >>in/f; "
		   "head -c 2M /dev/zero | tr '\\0' c >>in/f");
		interrupt(3200000);
		sh(i ? "fallocate -p -o 2M -l 1M in/f" : "truncate -s 1M out/.in*/1/in/f");
		run_verified();
	}
}

/* Two transfers of a file that differ in size: the one that was answered is kept. */
static void the_answered_file_is_kept(void **state)
{
	(void)state;
	transfer.update = true;
	sh("mkdir -p in out; printf %0100d 1 >in/a; head -c 900000 /dev/urandom >in/z");
	run_verified();
	sh("cp -p in/a keep; printf %0200d 1 >in/a; head -c 900000 /dev/urandom >in/z");
	interrupt(300000);
	sh("cp -p keep in/a");
	run_verified();
	transfer.update = false;
}

/* Names of one file at one end that are two files at the other. */
static void links_that_were_broken(void **state)
{
	static const char attributes[] =
		"test \"$(stat -c '%n %a %h %y' in/* | LC_ALL=C sort)\" = "
		"\"$(cd out; stat -c '%n %a %h %y' in/* | LC_ALL=C sort)\"";

	(void)state;
	sh("umask 022; mkdir -p in out; printf %05000d 1 >in/a; ln in/a in/b; "
	   "head -c 900000 /dev/urandom >in/z");
	interrupt(300000);
	sh("cp -p in/b in/c; mv in/c in/b; chmod 600 in/a; chmod 644 in/b");
	run_verified();
	sh(attributes);
	transfer.update = true;
	sh("rm -rf in out; mkdir -p in out; for i in 1 2 3 4; do printf %05000d $i >in/$i; done; ln "
	   "in/1 in/5");
	run_verified();
	sh(attributes);
	sh("cp -p in/5 in/x; mv in/x in/5; chmod 600 in/5; touch in/1");
	run_verified();
	sh(attributes);
	/* A new link to a file that stays gets what that gets. */
	sh("chmod 640 in/2; touch -d @1000000000 in/2; ln in/2 in/6");
	run_verified();
	sh(attributes);
	transfer.update = false;
}

static void a_file_may_grow_after_the_question(void **state)
{
	(void)state;
	transfer.update = true;
	sh("mkdir -p in out; for i in 1 2 3 4; do printf %05000d $i >in/$i; done; echo log >in/log");
	run_verified();
	transfer.during = "echo more >>in/log";
	run_verified();
	assert_int_equal(transfer.there, 4);
	/* The receiver's own changes are noticed, and nothing is verified that is not there. */
	sh("touch -d @1000000000 in/2");
	transfer.during = "printf %05000d 9 >out/in/2";
	run();
	assert_int_equal(transfer.state, SINK_FAILED);
	assert_non_null(strstr(transfer.reason, "cannot write in/2: Stale file handle (it changed "
						"during the transfer)"));
	transfer.during = NULL;
	run_verified();
	transfer.update = false;
}

/* Transfers that store little, or nothing, lose nothing of what an earlier one has stored. */
static void short_attempts_lose_nothing(void **state)
{
	(void)state;
	sh("mkdir -p in/a out; echo 0 >in/0; for i in 1 2 3 4; do head -c 300000 /dev/urandom >in/$i; "
	   "done; for i in $(seq 200); do echo $i >in/a/$i; done");
	interrupt(1150000);
	for (int i = 0; i < 2 * STAGING_EARLIER; i++) {
		sh("head -c 200000 /dev/urandom >in/0");
		interrupt(i % 2 ? 1 : 190000);
	}
	sh("echo 0 >in/0");
	run_verified();
	assert_true(transfer.data.moved < 600000);
}

/* What an earlier attempt has cannot be answered, and is not taken instead of what was answered. */
static void a_link_of_an_earlier_attempt_is_not_kept(void **state)
{
	(void)state;
	transfer.update = true;
	sh("mkdir -p in out; printf %05000d 1 >in/a; printf %05000d 2 >in/b; "
	   "head -c 900000 /dev/urandom >in/z");
	run_verified();
	sh("cp -p in/b keep; ln -f in/a in/b; head -c 900000 /dev/urandom >in/z");
	interrupt(300000);
	sh("rm in/b; cp -p keep in/b");
	run_verified();
	transfer.update = false;
}

/* A file of one attempt is a directory in the next, when both are merged. */
static void attempts_of_other_kinds_are_merged(void **state)
{
	(void)state;
	sh("mkdir -p in/0 out; echo 1 >in/0/x; for i in 1 2 3; do head -c 300000 /dev/urandom "
	   ">in/$i; done");
	interrupt(500000);
	sh("rm -r in/0; echo 0 >in/0");
	interrupt(300000);
	for (int i = 0; i < STAGING_EARLIER; i++) {
		sh("head -c 200000 /dev/urandom >in/0");
		interrupt(190000);
	}
	sh("echo 0 >in/0");
	run_verified();
	assert_true(transfer.data.moved < 560000);
}

/* If a write fails, in whichever thread, what was stored stays. */
static void a_failed_write_loses_nothing(void **state)
{
	struct rlimit before, small;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (unsigned int workers = 1; workers <= 4; workers += 3) {
		transfer.workers = workers;
		sh("rm -rf in out; mkdir -p in out; for i in 1 2 3 4 5; do head -c 100000 "
		   "/dev/urandom >in/$i; done; for i in 7 8; do head -c 300000 /dev/urandom "
		   ">in/$i; done");
		interrupt(700000);
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
		small = (struct rlimit){.rlim_cur = 150000, .rlim_max = before.rlim_max};
		setrlimit(RLIMIT_FSIZE, &small);
		run();
		setrlimit(RLIMIT_FSIZE, &before);
		assert_int_equal(transfer.state, SINK_FAILED);
		run_verified();
		assert_true(transfer.data.moved < 900000);
	}
	transfer.workers = 1;
}

/* Adds bytes to a stream. Returns its end. */
static uint8_t *add_bytes(uint8_t *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

/* Adds an entry with this name and these contents. */
static uint8_t *add(uint8_t *at, struct tree_entry entry, const char *name, const char *contents)
{
	uint8_t header[TREE_HEADER_SIZE];

	entry.name_size = (uint8_t)strlen(name);
	if (*contents)
		entry.size = strlen(contents);
	tree_encode(&entry, header);
	at = add_bytes(at, header, sizeof(header));
	at = add_bytes(at, name, entry.name_size);
	return add_bytes(at, contents, strlen(contents));
}

/* Stores a hostile sender's stream with this entry after the start. Returns the error. */
static int store(struct tree_entry entry, const char *name, const char *contents)
{
	uint8_t stream[1024], *at = stream;
	struct digester *keyed = digester_new();
	struct tree_output_options options = {.update = true, .keyed = keyed};
	struct tree_output *output;
	struct writer writer;
	int ends[2], directory = open("out", O_PATH | O_DIRECTORY | O_CLOEXEC), error;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	writer = (struct writer){.descriptor = ends[1], .stop_fd = -1, .ours = true, .most = 512};
	options.answers = &writer;
	assert_int_equal(tree_output_open(&output, directory, "x", &options, why), 0);
	at = add(at, (struct tree_entry){.kind = TREE_ASKED}, "", "");
	at = add(at, (struct tree_entry){.kind = TREE_START}, "", "");
	at = add(at, entry, name, contents);
	error = tree_output_write(output, stream, (size_t)(at - stream), why);
	tree_output_close(output, false);
	digester_free(keyed);
	close(directory);
	close(ends[0]);
	return error;
}

/* Only a file for which an answer was given is kept, or linked to. */
static void only_answered_files_are_used(void **state)
{
	(void)state;
	sh("mkdir -p out/private; echo secret >out/private/secret; echo x >out/f");
	assert_int_equal(store((struct tree_entry){.kind = TREE_HARD_LINK, .mode = 0644}, "link",
				 "private/secret"),
		-EPROTO);
	assert_int_equal(
		store((struct tree_entry){.kind = TREE_KEPT, .mode = 0666, .size = 2}, "f", ""),
		-ESTALE);
	assert_int_equal(store((struct tree_entry){.kind = TREE_CONTINUED, .mode = 0666, .size = 9},
				 "f", ""),
		-ENOENT);
	sh("test \"$(ls -A out)\" = \"$(printf 'f\\nprivate')\" -a $(stat -c %a out/f) = 644");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_FILE_TEST(a_transfer_resumes),
		OUTPUT_FILE_TEST(many_attempts_resume),
		OUTPUT_FILE_TEST(the_sender_changes_meanwhile),
		OUTPUT_FILE_TEST(an_update_sends_what_differs),
		OUTPUT_FILE_TEST(size_and_time_may_suffice),
		OUTPUT_FILE_TEST(files_change_before_their_directories),
		OUTPUT_FILE_TEST(a_file_that_gets_another_time_is_sent),
		OUTPUT_FILE_TEST(another_kind_is_refused),
		OUTPUT_FILE_TEST(an_existing_directory_is_refused_without_update),
		OUTPUT_FILE_TEST(a_file_with_holes_continues),
		OUTPUT_FILE_TEST(the_answered_file_is_kept),
		OUTPUT_FILE_TEST(links_that_were_broken),
		OUTPUT_FILE_TEST(a_file_may_grow_after_the_question),
		OUTPUT_FILE_TEST(short_attempts_lose_nothing),
		OUTPUT_FILE_TEST(only_answered_files_are_used),
		OUTPUT_FILE_TEST(a_link_of_an_earlier_attempt_is_not_kept),
		OUTPUT_FILE_TEST(attempts_of_other_kinds_are_merged),
		OUTPUT_FILE_TEST(a_failed_write_loses_nothing),
	};

	return cmocka_run_group_tests_name("tree-resume", tests, NULL, NULL);
}
