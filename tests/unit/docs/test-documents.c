/*
 * The documentation matches the tables in the code: every explanation is in
 * docs/troubleshooting.md; every check of a diagnosis is in docs/diagnosis.md, the manual page and
 * the schema; every option is in the manual page and the completion of its program; every exit
 * status is in both manual pages; every test named in SECURITY.md exists; and the documents do not
 * exceed their limits. Must run at the top of the source tree, as `make check` does.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "cli/help.h"
#include "diagnose/checks.h"
#include "host/facts.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

/* Replaces each run of white space by one blank, which undoes line wrapping. */
static void fold(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
}

/*
 * Returns the text at *rest up to the mark, terminated there, and advances *rest past the mark;
 * NULL at the end.
 */
static char *next_part(char **rest, const char *mark)
{
	char *part = *rest, *end;

	if (!part)
		return NULL;
	end = strstr(part, mark);
	*rest = end ? end + strlen(mark) : NULL;
	if (end)
		*end = '\0';
	return part;
}

/* True if the text contains the word, not as part of a longer word. */
static bool has_word(const char *text, const char *word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	const char *found = text;

	for (; (found = strstr(found, word)); found++) {
		const char *after = found + strlen(word);

		if ((found == text || !strchr(letters, found[-1])) &&
			(*after == '\0' || !strchr(letters, *after)))
			return true;
	}
	return false;
}

/*
 * True if the section quotes the message of a failure: cause and remedy, with any evidence between
 * them.
 */
static bool shows_sentence(const char *section, const struct explanation *row)
{
	char start[512], end[512];
	const char *cause;

	snprintf(start, sizeof(start), ": %s", row->cause ? row->cause : "");
	snprintf(
		end, sizeof(end), "%s%s.", row->remedy ? "; " : "", row->remedy ? row->remedy : "");
	cause = strstr(section, start);
	return cause && strstr(cause + strlen(start), end);
}

/* Only a diagnosis reports these. */
static bool is_of_diagnosis(const struct explanation *row)
{
	if (row->kind == FAILURE_IMPAIRED)
		return row->code != IMPAIRED_EXPECTED && row->code != IMPAIRED_UNKNOWN &&
		       row->code != IMPAIRED_LARGE_DATA;
	return row->kind == FAILURE_NO_HELLO || row->code == CODE_DIAGNOSIS ||
	       row->code == CODE_TOO_SLOW;
}

/*
 * Formats the row as a diagnosis prints it, with line wrapping undone: start receives the part up
 * to the cause, end the part from the side on. HOST is not replaced.
 */
static void diagnose_row(const struct explanation *row, char start[1024], char end[1024])
{
	struct failure failure = {
		.kind = row->kind, .phase = row->phase, .code = row->code, .evidence = "EVIDENCE"};
	struct check_list list;
	char *seen;

	check_list_init(&list, diagnose_checks, "");
	check_list_fail(&list, CHECK_CONNECTION, &failure);
	check_list_lines(&list, CHECK_CONNECTION, 0, start, 1024);
	fold(start);
	seen = strstr(start, " seen: EVIDENCE");
	snprintf(end, 1024, "%s", strstr(start, " where: "));
	if (seen)
		*seen = '\0';
	memmove(start, strstr(start, " failed"), strlen(strstr(start, " failed")) + 1);
}

/* True if the section quotes the lines of a diagnosis, for any check. */
static bool shows_diagnosis(const char *section, const struct explanation *row)
{
	char start[1024], end[1024];
	const char *cause;

	diagnose_row(row, start, end);
	cause = strstr(section, start);
	return cause && strstr(cause + strlen(start), end);
}

/* For example "Where: this host; look: `rdma link`." */
static bool shows_side(const char *section, const struct explanation *row)
{
	char start[1024], end[1024], line[1200], *stop = NULL;

	diagnose_row(row, start, end);
	memmove(end, end + strlen(" where: "), strlen(end + strlen(" where: ")) + 1);
	if (row->remedy)
		stop = strstr(end, " next: ");
	else if (row->command)
		stop = strstr(end, " look: ");
	if (stop)
		*stop = '\0';
	snprintf(line, sizeof(line), "Where: %s%s%s%s%s.", end, row->guess ? " (inferred)" : "",
		row->command ? "; look: `" : "", row->command ? row->command : "",
		row->command ? "`" : "");
	return strstr(section, line);
}

/* True if the section contains all parts of the row. */
static bool shows(const char *section, const struct explanation *row)
{
	char status[32], of_server[32];

	snprintf(status, sizeof(status), "xit status %d.", row->status);
	snprintf(of_server, sizeof(of_server), "exit status is %d.", row->status);
	if (!strstr(section, status) && !strstr(section, of_server))
		return false;
	return is_of_diagnosis(row) ? shows_diagnosis(section, row)
				    : shows_sentence(section, row) && shows_side(section, row);
}

static bool is_shown(char *const sections[], const struct explanation *row)
{
	for (; *sections; sections++)
		if (shows(*sections, row))
			return true;
	return false;
}

static void every_explanation_has_a_section(void **state)
{
	char *text = document_read("docs/troubleshooting.md"), *rest = text;
	char *sections[256] = {0};
	const struct explanation *row;
	size_t count = 0;

	(void)state;
	while ((sections[count] = next_part(&rest, "\n### "))) {
		fold(sections[count]);
		assert_true(++count < COUNT(sections));
	}
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		if (!is_shown(sections, row))
			fail_msg(
				"docs/troubleshooting.md has no section that contains: '%s' ... '%s', exit "
				"status %d, %s, side %d, command '%s'",
				row->cause ? row->cause : "(what was seen)",
				row->remedy ? row->remedy : "(nothing)", row->status,
				row->guess ? "guess" : "fact", row->side,
				row->command ? row->command : "(none)");
	free(text);
}

/* The programs and the files that document their options. */
static const struct documents {
	enum program program;
	const char *manual, *completion;
} programs[] = {
	{PROGRAM_SERVER, "man/rdma-server.1", "completions/rdma-server"},
	{PROGRAM_CLIENT, "man/rdma-client.1", "completions/rdma-client"},
};

/* An option as listed by --help. */
struct option {
	char letter; /* 0: none */
	char name[32], argument[32];
};

/* Parses a line of --help. Returns false if it does not list an option. */
static bool read_option(const char *line, struct option *option)
{
	int used = 0, name = 0;

	*option = (struct option){0};
	if (sscanf(line, "  -%c, %n", &option->letter, &used) != 1 || !used) {
		option->letter = '\0';
		used = 0;
	}
	if (line[0] != ' ' || line[1] != ' ' ||
		sscanf(line + used, " --%31[a-z-]%n", option->name, &name) != 1)
		return false;
	/* One blank precedes an argument, more than one the description. */
	line += used + name;
	if (line[0] == ' ' && line[1] != ' ')
		sscanf(line, " %31[^ ]", option->argument);
	return true;
}

/*
 * Copies an argument in the notation of the manual pages: "-" is \-, which is not typeset as a
 * hyphen.
 */
static void escape_hyphens(char *to, const char *from)
{
	for (; *from; from++) {
		if (*from == '-')
			*to++ = '\\';
		*to++ = *from;
	}
	*to = '\0';
}

/* The manual page must have an entry for the option, with all its names and its argument. */
static void check_manual(const char *path, const char *text, const struct option *option)
{
	char letter[16] = "", word[64], argument[80] = "", entry[160];

	escape_hyphens(word, option->argument);
	if (option->letter)
		snprintf(letter, sizeof(letter), "Fl %c , ", option->letter);
	if (*option->argument)
		snprintf(argument, sizeof(argument), " Ar %s", word);
	snprintf(entry, sizeof(entry), "\n.It %sFl \\-%s%s\n", letter, option->name, argument);
	if (!strstr(text, entry))
		fail_msg("%s lacks the entry:%s", path, entry);
}

/* The completion must offer the option, and handle its value if it takes one. */
static void check_completion(const char *path, const char *text, const struct option *option)
{
	char *copy = strdup(text), *rest = copy, name[48], letter[4] = {'-', option->letter, '\0'};
	char *cases, *offers;

	assert_non_null(copy);
	cases = next_part(&rest, "-W '--");
	if (!rest)
		fail_msg("%s offers no options", path);
	/* The mark includes the hyphens of the first option. */
	rest -= 2;
	offers = next_part(&rest, "'");
	snprintf(name, sizeof(name), "--%s", option->name);
	if (!has_word(offers, name))
		fail_msg("%s does not offer %s", path, name);
	if (*option->argument && !has_word(cases, name))
		fail_msg("%s has no case for the value of %s", path, name);
	if (*option->argument && option->letter && !has_word(cases, letter))
		fail_msg("%s has no case for the value of %s", path, letter);
	free(copy);
}

/* Checks the options that the help of a command lists. Returns their number. */
static unsigned int check_command(const struct documents *documents, const char *manual,
	const char *completion, const struct cli_command *command)
{
	char *help, *rest, *line;
	unsigned int options = 0;
	struct option option;
	size_t size;
	FILE *stream = open_memstream(&help, &size);

	assert_non_null(stream);
	help_print_command(stream, command);
	fclose(stream);
	rest = help;
	while ((line = next_part(&rest, "\n"))) {
		if (!read_option(line, &option))
			continue;
		check_manual(documents->manual, manual, &option);
		check_completion(documents->completion, completion, &option);
		options++;
	}
	free(help);
	return options;
}

static void check_options(const struct documents *documents)
{
	char *manual = document_read(documents->manual),
	     *completion = document_read(documents->completion);

	for (unsigned int id = 0; id < CLI_COMMANDS; id++)
		if (cli_commands[id].program == documents->program)
			/* A number out of range means that the lines were not parsed. */
			assert_in_range(
				check_command(documents, manual, completion, &cli_commands[id]),
				id == CLI_EXPLAIN      ? 1
				: id == CLI_STATUS     ? 2
				: id == CLI_COMPARE    ? 3
				: id == CLI_MESH_AGENT ? 4
						       : 5,
				50);
	free(completion);
	free(manual);
}

static void every_option_is_documented(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++)
		check_options(&programs[i]);
}

static void every_exit_status_is_documented(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		char *text = document_read(programs[i].manual), *rest = text, *section;

		next_part(&rest, "\n.Sh EXIT STATUS\n");
		section = next_part(&rest, "\n.Sh ");
		assert_non_null(section);
		for (int status = STATUS_OK; status <= STATUS_DAMAGED; status++) {
			char entry[16];

			snprintf(entry, sizeof(entry), "\n.It %d\n", status);
			if (!strstr(section, entry))
				fail_msg("%s does not document exit status %d", programs[i].manual,
					status);
		}
		free(text);
	}
}

/*
 * docs/diagnosis.md has a section for each check, the manual page an entry, and the schema its
 * name.
 */
static void every_check_is_documented(void **state)
{
	char *document = document_read("docs/diagnosis.md"),
	     *manual = document_read("man/rdma-client.1");
	char *schema = document_read("docs/diagnosis.schema.json");

	(void)state;
	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		const char *name = diagnose_checks[check].name;
		char section[64], row[64], entry[64], constant[64];

		snprintf(section, sizeof(section), "\n### %s\n", name);
		snprintf(row, sizeof(row), "\n| %s | ", name);
		snprintf(entry, sizeof(entry), "\n.It Li %s\n", name);
		snprintf(constant, sizeof(constant), "\"const\": \"%s\"", name);
		check_case(name, strstr(document, section) && strstr(document, row));
		check_case(name, strstr(manual, entry));
		check_case(name, strstr(schema, constant));
	}
	free(schema);
	free(manual);
	free(document);
}

/* The schema contains every fact that the source file adds. Returns their number. */
static unsigned int check_facts(const char *path, const char *schema)
{
	static const char mark[] = "facts_add(facts, \"";
	char *source = document_read(path), *rest = source, *name;
	unsigned int facts = 0;

	next_part(&rest, mark);
	for (; rest; facts++) {
		char member[64];

		name = rest;
		next_part(&rest, mark);
		name[strcspn(name, "\"")] = '\0';
		snprintf(member, sizeof(member), "\n\t\t\t\t\"%s\": {", name);
		for (char *blank = member; (blank = strchr(blank, ' ')) && blank[1] != '{';)
			*blank = '_';
		check_case(name, strstr(schema, member));
	}
	free(source);
	return facts;
}

/* The schema contains the facts that both ends report, and those that only a server reports. */
static void every_fact_is_in_the_schema(void **state)
{
	char *schema = document_read("docs/diagnosis.schema.json");

	(void)state;
	/* A number out of range means that the sources were not parsed. */
	assert_in_range(check_facts("control/self-facts.c", schema), 10, FACTS_MAX);
	assert_in_range(check_facts("serve/control-sessions.c", schema), 3, 5);
	free(schema);
}

/* The members with which each document begins, base/envelope.c, are described by the same text. */
static void the_schemas_begin_alike(void **state)
{
	static const char *const paths[] = {"docs/report.schema.json",
		"docs/measurement.schema.json", "docs/diagnosis.schema.json",
		"docs/status.schema.json", "docs/comparison.schema.json"};
	char *texts[COUNT(paths)];

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		char *text = document_read(paths[i]);
		const char *start = strstr(text, "\n\t\t\"schema\": {");
		const char *end = start ? strstr(start, "\n\t\t\"error\": {") : NULL;

		end = end ? strstr(end, "\n\t\t},\n") : NULL;
		assert_non_null(end);
		texts[i] = strndup(start, (size_t)(end - start));
		assert_non_null(texts[i]);
		free(text);
	}
	for (size_t i = 1; i < COUNT(paths); i++)
		check_case(paths[i], strcmp(texts[i], texts[0]) == 0);
	for (size_t i = 0; i < COUNT(paths); i++)
		free(texts[i]);
}

/* Concatenates all soft-RoCE and two-host tests. The caller frees the text. */
static char *read_tests(void)
{
	char *tests = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&tests, &size);
	glob_t files;

	assert_non_null(stream);
	document_tests(&files);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = document_read(files.gl_pathv[i]);

		fputs(text, stream);
		free(text);
	}
	fclose(stream);
	globfree(&files);
	return tests;
}

/* Every quoted test name in SECURITY.md is the name of a test. */
static void every_security_claim_has_a_test(void **state)
{
	char *tests = read_tests(), *document = document_read("SECURITY.md"), *rest = document,
	     *part;
	unsigned int claims = 0;

	(void)state;
	/* Every second part is in quotation marks. */
	for (unsigned int i = 0; (part = next_part(&rest, "\"")); i++) {
		char name[256];

		if (i % 2 == 0)
			continue;
		snprintf(name, sizeof(name), "@test \"%s\" {", part);
		check_case(part, strstr(tests, name));
		claims++;
	}
	assert_in_range(claims, 20, 200);
	free(document);
	free(tests);
}

/* Returns the number of lines of all files that match the pattern. */
static unsigned int lines_of(const char *pattern)
{
	unsigned int lines = 0;
	glob_t files;

	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = document_read(files.gl_pathv[i]);

		for (const char *end = text; (end = strchr(end, '\n')); end++)
			lines++;
		free(text);
	}
	globfree(&files);
	return lines;
}

/*
 * What a newcomer must read stays short. `explain` finds what matters in the troubleshooting, only
 * who runs containers reads about them, only who writes a peer reads the protocol, and who takes
 * the tour may stop after each chapter.
 */
static void documents_stay_short(void **state)
{
	(void)state;
	assert_in_range(lines_of("README.md"), 100, 260);
	assert_in_range(lines_of("SECURITY.md"), 50, 150);
	assert_in_range(lines_of("docs/architecture.md"), 100, 400);
	assert_in_range(lines_of("docs/*.md") - lines_of("docs/troubleshooting.md") -
				lines_of("docs/containers.md") - lines_of("docs/protocol.md") -
				lines_of("docs/tour.md"),
		800, 1550);
	assert_in_range(lines_of("docs/tour.md"), 300, 560);
	assert_in_range(lines_of("docs/protocol.md"), 500, 1270);
	assert_in_range(lines_of("docs/containers.md"), 20, 100);
	assert_in_range(lines_of("docs/troubleshooting.md"), 1000, 1800);
}

/*
 * A terminal that does not show UTF-8 gets only ASCII, because the programs contain nothing else,
 * except the progress line, which has an ASCII form for it (tests/unit/base/test-progress.c).
 */
static void the_programs_contain_only_ascii(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob("*.c", 0, NULL, &files), 0);
	assert_int_equal(glob("[!bt]*/*.c", GLOB_APPEND, NULL, &files), 0);
	assert_int_equal(glob("base/*.c", GLOB_APPEND, NULL, &files), 0);
	assert_in_range(files.gl_pathc, 100, 1000);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = document_read(files.gl_pathv[i]);

		for (const char *byte = text; *byte; byte++)
			if ((unsigned char)*byte > 0x7e &&
				strcmp(files.gl_pathv[i], "base/progress.c") != 0)
				fail_msg("%s contains '%.8s'", files.gl_pathv[i], byte);
		free(text);
	}
	globfree(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_explanation_has_a_section),
		cmocka_unit_test(every_check_is_documented),
		cmocka_unit_test(every_fact_is_in_the_schema),
		cmocka_unit_test(the_schemas_begin_alike),
		cmocka_unit_test(every_option_is_documented),
		cmocka_unit_test(every_exit_status_is_documented),
		cmocka_unit_test(every_security_claim_has_a_test),
		cmocka_unit_test(documents_stay_short),
		cmocka_unit_test(the_programs_contain_only_ascii),
	};

	return cmocka_run_group_tests_name("documents", tests, NULL, NULL);
}
