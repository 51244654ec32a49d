/* `rdma-client explain`: which sections of docs/troubleshooting.md a query selects. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "cli/explanations.h"
#include "host/counter-table.h"
#include "tests/unit/unit.h"

#define TEXT_MAX 65536

/* Prints the explanations for a query. Returns the number of sections. */
static unsigned int explain_query(const char *query, char text[TEXT_MAX])
{
	FILE *stream = fmemopen(text, TEXT_MAX, "w");
	unsigned int count;

	assert_non_null(stream);
	memset(text, 0, TEXT_MAX);
	count = explanations_print(stream, query);
	assert_int_equal(fclose(stream), 0);
	return count;
}

static void lists_all_titles(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_true(explain_query("", text) > 70);
	assert_non_null(strstr(text, "\nThis host\n  No RDMA device\n"));
	assert_non_null(strstr(text, "\n  Nothing is listening\n"));
	assert_null(strstr(text, "##"));
}

static void explains_a_title_and_a_part_of_a_message(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(explain_query("busy", text), 1);
	assert_non_null(
		strstr(text, "Busy\n    cannot connect to PEER: the server's input or output"));
	assert_non_null(strstr(text, "Exit status 3."));
	assert_int_equal(explain_query("blackhole", text), 1);
	assert_non_null(strstr(text, "Unusable address\n"));
}

/* A whole line, as the programs print it, with a peer and evidence. */
static void explains_a_pasted_line(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(
		explain_query(
			"rdma-client: cannot connect to 10.0.0.1:7471: nothing is listening "
			"on this port; start rdma-server on that host, or check the port number.",
			text),
		1);
	assert_non_null(strstr(text, "Nothing is listening\n"));
}

static void every_cause_is_explained(void **state)
{
	const struct explanation *row;
	char text[TEXT_MAX];

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		if (row->cause)
			check_case(row->cause, explain_query(row->cause, text) > 0);
}

/* What a user pastes, and the title of the section that explains it. */
static const struct {
	const char *query, *title;
} pasted[] = {
	{"cannot write photos: Is a directory", "Input or output"},
	{"rdma-client: exchange with h:7471 failed: the peer aborted: cannot write nol/readme: "
	 "File exists.",
		"Input or output"},
	{"connection closed by the peer while waiting for the next message",
		"Disconnected too early"},
	{"rdma-client: cannot resolve h:7471: Temporary failure in name resolution; check the "
	 "name and the name service, or use an IP address.",
		"Name not found"},
	{"rdma-client: cannot use RDMA: Too many open files.", "Too many open files"},
	{"cannot resolve h: Temporary failure in name resolution", "Name not found"},
	{"Temporary failure in name resolution", "Name not found"},
	{"cannot read big.iso: file was truncated while being read", "Input or output"},
	{"cannot read big.iso", "Input or output"},
	{"rdma-server: cannot start: cannot use secret file s: not a regular file.", "Secret file"},
	{"cannot write to standard output: it is closed, full or blocked", "Output lost"},
	{"--force needs --output", "Wrong usage"},
	{"rdma-client: unexpected argument 'c'; see rdma-client write --help", "Wrong usage"},
	{"measurement with h:1 failed: the reply does not match the request; check that the "
	 "peer's program speaks this protocol.",
		"Protocol violation"},
	{"exchange with h:1 failed: an error of the future; check that the peer's program "
	 "speaks this protocol.",
		"Protocol violation"},
	{"cannot reach h:7: Value too large for defined data type.", "Unexplained errors"},
	{"measurement with h:7471 failed: nothing is listening on this port (Connection "
	 "refused); start rdma-server on that host, or check the port number.",
		"Nothing is listening"},
	{"verdict: RDMA does not work: nothing is listening on this port; look at the other "
	 "host.",
		"Nothing is listening"},
	{"connection  failed  nothing is\n listening on this port", "Nothing is listening"},
	{"10.0.0.1:7471 sent MSG_MR", "Details of --verbose"},
	/* The longest start decides, whatever the C library's message is. */
	{"rdma-server: cannot write the port file /run/p: No such file or directory", "Port file"},
	{"rdma-server: cannot write the port file /run/p: No space left on device", "Port file"},
	{"rdma-client: cannot read standard input: Permission denied",
		"Standard input or measurements not read, picture not drawn"},
	{"rdma-server: cannot use RDMA: cannot read rdmacm events: Permission denied.",
		"Event channel broken"},
	/* Of a verdict, the cause is explained. */
	{"verdict: Whether RDMA works is unknown: the peer did not respond in time; look at "
	 "the other host or the path to it.",
		"Peer did not respond in time"},
	{"rdma-client: h: Whether RDMA works is unknown: the peer did not respond in time; "
	 "look at the other host or the path to it.",
		"Peer did not respond in time"},
	{"verdict: RDMA does not work: no such RDMA device; look at this host.", "No such device"},
	{"verdict: RDMA does not work: out of memory; look at this host.", "Out of memory"},
	{"verdict: RDMA works, but slowly: probably packets are lost on the path; look at "
	 "the other host or the path to it.",
		"Packets lost"},
	{"verdict: RDMA does not work: Operation not permitted; look at this host.",
		"Unexplained errors"},
	{"verdict: This host is ready for RDMA.", "Transcript"},
	/* Other lines of a diagnosis, and of a server. */
	{"connection  skipped nothing is listening on port 7471, and over iWARP, only a "
	 "server can show that RDMA works; start rdma-server there, or give its PORT",
		"Skipped checks"},
	{"counters    skipped neither device has readable error counters", "Skipped checks"},
	{"manager     skipped no soft-RoCE device could be asked, or answered in time",
		"Skipped checks"},
	{"warning: several MAC addresses answer ARP for the gateway: 52:54:00:77:00:01, "
	 "52:54:00:77:00:02 (ARP flux or a duplicate address)",
		"Warnings of a diagnosis"},
	{"warning: eth0 (rxe0, 10.0.0.1) and eth1 (rxe1, 10.0.0.2) are in one subnet, and "
	 "arp_ignore is 0 and 0, so peers may reach the wrong one (ARP flux): set "
	 "arp_ignore=1, arp_announce=2 and rp_filter=2",
		"Warnings of a diagnosis"},
	{"warning: the network interfaces have different MTUs (this host 9000, the other host 1500), but "
	 "RDMA packets fit both",
		"Warnings of a diagnosis"},
	{"warning: rxe1 no longer answers connection requests, not even its own",
		"Warnings of a diagnosis"},
	{"warning: another host already uses fd00::1 (eth0)", "Warnings of a diagnosis"},
	{"refused 10.0.0.1:7471: it is a tutorial program, which cannot exchange files.",
		"Refused client"},
	{"refused 10.0.0.1:7471: the server is shutting down.", "Server shutting down"},
	{"Killed", "Out of memory"},
};

static void explains_what_the_programs_print(void **state)
{
	char text[TEXT_MAX], start[80];

	(void)state;
	for (size_t i = 0; i < COUNT(pasted); i++) {
		check_case(pasted[i].query, explain_query(pasted[i].query, text) == 1);
		snprintf(start, sizeof(start), "%s\n", pasted[i].title);
		check_case(pasted[i].query, strncmp(text, start, strlen(start)) == 0);
	}
}

/*
 * The C library's messages, as base/explain.c reports them for each operation: those without a
 * cause of their own are in the section of unexplained errors.
 */
static void every_unexplained_error_is_known(void **state)
{
	static const int codes[] = {
		EPERM, EIO, EAGAIN, ENOMEM, EACCES, EBUSY, ENODEV, EINVAL, EMFILE, EOPNOTSUPP};
	char text[TEXT_MAX], line[512] = "rdma-client: ";
	size_t start = strlen(line);

	(void)state;
	/* In the last phase, only files cannot be read. */
	for (enum phase phase = 0; phase < PHASE_INCOMPLETE; phase++)
		for (size_t i = 0; i < COUNT(codes); i++) {
			struct failure failure = {0};

			failure_set(&failure, FAILURE_ERRNO, phase, codes[i], "call", "%s",
				strerror(codes[i]));
			explain_failure(&failure, "10.0.0.1:7471", false, line + start,
				sizeof(line) - start);
			check_case(line, explain_query(line, text) > 0);
			if (!explain(FAILURE_ERRNO, phase, codes[i])->cause)
				check_case(line, strncmp(text, "Unexplained errors\n", 19) == 0);
		}
}

/* Of a table of messages, only the rows for this one are printed. */
static void prints_the_rows_for_the_message(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(explain_query("cannot write photos: Is a directory", text), 1);
	assert_non_null(strstr(text, "\n    cannot write FILE: Is a directory\n        "));
	assert_null(strstr(text, "\n    cannot read"));
	assert_int_equal(explain_query("Input or output", text), 1);
	assert_non_null(strstr(text, "\n    cannot read"));
}

static void prints_the_options_of_a_usage_error(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(explain_query("--force needs --output", text), 1);
	assert_non_null(strstr(text, "\n  -f, --force  replace existing output files\n"));
	assert_non_null(strstr(text, "\n  -o, --output FILE"));
	assert_int_equal(explain_query("--max-clients-per-address must not be empty", text), 1);
	assert_null(strstr(text, "--max-clients N"));
}

static void every_counter_is_explained(void **state)
{
	const struct counter_row *row;
	char text[TEXT_MAX], names[1024], *rest, line[80];

	(void)state;
	for (unsigned int i = 0; (row = counter_row(i)); i++) {
		snprintf(names, sizeof(names), "%s", row->names);
		rest = names;
		for (char *name; (name = strsep(&rest, " "));) {
			check_case(name, explain_query(name, text) == 1);
			snprintf(line, sizeof(line), "\n    %s\n\n", name);
			check_case(
				name, strncmp(text, "Counters of ", 12) == 0 && strstr(text, line));
		}
	}
	assert_int_equal(
		explain_query(
			"counters of this host: completer_retry_err 19, duplicate_request 282; "
			"of the other host: no errors",
			text),
		2);
}

/* Explains a log. Returns the number of unknown lines. */
static int explain_log(const char *log, char text[TEXT_MAX])
{
	FILE *stream = fmemopen(text, TEXT_MAX, "w"),
	     *input = fmemopen((char *)log, strlen(log), "r");
	struct output output = {.program = "test"};
	int unknown;

	assert_non_null(stream);
	assert_non_null(input);
	memset(text, 0, TEXT_MAX);
	unknown = explanations_print_log(stream, input, &output);
	assert_int_equal(fclose(stream), 0);
	fclose(input);
	return unknown;
}

static unsigned int occurrences(const char *text, const char *part)
{
	unsigned int count = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

/* Each kind of error is explained once; normal output and other programs' lines are not. */
static void explains_a_log(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(
		explain_log(
			"listening on port 7471.\n"
			"received connection request.\n"
			"rdma-server: 10.0.0.1:1 sent MSG_MR\n"
			"Nov 25 12:00:00 host rdma-server[7]: rdma-server: exchange with a:1 failed: "
			"timed out waiting for MSG_MR; check the client and the path, or raise "
			"--handshake-timeout.\n"
			"rdma-server: exchange with b:2 failed: timed out waiting for MSG_MR; check "
			"the client and the path, or raise --handshake-timeout.\n"
			"cp: cannot read the file\n"
			"connection  failed  nothing is listening on this port",
			text),
		0);
	assert_int_equal(occurrences(text, "\nHandshake not finished\n"), 1);
	assert_int_equal(occurrences(text, "\nNothing is listening\n"), 1);
	assert_true(strncmp(text, "4: Nov 25 12:00:00 ", 19) == 0);
	assert_non_null(strstr(text, "\n7: connection failed nothing is listening on this port\n"));
	assert_null(strstr(text, "Details of"));
	assert_null(strstr(text, "Transcript"));
	assert_null(strstr(text, "Input or output"));
}

/* The line is explained, by the section of its cause, and also in a log. */
static void check_cause(const char *line)
{
	char text[TEXT_MAX];

	check_case(line, explain_query(line, text) > 0);
	check_case(line, strncmp(text, "Transcript\n", 11) != 0);
	check_case(line, strncmp(text, "Unexplained errors\n", 19) != 0);
	check_case(line, explain_log(line, text) == 0 && *text);
}

/* Each cause as a diagnosis prints it: the check, and the verdict, also with --quiet. */
static void every_verdict_is_explained(void **state)
{
	static const char *const starts[] = {
		"verdict: RDMA does not work: ",
		"verdict: RDMA works, but slowly: probably ",
		"rdma-client: 10.0.0.1: RDMA works, but not well: ",
		"rdma-client: Whether RDMA works is unknown: ",
	};
	const struct explanation *row;
	char line[512];

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		if (!row->cause)
			continue;
		snprintf(line, sizeof(line), "%s%s; look at this host.", starts[i % COUNT(starts)],
			row->cause);
		check_cause(line);
		snprintf(line, sizeof(line), "connection  failed  %s%s",
			row->guess ? "probably: " : "", row->cause);
		check_cause(line);
	}
}

/* Lines without an error that the programs print, and those of the journal. */
static void explains_other_lines_of_a_log(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(
		explain_log(
			"Nov 25 12:00:00 host rdma-server[12]: listening on port 7471.\n"
			"Nov 25 12:00:00 host rdma-server[12]: refused 10.0.0.1:5: it is a "
			"tutorial program, which cannot exchange files.\n"
			"Nov 25 12:00:00 host rdma-server[12]: words of another release\n"
			"counters    skipped neither device has readable error counters\n"
			"neighbour   ok      192.0.2.1 is 52:54:00:77:00:01\n"
			"                    warning: another host already uses fd00::1 (eth0)\n"
			"verdict: Whether RDMA works is unknown: the peer did not respond in "
			"time; look at the other host or the path to it.\n"
			"cannot connect to h:1: nothing is listening on this port; start it\n"
			"counters of this host: RTO 3; of the other host: no errors\n"
			"counters of the other host: rx_icrc_encapsulated 3\n",
			text),
		0);
	assert_int_equal(occurrences(text, "\nRefused client\n"), 1);
	assert_non_null(strstr(text, "\n    refused PEER: it is a tutorial program"));
	assert_null(strstr(text, "\n    refused PEER: its data"));
	assert_int_equal(occurrences(text, "\nSkipped checks\n"), 1);
	assert_int_equal(occurrences(text, "\nWarnings of a diagnosis\n"), 1);
	assert_int_equal(occurrences(text, "\nPeer did not respond in time\n"), 1);
	assert_int_equal(occurrences(text, "\nNothing is listening\n"), 1);
	assert_int_equal(occurrences(text, "\nCounters of retransmissions\n    RTO\n"), 1);
	assert_non_null(strstr(text, "\n    rx_icrc_encapsulated\n"));
	assert_null(strstr(text, "Transcript"));
	/* The same lines as standard output has them. */
	assert_int_equal(explain_log("refused 10.0.0.1:5: it is a tutorial program, which cannot "
				     "exchange files.\n",
				 text),
		0);
	assert_int_equal(occurrences(text, "\nRefused client\n"), 1);
}

static void ignores_lines_of_other_programs(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(
		explain_log("cron: cannot read /etc/foo: No such file or directory\n"
			    "foo: timed out waiting for lock\n"
			    "named: cannot resolve ns1: this host has no network interface "
			    "of that name\n"
			    "Nov 25 12:00:00 host named[5]: Temporary failure in name "
			    "resolution\n"
			    "x: option '--foo' is ambiguous: --foobar, --foobaz\n"
			    "postfix: RTO of message\n"
			    "tcpRetransSegs of a host\n"
			    "cron[5]: RDMA does not work: no such RDMA device\n"
			    "job: line 3: 77 Killed ./a.out\n",
			text),
		0);
	assert_string_equal(text, "");
}

static void reports_unknown_lines_of_the_programs(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_int_equal(explain_log("rdma-client: no such words anywhere\nother: no such words\n"
				     "rdma-server: neither these\n",
				 text),
		2);
	assert_string_equal(text, "");
	assert_int_equal(explain_log("\n", text), 0);
}

/* Of a link, only the text is printed, also if it is broken over two lines. */
static void links_are_plain_text(void **state)
{
	char text[TEXT_MAX], titles[TEXT_MAX], *rest = titles;
	unsigned int sections = 0;

	(void)state;
	assert_true(explain_query("", titles) > 0);
	for (char *title; (title = strsep(&rest, "\n"));) {
		if (strncmp(title, "  ", 2) != 0)
			continue;
		check_case(title, explain_query(title, text) > 0);
		check_case(title, !strstr(text, "]("));
		check_case(title, !strstr(text, ".md#"));
		sections++;
	}
	assert_true(sections > 70);
	assert_int_equal(explain_query("Too much data", text), 1);
	assert_non_null(strstr(text, "so its exchange fails later."));
	assert_int_equal(explain_query("Peer did not respond in time", text), 1);
	assert_non_null(strstr(text, "within the fixed time limit. A server"));
	assert_int_equal(explain_query("No slot for another client", text), 1);
	assert_non_null(strstr(text, "because the server is full or because there are too\nmany "
				     "clients from this address ('full for this address')."));
}

static void lists_the_titles_of_many_matches(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_true(explain_query("exit status", text) > EXPLANATIONS_MAX);
	assert_null(strstr(text, "Exit status"));
	assert_int_equal(explain_query("no such words anywhere", text), 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_all_titles),
		cmocka_unit_test(explains_a_title_and_a_part_of_a_message),
		cmocka_unit_test(explains_a_pasted_line),
		cmocka_unit_test(every_cause_is_explained),
		cmocka_unit_test(explains_what_the_programs_print),
		cmocka_unit_test(every_unexplained_error_is_known),
		cmocka_unit_test(prints_the_rows_for_the_message),
		cmocka_unit_test(prints_the_options_of_a_usage_error),
		cmocka_unit_test(every_counter_is_explained),
		cmocka_unit_test(explains_a_log),
		cmocka_unit_test(every_verdict_is_explained),
		cmocka_unit_test(explains_other_lines_of_a_log),
		cmocka_unit_test(ignores_lines_of_other_programs),
		cmocka_unit_test(reports_unknown_lines_of_the_programs),
		cmocka_unit_test(links_are_plain_text),
		cmocka_unit_test(lists_the_titles_of_many_matches),
	};

	return cmocka_run_group_tests_name("explanations", tests, NULL, NULL);
}
