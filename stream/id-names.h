/*
 * Names and numbers of this host's users and groups, from its name service: getpwnam(3), nss(5).
 * What was looked up is remembered, because a lookup may ask another host. Any thread.
 */
#ifndef STREAM_ID_NAMES_H
#define STREAM_ID_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/attributes.h"

/* Returns NULL if out of memory. id_names_free() accepts NULL. */
struct id_names *id_names_new(void);
void id_names_free(struct id_names *names);

/* Stores the name of a user, or of a group; "" if there is none that attributes can contain. */
void id_names_name(
	struct id_names *names, bool group, uint32_t number, char name[ATTRIBUTE_NAME_MAX + 1]);

/*
 * The number of the user or group with this name, which is not terminated. Without a name, or if it
 * is unknown here, `number`: that of the host where the name comes from.
 */
uint32_t id_names_number(
	struct id_names *names, bool group, const char *name, size_t size, uint32_t number);

#endif
