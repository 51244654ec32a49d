/*
 * The table of options of both programs: options.c reads the command line by it, and options_help() in
 * options-table.c shows it.
 */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <stddef.h>

#include "options.h"

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
};

/* Beside enum program: the client's `diagnose` heeds it, too. */
#define OF_DIAGNOSIS (1 << 2)

/* No table is longer. */
#define OPTION_ROWS_MAX 40

struct option_row {
	unsigned int programs; /* enum program and OF_DIAGNOSIS, or-ed */
	int value;             /* the letter, or the number from above */
	const char *name, *argument, *help;
};

/* The row at this place of the table, NULL past its end. */
const struct option_row *option_row(size_t index);

/* The row of this value, which there has to be. */
const struct option_row *option_row_of(int value);

#endif
