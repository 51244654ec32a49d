/* The version of the project, defined only here: scripts/package derives that of the packages. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PROJECT_VERSION "0.2.0"

#endif
