/*
 * Reads the GID table of a device's port. The device is open during the call only, and nothing is
 * kept between calls; the caller owns the result.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "host/gid-table.h"

/* Opens the device of this name. Returns NULL if that fails. */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; devices && devices[i] && !context; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			context = ibv_open_device(devices[i]);
	if (devices)
		ibv_free_device_list(devices);
	return context;
}

/* The number of entries, valid or not, of all ports. */
static size_t table_size(struct ibv_context *context)
{
	struct ibv_device_attr device = {0};
	size_t size = 0;

	ibv_query_device(context, &device);
	for (unsigned int i = 1; i <= device.phys_port_cnt; i++) {
		struct ibv_port_attr port = {0};

		if (ibv_query_port(context, (uint8_t)i, &port) == 0 && port.gid_tbl_len > 0)
			size += (size_t)port.gid_tbl_len;
	}
	return size;
}

static int read_indices(struct ibv_context *context, unsigned int port, uint32_t **indices)
{
	size_t size = table_size(context);
	struct ibv_gid_entry *entries = calloc(size + 1, sizeof(*entries));
	uint32_t *list = calloc(size + 1, sizeof(*list));
	ssize_t valid = entries && list ? ibv_query_gid_table(context, entries, size, 0) : -1;
	int count = 0;

	for (ssize_t i = 0; i < valid; i++)
		if (entries[i].port_num == port)
			list[count++] = entries[i].gid_index;
	free(entries);
	if (valid < 0) {
		free(list);
		return -1;
	}
	*indices = list;
	return count;
}

int gid_table_indices(const char *device, unsigned int port, uint32_t **indices)
{
	struct ibv_context *context = open_device(device);
	int count;

	*indices = NULL;
	if (!context)
		return -1;
	count = read_indices(context, port, indices);
	ibv_close_device(context);
	return count;
}
