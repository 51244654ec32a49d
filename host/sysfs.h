/*
 * Reads the small files of sysfs, /proc and /dev. All paths are below `root`: "" for this host, a
 * folder of its own in tests. What a file holds is not trusted: a reading is cut at the caller's
 * size, and may hold any bytes but NUL. Any thread.
 */
#ifndef HOST_SYSFS_H
#define HOST_SYSFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the process may do with a file. */
enum sysfs_access {
	SYSFS_MISSING = 0, /* it is not there */
	SYSFS_DENIED,      /* it may not be read and written */
	SYSFS_GRANTED,
};

/*
 * Reads the first line of a file without its end and the blanks before it. format and what follows
 * make the path, as in printf(3). Returns 0, or -errno; text is "" then. size is at least 1.
 */
int sysfs_line(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a whole file with its line ends. */
int sysfs_text(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Reads a file whose first line is a number, decimal or hexadecimal with 0x. Returns 0, or -errno:
 * -EINVAL if it is anything else, or needs more than 64 bits; *number is 0 then.
 */
int sysfs_number(const char *root, uint64_t *number, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Reads decimal digits, and nothing else. Returns false if that does not make 64 bits. */
bool sysfs_decimal(const char *digits, size_t length, uint64_t *number);

/*
 * Lists a folder: all that is not hidden, in the order of versionsort(3), so that 10 comes after 9.
 * Returns the number of entries, or -errno. The caller frees them with sysfs_free().
 */
int sysfs_list(const char *root, struct dirent ***entries, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sysfs_free(struct dirent **entries, int count);

/* Says whether a file, such as a device, may be read and written. access(2). */
enum sysfs_access sysfs_access(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes the last part of what a symbolic link points to, "" if there is none. readlink(2). */
void sysfs_link(const char *root, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* True if the text can be one part of a path below a folder: no "/", none that is hidden, not "". */
bool sysfs_is_name(const char *text);

#endif
