/* A host on a loop of its own: a conversation from the first prompt to another in the same session,
 * opened again. */
#include "api.h"

static int run_turn(alisio_host *host, uint64_t session, const char *text, seen *s)
{
    uint64_t turn = 0;
    int ends = s->ends;

    SAME(alisio_prompt(host, session, text, strlen(text), &turn), ALISIO_OK);
    CHECK(turn != 0);
    SAME(alisio_prompt(host, session, "again", 5, &turn), ALISIO_EBUSY);
    while (s->ends == ends)
        if (alisio_run(host, 5000) < 0)
            return -1;
    SAME(s->ends, ends + 1);
    return s->end_error;
}

int main(void)
{
    static seen s;
    const char *state = temp_folder(), *cwd = temp_folder();
    alisio_options o = options_for(state, &s);
    alisio_host *host = make_host(&o);
    uint64_t session = 0, other = 0;
    char id[64];

    SAME(alisio_version(), ALISIO_VERSION);
    SAME(alisio_run(host, 0), 0);
    SAME(alisio_session_open(host, "relative", NULL, 0, &session), ALISIO_EINVAL);
    SAME(alisio_session_open(host, "/no/such/folder", NULL, 0, &session), ALISIO_EINVAL);
    SAME(alisio_session_open(host, cwd, NULL, 64, &session), ALISIO_EINVAL);
    SAME(alisio_session_open(host, cwd, "ses_00000000000000000000000000", 0, &session),
         ALISIO_ENOTFOUND);
    CHECK(strstr(alisio_error_detail(host), "ses_00000000000000000000000000"));
    SAME(session, 0);
    SAME(alisio_session_open(host, cwd, NULL, 0, &session), ALISIO_OK);
    CHECK(session != 0);

    SAME(run_turn(host, session, "hello", &s), ALISIO_OK);
    CHECK(s.kinds[ALISIO_EV_SESSION] == 1);
    CHECK(s.kinds[ALISIO_EV_TEXT] >= 1);
    CHECK(strstr(s.text, "\"type\":\"run_started\""));
    CHECK(strncmp(s.session_id, "ses_", 4) == 0);
    SAME(run_turn(host, session, "hello again", &s), ALISIO_OK);
    CHECK(s.kinds[ALISIO_EV_SESSION] == 1);

    strcpy(id, s.session_id);
    SAME(alisio_session_open(host, cwd, id, 0, &other), ALISIO_ELOCKED);
    SAME(alisio_session_close(host, session), ALISIO_OK);
    SAME(alisio_session_close(host, session), ALISIO_ENOTFOUND);
    SAME(alisio_prompt(host, session, "x", 1, &other), ALISIO_ENOTFOUND);
    while (alisio_run(host, 1000) == 1)
        ;
    SAME(alisio_session_open(host, cwd, id, 0, &other), ALISIO_OK);
    CHECK(other != session);
    SAME(run_turn(host, other, "and again", &s), ALISIO_OK);
    SAME(alisio_destroy(host, NULL, NULL), ALISIO_OK);
    remove_folder(state);
    remove_folder(cwd);
    return summary();
}
