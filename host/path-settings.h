/* What the user determines of the path of a connection without rdmacm: verbs/path-choice.h. */
#ifndef HOST_PATH_SETTINGS_H
#define HOST_PATH_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct path_settings {
	const char *device;     /* NULL: any */
	uint32_t port;          /* of the device, from 1; 0: any */
	int gid_index;          /* -1: any */
	uint32_t pkey_index;    /* in the partition table */
	uint32_t service_level; /* of InfiniBand; on Ethernet, the priority in a VLAN tag */
	uint32_t traffic_class; /* of packets with a GID, 8 bits; 0: that of the other end */
	bool rdmacm;            /* of a server: it accepts connections by rdmacm, too */
	bool discreet;          /* of a server: tell no more GIDs than necessary */
	uint32_t mtu;           /* largest path MTU in bytes; 0: that of the ports */
};

#endif
