/* The engine's request loop. */
#ifndef AL_DATA_ENGINE_H
#define AL_DATA_ENGINE_H

/* Waits for the first request, and loads the library that its input needs, judged by a few bytes:
 * to be called before the engine confines itself, for then it can open none. */
void al_engine_prepare(int socket);
/* Serves requests from the socket, one after another, until the host closes it: 0, or 1 when the
 * stream could not be understood any more. tmp: a folder for nameless files, or -1. */
int al_engine_serve(int socket, int tmp);

#endif
