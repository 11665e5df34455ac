/* The engine's request loop. */
#ifndef AL_DATA_ENGINE_H
#define AL_DATA_ENGINE_H

/* Serves requests from the socket, one after another, until the host closes it: 0, or 1 when the
 * stream could not be understood any more. tmp: a folder for nameless files, or -1. */
int al_engine_serve(int socket, int tmp);

#endif
