/* The progress meter of both programs: see cli/meter.h. */
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "cli/meter.h"

/* Time between two lines, and before the first, in milliseconds. */
#define INTERVAL_MS 500

/* True if terminals show UTF-8. Reads the environment without changing the process's locale. */
static bool has_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (!locale)
		return false;
	utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return utf8;
}

void meter_init(struct meter *meter, const struct options *options)
{
	*meter = (struct meter){
		.wanted = options->progress == PROGRESS_ALWAYS ||
			  (options->progress == PROGRESS_AUTO && !options->quiet &&
				  isatty(STDERR_FILENO)),
		.utf8 = has_utf8(),
	};
}

int meter_next(struct meter *meter, bool busy)
{
	if (!meter->wanted || !busy) {
		meter->running = false;
		return -1;
	}
	if (!meter->running) {
		meter->running = true;
		meter->next = deadline_in(INTERVAL_MS);
		progress_start(&meter->progress, deadline_now(), 0);
	}
	return deadline_left(meter->next);
}

/*
 * The rate of a transfer that resumes is that of the data that moves afterwards; if others are
 * running, theirs stays known.
 */
void meter_note_resumed(struct meter *meter, const struct output *output,
	const struct progress_state *its, const struct progress_state *all)
{
	char line[PROGRESS_LINE_SIZE];

	/* The total of others would add to its own. */
	if (its->total == all->total)
		progress_start(&meter->progress, its->began, 0);
	progress_resumed(its, line);
	output_progress_note(output, line);
}

void meter_show(
	struct meter *meter, const struct output *output, const struct progress_state *state)
{
	const struct progress_style style = {output_progress_columns(), meter->utf8};
	char line[PROGRESS_LINE_SIZE];

	meter->next = deadline_in(INTERVAL_MS);
	if (state->checking) {
		progress_start(&meter->progress, deadline_now(), state->moved);
		output_progress(output, "checking what is already there");
		return;
	}
	progress_line(&meter->progress, deadline_now(), state, &style, line);
	output_progress(output, line);
}
