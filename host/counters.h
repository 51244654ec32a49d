/*
 * The counters of one port of an RDMA device: read from sysfs, compared before and after a test,
 * and sent to the peer. They can reveal the cause of a delay. Any thread.
 */
#ifndef HOST_COUNTERS_H
#define HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/counter-table.h"

#define COUNTERS_MAX      128  /* per port; further ones are dropped */
#define COUNTERS_TEXT_MAX 4096 /* bytes of the encoded list */
#define COUNTER_NAME_SIZE 48   /* with terminator; longer names are dropped */

struct counter {
	char name[COUNTER_NAME_SIZE]; /* only [A-Za-z0-9_] */
	uint64_t value;
};

/* Sorted by name, without duplicates. */
struct counters {
	size_t count;
	struct counter list[COUNTERS_MAX];
};

/*
 * Reads the counters of a port, then those of the whole device, which some drivers provide instead:
 * all readable numbers except `lifespan`, which is a setting. A space in a name (irdma) becomes
 * "_". Returns 0, even without any counters, or -ENODEV if the device or port does not exist. root:
 * see host/sysfs.h. Documentation/ABI/stable/sysfs-class-infiniband of Linux.
 */
int counters_read(
	const char *root, const char *device, unsigned int port, struct counters *counters);

/*
 * Inserts a counter whose name is not in the list. Drops it if the list is full or the name is
 * longer than COUNTER_NAME_SIZE.
 */
void counters_add(struct counters *counters, const char *name, uint64_t value);

/*
 * Sets difference to the increase of each counter that is in both lists. For a counter that
 * decreased, because it was reset or wrapped, uses its value in `after`. difference may alias
 * either list.
 */
void counters_difference(
	const struct counters *before, const struct counters *after, struct counters *difference);

/* Returns the sum of all counters of a class, saturating at UINT64_MAX. */
uint64_t counters_total(const struct counters *difference, enum counter_class class);

/*
 * Returns the sum of the counters of NAKs and similar replies by which the peer reported that
 * packets sent from here did not arrive. They are of class COUNTER_OUT_OF_ORDER, whose others count
 * packets from the peer that did not arrive here.
 */
uint64_t counters_missed_by_peer(const struct counters *difference);

/*
 * Return the increase of class COUNTER_OUT_OF_ORDER in two parts: how often packets were missing,
 * here or at the peer; and out-of-order packets, which count as lost only if other counters show a
 * loss.
 */
uint64_t counters_missing(const struct counters *difference);
uint64_t counters_reordered(const struct counters *difference);

/*
 * Finds the numbers of packets that the port sent and received, as soft-RoCE, mlx5 and others count
 * them. Returns false if either is not in the list.
 */
bool counters_packets(const struct counters *counters, uint64_t *sent, uint64_t *received);

/* True if the list contains fault counters, so that an increase of 0 is meaningful. */
bool counters_include_faults(const struct counters *counters);

/*
 * Writes the nonzero fault counters, as in "duplicate_request 3, out_of_seq_request 12", or "no
 * errors", or "no error counters" if the list has no fault counters. Truncates to size.
 */
void counters_describe(const struct counters *difference, char *text, size_t size);

struct json_object;

/*
 * Returns an object with a number for each class except COUNTER_OTHER (null if no counter belongs
 * to the class), and `all`, an object of all counters by name. NULL: out of memory.
 */
struct json_object *counters_json(const struct counters *difference);

/*
 * Returns an object with the counters of both ends as `here` and `there`; a NULL list means
 * unknown. NULL: out of memory.
 */
struct json_object *counters_of_both_json(
	const struct counters *here, const struct counters *there);

/*
 * Writes a line "name value" for each counter, fault counters first, as many whole lines as fit.
 * Returns the length, at most size. Does not terminate the text.
 */
size_t counters_encode(const struct counters *counters, char *text, size_t size);

/*
 * Decodes lines from an untrusted peer. Returns 0, or -EBADMSG and an empty list if the text is
 * longer than COUNTERS_TEXT_MAX, contains more than COUNTERS_MAX counters or a duplicate, or
 * contains anything but lines that consist of a name, a space and a decimal number of up to 64
 * bits.
 */
int counters_decode(const char *text, size_t length, struct counters *counters);

#endif
