/* Lists what would be sent: see exchange/dry-run.h. */
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/dry-run.h"
#include "exchange/report.h"
#include "protocol/tree.h"
#include "stream/tree-input.h"

/* Bytes of a path or a link's target that are shown. */
#define SHOWN_MAX 1024

struct listing {
	const struct output *output;
	uint64_t files, bytes;
	struct omitted skipped, unreadable;
};

static const char *printable(char text[TEXT_ESCAPED_SIZE(SHOWN_MAX)], const char *path)
{
	text_escape_utf8(text, path, strnlen(path, SHOWN_MAX));
	return text;
}

/* Prints the size of a file, the path and, of a link, where it leads. */
static void print_entry(void *user, const struct tree_listed *listed)
{
	struct listing *listing = user;
	bool is_file = listed->kind == TREE_FILE || listed->kind == TREE_SPARSE;
	char path[TEXT_ESCAPED_SIZE(SHOWN_MAX)], target[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	char size[UNITS_TEXT] = "", line[2 * TEXT_ESCAPED_SIZE(SHOWN_MAX) + UNITS_TEXT + 16];

	listing->files += listed->kind != TREE_FOLDER;
	if (is_file) {
		listing->bytes += listed->size;
		units_format(size, listed->size);
	}
	snprintf(line, sizeof(line), "%9s  %s%s", size, printable(path, listed->path),
		listed->kind == TREE_FOLDER ? "/" : "");
	if (listed->target)
		text_append(line, sizeof(line), "%s%s",
			listed->kind == TREE_HARD_LINK ? " is the file " : " -> ",
			printable(target, listed->target));
	output_result(listing->output, NULL, line);
}

static void print_sum(struct listing *listing)
{
	uint64_t skipped = omitted_count(&listing->skipped);
	uint64_t unreadable = omitted_count(&listing->unreadable);
	char files[UNITS_TEXT], bytes[UNITS_TEXT], left_out[UNITS_TEXT], line[256];

	snprintf(line, sizeof(line), "would send %s file%s, %s",
		units_format_count(files, listing->files), listing->files == 1 ? "" : "s",
		units_format(bytes, listing->bytes));
	if (skipped)
		text_append(
			line, sizeof(line), "; %s skipped", units_format_count(left_out, skipped));
	if (unreadable)
		text_append(line, sizeof(line), "; %s unreadable",
			units_format_count(left_out, unreadable));
	text_append(line, sizeof(line), ".");
	output_result(listing->output, NULL, line);
}

/* Lists the inputs. Returns 0 or -errno, with a message in why. */
static int list_inputs(
	const struct dry_run_inputs *inputs, struct listing *listing, char why[WORKER_WHY_SIZE])
{
	struct tree_input *input;
	int error = tree_input_open(&input, inputs->paths, inputs->count, why);

	if (error)
		return error;
	tree_input_extend(input);
	tree_input_list_omitted(input, &listing->skipped, &listing->unreadable);
	if (inputs->excluded_count > 0)
		error = tree_input_exclude(input, inputs->excluded, inputs->excluded_count);
	if (error)
		snprintf(why, WORKER_WHY_SIZE, "%s", strerror(-error));
	else
		error = tree_input_list(input, print_entry, listing, why);
	tree_input_close(input);
	return error;
}

enum exit_status dry_run(const struct dry_run_inputs *inputs, const struct output *output)
{
	struct listing listing = {.output = output};
	char why[WORKER_WHY_SIZE];
	bool complete;
	int error;

	omitted_start(&listing.skipped);
	omitted_start(&listing.unreadable);
	error = list_inputs(inputs, &listing, why);
	complete = !error && omitted_count(&listing.unreadable) == 0;
	report_omitted(output, &listing.skipped);
	report_omitted(output, &listing.unreadable);
	if (error)
		output_error(output, "%s", why);
	else
		print_sum(&listing);
	omitted_end(&listing.skipped);
	omitted_end(&listing.unreadable);
	return complete ? STATUS_OK : STATUS_FAILED;
}
