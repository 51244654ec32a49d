/*
 * Reads small files of sysfs, /proc and /dev. All paths are relative to `root`: "" for this host,
 * another directory in tests. Contents are not trusted: text is truncated to the caller's size and
 * may contain any byte but NUL. Any thread.
 */
#ifndef HOST_SYSFS_H
#define HOST_SYSFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read and write access to a file. */
enum sysfs_access {
	SYSFS_MISSING = 0, /* no such file */
	SYSFS_DENIED,      /* no permission */
	SYSFS_GRANTED,
};

/*
 * Reads the first line of a file without its newline and trailing white space. The format produces
 * the path, as in printf(3). Returns 0, or -errno and the text "". size is at least 1.
 */
int sysfs_line(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a whole file, including line ends. Path, return value and size as above. */
int sysfs_text(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Reads a file whose first line is a number, decimal or hexadecimal with 0x. Returns 0, or -errno
 * and the number 0: -EINVAL for other text or a number that exceeds 64 bits.
 */
int sysfs_number(const char *root, uint64_t *number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Parses decimal digits only. Returns false for other text or a number that exceeds 64 bits. */
bool sysfs_decimal(const char *digits, size_t length, uint64_t *number);

/*
 * Lists a directory without hidden entries, in versionsort(3) order, so that 10 follows 9. Returns
 * the number of entries, or -errno. The caller frees them with sysfs_free() in either case.
 */
int sysfs_list(const char *root, struct dirent ***entries, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sysfs_free(struct dirent **entries, int count);

/* Checks access to a file, for example a device, or to a directory. access(2). */
enum sysfs_access sysfs_access(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes the last component of a symbolic link's target, "" if there is no link. readlink(2). */
void sysfs_link(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * True if the text can name a directory entry that is not hidden: not "", no leading ".", no "/".
 */
bool sysfs_is_name(const char *text);

#endif
