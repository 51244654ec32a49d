/*
 * The counters of one port of an RDMA device: read from sysfs, compared before and after, told to the
 * peer, and explained. A counter tells what went wrong where programs only see that it took long.
 * Any thread.
 */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS_MAX      128  /* of one port; what is more is left out */
#define COUNTERS_TEXT_MAX 4096 /* bytes of their text, which is shown or goes to the peer */
#define COUNTER_NAME_SIZE 48   /* of a name with its terminator; what is longer is left out */

/* What an increase points to. */
enum counter_class {
	COUNTER_RETRANSMISSION, /* packets were sent again, or not acknowledged in time */
	COUNTER_DUPLICATE,      /* packets came twice: sent again though the first had arrived */
	COUNTER_OUT_OF_ORDER,   /* packets were missing or overtaken */
	COUNTER_RNR,            /* a receiver had no receive posted: receiver not ready */
	COUNTER_CONGESTION,     /* the network or a port was full */
	COUNTER_LINK,           /* the link went down, or damaged packets */
	COUNTER_ERROR,          /* work requests failed */
	COUNTER_OTHER,          /* traffic, and what this program does not know */
	COUNTER_CLASSES,
};

struct counter {
	char name[COUNTER_NAME_SIZE]; /* of [A-Za-z0-9_] only */
	uint64_t value;
};

/* In the order of the names; each is there once. */
struct counters {
	size_t count;
	struct counter list[COUNTERS_MAX];
};

/*
 * What a counter of some driver means, as its maker or the kernel documents it. The sentence says
 * what has happened if it has increased, without its end.
 */
struct counter_meaning {
	const char *name;
	enum counter_class class;
	const char *sentence;
};

/*
 * Returns the meaning of a counter, NULL if it is not known. mlx5's counters of a virtual port mean
 * the same as those without "vport_". Static.
 */
const struct counter_meaning *counter_meaning(const char *name);

/* The row at this place of the table, NULL past its end; for tests. */
const struct counter_meaning *counter_row(size_t index);

/*
 * Reads the counters of a port, then those of the whole device, which some drivers have instead: what
 * is a number and can be read, but not `lifespan`, which is a setting. A blank in a name (irdma)
 * becomes "_". Returns 0, or -ENODEV if there is no such port, or its name cannot be one. A port
 * without counters has none, which is no error. root: see host/sysfs.h. Follows
 * Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
int counters_read(
	const char *root, const char *device, unsigned int port, struct counters *counters);

/*
 * Fills difference with how much each counter that is in both has increased. One that has become
 * smaller was reset or has wrapped in between, and counts with the value that it has now. difference
 * may be one of the two.
 */
void counters_difference(
	const struct counters *before, const struct counters *after, struct counters *difference);

/* The sum of all counters of a class, at most UINT64_MAX. */
uint64_t counters_total(const struct counters *difference, enum counter_class class);

/*
 * Writes those that are not 0 and not COUNTER_OTHER: "duplicate_request 3, out_of_seq_request 12"; ""
 * if there are none. Cuts at size. Returns how many there are.
 */
size_t counters_text(const struct counters *difference, char *text, size_t size);

/* True if one of them would tell of errors: traffic alone says nothing of what went wrong. */
bool counters_tell(const struct counters *difference);

/* The same as counters_text(), but never "": "no errors", or that there is nothing to count them. */
void counters_sum_up(const struct counters *difference, char *text, size_t size);

struct json_object;

/*
 * An object with a number for each class but COUNTER_OTHER, null if no counter is of that class, and
 * `all`, an object of all of them by name. NULL: there is no memory.
 */
struct json_object *counters_json(const struct counters *difference);

/*
 * Writes "name value\n" for each counter as far as there is room for whole lines, those first that
 * are not COUNTER_OTHER. Returns the length, at most size. There is no terminator.
 */
size_t counters_encode(const struct counters *counters, char *text, size_t size);

/*
 * Reads what counters_encode() wrote, from a peer that is not trusted. Returns 0, or -EBADMSG and no
 * counters: if it is longer than COUNTERS_TEXT_MAX, holds more than COUNTERS_MAX or one of them
 * twice, or anything but lines of a name, a blank and a decimal number of up to 64 bits.
 */
int counters_decode(const char *text, size_t length, struct counters *counters);

#endif
