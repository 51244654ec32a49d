/*
 * The counters of one port of an RDMA device: read from sysfs, compared before and after, sent to
 * the peer. A counter names a cause where programs only see a delay. Any thread.
 */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/counter-table.h"

#define COUNTERS_MAX      128  /* of one port; further ones are left out */
#define COUNTERS_TEXT_MAX 4096 /* bytes of their encoding */
#define COUNTER_NAME_SIZE 48   /* with the terminator; longer names are left out */

struct counter {
	char name[COUNTER_NAME_SIZE]; /* of [A-Za-z0-9_] only */
	uint64_t value;
};

/* Sorted by name; no name is there twice. */
struct counters {
	size_t count;
	struct counter list[COUNTERS_MAX];
};

/*
 * Reads the counters of a port, then those of the whole device, which some drivers have instead:
 * every readable number but `lifespan`, which is a setting. A blank in a name (irdma) becomes "_".
 * Returns 0, also without any counters, or -ENODEV if there is no such device or port. root: see
 * host/sysfs.h. Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
int counters_read(
	const char *root, const char *device, unsigned int port, struct counters *counters);

/*
 * Fills difference with the increase of each counter that is in both. A counter that has decreased
 * was reset or has wrapped, and counts with its value after. difference may be one of the two.
 */
void counters_difference(
	const struct counters *before, const struct counters *after, struct counters *difference);

/* The sum of all counters of a class, at most UINT64_MAX. */
uint64_t counters_total(const struct counters *difference, enum counter_class class);

/* True if there are counters of faults, so that an increase of 0 means something. */
bool counters_include_faults(const struct counters *counters);

/*
 * Writes the counters of faults that are not 0, as in "duplicate_request 3, out_of_seq_request 12",
 * or "no errors", or that the device does not count them. Cuts at size.
 */
void counters_describe(const struct counters *difference, char *text, size_t size);

struct json_object;

/*
 * An object with a number for each class but COUNTER_OTHER, null if no counter is of that class,
 * and `all`, an object of all counters by name. NULL: no memory.
 */
struct json_object *counters_json(const struct counters *difference);

/*
 * An object with the counters of both ends as `here` and `there`; NULL: unknown. NULL: no memory.
 */
struct json_object *counters_of_both_json(
	const struct counters *here, const struct counters *there);

/*
 * Writes a line "name value" of each counter, those of faults first, as far as whole lines fit.
 * Returns the length, at most size. There is no terminator.
 */
size_t counters_encode(const struct counters *counters, char *text, size_t size);

/*
 * Reads the lines of an untrusted peer. Returns 0, or -EBADMSG and no counters: if the text is
 * longer than COUNTERS_TEXT_MAX, has more than COUNTERS_MAX counters or one of them twice, or
 * anything but lines of a name, a blank and a decimal number of up to 64 bits.
 */
int counters_decode(const char *text, size_t length, struct counters *counters);

#endif
