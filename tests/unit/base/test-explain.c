/*
 * The explanation table: no row is shadowed by an earlier row, every row fits into a sentence, code
 * names match the headers and the specification, and known symptoms map to the right cause and exit
 * status.
 */
#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "diagnose/checks.h"
#include "protocol/hello.h"
#include "tests/unit/unit.h"

/* Characters allowed in a command; only `;` is special to a shell. */
#define COMMAND_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-/;"

/* A code listed in no row, to reach the rows with EXPLAIN_ANY. */
#define OTHER_CODE 9999

static bool is_reached(const struct explanation *row)
{
	int code = row->code == EXPLAIN_ANY ? OTHER_CODE : row->code;

	for (enum phase phase = 0; phase < PHASE_COUNT; phase++)
		if ((row->phase == PHASE_ANY || row->phase == phase) &&
			explain(row->kind, phase, code) == row)
			return true;
	return false;
}

static void every_row_is_reached(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		if (!is_reached(row))
			fail_msg("row %u (%s) is hidden behind an earlier one", i, row->cause);
	assert_null(explain_row(10000));
}

static void every_kind_is_explained(void **state)
{
	(void)state;
	for (enum failure_kind kind = FAILURE_ERRNO; kind <= FAILURE_PATH; kind++)
		for (enum phase phase = 0; phase < PHASE_COUNT; phase++)
			for (int code = -200; code < 200; code++) {
				const struct explanation *row = explain(kind, phase, code);

				assert_non_null(row);
				/* Only kinds with fixed codes may reach the catch-all. */
				if (kind != FAILURE_HOST && kind != FAILURE_LIMIT &&
					kind != FAILURE_ADDRESS && kind != FAILURE_IMPAIRED &&
					kind != FAILURE_PATH)
					assert_int_equal(row->kind, kind);
			}
	assert_non_null(explain(FAILURE_NONE, PHASE_EXCHANGE, 0));
}

static void every_project_code_has_its_own_row(void **state)
{
	(void)state;
	for (int code = HOST_NO_DEVICE; code <= HOST_NO_OPTION; code++)
		assert_int_equal(explain(FAILURE_HOST, PHASE_OPEN, code)->code, code);
	/*
	 * Protocol version 1 used 5. Tutorial programs, refused with 11, do not parse the reason.
	 */
	for (int code = REFUSAL_MODE; code <= REFUSAL_OLD_SECRET; code++)
		if (code != 5 && code != REFUSAL_FILES && code != 14)
			assert_int_equal(explain(FAILURE_REFUSED, PHASE_CONNECT, code)->code, code);
	assert_int_equal(
		explain(FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE)->code, LIMIT_HANDSHAKE);
	for (int code = LIMIT_IDLE; code <= LIMIT_MEMORY; code++)
		assert_int_equal(explain(FAILURE_LIMIT, PHASE_EXCHANGE, code)->code, code);
	for (int code = IMPAIRED_MTU; code <= IMPAIRED_OPERATION; code++) {
		const struct explanation *row = explain(FAILURE_IMPAIRED, PHASE_EXCHANGE, code);

		assert_int_equal(row->kind, FAILURE_IMPAIRED);
		assert_int_equal(row->code, code);
	}
}

/* Causes and remedies are inserted into "WHAT with WHOM: CAUSE (EVIDENCE); REMEDY." */
static void assert_is_part_of_a_sentence(const char *text)
{
	size_t length;

	if (!text)
		return;
	length = strlen(text);
	check_case(text, length > 0);
	check_case(text, !strchr(text, '\n') && !strstr(text, "  "));
	check_case(text, text[length - 1] != '.' && !isspace(text[length - 1]));
	check_case(text, islower(text[0]));
}

static void every_row_is_part_of_a_sentence(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		assert_is_part_of_a_sentence(row->cause);
		assert_is_part_of_a_sentence(row->remedy);
		assert_in_range(row->status, STATUS_FAILED, STATUS_DAMAGED);
		assert_int_not_equal(row->status, STATUS_USAGE);
	}
}

/*
 * Each command is printed on its own line to be pasted into a shell. HOST stands for the peer,
 * GATEWAY for the gateway to it.
 */
static void assert_is_a_command(const struct explanation *row)
{
	const char *command = row->command, *host = strstr(command, "HOST");
	const char *variable = host ? host : strstr(command, "GATEWAY");
	size_t length = strlen(host ? "HOST" : "GATEWAY");

	check_case(command, *command && strlen(command) < 100 && islower(command[0]));
	check_case(command, strspn(command, COMMAND_LETTERS) == strlen(command));
	check_case(command, !strstr(command, "  ") && command[strlen(command) - 1] != ' ');
	/* A placeholder is the only uppercase word, and occurs at most once. */
	for (const char *letter = command; *letter; letter++)
		if (!variable || letter < variable || letter >= variable + length)
			check_case(command, !isupper(*letter));
	/* A command that inspects a fault of the local host does not involve the peer. */
	if (host)
		check_case(command, row->kind != FAILURE_HOST);
}

static void every_command_can_be_copied(void **state)
{
	const struct explanation *row;
	unsigned int commands = 0, hosts = 0;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		if (!row->command)
			continue;
		assert_is_a_command(row);
		commands++;
		hosts += strstr(row->command, "HOST") != NULL;
	}
	assert_in_range(commands, 20, 150);
	assert_in_range(hosts, 5, commands - 1);
}

/* A guess needs a cause in the table, except after a timeout, where the evidence is the cause. */
static void guesses_are_marked_as_guesses(void **state)
{
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		assert_in_range(row->side, SIDE_HERE, SIDE_ANYWHERE);
		if (row->guess && !row->cause)
			assert_int_equal(row->kind, FAILURE_DEADLINE);
		/* The local host, the resolver or the peer reported these, so they are facts. */
		if (row->kind == FAILURE_HOST || row->kind == FAILURE_NAME ||
			row->kind == FAILURE_REFUSED || row->kind == FAILURE_ABORTED)
			assert_false(row->guess);
		/*
		 * Silence accuses neither side alone, unless its timeout is too short, or packets
		 * were seen or not sent. That no reply arrived is a fact; why it did not is a
		 * guess.
		 */
		if (row->kind != FAILURE_DEADLINE || row->code == CODE_SHORT_TIMEOUT)
			continue;
		if (row->code == CODE_TOO_SLOW) {
			assert_int_equal(row->side, SIDE_ANYWHERE);
			assert_false(row->guess);
			continue;
		}
		if (row->code == CODE_REPLY_DROPPED || row->code == CODE_REQUEST_DROPPED ||
			row->code == CODE_NOT_SENT || row->code == CODE_NOTHING_ASKED) {
			assert_int_equal(row->side, SIDE_HERE);
			continue;
		}
		assert_true(row->guess || strstr(row->cause, "did not respond in time") ||
			    strstr(row->cause, "no reply"));
		assert_true(row->side == SIDE_BEYOND || row->side == SIDE_ANYWHERE);
	}
}

/* A diagnosis has its own timeouts, so advice to change those of an exchange would not help. */
static void no_advice_names_timeout_in_a_diagnosis(void **state)
{
	(void)state;
	for (enum phase phase = 0; phase < PHASE_COUNT; phase++) {
		const struct explanation *row = explain(FAILURE_DEADLINE, phase, CODE_DIAGNOSIS);

		assert_non_null(row->cause);
		assert_true(!row->remedy || !strstr(row->remedy, "timeout"));
		assert_non_null(explain(FAILURE_GONE, phase, CODE_DIAGNOSIS)->cause);
	}
}

/* The line that a diagnosis prints for each side. */
static void every_side_is_named(void **state)
{
	static const char *const words[] = {
		[SIDE_HERE] = "where: this host\n",
		[SIDE_THERE] = "where: the other host\n",
		[SIDE_BEYOND] = "where: the other host or the path to it\n",
		[SIDE_EITHER] = "where: either host\n",
		[SIDE_TO] = "where: this host or the path from it\n",
		[SIDE_FROM] = "where: the other host or the path from it\n",
		[SIDE_ANYWHERE] = "where: this host, the other host or the path between them\n",
	};
	bool seen[COUNT(words)] = {false};
	const struct explanation *row;

	(void)state;
	for (unsigned int i = 0; (row = explain_row(i)); i++) {
		struct failure failure = {0};
		struct check_list list;
		char text[2048];
		size_t length;

		/* Use any phase for a PHASE_ANY row; an earlier row may then apply instead. */
		failure_set(&failure, row->kind, row->phase % PHASE_COUNT, row->code, "c", "seen");
		row = explain(failure.kind, failure.phase, failure.code);
		check_list_init(&list, diagnose_checks, "10.0.0.2");
		check_list_fail(&list, CHECK_CONNECTION, &failure);
		length = check_list_lines(&list, CHECK_CONNECTION, 0, text, sizeof(text) - 1);
		assert_in_range(length, 1, sizeof(text) - 2);
		snprintf(text + length, sizeof(text) - length, "\n");
		check_case(text, strstr(text, words[row->side]) != NULL);
		check_case(text, !strstr(text, "probably: ") == !row->guess);
		check_case(text, !strstr(text, "look: ") == !row->command);
		check_case(text, !strstr(text, "next: ") == !row->remedy);
		check_case(text, !strstr(text, "HOST"));
		seen[row->side] = true;
	}
	for (size_t i = 0; i < COUNT(words); i++)
		assert_true(seen[i]);
}

#define NAMED(code) \
	{ \
		code, #code \
	}

static const struct {
	int code;
	const char *name;
} completions[] = {
	NAMED(IBV_WC_SUCCESS),
	NAMED(IBV_WC_LOC_LEN_ERR),
	NAMED(IBV_WC_LOC_QP_OP_ERR),
	NAMED(IBV_WC_LOC_EEC_OP_ERR),
	NAMED(IBV_WC_LOC_PROT_ERR),
	NAMED(IBV_WC_WR_FLUSH_ERR),
	NAMED(IBV_WC_MW_BIND_ERR),
	NAMED(IBV_WC_BAD_RESP_ERR),
	NAMED(IBV_WC_LOC_ACCESS_ERR),
	NAMED(IBV_WC_REM_INV_REQ_ERR),
	NAMED(IBV_WC_REM_ACCESS_ERR),
	NAMED(IBV_WC_REM_OP_ERR),
	NAMED(IBV_WC_RETRY_EXC_ERR),
	NAMED(IBV_WC_RNR_RETRY_EXC_ERR),
};

static void completions_have_the_names_of_verbs_h(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(completions); i++)
		assert_string_equal(
			explain_name(FAILURE_COMPLETION, completions[i].code), completions[i].name);
	assert_string_equal(explain_name(FAILURE_COMPLETION, IBV_WC_LOC_RDD_VIOL_ERR), "number");
	assert_string_equal(explain_name(FAILURE_COMPLETION, -1), "number");
}

static void codes_have_names(void **state)
{
	/* Rejection reasons: InfiniBand Architecture Specification, volume 1, 12.6.7.2. */
	static const struct {
		enum failure_kind kind;
		int code;
		const char *name;
	} cases[] = {
		{FAILURE_REJECTED, 3, "no resources"},
		{FAILURE_REJECTED, 4, "timeout"},
		{FAILURE_REJECTED, 8, "invalid service ID"},
		{FAILURE_REJECTED, 10, "stale connection"},
		{FAILURE_REJECTED, 26, "invalid path MTU"},
		{FAILURE_REJECTED, 27, "insufficient responder resources"},
		{FAILURE_REJECTED, 28, "consumer reject"},
		{FAILURE_REJECTED, 5, "number"},
		{FAILURE_REJECTED, 29, "number"},
		{FAILURE_REJECTED, -1, "number"},
		{FAILURE_ERRNO, ENODEV, "ENODEV"},
		{FAILURE_ERRNO, ECONNREFUSED, "ECONNREFUSED"},
		{FAILURE_ERRNO, 9999, "errno"},
		{FAILURE_FILE, ENOSPC, "ENOSPC"},
		{FAILURE_FILE, 9999, "errno"},
		{FAILURE_ABORTED, 0, "code"},
		{FAILURE_REFUSED, REFUSAL_MODE, "refusal"},
		{FAILURE_DEADLINE, 0, "code"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(explain_name(cases[i].kind, cases[i].code), cases[i].name);
	assert_string_equal(explain_name(FAILURE_NAME, EAI_NONAME), "Name or service not known");
}

/* The cause and the exit status expected for each known symptom. */
static const struct symptom {
	const char *symptom;
	enum failure_kind kind;
	enum phase phase;
	int code;
	enum exit_status status;
	const char *says; /* part of the cause; NULL: the evidence is the cause */
} symptoms[] = {
	{"1 no device", FAILURE_HOST, PHASE_OPEN, HOST_NO_DEVICE, STATUS_CONNECT, "no RDMA device"},
	{"1 no rdma_ucm", FAILURE_HOST, PHASE_OPEN, HOST_NO_RDMA_CM, STATUS_CONNECT,
		"connection manager"},
	{"1 no access", FAILURE_HOST, PHASE_OPEN, HOST_NO_ACCESS, STATUS_CONNECT, "cannot open"},
	{"2 no route", FAILURE_ERRNO, PHASE_ADDRESS, ENETUNREACH, STATUS_CONNECT, "route"},
	{"3 netdev without RDMA", FAILURE_ERRNO, PHASE_ADDRESS, ENODEV, STATUS_CONNECT,
		"without an RDMA device"},
	{"4 no ARP", FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, STATUS_CONNECT, "ARP"},
	{"4 no ARP, deadline", FAILURE_DEADLINE, PHASE_ADDRESS, ETIMEDOUT, STATUS_CONNECT, "ARP"},
	{"5 loopback", FAILURE_ERRNO, PHASE_ROUTE, ENODEV, STATUS_CONNECT, "loopback"},
	{"6 path query", FAILURE_ERRNO, PHASE_ROUTE, ETIMEDOUT, STATUS_CONNECT, "path query"},
	{"6 path query, deadline", FAILURE_DEADLINE, PHASE_ROUTE, ETIMEDOUT, STATUS_CONNECT,
		"path query"},
	{"6 path of Ethernet", FAILURE_DEADLINE, PHASE_ROUTE, CODE_NOTHING_ASKED, STATUS_CONNECT,
		"too busy"},
	{"7 silence", FAILURE_DEADLINE, PHASE_CONNECT, ETIMEDOUT, STATUS_CONNECT,
		"no reply to the RDMA connection request"},
	{"7 unreachable", FAILURE_ERRNO, PHASE_CONNECT, ETIMEDOUT, STATUS_CONNECT,
		"no reply to the RDMA connection request"},
	{"8 no listener", FAILURE_REJECTED, PHASE_CONNECT, 8, STATUS_CONNECT,
		"nothing is listening"},
	{"8 no listener, iWARP", FAILURE_ERRNO, PHASE_CONNECT, ECONNREFUSED, STATUS_CONNECT,
		"nothing is listening"},
	{"8 reset, iWARP", FAILURE_ERRNO, PHASE_CONNECT, ECONNRESET, STATUS_CONNECT, "reset"},
	{"9 another program", FAILURE_REJECTED, PHASE_CONNECT, 28, STATUS_CONNECT, "refused"},
	{"9 mode", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_MODE, STATUS_CONNECT, NULL},
	{"9 version", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_VERSION, STATUS_CONNECT, NULL},
	{"9 busy", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_BUSY, STATUS_CONNECT,
		"one client at a time"},
	{"9 full", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_FULL, STATUS_CONNECT,
		"slots for diagnoses"},
	{"9 no place", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_CLIENTS, STATUS_CONNECT,
		"the server is full"},
	{"9 no memory", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_MEMORY, STATUS_CONNECT,
		"all the memory that they may take"},
	{"9 no place for the address", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_ADDRESS,
		STATUS_CONNECT, "from this address"},
	{"9 too large", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_SIZE, STATUS_CONNECT, NULL},
	{"9 no output", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_NO_OUTPUT, STATUS_CONNECT,
		"the server has no --output"},
	{"9 unwanted", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_UNWANTED, STATUS_CONNECT,
		"the client has no --output"},
	{"9 no data", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_NO_DATA, STATUS_CONNECT,
		"the server has no --input"},
	{"9 no directory", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_NO_FOLDER, STATUS_CONNECT,
		"the server cannot store a directory"},
	{"9 tree", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_TREE, STATUS_CONNECT,
		"the server sends a directory or several files"},
	{"9 attributes", FAILURE_REFUSED, PHASE_CONNECT, REFUSAL_KEPT, STATUS_CONNECT, NULL},
	{"9 unknown reason", FAILURE_REFUSED, PHASE_CONNECT, 9999, STATUS_CONNECT,
		"unknown to this version"},
	{"10 stale", FAILURE_REJECTED, PHASE_CONNECT, 10, STATUS_CONNECT, "older connection"},
	{"10 resources", FAILURE_REJECTED, PHASE_CONNECT, 3, STATUS_CONNECT, "resources"},
	{"10 timeout", FAILURE_REJECTED, PHASE_CONNECT, 4, STATUS_CONNECT, "timed out"},
	{"10 MTU", FAILURE_REJECTED, PHASE_CONNECT, 26, STATUS_CONNECT, "MTU"},
	{"10 READs", FAILURE_REJECTED, PHASE_CONNECT, 27, STATUS_CONNECT, "READ"},
	{"10 other", FAILURE_REJECTED, PHASE_CONNECT, 5, STATUS_CONNECT, "rejected"},
	{"11 queue pair", FAILURE_ERRNO, PHASE_QUEUE_PAIR, EINVAL, STATUS_FAILED, "queue pair"},
	{"12 locked memory", FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, STATUS_FAILED, "locked-memory"},
	{"12 memory", FAILURE_ERRNO, PHASE_MEMORY, CODE_NO_MEMORY, STATUS_FAILED,
		"no memory left for it"},
	{"13 retries", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_RETRY_EXC_ERR, STATUS_PEER,
		"acknowledging"},
	{"14 not ready", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_RNR_RETRY_EXC_ERR, STATUS_PEER,
		"no receive"},
	{"15 access", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_REM_ACCESS_ERR, STATUS_PEER,
		"wrong rkey"},
	{"16 request", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_REM_INV_REQ_ERR, STATUS_PEER,
		"READ depth"},
	{"17 own memory", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_LOC_PROT_ERR, STATUS_FAILED,
		"local memory"},
	{"17 too long", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_LOC_LEN_ERR, STATUS_PEER,
		"longer"},
	{"18 flush", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_WR_FLUSH_ERR, STATUS_PEER, "broke"},
	{"other completion", FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_FATAL_ERR, STATUS_FAILED,
		"error"},
	{"unreachable later", FAILURE_ERRNO, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER, "unreachable"},
	{"peer silent", FAILURE_DEADLINE, PHASE_EXCHANGE, ETIMEDOUT, STATUS_PEER, NULL},
	{"handshake too long", FAILURE_DEADLINE, PHASE_EXCHANGE, LIMIT_HANDSHAKE, STATUS_PEER,
		NULL},
	{"evicted", FAILURE_LIMIT, PHASE_EXCHANGE, LIMIT_IDLE, STATUS_PEER, "no data moved"},
	{"more than allowed", FAILURE_LIMIT, PHASE_EXCHANGE, LIMIT_SIZE, STATUS_PEER, NULL},
	{"no memory left", FAILURE_LIMIT, PHASE_ALLOCATION, LIMIT_MEMORY, STATUS_FAILED,
		"may not take more of this host's memory"},
	{"peer silent in a diagnosis", FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_DIAGNOSIS,
		STATUS_PEER, "did not respond in time"},
	{"packets not sent", FAILURE_COMPLETION, PHASE_EXCHANGE, CODE_UNSENT, STATUS_FAILED,
		"before they left"},
	{"slow data in a diagnosis", FAILURE_DEADLINE, PHASE_EXCHANGE, CODE_TOO_SLOW, STATUS_PEER,
		"data moves, but too slowly"},
	{"no ARP in a diagnosis", FAILURE_DEADLINE, PHASE_ADDRESS, CODE_DIAGNOSIS, STATUS_CONNECT,
		"ARP"},
	{"no path in a diagnosis", FAILURE_DEADLINE, PHASE_ROUTE, CODE_DIAGNOSIS, STATUS_CONNECT,
		"path query"},
	{"silence in a diagnosis", FAILURE_DEADLINE, PHASE_CONNECT, CODE_DIAGNOSIS, STATUS_CONNECT,
		"no reply to the RDMA connection request"},
	{"peer gone in a diagnosis", FAILURE_GONE, PHASE_EXCHANGE, CODE_DIAGNOSIS, STATUS_PEER,
		"closed the connection"},
	{"peer gone early in a diagnosis", FAILURE_GONE, PHASE_CONNECT, CODE_DIAGNOSIS,
		STATUS_CONNECT, "went away"},
	{"peer gone", FAILURE_GONE, PHASE_EXCHANGE, 0, STATUS_PEER, NULL},
	{"gone early", FAILURE_GONE, PHASE_CONNECT, 0, STATUS_CONNECT, "went away"},
	{"protocol", FAILURE_PROTOCOL, PHASE_EXCHANGE, 0, STATUS_PEER, NULL},
	{"damaged here", FAILURE_DAMAGED, PHASE_EXCHANGE, 0, STATUS_DAMAGED, "from the peer"},
	{"damaged there", FAILURE_DAMAGED_THERE, PHASE_EXCHANGE, 0, STATUS_DAMAGED,
		"sent to the peer"},
	{"address, any errno", FAILURE_ERRNO, PHASE_ADDRESS, EPERM, STATUS_CONNECT, NULL},
	{"route, any errno", FAILURE_ERRNO, PHASE_ROUTE, EPERM, STATUS_CONNECT, NULL},
	{"connect, any errno", FAILURE_ERRNO, PHASE_CONNECT, EPERM, STATUS_CONNECT, NULL},
	{"exchange, any errno", FAILURE_ERRNO, PHASE_EXCHANGE, EPERM, STATUS_FAILED, NULL},
	{"no such host", FAILURE_NAME, PHASE_NAME, EAI_NONAME, STATUS_CONNECT, NULL},
	{"port taken", FAILURE_ERRNO, PHASE_LISTEN, EADDRINUSE, STATUS_FAILED, "another program"},
	{"not our address", FAILURE_ERRNO, PHASE_LISTEN, EADDRNOTAVAIL, STATUS_FAILED, "address"},
	{"device removed", FAILURE_REMOVED, PHASE_EXCHANGE, 0, STATUS_FAILED, "removed"},
	{"file, here", FAILURE_FILE, PHASE_EXCHANGE, ENOSPC, STATUS_FAILED, NULL},
	{"file, there", FAILURE_ABORTED, PHASE_EXCHANGE, 0, STATUS_PEER, NULL},
	{"not our server", FAILURE_NO_HELLO, PHASE_CONNECT, 0, STATUS_CONNECT, "not rdma-server"},
	{"MTU of the interfaces", FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU, STATUS_PEER,
		"different MTUs"},
	{"MTU of the path", FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_PATH, STATUS_PEER,
		"do not reach"},
	{"replies to large datagrams", FAILURE_IMPAIRED, PHASE_ADDRESS, IMPAIRED_LARGE, STATUS_PEER,
		"do not reach"},
	{"acknowledgements of large packets", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LARGE_DATA,
		STATUS_PEER, "large packets"},
	{"MTU of the devices", FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_RDMA_MTU, STATUS_PEER,
		"active MTUs"},
	{"loss", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS, STATUS_PEER, "lost"},
	{"loss to", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS_TO, STATUS_PEER,
		"packets from this host"},
	{"loss from", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LOSS_FROM, STATUS_PEER,
		"packets from the other host"},
	{"slow to", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_SLOW_TO, STATUS_PEER,
		"data to the other host"},
	{"slow from", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_SLOW_FROM, STATUS_PEER,
		"data from the other host"},
	{"delay", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_DELAY, STATUS_PEER, "takes long"},
	{"bad cable", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_LINK, STATUS_PEER, "cable"},
	{"slow", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_SPEED, STATUS_PEER, "slows"},
	{"slow bus", FAILURE_IMPAIRED, PHASE_EXCHANGE, IMPAIRED_BUS, STATUS_PEER, "slot"},
	{"full of clients", FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL, STATUS_PEER,
		"no slot for another client"},
	{"signal", FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, STATUS_FAILED, "signal"},
};

static void known_symptoms_have_the_right_cause(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(symptoms); i++) {
		const struct symptom *symptom = &symptoms[i];
		const struct explanation *row =
			explain(symptom->kind, symptom->phase, symptom->code);

		check_case(symptom->symptom, row->status == symptom->status);
		if (symptom->says)
			check_case(
				symptom->symptom, row->cause && strstr(row->cause, symptom->says));
		else
			check_case(symptom->symptom, !row->cause);
	}
}

/* The cause, which a peer sees, too, names a file without its directory; this host, its path. */
static void the_path_of_a_file_is_named_once(void **state)
{
	static const struct {
		const char *cause, *path, *text;
	} cases[] = {
		{"cannot read a: none", "in/a", "cannot start: cannot read in/a: none."},
		{"cannot read a/b/c: none", "in/a", "cannot start: cannot read in/a/b/c: none."},
		{"cannot read a: none", "a", "cannot start: cannot read a: none."},
		{"cannot read ab: none", "in/a", "cannot start: cannot read ab: none (in/a)."},
		{"cannot write a: none", "in/", "cannot start: cannot write in/a: none."},
		{"cannot write a: none", "/b", "cannot start: cannot write a: none (/b)."},
		{"cannot write to in/: none", "in/", "cannot start: cannot write to in/: none."},
		{"cannot write to standard output: none", "/dev/stdout",
			"cannot start: cannot write to standard output: none (/dev/stdout)."},
		{"cannot write the output file: none", "in/",
			"cannot start: cannot write the output file: none (in/)."},
		{"it is broken", "in/a", "cannot start: it is broken (in/a)."},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {.kind = FAILURE_FILE,
			.phase = PHASE_START,
			.code = ENOENT,
			.path = cases[i].path};

		snprintf(failure.evidence, sizeof(failure.evidence), "%s", cases[i].cause);
		explain_failure(&failure, NULL, false, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_reached),
		cmocka_unit_test(every_kind_is_explained),
		cmocka_unit_test(every_project_code_has_its_own_row),
		cmocka_unit_test(every_row_is_part_of_a_sentence),
		cmocka_unit_test(every_command_can_be_copied),
		cmocka_unit_test(guesses_are_marked_as_guesses),
		cmocka_unit_test(no_advice_names_timeout_in_a_diagnosis),
		cmocka_unit_test(every_side_is_named),
		cmocka_unit_test(completions_have_the_names_of_verbs_h),
		cmocka_unit_test(codes_have_names),
		cmocka_unit_test(known_symptoms_have_the_right_cause),
		cmocka_unit_test(the_path_of_a_file_is_named_once),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
