/* See mesh/host-list.h. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mesh/child.h"
#include "mesh/host-list.h"

/* How long a program may take to expand ranges. */
#define EXPAND_MS 20000

/* The longest line of a file, and the longest text of a list. */
#define LINE_SIZE 8192

/* Describes what is wrong, in which this part of the list is quoted, for its size. Returns -1. */
static int refuse(char why[MESH_REASON_SIZE], const char *name, const char *what)
{
	char quoted[TEXT_QUOTED_SIZE(64)], cut[65];

	snprintf(cut, sizeof(cut), "%s", name);
	text_quote(quoted, cut);
	snprintf(why, MESH_REASON_SIZE, "%s %s", quoted, what);
	return -1;
}

/* Describes what is wrong with the whole list. Returns -1. */
static int complain(char why[MESH_REASON_SIZE], const char *text)
{
	snprintf(why, MESH_REASON_SIZE, "%s", text);
	return -1;
}

/* Appends a host, whose name must not be an option or more than one word of a shell. */
static int append(struct host_list *list, const char *name, char why[MESH_REASON_SIZE])
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:";
	void *grown;

	if (*name == '\0' || *name == '-' || strlen(name) >= MESH_NAME_SIZE ||
		name[strspn(name, allowed)])
		return refuse(why, name, "is no name of a host");
	for (unsigned int i = 0; i < list->count; i++)
		if (strcmp(list->names[i], name) == 0)
			return refuse(why, name, "is named twice");
	if (list->count == MESH_HOSTS_MAX)
		return refuse(why, name, "exceeds the 1024 hosts that a mesh may have");
	grown = realloc(list->names, (list->count + 1) * sizeof(list->names[0]));
	if (!grown)
		return refuse(why, name, "does not fit into memory");
	list->names = grown;
	snprintf(list->names[list->count++], MESH_NAME_SIZE, "%s", name);
	return 0;
}

/* Reads a decimal number of at most 9 digits, and how many it has. */
static bool read_digits(const char **text, unsigned long *number, int *digits)
{
	char *end;

	*digits = (int)strspn(*text, "0123456789");
	if (*digits == 0 || *digits > 9)
		return false;
	*number = strtoul(*text, &end, 10);
	*text = end;
	return true;
}

static int expand_word(struct host_list *list, const char *word, char why[MESH_REASON_SIZE]);

/* Expands "start" + number + "rest" for the numbers of one item of the brackets: "1-64" or "7". */
static int expand_item(struct host_list *list, const char *start, int start_length,
	const char **item, const char *rest, char why[MESH_REASON_SIZE])
{
	char word[LINE_SIZE];
	unsigned long first, last;
	int digits, last_digits;

	if (!read_digits(item, &first, &digits))
		return refuse(why, start, "has no valid range");
	last = first;
	if (**item == '-') {
		++*item;
		if (!read_digits(item, &last, &last_digits) || last < first ||
			last - first >= MESH_HOSTS_MAX)
			return refuse(why, start, "has no valid range");
	}
	for (unsigned long number = first; number <= last; number++) {
		int length = snprintf(word, sizeof(word), "%.*s%0*lu%s", start_length, start,
			digits, number, rest);

		if (length >= (int)sizeof(word) || expand_word(list, word, why))
			return -1;
	}
	return 0;
}

/* Expands a name, which may contain ranges in brackets. */
static int expand_word(struct host_list *list, const char *word, char why[MESH_REASON_SIZE])
{
	const char *open = strchr(word, '['), *close = open ? strchr(open, ']') : NULL;
	const char *item;

	if (!open)
		return append(list, word, why);
	if (!close)
		return refuse(why, word, "has no valid range");
	for (item = open + 1;; item++) {
		if (expand_item(list, word, (int)(open - word), &item, close + 1, why))
			return -1;
		if (item == close)
			return 0;
		if (*item != ',')
			return refuse(why, word, "has no valid range");
	}
}

/* The length of a word, which ends at a comma or blank that is not in brackets. */
static size_t word_length(const char *text)
{
	size_t length = 0;
	bool inside = false;

	for (; text[length]; length++) {
		inside = text[length] == '[' || (inside && text[length] != ']');
		if (!inside && (text[length] == ',' || isspace((unsigned char)text[length])))
			break;
	}
	return length;
}

int host_list_expand(struct host_list *list, const char *text, char why[MESH_REASON_SIZE])
{
	char word[LINE_SIZE];
	size_t length;

	while (*(text += strspn(text, ", \t\r\n"))) {
		length = word_length(text);
		if (length >= sizeof(word))
			return refuse(why, text, "is no name of a host");
		memcpy(word, text, length);
		word[length] = '\0';
		if (expand_word(list, word, why))
			return -1;
		text += length;
	}
	return 0;
}

/* Runs a program and waits for its end. Returns true if it succeeded; its output is in child. */
static bool run(struct child *child, const char *const words[])
{
	deadline_t deadline = deadline_in(EXPAND_MS);
	struct pollfd polled[2];

	if (child_start(child, words, false, true, -1))
		return false;
	while (!child_check(child)) {
		int milliseconds = deadline_left(deadline);
		size_t count = child_poll(child, polled, &milliseconds);

		if (deadline_left(deadline) == 0)
			child_end(child);
		poll(polled, count, milliseconds);
	}
	return child->status == 0 && child->text_used > 0 && child->text_used < CHILD_TEXT_MAX;
}

/* Expands ranges by the launchers' own programs, if one is installed. */
static int expand(struct host_list *list, const char *text, char why[MESH_REASON_SIZE])
{
	const char *scontrol[] = {"scontrol", "show", "hostnames", text, NULL};
	const char *nodeset[] = {"nodeset", "-e", text, NULL};
	const char *const *programs[] = {scontrol, nodeset};
	int result;

	if (!strchr(text, '['))
		return host_list_expand(list, text, why);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct child child = CHILD_NONE;
		bool done = run(&child, programs[i]);

		result = done ? host_list_expand(list, child.text, why) : -1;
		child_free(&child);
		if (done)
			return result;
	}
	return host_list_expand(list, text, why);
}

/* Removes words such as "slots=4". */
static void remove_assignments(char *line)
{
	char *sign, *start;

	while ((sign = strchr(line, '='))) {
		start = sign;
		while (start > line && !isspace((unsigned char)start[-1]))
			start--;
		sign += strcspn(sign, " \t\r\n");
		memmove(start, sign, strlen(sign) + 1);
	}
}

/* Reads a file: each line has hosts before a comment, or a host and words of MPI: "h1 slots=4". */
static int read_file(struct host_list *list, const char *path, char why[MESH_REASON_SIZE])
{
	FILE *file = fopen(path, "re");
	char line[LINE_SIZE];
	int result = 0;

	if (!file) {
		snprintf(why, MESH_REASON_SIZE, "--hosts-file cannot be read: %s", strerror(errno));
		return -1;
	}
	while (result == 0 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#")] = '\0';
		remove_assignments(line);
		result = expand(list, line, why);
	}
	fclose(file);
	return result;
}

int host_list_read(
	const struct options *options, struct host_list *list, char why[MESH_REASON_SIZE])
{
	const char *job = getenv("SLURM_JOB_NODELIST");
	int result;

	*list = (struct host_list){0};
	if (options->mesh.hosts_file)
		result = read_file(list, options->mesh.hosts_file, why);
	else if (options->mesh.hosts || job)
		result = expand(list, options->mesh.hosts ? options->mesh.hosts : job, why);
	else
		result = complain(
			why, "there are no hosts; use --hosts, for example --hosts h[1-64]");
	if (result == 0 && list->count < 2)
		result = complain(why, "a mesh needs at least two hosts");
	if (result)
		host_list_free(list);
	return result;
}

void host_list_free(struct host_list *list)
{
	free(list->names);
	*list = (struct host_list){0};
}

int host_list_find(const struct host_list *list, const char *name)
{
	size_t label = strcspn(name, ".");

	for (unsigned int i = 0; i < list->count; i++)
		if (strcmp(list->names[i], name) == 0)
			return (int)i;
	for (unsigned int i = 0; i < list->count; i++)
		if (strcspn(list->names[i], ".") == label &&
			strncmp(list->names[i], name, label) == 0 && !isdigit((unsigned char)*name))
			return (int)i;
	return -1;
}
