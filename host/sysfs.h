/*
 * Reads the small files of sysfs, /proc and /dev. All paths are below `root`: "" for this host,
 * another folder in tests. Contents are not trusted: a text is cut at the caller's size and may
 * hold any bytes but NUL. Any thread.
 */
#ifndef HOST_SYSFS_H
#define HOST_SYSFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Access to a file for reading and writing. */
enum sysfs_access {
	SYSFS_MISSING = 0, /* no such file */
	SYSFS_DENIED,      /* no permission */
	SYSFS_GRANTED,
};

/*
 * Reads the first line of a file without its end and trailing blanks. The format makes the path, as
 * in printf(3). Returns 0, or -errno and the text "". size is at least 1.
 */
int sysfs_line(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a whole file with its line ends, likewise. */
int sysfs_text(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Reads a file whose first line is a number, decimal or hexadecimal with 0x. Returns 0, or -errno
 * and the number 0: -EINVAL for any other text, or a number of more than 64 bits.
 */
int sysfs_number(const char *root, uint64_t *number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Parses decimal digits alone. Returns false for other text, or a number of more than 64 bits. */
bool sysfs_decimal(const char *digits, size_t length, uint64_t *number);

/*
 * Lists a folder without hidden entries, in the order of versionsort(3), so that 10 comes after 9.
 * Returns the number of entries, or -errno. The caller frees them with sysfs_free() in either case.
 */
int sysfs_list(const char *root, struct dirent ***entries, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sysfs_free(struct dirent **entries, int count);

/* Checks a file, such as a device, or a folder. access(2). */
enum sysfs_access sysfs_access(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes the last part of the target of a symbolic link, "" without one. readlink(2). */
void sysfs_link(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* True if the text can name an entry of a folder that is not hidden: not "", no "/". */
bool sysfs_is_name(const char *text);

#endif
