/*
 * The modes of an exchange: what each side does to the other's memory. A new mode is a row in
 * mode.c and a mover in exchange/. Any thread.
 */
#ifndef PROTOCOL_MODE_H
#define PROTOCOL_MODE_H

#include <stdbool.h>

enum mode_number {
	MODE_WRITE = 0, /* each side WRITEs its data into the other's memory */
	MODE_READ = 1,  /* each side READs the other's data from its memory */
	MODE_COUNT
};

struct mode {
	enum mode_number number; /* as on the wire */
	const char *name;        /* as on the command line */
	bool reads;              /* its data moves by RDMA READ, else by WRITE */
	const char *doing;       /* what the tutorial's output says: "writing message to" ... */
};

/* Returns the mode of that name or wire number, NULL if there is none. The mode is constant. */
const struct mode *mode_by_name(const char *name);
const struct mode *mode_by_number(unsigned int number);

#endif
