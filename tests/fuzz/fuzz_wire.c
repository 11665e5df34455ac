/* base/wire on any stream, looked at in memory and read from a socket: both see the same frames. */
#include "base/err.h"
#include "base/wire.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    int pair[2], rc;
    al_buf body;

    if (size > 60000) /* has to fit into the socket at once */
        return 0;
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    check(write(pair[0], data, size) == (ssize_t)size);
    close(pair[0]);
    al_buf_init(&body, AL_WIRE_MAX);
    for (;;) {
        al_wire_type seen, read;
        const char *text;
        size_t len, used;
        int fds[AL_WIRE_MAX_FDS], nfds = AL_WIRE_MAX_FDS;
        int got = al_wire_recv(pair[1], &read, &body, fds, &nfds);

        rc = al_wire_parse(at, (size_t)(end - at), &seen, &text, &len, &used);
        check(nfds == 0);
        if (rc != 1) {
            check(got == (at == end ? 0 : AL_EDATA));
            break;
        }
        check(got == 1 && seen == read && len == body.len);
        check(text == at + AL_WIRE_HEAD && used == AL_WIRE_HEAD + len &&
              used <= (size_t)(end - at));
        check(len == 0 || memcmp(text, body.data, len) == 0);
        at += used;
    }
    close(pair[1]);
    al_buf_free(&body);
    return 0;
}
