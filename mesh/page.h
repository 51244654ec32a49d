/* The page of --html: one self-contained file with the matrices of a mesh. Main thread. */
#ifndef MESH_PAGE_H
#define MESH_PAGE_H

#include "mesh/judgement.h"

struct page {
	const struct judgement *judgement;
	const char *word, *message; /* the verdict */
};

/* Writes the page, replacing the file. Returns 0 or -errno. */
int page_write(const struct page *page, const char *path);

#endif
