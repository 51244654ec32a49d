/*
 * Finds and prints explanations. The text is part of the program: docs/troubleshooting.md, whose
 * sections quote the messages that they explain as templates (cli/message-template.h). A quoted
 * message is indented by four blanks, or is in the first column of a table named `message`. A unit
 * test compares the document with the messages in the sources.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/explain.h"
#include "base/output.h"
#include "cli/explanations.h"
#include "cli/help.h"
#include "cli/message-template.h"
#include "host/counters.h"

/* The assembler includes the document: as(1), .incbin. The folder is the top of the tree. */
__asm__(".pushsection .rodata\n"
	".hidden troubleshooting\n"
	".global troubleshooting\n"
	"troubleshooting:\n"
	".incbin \"docs/troubleshooting.md\"\n"
	".byte 0\n"
	".popsection\n");

extern const char troubleshooting[];

/* Markdown's marks of a group of sections and of a section. */
static const char group_mark[] = "\n## ", section_mark[] = "\n### ";

/* The group of messages that are no errors, and the section of errors in the command line. */
static const char normal_group[] = "Normal output", usage_title[] = "Wrong usage";

/* The section of failures of which only the C library's message is known. */
static const char unexplained_title[] = "Unexplained errors";

/* The section of each class of counters, NULL if its counters indicate nothing. */
static const char *const counter_titles[COUNTER_CLASSES] = {
	[COUNTER_RETRANSMISSION] = "Counters of retransmissions",
	[COUNTER_DUPLICATE] = "Counters of duplicates",
	[COUNTER_OUT_OF_ORDER] = "Counters of missing or reordered packets",
	[COUNTER_RNR] = "Counters of receivers that were not ready",
	[COUNTER_CONGESTION] = "Counters of congestion",
	[COUNTER_LINK] = "Counters of link errors",
	[COUNTER_ERROR] = "Counters of failed requests",
};

/* A match with so much of a cause is not by chance. */
#define DISTINCT_SCORE ((size_t)16 * MESSAGE_TEMPLATE_CAUSE)

#define SECTIONS_MAX 256

/* The text is not fitted to terminals with fewer columns. */
#define COLUMNS_MIN 20

/* The blanks before what continues a line of a table, of code, or of an item. */
#define CONTINUED_INDENT 2

/* The blanks before a line of code, and before a row of a table. */
#define CODE_INDENT 4

/* Columns of the cells of a table of more than two. */
#define FIRST_CELL 14
#define OTHER_CELL 10

struct section {
	unsigned int index; /* in the document */
	bool normal;        /* in the group of messages that are no errors */
	const char *title;  /* in the document, not terminated, as is the rest */
	size_t title_length;
	const char *text, *end;
};

/* Templates that match a message; at most CANDIDATES_MAX, more are ignored. */
#define CANDIDATES_MAX 128

struct candidates {
	unsigned int count;
	struct candidate {
		struct section section;
		struct message_match match;
	} list[CANDIDATES_MAX];
};

/* Sections by index. */
struct selection {
	unsigned int count, errors; /* errors: those that are not about normal output */
	bool chosen[SECTIONS_MAX];
};

static bool starts_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
}

/*
 * Returns where the section or group that starts here ends. Line by line, because with
 * AddressSanitizer each strstr() would measure the whole rest of the text.
 */
static const char *end_of(const char *start)
{
	const char *place = strchr(start, '\n');

	while (place && !starts_with(place, section_mark) && !starts_with(place, group_mark))
		place = strchr(place + 1, '\n');
	return place ? place : start + strlen(start);
}

/* Moves on to the next section; to the first one if section->end is NULL. */
static bool next_section(struct section *section)
{
	const char *place = end_of(section->end ? section->end : troubleshooting);

	section->index += section->end != NULL;
	for (; starts_with(place, group_mark); place = end_of(place + 1))
		section->normal = starts_with(place + strlen(group_mark), normal_group);
	if (*place == '\0' || section->index == SECTIONS_MAX)
		return false;
	section->title = place + strlen(section_mark);
	section->title_length = strcspn(section->title, "\n");
	section->text = section->title + section->title_length;
	section->end = end_of(section->text);
	return true;
}

static bool has_title(const struct section *section, const char *title)
{
	return strlen(title) == section->title_length &&
	       strncasecmp(section->title, title, section->title_length) == 0;
}

static void choose(struct selection *selection, const struct section *section)
{
	if (selection->chosen[section->index])
		return;
	selection->chosen[section->index] = true;
	selection->count++;
	selection->errors += !section->normal;
}

static void choose_title(struct selection *selection, const char *title)
{
	struct section section = {0};

	while (next_section(&section))
		if (has_title(&section, title))
			choose(selection, &section);
}

/* Lines. */

static const char *end_of_line(const char *line)
{
	return line + strcspn(line, "\n");
}

/* A line of a section. A table named `message` consists of messages. */
struct line {
	const char *text, *end;
	bool in_table, quoted; /* quoted: `message` is one */
	const char *message, *message_end;
};

/* Finds the message of a failed check in "CHECK  failed  probably: CAUSE". */
static const char *after_check(const char *line, const char *end)
{
	static const char failed[] = "  failed  ", probably[] = "probably: ";
	const char *cause = memmem(line, (size_t)(end - line), failed, strlen(failed));

	if (!cause)
		return line;
	cause += strlen(failed);
	return starts_with(cause, probably) ? cause + strlen(probably) : cause;
}

/* Moves on to the next line; to the first one if line->text is NULL. */
static bool next_line(struct line *line, const struct section *section)
{
	line->text = line->text ? line->end + 1 : section->text + 1;
	if (line->text >= section->end)
		return false;
	line->end = end_of_line(line->text);
	line->in_table =
		line->text[0] == '|' && (line->in_table || starts_with(line->text, "| message |"));
	line->quoted = false;
	if (starts_with(line->text, "    ") && !isspace((unsigned char)line->text[4])) {
		line->quoted = true;
		line->message = after_check(line->text + 4, line->end);
		line->message_end = line->end;
	} else if (line->in_table && starts_with(line->text, "| ")) {
		line->quoted = true;
		line->message = line->text + 2;
		line->message_end = memmem(
			line->message, (size_t)(line->end - line->message), " |", strlen(" |"));
	}
	return true;
}

static struct message_match match_of_line(const struct line *line, const char *message)
{
	if (!line->quoted)
		return (struct message_match){0};
	return message_template_match(
		line->message, (size_t)(line->message_end - line->message), message);
}

/* Adds the templates of the section that match the message; `rows`: only those in tables. */
static void add_candidates(struct candidates *candidates, const struct section *section, bool rows,
	const char *message)
{
	struct message_match match;
	struct line line = {0};

	while (candidates->count < CANDIDATES_MAX && next_line(&line, section)) {
		if (rows && !line.in_table)
			continue;
		match = match_of_line(&line, message);
		if (match.score)
			candidates->list[candidates->count++] =
				(struct candidate){.section = *section, .match = match};
	}
}

/* Removes normal output if a section about an error matches, and not by chance. */
static void prefer_errors(struct candidates *candidates)
{
	unsigned int kept = 0;
	bool errors = false;

	for (unsigned int i = 0; i < candidates->count; i++)
		errors |= !candidates->list[i].section.normal &&
			  candidates->list[i].match.score >= DISTINCT_SCORE;
	for (unsigned int i = 0; i < candidates->count; i++)
		if (!errors || !candidates->list[i].section.normal)
			candidates->list[kept++] = candidates->list[i];
	candidates->count = kept;
}

/*
 * Returns the best match: that with the highest score, unless another one at the same place of the
 * message is more specific, because its fixed text there is longer: "cannot write the port file
 * FILE", not "cannot write FILE". The score is 0 if there is none.
 */
static struct message_match best_match(const struct candidates *candidates)
{
	const struct message_match *match;
	struct message_match best = {0};

	for (unsigned int i = 0; i < candidates->count; i++)
		if (candidates->list[i].match.score > best.score)
			best = candidates->list[i].match;
	for (unsigned int i = 0; best.place && i < candidates->count; i++) {
		match = &candidates->list[i].match;
		if (match->place == best.place &&
			(match->prefix > best.prefix ||
				(match->prefix == best.prefix && match->score > best.score)))
			best = *match;
	}
	return best;
}

static bool is_same(const struct message_match *one, const struct message_match *other)
{
	return one->score == other->score && one->place == other->place &&
	       one->prefix == other->prefix;
}

/* Chooses the sections with the template that is most like the message. Returns the match. */
static struct message_match choose_templates(struct selection *selection, const char *message)
{
	struct candidates candidates;
	struct section section = {0};
	struct message_match best;

	candidates.count = 0;
	while (next_section(&section))
		add_candidates(&candidates, &section, false, message);
	prefer_errors(&candidates);
	best = best_match(&candidates);
	for (unsigned int i = 0; i < candidates.count; i++)
		if (is_same(&candidates.list[i].match, &best))
			choose(selection, &candidates.list[i].section);
	return best;
}

/* Returns the cause in the verdict of a diagnosis, NULL if the text is none or a good one. */
static const char *cause_of_verdict(const char *text)
{
	static const char *const ratings[] = {"Whether RDMA works is unknown: ",
		"RDMA does not work: ", "RDMA works, but slowly: ", "RDMA works, but not well: "};
	static const char probably[] = "probably ";
	const char *cause = NULL;

	for (size_t i = 0; i < sizeof(ratings) / sizeof(ratings[0]) && !cause; i++) {
		cause = strstr(text, ratings[i]);
		cause = cause ? cause + strlen(ratings[i]) : NULL;
	}
	return cause && starts_with(cause, probably) ? cause + strlen(probably) : cause;
}

/*
 * Chooses the sections about the message, and about the cause of a verdict. Returns the match of
 * the template.
 */
static struct message_match choose_message(struct selection *selection, const char *message)
{
	const char *cause = cause_of_verdict(message);
	struct message_match match = choose_templates(selection, cause ? cause : message);

	if (cause && selection->errors == 0)
		choose_title(selection, unexplained_title);
	return match;
}

/*
 * Takes the next word with the letters of counters' names from *text. Returns false at the end of
 * the text.
 */
static bool next_name(const char **text, char name[COUNTER_NAME_SIZE])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	const char *start = *text + strcspn(*text, letters);
	size_t length = strspn(start, letters);

	*text = start + length;
	snprintf(name, COUNTER_NAME_SIZE, "%.*s", (int)length, start);
	return length > 0;
}

/*
 * Chooses the sections of the counters that the text names, if there are any. Prose contains words
 * such as RTO, so it names only counters with an underscore.
 */
static void choose_counters(struct selection *selection, const char *text, bool prose)
{
	struct selection found = {0};
	char name[COUNTER_NAME_SIZE];

	while (next_name(&text, name))
		if (counter_titles[counter_class(name)] && (!prose || strchr(name, '_')))
			choose_title(&found, counter_titles[counter_class(name)]);
	if (found.count)
		*selection = found;
}

/*
 * Copies the text with each run of white space replaced by one blank, and none at the ends. The
 * caller frees it.
 */
static char *folded(const char *text, size_t length)
{
	char *copy = malloc(length + 1), *to = copy;

	if (!copy)
		return NULL;
	for (const char *from = text; from < text + length; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
		else if (to > copy && to[-1] != ' ')
			*to++ = ' ';
	to -= to > copy && to[-1] == ' ';
	*to = '\0';
	return copy;
}

/* Chooses the sections that contain the text. */
static void choose_containing(struct selection *selection, const char *text)
{
	struct section section = {0};

	while (next_section(&section)) {
		char *copy = folded(section.title, (size_t)(section.end - section.title));

		if (copy && strcasestr(copy, text))
			choose(selection, &section);
		free(copy);
	}
}

/* Printing. */

/* True if a link starts here: "[text](target)". Its text may continue on the next line. */
static bool starts_link(const char *text, const char *end)
{
	size_t length = *text == '[' ? 1 + strcspn(text + 1, "[]") : 0;

	return length && text + length + 1 < end && starts_with(text + length, "](");
}

/*
 * Prints part of a section without its links: of "[text](target)", only the text. A link may be
 * broken over two lines, of which each is printed by a call of its own.
 */
static void print_text(
	FILE *stream, const char *text, const char *end_of_text, const struct section *section)
{
	while (text < end_of_text)
		if (starts_link(text, section->end))
			text++;
		else if (starts_with(text, "]("))
			text += strcspn(text, ")") + 1;
		else
			putc(*text++, stream);
}

/* Returns the best match of the rows of tables. */
static struct message_match best_row(const struct section *section, const char *message)
{
	struct candidates candidates;

	candidates.count = 0;
	add_candidates(&candidates, section, true, message);
	return best_match(&candidates);
}

/* True if the row has the best template for the message or, if there is none, contains it. */
static bool is_row_for(
	const struct line *line, const char *message, const struct message_match *best)
{
	const char *found = strcasestr(line->text, message);
	struct message_match match;

	if (!line->in_table || !line->quoted)
		return false;
	match = match_of_line(line, message);
	return best->score ? is_same(&match, best) : found && found < line->end;
}

static bool has_row_for(
	const struct section *section, const char *message, const struct message_match *best)
{
	struct line line = {0};

	while (next_line(&line, section))
		if (is_row_for(&line, message, best))
			return true;
	return false;
}

/* True for the line between the heading of a table and its rows. */
static bool is_rule(const char *row)
{
	return starts_with(row, "| --- |");
}

static bool is_heading(const char *row)
{
	const char *end = end_of_line(row);

	return *end && is_rule(end + 1);
}

static unsigned int count_cells(const char *row)
{
	const char *end = end_of_line(row);
	unsigned int bars = 0;

	for (; row < end; row++)
		bars += *row == '|';
	return bars - 1;
}

/* Prints a row of two cells: the second one below the first, and farther in. No heading. */
static void print_pair(FILE *stream, const char *row, const struct section *section)
{
	if (is_heading(row))
		return;
	for (int cell = 0; cell < 2; cell++) {
		const char *text = row + strspn(row, "| "), *end = text + strcspn(text, "|");

		fprintf(stream, "%*s", (cell + 1) * CODE_INDENT, "");
		print_text(stream, text, end[-1] == ' ' ? end - 1 : end, section);
		putc('\n', stream);
		row = end;
	}
}

/* Prints a row of many short cells side by side. */
static void print_cells(FILE *stream, const char *row)
{
	int column = 0, wanted = CODE_INDENT;

	for (const char *text = row + 1, *end; *text != '\n'; text = end + 1) {
		end = text + strcspn(text, "|");
		text += *text == ' ';
		if (end > text)
			column += fprintf(stream, "%*s%.*s", wanted - column, "",
				(int)(end - text - 1), text);
		wanted += wanted == CODE_INDENT ? FIRST_CELL : OTHER_CELL;
	}
	putc('\n', stream);
}

/*
 * Removes the marks of code, and quotes code of several words. Lines of code, such as messages,
 * remain as they are.
 */
static void drop_code_marks(char *text)
{
	bool inside = false, words = false;
	const char *next;
	char *to = text;

	for (const char *line = text; *line; line = next) {
		bool is_code = strspn(line, " ") == CODE_INDENT;

		next = end_of_line(line);
		next += *next == '\n';
		for (const char *from = line; from < next; from++) {
			if (is_code || *from != '`') {
				*to++ = *from;
				continue;
			}
			inside = !inside;
			if (inside)
				words = from[1 + strcspn(from + 1, " \n`")] != '`';
			if (words)
				*to++ = '\'';
		}
	}
	*to = '\0';
}

/* Prints the counters in the text that the section of this title explains. */
static void print_counters(FILE *stream, const struct section *section, const char *text)
{
	char name[COUNTER_NAME_SIZE];
	const char *title;

	while (next_name(&text, name)) {
		title = counter_titles[counter_class(name)];
		if (title && has_title(section, title))
			fprintf(stream, "    %s\n", name);
	}
}

/* The columns of the terminal that the stream is; 0: it is none, or a very narrow one. */
static size_t columns_of(FILE *stream)
{
	unsigned int columns = output_terminal_columns(fileno(stream));

	return columns < COLUMNS_MIN ? 0 : columns;
}

/* True if the line continues a paragraph: no table, code, item of a list or exit status. */
static bool continues_paragraph(const char *line)
{
	return *line && *line != '\n' && *line != '|' && !starts_with(line, "    ") &&
	       !starts_with(line, "- ") && !starts_with(line, "Exit status ");
}

/*
 * Prints the text of a section. On a terminal, paragraphs are filled, and other lines that do not
 * fit are broken between words.
 */
static void print_body(FILE *stream, const char *text)
{
	size_t columns = columns_of(stream), column = 0, indent = 0, gap = 0, length;
	bool paragraph = false;

	if (columns == 0) {
		fputs(text, stream);
		return;
	}
	while (*text) {
		bool fills = continues_paragraph(text);

		if (column > 0 && !(paragraph && fills)) {
			putc('\n', stream);
			column = 0;
		}
		if (column == 0) {
			indent = strspn(text, " ");
			fprintf(stream, "%*s", (int)indent, "");
			indent += fills ? 0 : CONTINUED_INDENT;
			paragraph = *text != '|' && indent < 4;
		}
		for (text += strspn(text, " "); *text && *text != '\n'; text += gap) {
			length = strcspn(text, " \n");
			if (column > 0 && column + 1 + length > columns) {
				fprintf(stream, "\n%*s", (int)indent, "");
				column = indent;
			} else if (column > 0) {
				fprintf(stream, "%*s", (int)(gap > 0 ? gap : 1), "");
				column += gap > 0 ? gap : 1;
			} else {
				column = indent;
			}
			fprintf(stream, "%.*s", (int)length, text);
			column += length;
			text += length;
			gap = strspn(text, " ");
		}
		if (*text == '\n' && column == 0)
			putc('\n', stream);
		text += *text == '\n';
	}
	if (column > 0)
		putc('\n', stream);
}

static void print_line(
	FILE *stream, const char *text, const char *end_of_text, const struct section *section)
{
	if (is_rule(text))
		return;
	if (*text != '|')
		print_text(stream, text, end_of_text, section);
	else if (count_cells(text) == 2)
		print_pair(stream, text, section);
	else
		print_cells(stream, text);
}

/*
 * Prints a section, and what it says about this message only: of tables of messages the rows for
 * it, if there are any, its counters and its options.
 */
static void print_section(FILE *stream, const struct section *section, const char *message)
{
	struct message_match best = best_row(section, message);
	bool selected = has_row_for(section, message, &best);
	struct line line = {0};
	char *body = NULL;
	size_t size;
	FILE *text;

	fprintf(stream, "%.*s\n", (int)section->title_length, section->title);
	print_counters(stream, section, message);
	text = open_memstream(&body, &size);
	while (text && next_line(&line, section))
		if (!selected || !line.in_table || is_row_for(&line, message, &best))
			print_line(text, line.text, line.end + 1, section);
	if (text)
		fclose(text);
	if (body) {
		drop_code_marks(body);
		print_body(stream, body);
	}
	free(body);
	if (has_title(section, usage_title))
		help_print_named_options(stream, message);
}

/* Prints all titles, below those of their groups. */
static unsigned int print_titles(FILE *stream)
{
	const char *place = troubleshooting;
	unsigned int count = 0;

	while (*(place = end_of(place))) {
		bool group = starts_with(place, group_mark);
		const char *title = place + strlen(group ? group_mark : section_mark);

		fprintf(stream, "%s%.*s\n", group ? "\n" : "  ", (int)strcspn(title, "\n"), title);
		count += !group;
		place = title;
	}
	return count;
}

static void print_selection(FILE *stream, const struct selection *selection, const char *query)
{
	struct section section = {0};
	unsigned int count = 0;

	while (next_section(&section)) {
		if (!selection->chosen[section.index])
			continue;
		if (selection->count > EXPLANATIONS_MAX) {
			fprintf(stream, "%.*s\n", (int)section.title_length, section.title);
			continue;
		}
		if (count++ > 0)
			putc('\n', stream);
		print_section(stream, &section, query);
	}
}

unsigned int explanations_print(FILE *stream, const char *query)
{
	char *text = folded(query, strlen(query));
	struct selection selection = {0};

	if (!text)
		return 0;
	if (*text == '\0')
		selection.count = print_titles(stream);
	else
		choose_title(&selection, text);
	if (selection.count == 0)
		choose_message(&selection, text);
	if (selection.errors == 0)
		choose_counters(&selection, text, false);
	if (selection.count == 0)
		choose_containing(&selection, text);
	print_selection(stream, &selection, text);
	free(text);
	return selection.count;
}

/* Logs. */

/* A line of a log. */
struct log_line {
	unsigned int number;
	const char *text;    /* with single blanks, and none at the ends */
	const char *message; /* what follows the name of either program, or the text */
	bool error;          /* a program reports an error */
	bool ours;           /* a program or the journal names a program, or a diagnosis has it */
	bool check;          /* of a check that did not pass */
};

/* Returns what follows the name of either program in the line, NULL if it does not name one. */
static const char *error_in(const char *line)
{
	static const char *const prefixes[] = {"rdma-client: ", "rdma-server: "};
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !found; i++) {
		found = strstr(line, prefixes[i]);
		found = found ? found + strlen(prefixes[i]) : NULL;
	}
	return found;
}

/* Returns what follows "rdma-server[PID]: ", as the journal names the program; NULL if nothing. */
static const char *after_tag(const char *line)
{
	static const char *const tags[] = {"rdma-client[", "rdma-server["};
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]) && !found; i++) {
		found = strstr(line, tags[i]);
		found = found ? found + strlen(tags[i]) : NULL;
		found = found ? found + strspn(found, "0123456789") : NULL;
		found = found && starts_with(found, "]: ") ? found + strlen("]: ") : NULL;
	}
	return found;
}

/* True if the line is of a check that did not pass: a name, and in the 13th column the state. */
static bool is_check(const char *line)
{
	static const char *const states[] = {"failed  ", "skipped "};
	static const size_t column = 12;

	if (strnlen(line, column) < column || line[column - 1] != ' ' || line[0] == ' ')
		return false;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (starts_with(line + column, states[i]))
			return true;
	return false;
}

static struct log_line examine_line(const char *line, const char *text, unsigned int number)
{
	bool check = is_check(line), diagnosis = check || starts_with(text, "verdict: ");
	/* One of its causes contains "is not rdma-server: it accepts". */
	const char *error = diagnosis ? NULL : error_in(text);
	const char *tagged = diagnosis ? NULL : after_tag(text);

	return (struct log_line){
		.number = number,
		.text = text,
		.message = error    ? error
			   : tagged ? tagged
				    : text,
		.error = error != NULL,
		.ours = error || tagged || diagnosis,
		.check = check,
	};
}

/*
 * A line that is not known to be of a program must begin with a message, or with what failed: other
 * programs' lines begin with their names.
 */
static bool is_message(const struct log_line *line, const struct message_match *match)
{
	if (line->ours)
		return true;
	return match->score >= DISTINCT_SCORE &&
	       (match->place == line->message || explain_attempt_length(line->message) > 0);
}

/* Prints the sections that explain the line, except those in *printed. False if there are none. */
static bool explain_line(FILE *stream, const struct log_line *line, struct selection *printed)
{
	struct selection selection = {0};
	struct section section = {0};
	struct message_match match = choose_message(&selection, line->message);
	bool shown = false;

	if (!is_message(line, &match))
		selection = (struct selection){0};
	if (selection.errors == 0)
		choose_counters(&selection, line->text,
			!line->check && !starts_with(line->text, "counters of this host: ") &&
				!starts_with(line->text, "counters of the other host: ") &&
				!starts_with(line->text, "seen: "));
	while (next_section(&section)) {
		if (!selection.chosen[section.index] || printed->chosen[section.index] ||
			section.normal)
			continue;
		if (!shown)
			fprintf(stream, "%s%u: %s\n", printed->count ? "\n" : "", line->number,
				line->text);
		shown = true;
		choose(printed, &section);
		putc('\n', stream);
		print_section(stream, &section, line->message);
	}
	return selection.count > 0 || !line->error;
}

int explanations_print_log(FILE *stream, FILE *log, const struct output *output)
{
	struct selection printed = {0};
	unsigned int number = 0;
	int unknown = 0, error;
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, log) >= 0) {
		char *text = folded(line, strlen(line));
		struct log_line examined = examine_line(line, text ? text : "", ++number);

		if (!explain_line(stream, &examined, &printed)) {
			output_error(output, "no explanation of line %u: %s", number, text);
			unknown++;
		}
		free(text);
	}
	error = ferror(log) ? -errno : 0;
	free(line);
	return error ? error : unknown;
}
