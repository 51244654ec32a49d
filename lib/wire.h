/*
 * Little-endian integers at byte offsets: the only way in which values enter or leave a buffer
 * that goes over the wire, so that neither padding nor byte order of a struct ever matters.
 */
#ifndef WIRE_H
#define WIRE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void wire_put16(void *at, uint16_t value)
{
	value = htole16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void wire_put32(void *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void wire_put64(void *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint16_t wire_get16(const void *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t wire_get32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t wire_get64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

#endif
