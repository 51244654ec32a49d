/*
 * The modes: what each side does to the other's memory. A new mode is a new row in mode.c (and,
 * for what the queue pair does, in the table of exchange/driver.c).
 */
#ifndef PROTOCOL_MODE_H
#define PROTOCOL_MODE_H

enum mode_number {
	MODE_WRITE = 0, /* each side RDMA-WRITEs its message into the other's memory */
	MODE_READ = 1,  /* each side RDMA-READs the other's message out of its memory */
	MODE_COUNT
};

struct mode {
	enum mode_number number; /* as it goes over the wire */
	const char *name;        /* as on the command line */
	const char *doing;       /* what the tutorial's output says: "writing message to" ... */
};

/* Returns the mode of that name or wire number, NULL if there is none. Any thread. */
const struct mode *mode_by_name(const char *name);
const struct mode *mode_by_number(unsigned int number);

#endif
