/*
 * Command lines of both programs, as zero-terminated arguments. Accepted values are in the
 * documented range, and each error is a single line that is safe to print.
 */
#include "base/path-pattern.h"
#include "cli/parse.h"
#include "protocol/test-parameters.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 16
#define MIB       (UINT64_C(1) << 20)

/* True if the text is NULL, or points into the arguments. */
static bool is_of_words(const char *text, const char *words, size_t size)
{
	return !text || (text >= words && text < words + size);
}

static void check_numbers(const struct options *options)
{
	fuzz_check(options->timeout >= 1 && options->timeout <= 86400000);
	fuzz_check(options->buffer >= UINT64_C(16) * 1024 && options->buffer <= 4096 * MIB);
	fuzz_check(options->chunk == 0 || (options->chunk >= 1024 && options->chunk <= 64 * MIB));
	fuzz_check(options->chunk <= options->buffer / 2);
	fuzz_check(options->depth <= 1024);
	fuzz_check(options->workers <= OPTIONS_WORKERS_MAX);
	fuzz_check(!options->direct || options->input || options->output);
	fuzz_check(options->excluded_count == 0 || options->input);
	for (unsigned int i = 0; i < options->excluded_count; i++) {
		fuzz_check(!path_pattern_required(options->excluded[i]));
		path_pattern_matches(options->excluded[i], "photos/a.b/c", false);
	}
	fuzz_check(!options->message || strlen(options->message) <= OPTIONS_MESSAGE_MAX);
}

/* The parameters of a measurement are complete, and a server can accept them. */
static void check_measure(const struct options *options)
{
	const struct options_measure *measure = &options->measure;
	uint32_t depth = options->depth ? options->depth : 1;

	if (!measure->bandwidth && !measure->latency)
		return;
	fuzz_check(measure->bandwidth != measure->latency);
	fuzz_check(!options->force);
	fuzz_check(options->command == (measure->latency ? CLI_LATENCY : CLI_BANDWIDTH));
	fuzz_check(measure->smallest >= 1 && measure->smallest <= measure->largest);
	fuzz_check(measure->largest <= 16 * MIB);
	fuzz_check(measure->iterations <= UINT32_MAX);
	fuzz_check(measure->duration >= 1 && measure->duration <= 86400000);
	fuzz_check(measure->warm_up >= 0 && measure->warm_up <= 86400000);
	fuzz_check(test_shape_is_possible(measure->queue_pairs, depth));
	fuzz_check(measure->expect >= 0 && (!measure->expect_percent || measure->expect <= 1));
	fuzz_check(measure->poll <= POLL_EVENT && measure->unit <= UNIT_GBIT);
	fuzz_check(!options->input && !options->output && !options->message && !options->chunk);
	fuzz_check(measure->threads >= 1 && measure->threads <= OPTIONS_THREADS_MAX);
	fuzz_check(measure->threads == 1 || (!measure->latency && !measure->iterations));
	fuzz_check(
		measure->inline_below <= (options->operation->fetches ? 0 : TEST_INLINE_MAX + 1));
	fuzz_check(!measure->shares || options->operation->receives);
	fuzz_check(measure->transport == TEST_RC ||
		   (!measure->shares && options->operation->receives));
	fuzz_check(measure->gathers <= TEST_SGE_MAX && measure->gathers <= measure->smallest);
	fuzz_check(!options->depth || measure->signal_every <= options->depth);
	if (measure->latency)
		fuzz_check(measure->queue_pairs == 1 && !options->depth && measure->expect == 0 &&
			   !measure->bidirectional && measure->unit == UNIT_AUTO);
	else
		fuzz_check(!measure->histogram);
}

static void check_words(
	const struct options *options, enum program program, const char *words, size_t size)
{
	fuzz_check(is_of_words(options->message, words, size));
	fuzz_check(is_of_words(options->device, words, size));
	fuzz_check(is_of_words(options->input, words, size));
	fuzz_check(is_of_words(options->output, words, size));
	fuzz_check(options->command == CLI_MESH
			   ? !options->bind || options->bind == options->host_text
			   : is_of_words(options->bind, words, size));
	fuzz_check(is_of_words(options->port_file, words, size));
	fuzz_check(is_of_words(options->source, words, size));
	fuzz_check(!options->host || options->host == options->host_text);
	fuzz_check(!options->message || !options->input);
	if (program == PROGRAM_SERVER) {
		fuzz_check(!options->host && !options->source);
		fuzz_check(options->command == CLI_SERVE || options->command == CLI_STATUS);
		return;
	}
	fuzz_check((!options->bind || options->command == CLI_MESH) && !options->port_file &&
		   options->count == 0);
	fuzz_check(options->command != CLI_SERVE);
	for (unsigned int i = 0; i < 2; i++)
		fuzz_check(
			options->command == CLI_COMPARE
				? options->files[i] && is_of_words(options->files[i], words, size)
				: !options->files[i]);
	fuzz_check(!options->mode ==
		   (options->command != CLI_EXCHANGE && options->command != CLI_COPY));
	fuzz_check(!options->operation ==
		   (options->command != CLI_BANDWIDTH && options->command != CLI_LATENCY));
	fuzz_check(options->host || options->command == CLI_COPY ||
		   (!options->mode && !options->operation));
	fuzz_check((options->copy.path_count > 0) == (options->command == CLI_COPY));
	fuzz_check(options->command != CLI_COPY ||
		   (*options->copy.remote && *options->copy.remote != '-'));
	fuzz_check(
		options->command == CLI_SERVE || options->command == CLI_MESH || options->port > 0);
	fuzz_check((options->mesh.address_count > 0) == (options->command == CLI_MESH_AGENT));
	fuzz_check(!options->host || *options->host);
}

static void check_program(enum program program, const uint8_t *data, size_t size)
{
	char *words = malloc(size + 1), name[] = "program";
	char *argv[WORDS_MAX + 2] = {name};
	struct options options;
	int argc = 1;

	fuzz_check(words);
	memcpy(words, data, size);
	words[size] = '\0';
	for (size_t at = 0; at < size && argc <= WORDS_MAX; at += strlen(words + at) + 1)
		argv[argc++] = words + at;
	switch (parse_command_line(&options, program, argc, argv)) {
	case OPTIONS_RUN:
		check_numbers(&options);
		if (program == PROGRAM_CLIENT)
			check_measure(&options);
		check_words(&options, program, words, size + 1);
		break;
	case OPTIONS_WRONG:
		fuzz_check(memchr(options.error, '\0', sizeof(options.error)));
		fuzz_check(*options.error && fuzz_is_printable(options.error));
		break;
	case OPTIONS_HELP:
	case OPTIONS_VERSION:
		break;
	default:
		fuzz_failed(__FILE__, __LINE__, "a valid enum options_result");
	}
	options_free(&options);
	free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_program(PROGRAM_SERVER, data, size);
	check_program(PROGRAM_CLIENT, data, size);
	return 0;
}
