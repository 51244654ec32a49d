/*
 * Reads the GID tables of a device. The device is open during the call only, and nothing is
 * kept between calls; the caller owns the result.
 */
#include <errno.h>
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

ssize_t gid_table_entries(struct ibv_context *context, struct ibv_gid_entry **entries)
{
	size_t size = table_size(context);
	ssize_t valid;

	*entries = calloc(size + 1, sizeof(**entries));
	if (!*entries)
		return -ENOMEM;
	valid = ibv_query_gid_table(context, *entries, size, 0);
	if (valid >= 0)
		return valid;
	free(*entries);
	*entries = NULL;
	return -EIO;
}

static int read_indices(struct ibv_context *context, unsigned int port, uint32_t **indices)
{
	struct ibv_gid_entry *entries;
	ssize_t valid = gid_table_entries(context, &entries);
	uint32_t *list = valid < 0 ? NULL : calloc((size_t)valid + 1, sizeof(*list));
	int count = 0;

	for (ssize_t i = 0; list && i < valid; i++)
		if (entries[i].port_num == port)
			list[count++] = entries[i].gid_index;
	free(entries);
	*indices = list;
	return list ? count : -1;
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
