/*
 * The version of the project, defined only here: scripts/package derives the package versions from
 * it.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PROJECT_VERSION "0.2.0"

#endif
