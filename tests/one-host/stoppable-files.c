/*
 * A FUSE file system that contains one file, `data`. While this program is stopped by SIGSTOP,
 * system calls on the file wait, as they do on NFS while its server does not respond. Nothing is
 * cached, so each stat(2), open(2) and read(2) asks this program.
 *
 *     stoppable-files FOLDER
 *
 * It ends when the file system is unmounted. The requests are described in fuse(4) and
 * <linux/fuse.h>.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/one-host/endpoint.h"

#define DATA_NODE (FUSE_ROOT_ID + 1)

static const char data[] = "from a file system that can be stopped\n";

static struct fuse_attr attributes_of(uint64_t node)
{
	bool is_file = node == DATA_NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? sizeof(data) - 1 : 0,
		.mode = is_file ? S_IFREG | 0444 : S_IFDIR | 0555,
		.nlink = 1,
	};
}

static void reply(int device, uint64_t unique, int error, const void *body, size_t size)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, size}};

	/* ENOENT: the caller was interrupted. */
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		die("cannot reply: %s", strerror(errno));
}

static void look_up(int device, const struct fuse_in_header *request, const char *name)
{
	const struct fuse_entry_out entry = {.nodeid = DATA_NODE, .attr = attributes_of(DATA_NODE)};

	if (strcmp(name, "data") == 0)
		reply(device, request->unique, 0, &entry, sizeof(entry));
	else
		reply(device, request->unique, ENOENT, NULL, 0);
}

static void read_data(
	int device, const struct fuse_in_header *request, const struct fuse_read_in *wanted)
{
	size_t end = sizeof(data) - 1;
	size_t from = wanted->offset < end ? (size_t)wanted->offset : end;
	size_t size = wanted->size < end - from ? wanted->size : end - from;

	reply(device, request->unique, 0, data + from, size);
}

static void serve(int device, const struct fuse_in_header *request)
{
	const void *body = request + 1;
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096};
	const struct fuse_attr_out status = {.attr = attributes_of(request->nodeid)};
	const struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};

	switch (request->opcode) {
	case FUSE_INIT:
		reply(device, request->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		look_up(device, request, body);
		return;
	case FUSE_GETATTR:
		reply(device, request->unique, 0, &status, sizeof(status));
		return;
	case FUSE_OPEN:
		reply(device, request->unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		read_data(device, request, body);
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(device, request->unique, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return; /* these have no reply */
	default:
		reply(device, request->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char *argv[])
{
	_Alignas(struct fuse_in_header) static char request[FUSE_MIN_READ_BUFFER];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[64];

	if (argc != 2)
		die("usage: stoppable-files FOLDER");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device < 0 || mount("stoppable-files", argv[1], "fuse", MS_NOSUID | MS_NODEV, options))
		die("cannot mount: %s", strerror(errno));
	for (;;)
		if (read(device, request, sizeof(request)) > 0)
			serve(device, (const struct fuse_in_header *)(const void *)request);
		else if (errno != ENOENT && errno != EINTR) /* not: the caller was interrupted */
			return 0;
}
