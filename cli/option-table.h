/*
 * What the files behind cli/options.h share: options.c takes the command line, options-measure.c the
 * values of a measurement, options-help.c has the table of all options, and prints it.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "cli/options.h"

/* What the client is asked to do. */
enum use {
	USE_EXCHANGE = 1 << 0,
	USE_DIAGNOSIS = 1 << 1,
	USE_MEASUREMENT = 1 << 2,
	USE_ANY = USE_EXCHANGE | USE_DIAGNOSIS | USE_MEASUREMENT,
};

/* Options without a short letter are numbered from beyond the letters. */
enum {
	OPTION_BIND = 256,
	OPTION_BUFFER,
	OPTION_CHUNK,
	OPTION_COUNT,
	OPTION_DEPTH,
	OPTION_FORCE,
	OPTION_HANDSHAKE_TIMEOUT,
	OPTION_INPUT,
	OPTION_JSON,
	OPTION_MAX_CLIENTS,
	OPTION_MAX_CLIENTS_PER_ADDRESS,
	OPTION_MAX_SIZE,
	OPTION_MESSAGE,
	OPTION_NO_PROGRESS,
	OPTION_OUTPUT,
	OPTION_PORT_FILE,
	OPTION_PROGRESS,
	OPTION_QUIET,
	OPTION_SECRET_FILE,
	OPTION_SOURCE,
	OPTION_TIMEOUT,
	/* of a measurement */
	OPTION_BANDWIDTH,
	OPTION_BIDIRECTIONAL,
	OPTION_DURATION,
	OPTION_EXPECT,
	OPTION_HISTOGRAM,
	OPTION_ITERATIONS,
	OPTION_LATENCY,
	OPTION_POLL,
	OPTION_QPS,
	OPTION_SIZE,
	OPTION_SIZES,
	OPTION_THREADS,
	OPTION_UNIT,
	OPTION_VERIFY,
	OPTION_WARM_UP,
};

struct option_row {
	unsigned int programs; /* enum program, or-ed */
	unsigned int uses; /* enum use, or-ed: of the client's, those that it means something to */
	int value;
	const char *name, *argument, *help;
};

/* Static. */
extern const struct option_row option_rows[];
extern const unsigned int option_row_count;

#define OPTION_ROWS_MAX 64

const struct option_row *option_row_of(int option);

/* Records what is wrong, and returns OPTIONS_WRONG. */
enum options_result options_wrong(struct options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads a whole decimal number between the limits. Returns false if it is anything else. */
bool options_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *number);

/* Reads seconds, with a fraction if wanted, as milliseconds from 1 up. */
bool options_seconds(const char *text, int64_t *milliseconds);

#define OPTIONS_SECONDS_MAX 86400

/* Takes an option of a measurement, with its value or NULL. */
enum options_result options_take_measure(struct options *options, int option, const char *value);

/* Looks for what is wrong together in them, and fills in what is not given. */
enum options_result options_check_measure(struct options *options);

#endif
