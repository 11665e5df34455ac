/* A host inside another kind of main loop: poll() on alisio_fd, then alisio_run(host, 0). */
#include "api.h"
#include <poll.h>

int main(void)
{
    static seen s;
    const char *state = temp_folder(), *cwd = temp_folder();
    alisio_options o = options_for(state, &s);
    alisio_host *host = make_host(&o);
    struct pollfd fd = { .fd = alisio_fd(host), .events = POLLIN };
    uint64_t session = 0, turn = 0;
    int idle = 0;

    CHECK(fd.fd >= 0);
    SAME(alisio_fd(host), fd.fd);
    SAME(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
    for (int i = 0; i < 20; i++) {
        SAME(alisio_prompt(host, session, "hello", 5, &turn), ALISIO_OK);
        while (s.ends == i) {
            if (poll(&fd, 1, 5000) != 1) {
                idle++;
                break;
            }
            alisio_run(host, 0);
        }
    }
    SAME(idle, 0); /* the descriptor said each time that there was something to do */
    SAME(s.ends, 20);
    while (alisio_run(host, 0) == 1)
        poll(&fd, 1, 1000);
    SAME(poll(&fd, 1, 50), 0); /* and says nothing when there is not */
    SAME(alisio_destroy(host, NULL, NULL), ALISIO_OK);
    remove_folder(state);
    remove_folder(cwd);
    return summary();
}
