/*
 * A file system that shows a folder, and takes a while for each call, as one on another host does:
 *
 *   slow-files FOLDER DELAY PLACE
 *
 * shows FOLDER at PLACE until PLACE is unmounted (fusermount3 -u), and takes DELAY microseconds
 * for each request of the kernel. Requests of several threads are answered side by side.
 */
#define FUSE_USE_VERSION 31

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static int root;                 /* the shown folder */
static struct timespec delay_of; /* of a request */

/* A path of the kernel as one below the folder. Every request asks for one, or for a file. */
static const char *below(const char *path)
{
	nanosleep(&delay_of, NULL);
	return path[1] ? path + 1 : ".";
}

static int file_of(const struct fuse_file_info *info)
{
	nanosleep(&delay_of, NULL);
	return (int)info->fh;
}

static int result(int returned)
{
	return returned < 0 ? -errno : 0;
}

static void *initialize(struct fuse_conn_info *connection, struct fuse_config *config)
{
	/* Nothing is remembered, so that runs do not depend on each other. */
	config->entry_timeout = config->attr_timeout = 0;
	/* The library would ask for the attributes of all names, one by one. */
	connection->want &= ~(unsigned int)FUSE_CAP_READDIRPLUS;
	return NULL;
}

static int get_attributes(const char *path, struct stat *status, struct fuse_file_info *info)
{
	return info ? result(fstat(file_of(info), status))
		    : result(fstatat(root, below(path), status, AT_SYMLINK_NOFOLLOW));
}

static int read_link(const char *path, char *target, size_t size)
{
	ssize_t length = readlinkat(root, below(path), target, size - 1);

	if (length < 0)
		return -errno;
	target[length] = '\0';
	return 0;
}

static int make_folder(const char *path, mode_t mode)
{
	return result(mkdirat(root, below(path), mode));
}

static int remove_file(const char *path)
{
	return result(unlinkat(root, below(path), 0));
}

static int remove_folder(const char *path)
{
	return result(unlinkat(root, below(path), AT_REMOVEDIR));
}

static int make_link(const char *target, const char *path)
{
	return result(symlinkat(target, root, below(path)));
}

static int move(const char *from, const char *to, unsigned int flags)
{
	return result(renameat2(root, from + 1, root, below(to), flags));
}

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *info)
{
	return info ? result(fchmod(file_of(info), mode))
		    : result(fchmodat(root, below(path), mode, 0));
}

static int set_owner(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
	return info ? result(fchown(file_of(info), user, group))
		    : result(fchownat(root, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int set_size(const char *path, off_t size, struct fuse_file_info *info)
{
	(void)path;
	return info ? result(ftruncate(file_of(info), size)) : -ENOSYS;
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
	return info ? result(futimens(file_of(info), times))
		    : result(utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int keep(struct fuse_file_info *info, int file)
{
	info->fh = (uint64_t)file;
	return result(file);
}

static int open_file(const char *path, struct fuse_file_info *info)
{
	return keep(info, openat(root, below(path), info->flags | O_CLOEXEC));
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *info)
{
	return keep(info, openat(root, below(path), info->flags | O_CLOEXEC, mode));
}

static int read_file(
	const char *path, char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
	ssize_t got = pread(file_of(info), bytes, size, offset);

	(void)path;
	return got < 0 ? -errno : (int)got;
}

static int write_file(
	const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *info)
{
	ssize_t taken = pwrite(file_of(info), bytes, size, offset);

	(void)path;
	return taken < 0 ? -errno : (int)taken;
}

/* The kernel asks for this when a program closes a file. */
static int flush_file(const char *path, struct fuse_file_info *info)
{
	(void)path;
	file_of(info);
	return 0;
}

static int release_file(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return result(close(file_of(info)));
}

static int sync_file(const char *path, int data, struct fuse_file_info *info)
{
	(void)path;
	(void)data;
	return result(fsync(file_of(info)));
}

static int get_space(const char *path, struct statvfs *status)
{
	below(path);
	return result(fstatvfs(root, status));
}

static int list_folder(const char *path, void *list, fuse_fill_dir_t add, off_t offset,
	struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	int folder = openat(root, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = folder < 0 ? NULL : fdopendir(folder);
	const struct dirent *entry;

	(void)offset;
	(void)info;
	(void)flags;
	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		struct stat status = {
			.st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type)};

		if (add(list, entry->d_name, &status, 0, 0))
			break;
	}
	closedir(stream);
	return 0;
}

static const struct fuse_operations operations = {
	.init = initialize,
	.getattr = get_attributes,
	.readlink = read_link,
	.mkdir = make_folder,
	.unlink = remove_file,
	.rmdir = remove_folder,
	.symlink = make_link,
	.rename = move,
	.chmod = set_mode,
	.chown = set_owner,
	.truncate = set_size,
	.utimens = set_times,
	.open = open_file,
	.create = create_file,
	.read = read_file,
	.write = write_file,
	.flush = flush_file,
	.release = release_file,
	.fsync = sync_file,
	.statfs = get_space,
	.readdir = list_folder,
};

int main(int argc, char **argv)
{
	char *arguments[] = {argv[0], argv[3], NULL};
	long delay;

	if (argc != 4) {
		fprintf(stderr, "usage: slow-files FOLDER DELAY PLACE\n");
		return 2;
	}
	delay = strtol(argv[2], NULL, 10);
	delay_of = (struct timespec){delay / 1000000, delay % 1000000 * 1000};
	root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		perror(argv[1]);
		return 1;
	}
	umask(0);
	/* It goes into the background once the folder is shown. */
	return fuse_main(2, arguments, &operations, NULL);
}
