/*
 * The option --relaxed-ordering: the order in which a device may write data to memory. PCI Express
 * base specification, 2.4.
 */
#ifndef BASE_ORDERING_H
#define BASE_ORDERING_H

/* In the order of the choices of --relaxed-ordering. */
enum ordering {
	ORDERING_AUTO,    /* relaxed on adapters; software devices have no bus */
	ORDERING_RELAXED, /* on all devices */
	ORDERING_STRICT,
};

#endif
