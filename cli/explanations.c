/* Finds and prints explanations. The text is part of the program; nothing is allocated. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/explain.h"
#include "cli/explanations.h"

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

/* Maximum size of a section; a longer one would be truncated. */
#define SECTION_SIZE 4096

struct section {
	const char *title; /* in the document, not terminated */
	size_t title_length;
	char text[SECTION_SIZE]; /* the rest */
};

/* Returns where the section or group that starts here ends. */
static const char *end_of(const char *start)
{
	const char *section = strstr(start, section_mark), *group = strstr(start, group_mark);
	const char *first = section && (!group || section < group) ? section : group;

	return first ? first : start + strlen(start);
}

/* Reads the next section at or after *place, and moves *place past it. */
static bool next_section(const char **place, struct section *section)
{
	const char *start = strstr(*place, section_mark), *text;

	if (!start)
		return false;
	section->title = start + strlen(section_mark);
	section->title_length = strcspn(section->title, "\n");
	text = section->title + section->title_length;
	*place = end_of(text);
	snprintf(section->text, sizeof(section->text), "%.*s", (int)(*place - text), text);
	return true;
}

static bool is_title(const struct section *section, const char *query)
{
	return strlen(query) == section->title_length &&
	       strncasecmp(section->title, query, section->title_length) == 0;
}

static bool matches(const struct section *section, const char *query)
{
	const struct explanation *row;
	char title[SECTION_SIZE];

	snprintf(title, sizeof(title), "%.*s", (int)section->title_length, section->title);
	if (strcasestr(title, query) || strcasestr(section->text, query))
		return true;
	for (unsigned int i = 0; (row = explain_row(i)); i++)
		if (row->cause && strstr(query, row->cause) && strstr(section->text, row->cause))
			return true;
	return false;
}

/* Prints the text without its links: of "[text](target)", only the text. */
static void print_text(FILE *stream, const char *text)
{
	const char *end, *target;

	while (*text) {
		end = *text == '[' ? strchr(text, ']') : NULL;
		target = end && end[1] == '(' ? strchr(end, ')') : NULL;
		if (target) {
			fprintf(stream, "%.*s", (int)(end - text - 1), text + 1);
			text = target + 1;
		} else {
			putc(*text++, stream);
		}
	}
}

/* Prints all titles, below those of their groups. */
static unsigned int print_titles(FILE *stream)
{
	const char *place = troubleshooting;
	unsigned int count = 0;

	while (*(place = end_of(place))) {
		bool group = strncmp(place, group_mark, strlen(group_mark)) == 0;
		const char *title = place + strlen(group ? group_mark : section_mark);

		fprintf(stream, "%s%.*s\n", group ? "\n" : "  ", (int)strcspn(title, "\n"), title);
		count += !group;
		place = title;
	}
	return count;
}

/* Prints the sections that are selected, in full or only their titles. Returns their number. */
static unsigned int print_matching(FILE *stream, const char *query, bool exact, bool in_full)
{
	const char *place = troubleshooting;
	struct section section;
	unsigned int count = 0;

	while (next_section(&place, &section)) {
		if (!(exact ? is_title(&section, query) : matches(&section, query)))
			continue;
		count++;
		if (!stream)
			continue;
		fprintf(stream, "%s%.*s%s", in_full && count > 1 ? "\n" : "",
			(int)section.title_length, section.title, in_full ? "" : "\n");
		if (in_full)
			print_text(stream, section.text);
	}
	return count;
}

unsigned int explanations_print(FILE *stream, const char *query)
{
	unsigned int count;

	if (*query == '\0')
		return print_titles(stream);
	count = print_matching(stream, query, true, true);
	if (count)
		return count;
	count = print_matching(NULL, query, false, false);
	return print_matching(stream, query, false, count <= EXPLANATIONS_MAX);
}
