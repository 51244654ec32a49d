/* The version of both programs. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define PROJECT_VERSION "0.1.0"

#endif
