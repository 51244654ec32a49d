/*
 * The modes of an exchange: how the data of each side gets into the other's memory. Any thread.
 *
 * A new mode needs
 *   - a row in mode.c, and a mover, the functions that transfer its data: exchange/mover.h;
 *   - a decision wherever `reads` is used, in exchange/ and serve/admission.c;
 *   - the command line, the completions, the manual pages and the JSON schemas, which name the
 *     modes.
 */
#ifndef PROTOCOL_MODE_H
#define PROTOCOL_MODE_H

#include <stdbool.h>

enum mode_number {
	MODE_WRITE = 0, /* each side WRITEs its data into the other's memory */
	MODE_READ = 1,  /* each side READs the data from the other's memory */
	MODE_SEND = 2,  /* each side SENDs its data into receives that the other has posted */
	MODE_COUNT,
	MODE_ANY = MODE_COUNT, /* never on the wire */
};

struct mode {
	enum mode_number number; /* value on the wire */
	const char *name;        /* name on the command line */
	const char *operation;   /* that moves the data, as people write it: "WRITE" */
	bool reads;              /* data moves by RDMA READ, so READs must be allowed */
	bool tutorial;           /* tutorial programs have this mode */
	bool takes_files;        /* the command line may name files to send before HOST */
	const char *doing;       /* phrase of the tutorial's output: "writing message to" ... */
};

/* Returns the mode with this name or wire number, or NULL if there is none. Static. */
const struct mode *mode_by_name(const char *name);
const struct mode *mode_by_number(unsigned int number);

/*
 * The mode of a tutorial program's exchange with a server that accepts any mode, until the client
 * has shown which mode it uses.
 */
extern const struct mode mode_any;

#endif
