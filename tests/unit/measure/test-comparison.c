/* Whole screens of `rdma-client compare`, and each error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/comparison.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

static struct options options;
static char folder[] = "/tmp/test-comparison-XXXXXX";
static char files[2][sizeof(folder) + 16];

static void write_file(unsigned int index, const char *text)
{
	FILE *file;

	snprintf(files[index], sizeof(files[index]), "%c.json", "ab"[index]);
	file = fopen(files[index], "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

#define HEAD(command, mode, asked) \
	"{\"schema\":5,\"program\":\"rdma-client\",\"version\":\"0.2.0\",\"command\":\"" command \
	"\",\"time\":\"2026-11-28T06:40:01Z\",\"message\":null,\"mode\":\"" mode \
	"\",\"host\":\"10.77.0.1\",\"asked\":{" asked \
	"},\"here\":{\"device\":\"rxe0\"},\"there\":{\"device\":\"mlx5_0\"},\"results\":["
#define TAIL "]}\n"
#define RATE(size, rate, worst, best) \
	"{\"size_bytes\":" size ",\"bytes_per_second\":" rate \
	",\"here\":{\"worst_interval_bytes_per_second\":" worst \
	",\"best_interval_bytes_per_second\":" best "}}"
#define TIME(size, minimum, median, p90) \
	"{\"size_bytes\":" size ",\"latency_ns\":{\"minimum\":" minimum ",\"median\":" median \
	",\"p90\":" p90 "}}"
#define ONE HEAD("bandwidth", "write", "") RATE("4096", "175100000", "172700000", "177200000") TAIL

static int print(void)
{
	options = (struct options){.files = {files[0], files[1]}};
	return (int)comparison_print(&options, "rdma-client");
}

static int print_json(void)
{
	options = (struct options){.files = {files[0], files[1]}, .json = true};
	return (int)comparison_print(&options, "rdma-client");
}

static void bandwidths_are_compared_by_their_intervals(void **state)
{
	(void)state;
	write_file(0,
		HEAD("bandwidth", "write", "\"threads\":1,\"depth\":null,\"smallest_bytes\":8")
			RATE("8", "9000000", "8000000", "9500000") "," RATE("4096", "175100000",
				"172700000", "177200000") "," RATE("65536", "2204000000",
				"2183000000", "2219000000") "," RATE("1048576", "219000000", "null",
				"null") "," RATE("2097152", "219000000", "1", "2") TAIL);
	write_file(1,
		HEAD("bandwidth", "write", "\"threads\":2,\"depth\":null,\"smallest_bytes\":9")
			RATE("8", "9300000", "9100000", "9600000") "," RATE("65536", "1102000000",
				"1000000000", "1200000000") "," RATE("1048576", "438000000",
				"430000000", "440000000") "," RATE("4096", "200000000", "177300000",
				"210000000") TAIL);
	run(print, NULL);
	assert_string_equal(printed.error, "");
	assert_string_equal(printed.out,
		"WRITE bandwidth\n"
		"A: a.json, 1 run, from rxe0 to 10.77.0.1 (mlx5_0), version 0.2.0,\n"
		"  2026-11-28T06:40:01Z\n"
		"B: b.json, 1 run, from rxe0 to 10.77.0.1 (mlx5_0), version 0.2.0,\n"
		"  2026-11-28T06:40:01Z\n"
		"different options: threads 1 and 2\n"
		"size         A  A worst   A best         B  B worst   B best     B/A\n"
		"          MB/s     MB/s     MB/s      MB/s     MB/s     MB/s\n"
		"   8     9.000    8.000    9.500     9.300    9.100    9.600   1.033\n"
		"  4K   175.1    172.7    177.2     200.0    177.3    210.0     1.142  faster\n"
		" 64K  2204.0   2183.0   2219.0    1102.0   1000.0   1200.0     0.500  slower\n"
		"  1M   219.0          -        -   438.0    430.0    440.0     2.000  unknown\n"
		"noise: from the worst to the best 0.1 s\n"
		"B is faster at 1 of 4 sizes, slower at 1, within the noise at 1, unknown at 1\n");
	assert_int_equal(printed.status, STATUS_OK);
}

static void latencies_are_compared_by_their_percentiles(void **state)
{
	(void)state;
	write_file(0, HEAD("latency", "read", "") TIME("8", "7000", "7300", "7500") "," TIME(
			      "16", "7000", "7300", "8000") TAIL);
	write_file(1, HEAD("latency", "read", "") TIME("8", "7600", "8030", "8500") "," TIME(
			      "16", "7600", "8030", "8500") TAIL);
	run(print, NULL);
	assert_string_equal(printed.out,
		"READ latency\n"
		"A: a.json, 1 run, from rxe0 to 10.77.0.1 (mlx5_0), version 0.2.0,\n"
		"  2026-11-28T06:40:01Z\n"
		"B: b.json, 1 run, from rxe0 to 10.77.0.1 (mlx5_0), version 0.2.0,\n"
		"  2026-11-28T06:40:01Z\n"
		"size         A   A best  A worst         B   B best  B worst     B/A\n"
		"            us       us       us        us       us       us\n"
		"   8      7.30     7.00     7.50      8.03     7.60     8.50   1.100  slower\n"
		"  16      7.30     7.00     8.00      8.03     7.60     8.50   1.100\n"
		"noise: from the minimum (best) to 90 % (worst) of the operations\n"
		"B is faster at 0 of 2 sizes, slower at 1, within the noise at 1\n");
}

/* Three runs show the noise between runs; two do not. */
static void several_runs_have_a_range(void **state)
{
	(void)state;
	write_file(0, HEAD("latency", "read", "") TIME("8", "1000", "7100", "9000")
			      TAIL HEAD("latency", "read", "") TIME("8", "1000", "7300", "9000")
				      TAIL HEAD("latency", "read", "")
					      TIME("8", "1000", "7200", "9000") TAIL);
	write_file(1, HEAD("latency", "read", "") TIME("8", "1000", "7020", "9000") TAIL HEAD(
			      "latency", "read", "") TIME("8", "1000", "7010", "9000")
			      TAIL HEAD("latency", "read", "") TIME("16", "1000", "7000", "9000")
				      TAIL HEAD("latency", "read", "")
					      TIME("8", "1000", "7000", "9000") TAIL);
	run(print, NULL);
	assert_non_null(strstr(printed.out, "\nA: a.json, 3 runs, from "));
	assert_non_null(strstr(printed.out,
		"\n   8      7.20     7.10     7.30      7.01     7.00     7.02   0.974  faster\n"
		"noise: from the worst to the best run\n"));
	/* Medians that may have been rounded differently. */
	write_file(1, HEAD("latency", "read", "") TIME("8", "1000", "7060", "9000")
			      TAIL HEAD("latency", "read", "") TIME("8", "1000", "7050", "9000")
				      TAIL HEAD("latency", "read", "")
					      TIME("8", "1000", "7060", "9000") TAIL);
	run(print, NULL);
	assert_non_null(strstr(printed.out, "     7.06     7.05     7.06   0.981\n"));
	write_file(1, HEAD("latency", "read", "") TIME("8", "1000", "7060", "9000") TAIL HEAD(
			      "latency", "read", "") TIME("8", "900", "7050", "9100") TAIL);
	run(print, NULL);
	assert_non_null(strstr(printed.out,
		"\n   8      7.20     7.10     7.30      7.05     0.90     9.10   0.980\n"
		"noise: from the minimum (best) to 90 % (worst) of the operations, or from the\n"
		"  best to the worst of three runs or more\n"));
}

/* Documents of version 0.1 name the command "measured". */
static void old_documents_are_read(void **state)
{
	(void)state;
	write_file(0, ONE);
	write_file(1, "{\"measured\":\"bandwidth\",\"mode\":\"write\",\"results\":[" RATE(
			      "4096", "175100000", "172700000", "177200000") TAIL);
	run(print, NULL);
	assert_non_null(strstr(printed.out, "   1.000\n"));
	assert_int_equal(printed.status, STATUS_OK);
}

/* The rate of both directions lies between the sums of their worst and best intervals. */
static void both_directions_are_added(void **state)
{
#define BOTH(rate, a, b, c, d) \
	HEAD("bandwidth", "read", "\"bidirectional\":true") \
	"{\"size_bytes\":8,\"bytes_per_second\":" rate \
	",\"here\":{\"worst_interval_bytes_per_second\":" a \
	",\"best_interval_bytes_per_second\":" b "}" \
	",\"there\":{\"worst_interval_bytes_per_second\":" c \
	",\"best_interval_bytes_per_second\":" d "}}" TAIL

	(void)state;
	write_file(0, BOTH("20000000", "9000000", "11000000", "9500000", "12000000"));
	write_file(1, BOTH("20000000", "9000000", "11000000", "null", "null"));
	run(print, NULL);
	assert_non_null(strstr(printed.out, "READ bandwidth in both directions\n"));
	assert_non_null(strstr(printed.out,
		"\n   8    20.0     18.5     23.0      20.0          -        -   1.000  unknown\n"));
}

static void terminals_of_any_width_are_enough(void **state)
{
	static const unsigned short widths[] = {40, 60, 80, 120};

	(void)state;
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	write_file(0, ONE);
	write_file(1, HEAD("bandwidth", "write", "")
			      RATE("4096", "200000000", "177300000", "210000000") TAIL);
	run_on_terminal(print, true, 40);
	assert_non_null(
		strstr(printed.error, "\nsize         A         B     B/A\n"
				      "          MB/s      MB/s\n"
				      "  4K   175.1     200.0     1.142  \033[32mfaster\033[m\n"));
	/* Hidden columns are not explained, and plain text contains no color codes. */
	assert_null(strstr(printed.error, "A worst"));
	assert_non_null(strstr(printed.error, "\nnoise: from the worst to the best 0.1 s\n"));
	write_file(1, ONE);
	run_on_terminal(print, true, 40);
	assert_non_null(strstr(printed.error, "\n  4K   175.1     175.1     1.000\n"));
	assert_null(strchr(printed.error, '\033'));
	setenv("NO_COLOR", "1", 1);
	for (size_t i = 0; i < COUNT(widths); i++) {
		run_on_terminal(print, true, widths[i]);
		for (const char *line = printed.error; *line; line += strcspn(line, "\n") + 1)
			check_case(line, strcspn(line, "\n") <= (widths[i] < 80 ? widths[i] : 80U));
	}
}

#define NOT_MEASURED "b.json: it is not what `bandwidth --json` or `latency --json` prints"

static void bad_input_has_one_sentence(void **state)
{
	static const struct {
		const char *a, *b, *error;
	} cases[] = {
		{ONE, "", "b.json: it is empty"},
		{ONE, " \n", "b.json: it is empty"},
		{ONE, "{\"a\":", "b.json: it is not valid JSON"},
		{ONE, "text", "b.json: it is not valid JSON"},
		{ONE, ONE "}", "b.json: it is not valid JSON"},
		{ONE, "[]", NOT_MEASURED},
		{ONE, "{\"program\":\"rdma-client\",\"verdict\":\"verified\"}", NOT_MEASURED},
		{ONE, "{\"command\":\"bandwidth\",\"mode\":\"any\",\"results\":[]}", NOT_MEASURED},
		{ONE, "{\"command\":\"bandwidth\",\"mode\":\"read\",\"results\":{}}", NOT_MEASURED},
		{"{\"command\":\"bandwidth\",\"mode\":\"read\",\"results\":[],\"message\":\"it broke\"}",
			ONE, "a.json: the measurement has no results: it broke"},
		{ONE, HEAD("latency", "read", "") TIME("8", "1", "2", "3") TAIL,
			"b.json: it contains READ latency, and a.json WRITE bandwidth"},
		{ONE,
			HEAD("bandwidth", "write", "\"bidirectional\":true")
				RATE("4096", "1", "1", "1") TAIL,
			"b.json: it contains WRITE bandwidth in both directions, and a.json WRITE "
			"bandwidth"},
		{ONE HEAD("bandwidth", "read", "") RATE("4096", "1", "1", "1") TAIL, ONE,
			"a.json: it contains WRITE bandwidth and READ bandwidth"},
		{ONE, HEAD("bandwidth", "write", "") RATE("8", "1", "1", "1") TAIL,
			"b.json: it has no size in common with a.json"},
		{ONE, HEAD("bandwidth", "write", "") RATE("4096", "null", "1", "1") TAIL,
			"b.json: it has no size in common with a.json"},
		{ONE, HEAD("bandwidth", "write", "") RATE("\"4096\"", "1", "1", "1") TAIL,
			"b.json: it has no size in common with a.json"},
		{ONE, HEAD("bandwidth", "write", "") "1,null,[],{}" TAIL,
			"b.json: it has no size in common with a.json"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char wanted[512];

		write_file(0, cases[i].a);
		write_file(1, cases[i].b);
		run(print, NULL);
		snprintf(
			wanted, sizeof(wanted), "rdma-client: cannot compare %s\n", cases[i].error);
		assert_string_equal(printed.error, wanted);
		assert_string_equal(printed.out, "");
		assert_int_equal(printed.status, STATUS_FAILED);
	}
	snprintf(files[1], sizeof(files[1]), "missing");
	run(print, NULL);
	assert_string_equal(
		printed.error, "rdma-client: cannot compare missing: No such file or directory\n");
	snprintf(files[1], sizeof(files[1]), ".");
	run(print, NULL);
	assert_string_equal(printed.error, "rdma-client: cannot compare .: Is a directory\n");
}

static void a_document_has_what_the_text_says(void **state)
{
	const char *start;

	(void)state;
	snprintf(files[1], sizeof(files[1]), "b.json");
	write_file(0, HEAD("bandwidth", "write", "") RATE("8", "9000000", "8000000",
			      "9500000") "," RATE("4096", "175100000", "172700000",
			      "177200000") "," RATE("65536", "2000000", "null", "null") TAIL);
	write_file(1, HEAD("bandwidth", "write", "") RATE("8", "9300000", "9100000",
			      "9600000") "," RATE("4096", "350200000", "177300000",
			      "410000000") "," RATE("65536", "1000000", "1", "2") TAIL);
	run(print_json, NULL);
	assert_string_equal(printed.error, "");
	start = strstr(printed.out, "\"status\":0,\"verdict\":\"compared\",");
	assert_non_null(start);
	assert_string_equal(strstr(start, "\"measured\""),
		"\"measured\":\"bandwidth\",\"mode\":\"write\",\"unit\":\"B/s\","
		"\"a\":{\"file\":\"a.json\",\"runs\":1,\"time\":\"2026-11-28T06:40:01Z\","
		"\"version\":\"0.2.0\",\"host\":\"10.77.0.1\",\"device_here\":\"rxe0\","
		"\"device_there\":\"mlx5_0\"},"
		"\"b\":{\"file\":\"b.json\",\"runs\":1,\"time\":\"2026-11-28T06:40:01Z\","
		"\"version\":\"0.2.0\",\"host\":\"10.77.0.1\",\"device_here\":\"rxe0\","
		"\"device_there\":\"mlx5_0\"},"
		"\"results\":[{\"size_bytes\":8,"
		"\"a\":{\"typical\":9000000.000000,\"low\":8000000.000000,\"high\":9500000.000000},"
		"\"b\":{\"typical\":9300000.000000,\"low\":9100000.000000,\"high\":9600000.000000},"
		"\"ratio\":1.033333,\"b_is\":\"noise\"},{\"size_bytes\":4096,"
		"\"a\":{\"typical\":175100000.000000,\"low\":172700000.000000,\"high\":177200000.000000},"
		"\"b\":{\"typical\":350200000.000000,\"low\":177300000.000000,\"high\":410000000.000000},"
		"\"ratio\":2.000000,\"b_is\":\"faster\"},{\"size_bytes\":65536,"
		"\"a\":{\"typical\":2000000.000000,\"low\":null,\"high\":null},"
		"\"b\":{\"typical\":1000000.000000,\"low\":1.000000,\"high\":2.000000},"
		"\"ratio\":0.500000,\"b_is\":\"unknown\"}]}\n");
	write_file(1, "{}");
	run(print_json, NULL);
	assert_string_equal(printed.error,
		"rdma-client: cannot compare b.json: it is not what `bandwidth --json` or `latency "
		"--json` prints\n");
	assert_int_equal(printed.status, STATUS_FAILED);
	assert_non_null(strstr(printed.out,
		"\"status\":1,\"verdict\":\"failed\",\"message\":\"cannot compare b.json: it is "
		"not what `bandwidth --json` or `latency --json` prints\",\"error\":null,"
		"\"measured\":null,\"mode\":null,\"unit\":null,\"a\":null,\"b\":null,"
		"\"results\":[]}\n"));
}

static int enter_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	(void)state;
	unlink("a.json");
	unlink("b.json");
	return chdir("/") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidths_are_compared_by_their_intervals),
		cmocka_unit_test(latencies_are_compared_by_their_percentiles),
		cmocka_unit_test(several_runs_have_a_range),
		cmocka_unit_test(old_documents_are_read),
		cmocka_unit_test(both_directions_are_added),
		cmocka_unit_test(terminals_of_any_width_are_enough),
		cmocka_unit_test(bad_input_has_one_sentence),
		cmocka_unit_test(a_document_has_what_the_text_says),
	};

	return cmocka_run_group_tests_name("comparison", tests, enter_folder, leave_folder);
}
