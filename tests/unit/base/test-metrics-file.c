/* Files for Prometheus: their text, how a file is replaced, and what cannot be written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/metrics-file.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/test-metrics-file.XXXXXX";

static const char *const verdicts[] = {"good", "bad", NULL};

/* Reads the whole file, which is short. */
static const char *contents_of(const char *path)
{
	static char text[2048];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void values_have_labels_and_escaped_texts(void **state)
{
	struct metrics_file metrics;

	(void)state;
	assert_int_equal(metrics_file_open(&metrics, "a.prom"), 0);
	metrics.prefix = "test_";
	metrics_file_family(&metrics, "plain", "A value.");
	metrics_file_value(&metrics, NULL, 1795920886);
	metrics_file_value(&metrics, &(struct metrics_label){"size", "8"}, 5123 * 1e-9);
	metrics.labels[0] = (struct metrics_label){"host", "a\"b\\c\nd\xff"};
	metrics.labels[1] = (struct metrics_label){"peer", NULL};
	metrics.labels[2] = (struct metrics_label){"device", "r\xc3\xb6"};
	metrics_file_family(&metrics, "labelled", "Another one.");
	metrics_file_value(&metrics, NULL, 0);
	metrics_file_value(&metrics, &(struct metrics_label){"size", "8"}, -2.5);
	assert_int_equal(metrics_file_close(&metrics), 0);
	assert_string_equal(contents_of("a.prom"),
		"# HELP test_plain A value.\n# TYPE test_plain gauge\n"
		"test_plain 1795920886\ntest_plain{size=\"8\"} 5.123e-06\n"
		"# HELP test_labelled Another one.\n# TYPE test_labelled gauge\n"
		"test_labelled{host=\"a\\\"b\\\\c\\\\x0ad\\\\xff\",device=\"r\xc3\xb6\"} 0\n"
		"test_labelled{host=\"a\\\"b\\\\c\\\\x0ad\\\\xff\",device=\"r\xc3\xb6\",size=\"8\"} "
		"-2.5\n");
	unlink("a.prom");
}

static void the_outcome_has_a_value_for_each_verdict(void **state)
{
	const struct metrics_outcome outcome = {verdicts, "bad", STATUS_PEER};
	struct metrics_file metrics;
	const char *text;

	(void)state;
	assert_int_equal(metrics_file_open(&metrics, "a.prom"), 0);
	metrics.prefix = "t_";
	metrics_file_outcome(&metrics, &outcome);
	assert_int_equal(metrics_file_close(&metrics), 0);
	text = contents_of("a.prom");
	assert_non_null(strstr(text, "\nt_verdict{verdict=\"good\"} 0\n"));
	assert_non_null(strstr(text, "\nt_verdict{verdict=\"bad\"} 1\n"));
	assert_non_null(strstr(text, "\nt_exit_status 4\n"));
	assert_non_null(strstr(text, "\nt_end_timestamp_seconds 1"));
	unlink("a.prom");
}

/* A reader sees the old file until the new one is complete, and new ones have the usual mode. */
static void a_file_is_replaced_as_a_whole(void **state)
{
	mode_t mask = umask(027);
	struct metrics_file metrics;
	struct stat status;

	(void)state;
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(metrics_file_open(&metrics, "b.prom"), 0);
		metrics_file_family(&metrics, "x", "X.");
		metrics_file_value(&metrics, NULL, i);
		if (i == 2)
			assert_non_null(strstr(contents_of("b.prom"), "\nx 1\n"));
		else
			assert_int_equal(access("b.prom", F_OK), -1);
		assert_int_equal(metrics_file_close(&metrics), 0);
	}
	assert_non_null(strstr(contents_of("b.prom"), "\nx 2\n"));
	assert_int_equal(stat("b.prom", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	umask(mask);
	unlink("b.prom");
}

static void reports_what_cannot_be_written(void **state)
{
	const struct output output = {.program = "test"};
	struct metrics_file metrics;

	(void)state;
	assert_int_equal(metrics_file_open(&metrics, "missing/a.prom"), -ENOENT);
	assert_int_equal(metrics_file_open(&metrics, "/dev/full"), 0);
	metrics_file_family(&metrics, "x", "X.");
	assert_int_equal(metrics_file_close(&metrics), -ENOSPC);
	/* The name belongs to a directory by the time that the file is complete. */
	assert_int_equal(metrics_file_open(&metrics, "c.prom"), 0);
	assert_int_equal(mkdir("c.prom", 0700), 0);
	assert_int_equal(metrics_file_close(&metrics), -EISDIR);
	assert_int_equal(rmdir("c.prom"), 0);
	assert_int_equal(metrics_file_status(&output, "a", 0, STATUS_OK), STATUS_OK);
	assert_int_equal(metrics_file_status(&output, "a", 0, STATUS_PEER), STATUS_PEER);
	assert_int_equal(metrics_file_status(&output, "a", -EIO, STATUS_OK), STATUS_FAILED);
	assert_int_equal(metrics_file_status(&output, "a", -EIO, STATUS_PEER), STATUS_PEER);
}

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

/* Fails if a test has left a file. */
static int leave_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_labels_and_escaped_texts),
		cmocka_unit_test(the_outcome_has_a_value_for_each_verdict),
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
		cmocka_unit_test(reports_what_cannot_be_written),
	};

	return cmocka_run_group_tests_name("metrics-file", tests, enter_folder, leave_folder);
}
