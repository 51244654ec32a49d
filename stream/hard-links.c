/* See stream/hard-links.h. */
#include <string.h>

#include "stream/hard-links.h"

const char *hard_links_find(struct hard_links *links, dev_t device, ino_t number, const char *path)
{
	const char *first = file_set_find(&links->files, device, number);
	size_t size = strlen(path) + 1;
	char *entered;

	if (first)
		return *first ? first : NULL;
	entered = file_set_add(&links->files, device, number, size);
	if (entered)
		memcpy(entered, path, size);
	return NULL;
}

void hard_links_withdraw(struct hard_links *links, dev_t device, ino_t number)
{
	char *first = file_set_find(&links->files, device, number);

	if (first)
		*first = '\0';
}

void hard_links_forget(struct hard_links *links)
{
	file_set_clear(&links->files);
}
