/* See diagnose/screen.h. Only the diagnosis and the size of the terminal are read. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "diagnose/inventory-report.h"
#include "diagnose/operations-check.h"
#include "diagnose/screen.h"

/* Columns before a fact. */
#define FACT_INDENT 12

/* Columns of a fact of this host, beside which that of the other host is. */
#define FACT_WIDTH 23

/* Narrower terminals have no columns for the facts of both ends. */
#define COLUMNS_SIDE_BY_SIDE 70

/* Narrower terminals break lines themselves. */
#define COLUMNS_MIN 40

/* The column at which the state of a check starts, after its name. */
#define NAME_WIDTH 12

/* The part of a line that has a color. */
struct part {
	size_t start, length;
	enum output_color color;
};

/* Prints `size` bytes of a line from `start` on after this many blanks; `part` has its color. */
static void print_piece(const struct output *output, size_t indent, const char *line, size_t start,
	size_t size, struct part part)
{
	size_t from = part.start > start ? part.start : start;
	size_t to =
		part.start + part.length < start + size ? part.start + part.length : start + size;
	char text[INVENTORY_LINE + 1024];

	snprintf(text, sizeof(text), "%*s%.*s", (int)indent, "", (int)size, line + start);
	if (from >= to || to - start + indent > strlen(text))
		output_line(output, "%s", text);
	else
		output_colored_line(output, text, from - start + indent, to - from, part.color);
}

/* Prints a line. On a terminal, what does not fit continues below, indented. */
static void print_line(
	const struct output *output, const char *line, size_t indent, struct part part)
{
	unsigned int columns = output_columns(output);
	size_t room = columns >= COLUMNS_MIN ? columns : SIZE_MAX;
	size_t start = 0, size = text_fit(line, room);

	print_piece(output, 0, line, 0, size, part);
	for (start = size; line[start]; start += size) {
		start += strspn(line + start, " ");
		size = text_fit(line + start, room - indent);
		print_piece(output, indent, line, start, size, part);
	}
}

/* Green, or yellow with a warning, or red. */
static enum output_color color_of(const struct check_list *list, enum check check)
{
	if (list->checks[check].state == CHECK_FAILED)
		return OUTPUT_RED;
	if (list->checks[check].state == CHECK_SKIPPED)
		return OUTPUT_PLAIN;
	return *list->checks[check].warning ? OUTPUT_YELLOW : OUTPUT_GREEN;
}

/* The columns for which results are shortened; 0: they are not. */
static unsigned int short_columns(const struct diagnosis *diagnosis)
{
	unsigned int columns = output_columns(&diagnosis->output);

	return diagnosis->output.verbose || columns < COLUMNS_MIN ? 0 : columns;
}

static void print_check(const struct diagnosis *diagnosis, enum check check)
{
	enum output_color color = color_of(&diagnosis->list, check);
	unsigned int columns = short_columns(diagnosis), indent = check_list_indent(columns);
	char text[4096], *rest = text, *line;

	check_list_lines(&diagnosis->list, check, columns, text, sizeof(text));
	line = strsep(&rest, "\n");
	print_line(&diagnosis->output, line, indent,
		(struct part){NAME_WIDTH, strcspn(line + NAME_WIDTH, " "), color});
	while ((line = strsep(&rest, "\n")))
		print_line(&diagnosis->output, line, indent + 2, (struct part){0});
}

static void print_fact(const char *fact, void *context)
{
	const struct diagnosis *diagnosis = context;
	char line[FACT_INDENT + TEXT_ESCAPED_SIZE(INVENTORY_LINE)];

	snprintf(line, sizeof(line), "%*s%s", FACT_INDENT, "", fact);
	print_line(&diagnosis->output, line, FACT_INDENT + 2, (struct part){0});
}

/*
 * Prints the facts of this host: all of them if that check failed, or if there is no other host;
 * none unless it may be at fault.
 */
static void print_host(const struct diagnosis *diagnosis)
{
	const struct check_list *list = &diagnosis->list;
	bool all = diagnosis->output.verbose || !diagnosis->options->host ||
		   list->checks[CHECK_HOST].state == CHECK_FAILED;

	if (all || *list->checks[CHECK_HOST].warning || check_list_broken(list) <= CHECK_ROUTE)
		inventory_lines(&diagnosis->inventory, all, print_fact, (void *)diagnosis);
}

/* Writes a fact of both ends for a terminal on which three columns do not fit. */
static void join_ends(
	char *line, size_t size, const char *name, const char *ours, const char *theirs)
{
	if (ours && theirs && strcmp(ours, theirs) == 0)
		snprintf(line, size, "%s: %s", name, ours);
	else
		snprintf(line, size, "%s: this host %s, the other host %s", name, ours ? ours : "-",
			theirs ? theirs : "-");
}

/* Prints a fact of both ends one below the other, or once if they are equal. */
static void print_wide(
	const struct diagnosis *diagnosis, const char *name, const char *ours, const char *theirs)
{
	bool equal = theirs && strcmp(ours, theirs) == 0;
	char line[320];

	snprintf(line, sizeof(line), "%-18s %s (%s)", name, ours, equal ? "both" : "this host");
	print_fact(line, (void *)diagnosis);
	if (equal)
		return;
	snprintf(line, sizeof(line), "%-18s %s (the other host)", "", theirs ? theirs : "-");
	print_fact(line, (void *)diagnosis);
}

/* Prints the facts of both ends side by side: those that should be equal and are not, or all. */
static void print_ends(const struct diagnosis *diagnosis)
{
	unsigned int columns = output_columns(&diagnosis->output);
	bool narrow = columns > 0 && columns < COLUMNS_SIDE_BY_SIDE;
	bool all = diagnosis->output.verbose, differ, titled = narrow;
	const char *name, *ours, *theirs;
	unsigned int index = 0;
	char line[320];

	while ((name = facts_compare(
			&diagnosis->ours, &diagnosis->theirs, index++, &ours, &theirs, &differ))) {
		if (!all && !differ)
			continue;
		if (!titled) {
			snprintf(line, sizeof(line), "%-18s %-*s %s", "", FACT_WIDTH, "this host",
				"the other host");
			print_fact(line, (void *)diagnosis);
			titled = true;
		}
		if (!narrow && ours && strlen(ours) > FACT_WIDTH) {
			print_wide(diagnosis, name, ours, theirs);
			continue;
		}
		if (narrow)
			join_ends(line, sizeof(line), name, ours, theirs);
		else
			snprintf(line, sizeof(line), "%-18s %-*s %*s%s", name, FACT_WIDTH,
				ours ? ours : "-", all && differ ? -18 : 0, theirs ? theirs : "-",
				all && differ ? " differs" : "");
		print_fact(line, (void *)diagnosis);
	}
}

/* Prints a line for each operation that was tried, with --verbose. */
static void print_operations(const struct diagnosis *diagnosis)
{
	char line[OPERATIONS_CHECK_LINE];

	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (operations_check_line(diagnosis->operations, operation, line))
			print_fact(line, (void *)diagnosis);
}

/* Prints the GIDs of one end, and which of them are used: by TCP, by rdmacm, or both. */
static void print_gids(const struct diagnosis *diagnosis, const char *end,
	const struct tcp_gid *gids, unsigned int count, unsigned int by_tcp,
	const uint8_t by_rdmacm[16])
{
	char line[160], address[ADDRESS_TEXT_SIZE];
	struct sockaddr_storage decoded;

	for (unsigned int i = 0; i < count; i++) {
		bool tcp = i == by_tcp;
		/* The kernel prefers RoCE v2, too. */
		bool rdmacm = by_rdmacm && gids[i].type != TCP_GID_ROCE_V1 &&
			      memcmp(gids[i].gid, by_rdmacm, sizeof(gids[i].gid)) == 0;

		tcp_gid_address(gids[i].gid, &decoded);
		address_text((const struct sockaddr *)&decoded, address);
		snprintf(line, sizeof(line), "GID %s: port %u, index %u: %s, %s%s%s%s%s%s", end,
			gids[i].port, gids[i].index, address, tcp_gid_type_name(gids[i].type),
			*gids[i].interface ? ", " : "", gids[i].interface,
			tcp || rdmacm ? "; used by " : "", rdmacm ? "rdmacm" : "",
			rdmacm && tcp ? " and TCP"
			: tcp         ? "TCP"
				      : "");
		print_fact(line, (void *)diagnosis);
	}
}

/* Prints the GIDs of both ends, if they told each other. */
static void print_all_gids(const struct diagnosis *diagnosis)
{
	const struct rdma_cm_id *id = diagnosis->control.id;
	const bool by_rdmacm = id && diagnosis->options->bootstrap != BOOTSTRAP_TCP;
	const struct rdma_ib_addr *used =
		by_rdmacm ? &id->route.addr.addr.ibaddr : &diagnosis->rdmacm_gids;

	print_gids(diagnosis, "here", diagnosis->our_gids.gids, diagnosis->our_gids.count,
		diagnosis->their_gids.chosen, used->sgid.raw);
	print_gids(diagnosis, "there", diagnosis->their_gids.gids, diagnosis->their_gids.count, 0,
		used->dgid.raw);
}

/* A check that was not reached has nothing to report. */
static bool is_omitted(const struct diagnosis *diagnosis, enum check check)
{
	return !diagnosis->output.verbose && !diagnosis->list.checks[check].reached;
}

#define TITLE        "verdict: "
#define TITLE_LENGTH ((unsigned int)sizeof(TITLE) - 1)

/* Colors the verdict up to its details. */
static void print_verdict(const struct diagnosis *diagnosis, const char *verdict)
{
	bool good = check_list_status(&diagnosis->list) == STATUS_OK;
	char line[sizeof(TITLE) + 512];

	snprintf(line, sizeof(line), TITLE "%s", verdict);
	print_line(&diagnosis->output, line, TITLE_LENGTH,
		(struct part){
			TITLE_LENGTH, strcspn(verdict, ":.;"), good ? OUTPUT_GREEN : OUTPUT_RED});
}

void screen_show_progress(const struct diagnosis *diagnosis, enum check check)
{
	enum check last = diagnosis->options->host ? CHECKS - 1 : CHECK_MANAGER;
	char line[128];

	snprintf(line, sizeof(line), "checking %s (%d of %d)", diagnosis->list.rows[check].name,
		(int)check + 1, (int)last + 1);
	if (diagnosis->output.verbose)
		output_detail(&diagnosis->output, "%s", line);
	else if (!diagnosis->output.quiet && isatty(STDERR_FILENO))
		output_progress(&diagnosis->output, line);
}

/* With --quiet, a verdict that is not good is an error. */
static void print_quietly(const struct diagnosis *diagnosis, const char *verdict)
{
	const char *host = diagnosis->options->host;

	if (diagnosis->output.quiet && check_list_status(&diagnosis->list) != STATUS_OK)
		output_error(
			&diagnosis->output, "%s%s%s", host ? host : "", host ? ": " : "", verdict);
}

void screen_print(const struct diagnosis *diagnosis)
{
	unsigned int columns = short_columns(diagnosis);
	char verdict[512];

	if (columns > 0)
		check_list_short_verdict(
			&diagnosis->list, columns - TITLE_LENGTH, verdict, sizeof(verdict));
	else
		check_list_verdict(&diagnosis->list, verdict, sizeof(verdict));
	print_verdict(diagnosis, verdict);
	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		if (is_omitted(diagnosis, check))
			continue;
		print_check(diagnosis, check);
		if (check == CHECK_HOST)
			print_host(diagnosis);
		if (check == CHECK_ENDS && diagnosis->theirs.count > 0)
			print_ends(diagnosis);
		if (check == CHECK_OPERATIONS && diagnosis->output.verbose)
			print_operations(diagnosis);
		if (check == CHECK_OTHER_WAY && diagnosis->output.verbose)
			print_all_gids(diagnosis);
	}
	print_quietly(diagnosis, verdict);
}

void screen_print_round(
	const struct diagnosis *diagnosis, struct rounds *rounds, const struct tm *time)
{
	const struct check_list *list = &diagnosis->list;
	bool good = check_list_status(list) == STATUS_OK;
	unsigned int columns = output_columns(&diagnosis->output);
	const char *heading = rounds->count == 0 ? rounds_heading(columns) : NULL;
	char verdict[ROUNDS_LINE], line[ROUNDS_LINE];
	const struct round round = {
		.good = good,
		.verdict = verdict,
		.values = {[ROUNDS_TRIP] = diagnosis->round_trip,
			[ROUNDS_THERE] = diagnosis->rate_there,
			[ROUNDS_BACK] = diagnosis->rate_back},
	};

	if (good && list->checks[CHECK_BANDWIDTH].state == CHECK_OK)
		snprintf(verdict, sizeof(verdict), "%s; %s", list->checks[CHECK_MESSAGE].text,
			list->checks[CHECK_BANDWIDTH].text);
	else
		check_list_verdict(list, verdict, sizeof(verdict));
	if (heading)
		output_line(&diagnosis->output, "%s", heading);
	rounds_add(rounds, &round, time, columns, line);
	output_colored_line(&diagnosis->output, line, ROUNDS_STATE, good ? 2 : 6,
		good ? OUTPUT_GREEN : OUTPUT_RED);
	print_quietly(diagnosis, verdict);
}

void screen_print_summary(const struct output *output, const struct rounds *rounds,
	const char *host, int64_t milliseconds)
{
	char text[(ROUNDS_VERDICTS + ROUNDS_VALUES + 2) * ROUNDS_LINE], *rest = text;
	const char *line;

	rounds_summary(rounds, host ? host : "this host", milliseconds, text, sizeof(text));
	while ((line = strsep(&rest, "\n")) && *line)
		print_line(output, line, 2, (struct part){0});
}
