/* What is answered for files of an earlier attempt, and of the directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/present.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static struct {
	int directory, ends[2];
	struct staging staging;
	struct digester *keyed;
	struct writer writer;
	struct present present;
} here;

static int set_up(void **state)
{
	int attempt;

	if (output_file_fixture_set_up(state) || pipe2(here.ends, O_CLOEXEC | O_NONBLOCK))
		return -1;
	here.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	here.keyed = digester_new();
	/* An attempt that was interrupted. */
	attempt = staging_open(&here.staging, here.directory, "tree", true);
	if (attempt < 0 || fchdir(attempt) ||
		system("mkdir -p tree/a; printf 12345 >tree/a/whole; printf 123 >tree/a/part;"
		       "printf 123 >tree/a/twice; ln tree/a/twice tree/a/again; : >tree/a/empty;"
		       "head -c 65536 /dev/zero | tr '\\0' x >tree/a/gap; truncate -s 1M tree/a/gap") ||
		fchdir(here.directory))
		return -1;
	close(attempt);
	staging_close(&here.staging, STAGING_ALL);
	close(staging_open(&here.staging, here.directory, "tree", true));
	here.present = (struct present){
		.staging = &here.staging,
		.target = -1,
		.user = geteuid(),
		.keyed = here.keyed,
		.writer = &here.writer,
	};
	here.writer = (struct writer){.descriptor = here.ends[1], .stop_fd = -1, .most = 512};
	return 0;
}

static int tear_down(void **state)
{
	staging_close(&here.staging, STAGING_NOTHING);
	present_end(&here.present);
	digester_free(here.keyed);
	close(here.ends[0]);
	close(here.ends[1]);
	close(here.directory);
	return output_file_fixture_tear_down(state);
}

static int answer_to(const char *path, uint64_t size, bool linked)
{
	const struct question question = {.path = path, .size = size, .linked = linked};
	int error = present_answer(&here.present, &question);

	return error ? error : present_flush(&here.present);
}

/* Asks, and checks that the answer is this many bytes of this text, or that there is none. */
static void ask_for(const char *path, uint64_t size, bool linked, uint64_t have, const char *text)
{
	uint64_t number = here.present.number;
	uint8_t bytes[TREE_ANSWER_SIZE];
	struct tree_answer answer;
	struct digest digest;

	assert_int_equal(answer_to(path, size, linked), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), have ? TREE_ANSWER_SIZE : -1);
	if (have == 0)
		return;
	tree_answer_decode(&answer, bytes);
	assert_int_equal(answer.number, number);
	assert_int_equal(answer.size, have);
	digest = digest_of(text, strlen(text));
	if (*text)
		assert_true(digest_equal(&answer.digest, &digest));
}

static void ask(const char *path, uint64_t size, uint64_t have, const char *text)
{
	ask_for(path, size, false, have, text);
}

static void an_earlier_attempt_is_used(void **state)
{
	(void)state;
	ask("tree/a/whole", 5, 5, "12345");
	ask("tree/a/whole", 6, 5, "12345"); /* the beginning */
	ask("tree/a/whole", 4, 0, "");      /* it was longer */
	ask("tree/a/part", 1000, 3, "123");
	ask("tree/a/twice", 3, 0, ""); /* the sender's has one name */
	ask_for("tree/a/twice", 3, true, 3, "123");
	ask_for("tree/a/again", 3, true, 0, ""); /* the same file */
	ask("tree/a/twice", 4, 0, "");           /* its other name would change as well */
	ask("tree/a/empty", 5, 0, "");
	ask("tree/a/gap", 2 << 20, 65536, "");
	ask("tree/a", 5, 0, "");
	ask("tree/none", 5, 0, "");
	ask("none", 5, 0, "");
	assert_int_equal(here.present.number, 13);
}

static void the_directory_is_used_for_an_update(void **state)
{
	(void)state;
	assert_int_equal(system("mkdir -p tree/a/d; printf abcde >tree/a/whole; printf xyz "
				">tree/theirs; mkfifo tree/fifo; ln -s theirs tree/link"),
		0);
	ask("tree/theirs", 3, 0, "");
	here.present.target = here.directory;
	ask("tree/theirs", 3, 3, "xyz");
	ask("tree/theirs", 4, 0, ""); /* no part of it could be continued */
	ask("tree/a/whole", 5, 5, "12345");
	ask("tree/fifo", 3, 0, "");
	ask("tree/link", 3, 0, "");
	assert_int_equal(answer_to("tree/a/d", 3, false), -EISDIR);
	assert_int_equal(answer_to("tree/theirs/x", 3, false), -ENOTDIR);
	assert_int_equal(answer_to("tree/link/x", 3, false), -ENOTDIR);
	assert_int_equal(answer_to("tree/../x", 3, false), -EPROTO);
	/* The last folder is the same, or its path begins with the same bytes. */
	ask_for("tree/theirs", 3, true, 0, "");
	assert_int_equal(answer_to("tree/..", 3, false), -EPROTO);
	assert_int_equal(answer_to("tree/", 3, false), -EPROTO);
	assert_int_equal(
		system("mkdir tre tree/a/b; printf 1234 >tre/x; printf 12345 >tree/a/b/x"), 0);
	ask("tree/a/b/x", 5, 5, "12345");
	ask("tree/a/x", 5, 0, "");
	ask("tre/x", 4, 4, "1234");
	ask("none", 4, 0, "");
	assert_int_equal(answer_to("/none", 4, false), -EPROTO);
	ask("tree/x", 4, 0, "");
	ask("x", 4, 0, "");
}

/* Asks by time, and checks whether the answer is so. */
static void ask_by_time(const char *path, time_t seconds, bool expected)
{
	const struct question question = {
		.path = path, .size = 5, .by_time = true, .modified = {.tv_sec = seconds}};
	uint8_t bytes[TREE_ANSWER_SIZE];
	struct tree_answer answer;

	assert_int_equal(present_answer(&here.present, &question), 0);
	assert_int_equal(present_flush(&here.present), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), TREE_ANSWER_SIZE);
	tree_answer_decode(&answer, bytes);
	assert_int_equal(answer.number, here.present.number - 1);
	assert_int_equal(answer.size, 5);
	assert_true(answer.by_time == expected);
}

/* Not for what an interrupted attempt has, or if the data is to be compared. */
static void size_and_time_may_suffice(void **state)
{
	(void)state;
	here.present.target = here.directory;
	here.present.by_time = true;
	assert_int_equal(system("mkdir -p tree/a; printf abcde >tree/theirs; printf abcde "
				">tree/again; printf 12345 >tree/a/whole;"
				"touch -d @1000 tree/theirs tree/again tree/a/whole"),
		0);
	ask_by_time("tree/theirs", 1000, true);
	ask_by_time("tree/a/whole", 1000, false);
	ask_by_time("tree/again", 1001, false);
	here.present.by_time = false;
	present_end(&here.present);
	ask_by_time("tree/theirs", 1000, false);
}

/* Each write may become a message. */
static void answers_are_written_together(void **state)
{
	const struct question question = {.path = "tree/a/whole", .size = 5};
	uint8_t bytes[2 * PRESENT_ANSWERS * TREE_ANSWER_SIZE];
	const ssize_t size = TREE_ANSWER_SIZE;
	struct tree_answer answer;

	(void)state;
	for (unsigned int i = 1; i <= PRESENT_ANSWERS + 3; i++) {
		assert_int_equal(present_answer(&here.present, &question), 0);
		assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)),
			i == PRESENT_ANSWERS ? PRESENT_ANSWERS * size : -1);
	}
	assert_int_equal(present_flush(&here.present), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), 3 * size);
	tree_answer_decode(&answer, bytes + 2 * size);
	assert_int_equal(answer.number, PRESENT_ANSWERS + 2);
	assert_int_equal(present_flush(&here.present), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), -1);
}

/* What takes long to digest does not hold up the answers before it. */
static void a_large_file_is_digested_after_the_others_are_answered(void **state)
{
	const struct question small = {.path = "tree/a/whole", .size = 5};
	const struct question large = {.path = "tree/large", .size = 2 << 20};
	uint8_t bytes[2 * TREE_ANSWER_SIZE];

	(void)state;
	here.present.target = here.directory;
	assert_int_equal(system("mkdir -p tree; head -c 2M /dev/zero >tree/large"), 0);
	assert_int_equal(present_answer(&here.present, &small), 0);
	assert_int_equal(present_answer(&here.present, &large), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), TREE_ANSWER_SIZE);
	assert_int_equal(present_flush(&here.present), 0);
	assert_int_equal(read(here.ends[0], bytes, sizeof(bytes)), TREE_ANSWER_SIZE);
}

static void nobody_listens_any_more(void **state)
{
	(void)state;
	close(here.ends[0]);
	here.ends[0] = -1;
	assert_int_equal(answer_to("tree/a/whole", 5, false), -EPIPE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_are_written_together),
		TEST(a_large_file_is_digested_after_the_others_are_answered),
		TEST(an_earlier_attempt_is_used),
		TEST(the_directory_is_used_for_an_update),
		TEST(size_and_time_may_suffice),
		TEST(nobody_listens_any_more),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("present", tests, NULL, NULL);
}
