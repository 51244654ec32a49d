/* Whole screens of a diagnosis, in files and on terminals of all widths, with and without color. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/screen.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"
#define OFF    "\033[m"

static struct diagnosis diagnosis;
static struct options options;

/* A healthy pair of hosts. */
static void make_healthy(void)
{
	static const char *const results[CHECKS] = {"rxe0/1 ACTIVE, MTU 4096",
		"rxe0 answers connection requests", "10.0.0.2",
		"through eth0, from 10.0.0.1, MTU 4200; RDMA device rxe0",
		"10.0.0.2 is 52:54:00:77:00:02 (0.412 ms)", "datagrams of 4200 bytes arrive",
		"address and route resolved in 1 ms, connected in 12 ms", "round trip in 0.214 ms",
		"compatible",
		"WRITE and READ of 1 to 1048576 bytes in both directions: all bytes correct",
		"812 MB/s to the server, 798 MB/s from it",
		"this host: no errors; the other host: no errors", "15 ok, 1 unsupported",
		"joined 239.255.1.2, and received a datagram from itself",
		"by TCP, too: connected and message exchanged in 12 ms"};

	memset(&diagnosis, 0, sizeof(diagnosis));
	memset(&options, 0, sizeof(options));
	options.host = "10.0.0.2";
	diagnosis.options = &options;
	diagnosis.output = plain;
	check_list_init(&diagnosis.list, diagnose_checks, options.host);
	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		check_list_ok(&diagnosis.list, check, "%s", results[check]);
		diagnosis.list.checks[check].reached = true;
	}
	facts_add(&diagnosis.ours, "device", "rxe0");
	facts_add(&diagnosis.theirs, "device", "mlx5_0");
	facts_add(&diagnosis.ours, "rdma mtu", "4096");
	facts_add(&diagnosis.theirs, "rdma mtu", "4096");
}

/* Skips this check and those after it, which were not reached. */
static void skip_from(enum check check, const char *why)
{
	for (; check < CHECKS; check++) {
		check_list_skip(&diagnosis.list, check, "%s", why);
		diagnosis.list.checks[check].reached = false;
	}
}

static int print(void)
{
	screen_print(&diagnosis);
	return (int)output_finish(&diagnosis.output, STATUS_OK);
}

#define CHECKS_1_TO_8 \
	"this host   ok      rxe0/1 ACTIVE, MTU 4096\n" \
	"manager     ok      rxe0 answers connection requests\n" \
	"name        ok      10.0.0.2\n" \
	"route       ok      through eth0, from 10.0.0.1, MTU 4200; RDMA device rxe0\n" \
	"neighbour   ok      10.0.0.2 is 52:54:00:77:00:02 (0.412 ms)\n" \
	"path        ok      datagrams of 4200 bytes arrive\n" \
	"connection  ok      address and route resolved in 1 ms, connected in 12 ms\n" \
	"message     ok      round trip in 0.214 ms\n"

static void a_healthy_pair_in_a_file(void **state)
{
	(void)state;
	make_healthy();
	run(print, NULL);
	assert_string_equal(printed.out,
		"verdict: RDMA works between the two hosts: 812 MB/s to the server, 798 MB/s from it.\n" CHECKS_1_TO_8
		"both ends   ok      compatible\n"
		"data        ok      WRITE and READ of 1 to 1048576 bytes in both directions: all bytes "
		"correct\n"
		"bandwidth   ok      812 MB/s to the server, 798 MB/s from it\n"
		"counters    ok      this host: no errors; the other host: no errors\n"
		"operations  ok      15 ok, 1 unsupported\n"
		"multicast   ok      joined 239.255.1.2, and received a datagram from itself\n"
		"other way   ok      by TCP, too: connected and message exchanged in 12 ms\n");
	assert_string_equal(printed.error, "");
	diagnosis.output.quiet = true;
	run(print, NULL);
	assert_string_equal(printed.out, "");
	assert_string_equal(printed.error, "");
}

/* Adds the shorter forms of the results that the checks add. */
static void shorten(void)
{
	static const struct {
		enum check check;
		const char *form;
	} forms[] = {{CHECK_MANAGER, "rxe0 answers"},
		{CHECK_ROUTE, "through eth0, MTU 4200; RDMA device rxe0"},
		{CHECK_ROUTE, "eth0, RDMA device rxe0"}, {CHECK_NEIGHBOUR, "reachable (0 ms)"},
		{CHECK_PATH, "4200 bytes arrive"}, {CHECK_CONNECTION, "connected in 12 ms"},
		{CHECK_DATA, "WRITE and READ, both ways: all bytes correct"},
		{CHECK_DATA, "all bytes correct"}, {CHECK_BANDWIDTH, "to 812.0 from 798.0 MB/s"},
		{CHECK_COUNTERS, "no errors at either end"}, {CHECK_MULTICAST, "joined a group"},
		{CHECK_OTHER_WAY, "by TCP, too"}};

	for (size_t i = 0; i < COUNT(forms); i++)
		check_list_shorten(&diagnosis.list, forms[i].check, "%s", forms[i].form);
}

/* On a terminal from 40 columns, every check has one line, and so has the verdict. */
static void a_healthy_pair_has_one_line_for_each_check(void **state)
{
	(void)state;
	setenv("NO_COLOR", "1", 1);
	for (unsigned short columns = 40; columns < 130; columns++) {
		unsigned int lines = 0;

		make_healthy();
		shorten();
		run_on_terminal(print, true, columns);
		for (const char *line = printed.error; *line; line += strcspn(line, "\n") + 1) {
			assert_true(strcspn(line, "\n") <= columns);
			lines++;
		}
		assert_int_equal(lines, CHECKS + 1);
	}
	run_on_terminal(print, true, 40);
	assert_string_equal(printed.error, "verdict: RDMA works.\n"
					   "this host   ok rxe0/1 ACTIVE, MTU 4096\n"
					   "manager     ok rxe0 answers\n"
					   "name        ok 10.0.0.2\n"
					   "route       ok eth0, RDMA device rxe0\n"
					   "neighbour   ok reachable (0 ms)\n"
					   "path        ok 4200 bytes arrive\n"
					   "connection  ok connected in 12 ms\n"
					   "message     ok round trip in 0.214 ms\n"
					   "both ends   ok compatible\n"
					   "data        ok all bytes correct\n"
					   "bandwidth   ok to 812.0 from 798.0 MB/s\n"
					   "counters    ok no errors at either end\n"
					   "operations  ok 15 ok, 1 unsupported\n"
					   "multicast   ok joined a group\n"
					   "other way   ok by TCP, too\n");
	/* --verbose shows the whole text. */
	make_healthy();
	shorten();
	diagnosis.output.verbose = true;
	run_on_terminal(print, true, 40);
	assert_non_null(strstr(printed.error, "812 MB/s to the"));
	unsetenv("NO_COLOR");
}

static void verbose_shows_the_facts_of_both_ends(void **state)
{
	(void)state;
	make_healthy();
	diagnosis.output.verbose = true;
	run(print, NULL);
	assert_non_null(strstr(printed.out,
		"both ends   ok      compatible\n"
		"                               this host               the other host\n"
		"            device             rxe0                    mlx5_0\n"
		"            rdma mtu           4096                    4096\n"
		"data        ok "));
	assert_non_null(strstr(printed.out, "\n            rdma_cm missing, ib_core not loaded"));
}

/* What does not fit its column would make the table ragged. */
static void facts_that_are_too_wide_are_not_side_by_side(void **state)
{
	(void)state;
	make_healthy();
	facts_add(&diagnosis.ours, "operations", "write read send write-imm");
	facts_add(&diagnosis.theirs, "operations", "write read send write-imm");
	facts_add(&diagnosis.ours, "driver", "a driver with a very long name");
	facts_add(&diagnosis.theirs, "driver", "rdma_rxe");
	diagnosis.output.verbose = true;
	run(print, NULL);
	assert_non_null(strstr(printed.out,
		"            rdma mtu           4096                    4096\n"
		"            operations         write read send write-imm (both)\n"
		"            driver             a driver with a very long name (this host)\n"
		"                               rdma_rxe (the other host)\n"
		"data        ok "));
}

/* The check of both ends fails with this evidence, and those after it are not reached. */
static void find_different_mtus(const char *evidence)
{
	struct failure failure = {0};

	facts_add(&diagnosis.ours, "interface mtu", "4200");
	facts_add(&diagnosis.theirs, "interface mtu", "1500");
	failure_set(
		&failure, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU, "facts", "%s", evidence);
	check_list_fail(&diagnosis.list, CHECK_ENDS, &failure);
	diagnosis.list.ends_side_by_side = true;
	check_list_skip(&diagnosis.list, CHECK_DATA, "no packet would fit");
	skip_from(CHECK_BANDWIDTH, "not reached");
}

/* Only what differs, although it should not, is shown side by side. */
static void different_ends_are_shown_side_by_side(void **state)
{
	(void)state;
	make_healthy();
	find_different_mtus("interface MTU: this host 4200, the other host 1500");
	run(print, NULL);
	assert_non_null(strstr(printed.out, "\nboth ends   failed  "));
	assert_non_null(strstr(printed.out,
		"\n                               this host               the other host\n"
		"            interface mtu      4200                    1500\n"
		"data        skipped no packet would fit\n"));
	assert_null(strstr(printed.out, "rdma mtu"));
	assert_null(strstr(printed.out, "bandwidth   skipped"));
}

/* The whole screen of the most frequent fault between two hosts. */
static void different_mtus_on_a_terminal(void **state)
{
	(void)state;
	setenv("NO_COLOR", "1", 1);
	make_healthy();
	shorten();
	find_different_mtus("this host 4200, the other host 1500");
	run_on_terminal(print, true, 80);
	assert_string_equal(printed.error,
		"verdict: RDMA does not work: the network interfaces of the two hosts have\n"
		"         different MTUs; look at either host.\n" CHECKS_1_TO_8
		"both ends   failed  the network interfaces of the two hosts have different MTUs\n"
		"                    where: either host\n"
		"                    next: set the same MTU at both ends and on every switch\n"
		"                      between them\n"
		"                    look: ip link\n"
		"                               this host               the other host\n"
		"            interface mtu      4200                    1500\n"
		"data        skipped no packet would fit\n");
	unsetenv("NO_COLOR");
}

static void fail_to_connect(void)
{
	struct failure failure = {0};

	make_healthy();
	check_list_warn(&diagnosis.list, CHECK_HOST, "a long warning");
	failure_set(&failure, FAILURE_REJECTED, PHASE_CONNECT, REJECTED_NO_LISTENER, "connect", "");
	check_list_fail(&diagnosis.list, CHECK_CONNECTION, &failure);
	skip_from(CHECK_MESSAGE, "not reached");
}

static void a_failure_on_a_terminal_has_colors_and_fits(void **state)
{
	(void)state;
	fail_to_connect();
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	run_on_terminal(print, true, 60);
	assert_string_equal(printed.error,
		"verdict: " RED "Whether RDMA works is unknown" OFF ": nothing is listening\n"
		"         on this port; look at the other host.\n"
		"this host   " YELLOW "ok" OFF " rxe0/1 ACTIVE, MTU 4096\n"
		"               warning: a long warning\n"
		"manager     " GREEN "ok" OFF " rxe0 answers connection requests\n"
		"name        " GREEN "ok" OFF " 10.0.0.2\n"
		"route       " GREEN "ok" OFF " through eth0, from 10.0.0.1, MTU 4200; RDMA\n"
		"               device rxe0\n"
		"neighbour   " GREEN "ok" OFF " 10.0.0.2 is 52:54:00:77:00:02 (0.412 ms)\n"
		"path        " GREEN "ok" OFF " datagrams of 4200 bytes arrive\n"
		"connection  " RED "failed" OFF " nothing is listening on this port\n"
		"               where: the other host\n"
		"               next: start rdma-server on that host, or\n"
		"                 check the port number\n");
}

static void colors_can_be_switched(void **state)
{
	(void)state;
	fail_to_connect();
	setenv("NO_COLOR", "1", 1);
	run_on_terminal(print, true, 120);
	assert_null(strstr(printed.error, "\033"));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	run_on_terminal(print, true, 120);
	assert_null(strstr(printed.error, "\033"));
	setenv("TERM", "xterm", 1);
	output_set_coloring(OUTPUT_COLOR_NEVER);
	run_on_terminal(print, true, 120);
	assert_null(strstr(printed.error, "\033"));
	output_set_coloring(OUTPUT_COLOR_ALWAYS);
	run(print, NULL);
	assert_non_null(strstr(printed.out, "connection  " RED "failed" OFF "  nothing"));
	output_set_coloring(OUTPUT_COLOR_AUTO);
	run(print, NULL);
	assert_null(strstr(printed.out, "\033"));
}

/* Copies the text without the blanks and line breaks. */
static void copy_words(char words[4096], const char *text)
{
	size_t used = 0;

	for (; *text; text++)
		if (*text != ' ' && *text != '\n')
			words[used++] = *text;
	words[used] = '\0';
}

static void terminals_of_any_width_show_every_word(void **state)
{
	char wanted[4096], words[4096];

	(void)state;
	fail_to_connect();
	run(print, NULL);
	copy_words(wanted, printed.out);
	setenv("NO_COLOR", "1", 1);
	for (unsigned short columns = 1; columns < 130; columns++) {
		run_on_terminal(print, true, columns);
		copy_words(words, printed.error);
		assert_string_equal(words, wanted);
		for (const char *line = printed.error; columns >= 40 && *line;
			line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= columns);
	}
	unsetenv("NO_COLOR");
}

/* Without HOST, nothing was asked of another one. */
static void this_host_alone(void **state)
{
	(void)state;
	make_healthy();
	options.host = NULL;
	skip_from(CHECK_NAME, "no HOST given");
	run(print, NULL);
	assert_string_equal(printed.out,
		"verdict: This host is ready for RDMA.\n"
		"this host   ok      rxe0/1 ACTIVE, MTU 4096\n"
		"            rdma_cm missing, ib_core not loaded, rdma_ucm not loaded, locked memory 0 B\n"
		"manager     ok      rxe0 answers connection requests\n");
}

static void quiet_prints_a_failure_as_an_error(void **state)
{
	(void)state;
	fail_to_connect();
	diagnosis.output.quiet = true;
	run(print, NULL);
	assert_string_equal(printed.out, "");
	assert_string_equal(printed.error,
		"prog: 10.0.0.2: Whether RDMA works is unknown: nothing is listening on this port; "
		"look at the other host.\n");
}

/* The second verdict on a narrow terminal is colored on both of its lines. */
static void a_color_continues_below(void **state)
{
	(void)state;
	make_healthy();
	options.host = NULL;
	check_list_warn(&diagnosis.list, CHECK_HOST, "a warning");
	skip_from(CHECK_NAME, "no HOST given");
	run_on_terminal(print, true, 40);
	assert_int_equal(strncmp(printed.error,
				 "verdict: " GREEN "This host is ready for RDMA," OFF "\n"
				 "         " GREEN "but see the warning" OFF ".\n",
				 80),
		0);
	fail_to_connect();
	run_on_terminal(print, true, 40);
	assert_int_equal(strncmp(printed.error,
				 "verdict: " RED "Whether RDMA works is unknown" OFF ":\n", 48),
		0);
}

static void set_rates(void)
{
	diagnosis.round_trip = 214000;
	diagnosis.rate_there = 812000000;
	diagnosis.rate_back = 798000000;
}

static int print_rounds(void)
{
	const struct tm time = {.tm_hour = 9, .tm_min = 5, .tm_sec = 7};
	struct rounds rounds = {0};

	make_healthy();
	set_rates();
	screen_print_round(&diagnosis, &rounds, &time);
	screen_print_round(&diagnosis, &rounds, &time);
	fail_to_connect();
	screen_print_round(&diagnosis, &rounds, &time);
	screen_print_round(&diagnosis, &rounds, &time);
	make_healthy();
	set_rates();
	screen_print_round(&diagnosis, &rounds, &time);
	screen_print_summary(&plain, &rounds, NULL, 25000);
	return (int)output_finish(&plain, STATUS_OK);
}

static void rounds_are_lines_and_changes_are_marked(void **state)
{
	static const char good[] = "09:05:07  ok        0.214 ms     812.0 MB/s    798.0 MB/s";
	static const char bad[] = "09:05:07  failed  Whether RDMA works is unknown: nothing is "
				  "listening on this port; look at the other host.";
	char wanted[2048];

	(void)state;
	run(print_rounds, NULL);
	snprintf(wanted, sizeof(wanted),
		"time      result  round trip  to the server       from it\n"
		"%s\n%s\n%s  <-- changed\n%s\n%s  <-- changed\n"
		"--- diagnosis of this host ---\n"
		"5 rounds in 25.0 s: 3 ok, 2 failed, 2 changes\n"
		"2 failed: %s\n"
		"round trip: 0.214 to 0.214 ms, mean 0.214 ms\n"
		"to the server: 812.0 to 812.0 MB/s, mean 812.0 MB/s\n"
		"from the server: 798.0 to 798.0 MB/s, mean 798.0 MB/s\n",
		good, good, bad, bad, good, bad + ROUNDS_STATE + 8);
	assert_string_equal(printed.out, wanted);
}

static void a_round_on_a_terminal_has_a_color_and_fits(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	run_on_terminal(print_rounds, true, 80);
	assert_ptr_equal(
		strstr(printed.error, "time      result  round trip  to the server       from it\n"
				      "09:05:07  " GREEN "ok" OFF
				      "        0.214 ms     812.0 MB/s    798.0 MB/s\n"),
		printed.error);
	assert_null(strstr(printed.error + 1, "time "));
	assert_non_null(strstr(printed.error,
		"\n09:05:07  " RED "failed" OFF "  nothing is listening on this port  <-- changed\n"
		"09:05:07  " RED "failed" OFF
		"  nothing is listening on this port; look at the other host.\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_pair_in_a_file),
		cmocka_unit_test(a_healthy_pair_has_one_line_for_each_check),
		cmocka_unit_test(verbose_shows_the_facts_of_both_ends),
		cmocka_unit_test(facts_that_are_too_wide_are_not_side_by_side),
		cmocka_unit_test(different_ends_are_shown_side_by_side),
		cmocka_unit_test(different_mtus_on_a_terminal),
		cmocka_unit_test(a_failure_on_a_terminal_has_colors_and_fits),
		cmocka_unit_test(colors_can_be_switched),
		cmocka_unit_test(terminals_of_any_width_show_every_word),
		cmocka_unit_test(this_host_alone),
		cmocka_unit_test(quiet_prints_a_failure_as_an_error),
		cmocka_unit_test(a_color_continues_below),
		cmocka_unit_test(rounds_are_lines_and_changes_are_marked),
		cmocka_unit_test(a_round_on_a_terminal_has_a_color_and_fits),
	};

	return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
