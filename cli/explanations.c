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

/* A line of a log that does not name the program must contain as much of a cause. */
#define DISTINCT_SCORE ((size_t)16 * MESSAGE_TEMPLATE_CAUSE)

#define SECTIONS_MAX 256

struct section {
	unsigned int index; /* in the document */
	bool normal;        /* in the group of messages that are no errors */
	const char *title;  /* in the document, not terminated, as is the rest */
	size_t title_length;
	const char *text, *end;
};

/* Sections by index. */
struct selection {
	unsigned int count, errors; /* errors: those that are not about normal output */
	bool chosen[SECTIONS_MAX];
};

/* Returns where the section or group that starts here ends. */
static const char *end_of(const char *start)
{
	const char *place = strstr(start, "\n##");

	while (place && strncmp(place, section_mark, strlen(section_mark)) != 0 &&
		strncmp(place, group_mark, strlen(group_mark)) != 0)
		place = strstr(place + 1, "\n##");
	return place ? place : start + strlen(start);
}

/* Moves on to the next section; to the first one if section->end is NULL. */
static bool next_section(struct section *section)
{
	const char *place = end_of(section->end ? section->end : troubleshooting);

	section->index += section->end != NULL;
	for (; strncmp(place, group_mark, strlen(group_mark)) == 0; place = end_of(place + 1))
		section->normal = strncmp(place + strlen(group_mark), normal_group,
					  strlen(normal_group)) == 0;
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

static bool starts_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
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
		line->message_end = strstr(line->message, " |");
	}
	return true;
}

static size_t score_of_line(const struct line *line, const char *message)
{
	return line->quoted ? message_template_score(line->message,
				      (size_t)(line->message_end - line->message), message)
			    : 0;
}

static size_t score_of(const struct section *section, const char *message)
{
	struct line line = {0};
	size_t best = 0, score;

	while (next_line(&line, section)) {
		score = score_of_line(&line, message);
		best = score > best ? score : best;
	}
	return best;
}

/* Chooses the sections with the template that is most like the message. Returns the score. */
static size_t choose_templates(struct selection *selection, const char *message)
{
	struct section section = {0};
	size_t best = 0, score;

	while (next_section(&section)) {
		score = score_of(&section, message);
		if (score > best)
			*selection = (struct selection){0};
		if (score >= best && score > 0) {
			best = score;
			choose(selection, &section);
		}
	}
	return best;
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

/* Chooses the sections of the counters that the text names, if there are any. */
static void choose_counters(struct selection *selection, const char *text)
{
	struct selection found = {0};
	char name[COUNTER_NAME_SIZE];

	while (next_name(&text, name))
		if (counter_titles[counter_class(name)])
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

/* Returns the best score of the rows of tables for the message, 0 if none matches. */
static size_t best_row(const struct section *section, const char *message)
{
	struct line line = {0};
	size_t best = 0, score;

	while (next_line(&line, section)) {
		score = line.in_table ? score_of_line(&line, message) : 0;
		best = score > best ? score : best;
	}
	return best;
}

/* True if the row has the best template for the message or, if there is none, contains it. */
static bool is_row_for(const struct line *line, const char *message, size_t best)
{
	const char *found = strcasestr(line->text, message);

	if (!line->in_table || !line->quoted)
		return false;
	return best ? score_of_line(line, message) == best : found && found < line->end;
}

static bool has_row_for(const struct section *section, const char *message, size_t best)
{
	struct line line = {0};

	while (next_line(&line, section))
		if (is_row_for(&line, message, best))
			return true;
	return false;
}

static bool is_heading(const struct line *line)
{
	return starts_with(line->text, "| message |") || starts_with(line->text, "| --- |");
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

/*
 * Prints a section, and what it says about this message only: of tables of messages the rows for
 * it, if there are any, its counters and its options.
 */
static void print_section(FILE *stream, const struct section *section, const char *message)
{
	size_t best = best_row(section, message);
	bool selected = has_row_for(section, message, best);
	struct line line = {0};

	fprintf(stream, "%.*s\n", (int)section->title_length, section->title);
	print_counters(stream, section, message);
	while (next_line(&line, section))
		if (!selected || !line.in_table || is_heading(&line) ||
			is_row_for(&line, message, best))
			print_text(stream, line.text, line.end + 1, section);
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
		choose_templates(&selection, text);
	if (selection.errors == 0)
		choose_counters(&selection, text);
	if (selection.count == 0)
		choose_containing(&selection, text);
	print_selection(stream, &selection, text);
	free(text);
	return selection.count;
}

/* Logs. */

/* Returns what follows the name of either program in the line, NULL if it does not name one. */
static const char *message_in(const char *line)
{
	static const char *const prefixes[] = {"rdma-client: ", "rdma-server: "};
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !found; i++) {
		found = strstr(line, prefixes[i]);
		found = found ? found + strlen(prefixes[i]) : NULL;
	}
	return found;
}

/* Prints the sections that explain the line, except those in *printed. False if there are none. */
static bool explain_line(
	FILE *stream, const char *line, unsigned int number, struct selection *printed)
{
	const char *message = message_in(line);
	struct selection selection = {0};
	struct section section = {0};
	bool shown = false;

	if (choose_templates(&selection, message ? message : line) < DISTINCT_SCORE && !message)
		selection = (struct selection){0};
	if (selection.errors == 0)
		choose_counters(&selection, line);
	while (next_section(&section)) {
		if (!selection.chosen[section.index] || printed->chosen[section.index] ||
			section.normal)
			continue;
		if (!shown)
			fprintf(stream, "%s%u: %s\n", printed->count ? "\n" : "", number, line);
		shown = true;
		choose(printed, &section);
		putc('\n', stream);
		print_section(stream, &section, message ? message : line);
	}
	return selection.count > 0 || !message;
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

		number++;
		if (text && !explain_line(stream, text, number, &printed)) {
			output_error(output, "no explanation of line %u: %s", number, text);
			unknown++;
		}
		free(text);
	}
	error = ferror(log) ? -errno : 0;
	free(line);
	return error ? error : unknown;
}
