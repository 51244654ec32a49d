/* The progress meter of both programs: see cli/meter.h. */
#include <unistd.h>

#include "cli/meter.h"

/* Time between two lines, and before the first, in milliseconds. */
#define INTERVAL_MS 500

void meter_init(struct meter *meter, const struct options *options)
{
	*meter = (struct meter){
		.wanted = options->progress == PROGRESS_ALWAYS ||
			  (options->progress == PROGRESS_AUTO && !options->quiet &&
				  isatty(STDERR_FILENO)),
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
		progress_start(&meter->progress, deadline_now());
	}
	return deadline_left(meter->next);
}

void meter_show(struct meter *meter, const struct output *output, uint64_t bytes, uint64_t total)
{
	char line[PROGRESS_COLUMNS_MAX + 1];

	meter->next = deadline_in(INTERVAL_MS);
	progress_line(&meter->progress, deadline_now(), bytes, total, line, sizeof(line));
	output_progress(output, line);
}
