/* Pictures of measurements: gnuplot's commands, and its failures. A script takes its place. */
#include <glob.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/plot.h"
#include "tests/unit/unit.h"

static struct measurement measurement;
static struct options options;
static struct histogram latency;
static char folder[] = "/tmp/test-plot-XXXXXX";

/* Two sizes. 2026-11-26 20:01:07 UTC. */
static void make(bool of_latency, bool bidirectional)
{
	struct measured measured = {
		.parameters = {.kind = of_latency ? TEST_LATENCY : TEST_BANDWIDTH,
			.size = 4096,
			.direction = bidirectional ? TEST_BOTH : TEST_CLIENT},
		.ours = {.operations = 1000,
			.bytes = 20000000,
			.nanoseconds = 1000000000,
			.worst = 18000000,
			.best = 21000000},
		.theirs = {.bytes = 30000000, .nanoseconds = 1000000000},
		.latency = of_latency ? &latency : NULL,
	};

	setenv("TZ", "UTC", 1);
	memset(&measurement, 0, sizeof(measurement));
	options = (struct options){
		.operation = &test_operations[TEST_WRITE],
		.host = "it's",
		.measure = {.bandwidth = !of_latency,
			.latency = of_latency,
			.bidirectional = bidirectional,
			.unit = UNIT_MB},
	};
	histogram_init(&latency);
	for (unsigned int i = 1; i <= 100; i++)
		histogram_add(&latency, i < 91 ? 256 : 16384);
	measurement.options = &options;
	measurement.start = 1795723267;
	snprintf(measurement.host_name, sizeof(measurement.host_name), "a\nb");
	facts_add(&measurement.ours, "device", "rxe0");
	facts_add(&measurement.theirs, "device", "rxe1");
	measurement.results = json_object_new_array();
	json_object_array_add(measurement.results, measurement_json(&measured, false));
	measured.parameters.size = 1 << 20;
	measured.ours.worst = measured.ours.best = 0;
	json_object_array_add(measurement.results, measurement_json(&measured, false));
}

static void write_commands(char text[8192], bool svg)
{
	FILE *stream = fmemopen(text, 8192, "w");

	assert_non_null(stream);
	plot_write(stream, &measurement, svg);
	assert_int_equal(fclose(stream), 0);
	json_object_put(measurement.results);
}

static void bandwidth_is_drawn_with_its_range(void **state)
{
	char text[8192];

	(void)state;
	make(false, false);
	write_commands(text, false);
	assert_int_equal(strncmp(text, "set terminal pngcairo noenhanced ", 33), 0);
	/* Nothing ends the title early. */
	assert_non_null(strstr(text,
		"\nset title 'WRITE bandwidth from a?b (rxe0/unknown) to it''s (rxe1/unknown), "
		"2026-11-26 20:01:07'\n"));
	assert_non_null(strstr(text, "\nset ylabel 'MB/s'\n"));
	assert_non_null(strstr(text, "\nset xtics ('4K' 4096, '1M' 1048576)\n"));
	/* A test shorter than an interval has no range. */
	assert_non_null(strstr(text, "\n$data << END\n4096 20.000000 18.000000 21.000000\n"
				     "1048576 20.000000 20.000000 20.000000\nEND\n"));
	assert_non_null(strstr(text, "filledcurves fillcolor rgb '#c6dbef' title "
				     "'worst to best 0.1 s'"));
	assert_non_null(strstr(text, "set label 'average' at "));
}

static void both_directions_have_a_line_each(void **state)
{
	const char *client, *server, *both;
	char text[8192];

	(void)state;
	make(false, true);
	write_commands(text, true);
	assert_int_equal(strncmp(text, "set terminal svg noenhanced ", 28), 0);
	assert_non_null(strstr(text, "\n4096 50.000000 20.000000 30.000000\n"));
	client = strstr(text, "set label 'client'");
	server = strstr(text, "set label 'server'");
	both = strstr(text, "set label 'both'");
	/* From the lowest line to the highest. */
	assert_true(client && server && both && client < server && server < both);
	assert_null(strstr(text, "filledcurves"));
}

static void latencies_have_a_line_for_each_percentile(void **state)
{
	char text[8192];

	(void)state;
	make(true, false);
	write_commands(text, true);
	assert_non_null(strstr(text, "\nset ylabel 'latency in microseconds'\n"));
	assert_non_null(strstr(text, "\nset logscale y 10\n"));
	assert_non_null(strstr(text, "\n4096 0.256000 0.256000 16.384000 16.384000\n"));
	assert_non_null(strstr(text, "set label 'median'"));
	assert_non_null(strstr(text, "set label '99.9 %'"));
	assert_null(strstr(text, "99.99"));
}

/* Puts a script in the place of gnuplot; NULL: none is installed. */
static void install(const char *script)
{
	FILE *file;

	unlink("gnuplot");
	if (!script)
		return;
	file = fopen("gnuplot", "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod("gnuplot", 0755), 0);
}

/* True if the folder has no file that begins like a hidden picture. */
static bool is_clean(void)
{
	glob_t found;
	int status = glob("a.svg.*", 0, NULL, &found);

	globfree(&found);
	return status == GLOB_NOMATCH;
}

/* Draws to a.svg. Returns the failure's text, "" if there is none. */
static const char *draw(const char *script)
{
	static struct failure failure;
	struct plot plot = {0};

	make(false, false);
	install(script);
	failure = (struct failure){0};
	if (plot_begin(&plot, "a.svg", &failure) == 0)
		plot_draw(&plot, &measurement, &failure);
	plot_end(&plot);
	json_object_put(measurement.results);
	return failure.evidence;
}

static void gnuplot_writes_the_picture(void **state)
{
	char line[64] = "";
	struct stat status;
	FILE *file;

	(void)state;
	umask(022);
	for (unsigned int i = 0; i < 2; i++) {
		assert_string_equal(draw("exec /bin/cat"), "");
		file = fopen("a.svg", "r");
		assert_non_null(file);
		assert_non_null(fgets(line, sizeof(line), file));
		fclose(file);
		assert_int_equal(strncmp(line, "set terminal svg", 16), 0);
		assert_int_equal(stat("a.svg", &status), 0);
		assert_int_equal(status.st_mode & 0777, 0644);
		assert_true(is_clean());
	}
	unlink("a.svg");
}

static void failures_leave_no_file(void **state)
{
	static const struct {
		const char *script, *error;
	} cases[] = {
		{NULL, "cannot draw a.svg: gnuplot is not installed; install gnuplot-nox (Debian, "
		       "Ubuntu) or gnuplot (Fedora)"},
		{"/bin/cat >/dev/null; exit 127",
			"cannot draw a.svg: gnuplot is not installed; install gnuplot-nox (Debian, "
			"Ubuntu) or gnuplot (Fedora)"},
		{"/bin/cat; exit 1", "cannot draw a.svg: gnuplot failed"},
		{"/bin/cat >/dev/null", "cannot draw a.svg: gnuplot failed"},
		{"kill -KILL $$", "cannot draw a.svg: gnuplot failed"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_string_equal(draw(cases[i].script), cases[i].error);
		assert_true(access("a.svg", F_OK) != 0);
		assert_true(is_clean());
	}
}

static void an_unusable_name_is_reported_first(void **state)
{
	struct failure failure = {0};
	struct plot plot;

	(void)state;
	install("exec /bin/cat");
	assert_int_equal(plot_begin(&plot, "missing/a.svg", &failure), -1);
	assert_string_equal(
		failure.evidence, "cannot draw missing/a.svg: No such file or directory");
	plot_end(&plot);
}

static void a_measurement_without_results_leaves_no_file(void **state)
{
	struct failure failure = {0};
	struct plot plot;

	(void)state;
	install("exec /bin/cat");
	assert_int_equal(plot_begin(&plot, "a.svg", &failure), 0);
	plot_end(&plot);
	assert_true(access("a.svg", F_OK) != 0);
	assert_true(is_clean());
}

static int enter_folder(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return !mkdtemp(folder) || chdir(folder) || setenv("PATH", folder, 1);
}

static int leave_folder(void **state)
{
	(void)state;
	unlink("gnuplot");
	return chdir("/") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_is_drawn_with_its_range),
		cmocka_unit_test(both_directions_have_a_line_each),
		cmocka_unit_test(latencies_have_a_line_for_each_percentile),
		cmocka_unit_test(gnuplot_writes_the_picture),
		cmocka_unit_test(failures_leave_no_file),
		cmocka_unit_test(an_unusable_name_is_reported_first),
		cmocka_unit_test(a_measurement_without_results_leaves_no_file),
	};

	return cmocka_run_group_tests_name("plot", tests, enter_folder, leave_folder);
}
