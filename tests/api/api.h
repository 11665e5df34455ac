/* What the embedders here share: a host in a private state folder, checks, the summary line. */
#ifndef API_H
#define API_H
#include <alisio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int passed, failed;

#define CHECK(what)                                                   \
    do {                                                              \
        if (what) {                                                   \
            passed++;                                                 \
        } else {                                                      \
            failed++;                                                 \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
        }                                                             \
    } while (0)

#define SAME(value, wanted)                                                                       \
    do {                                                                                          \
        long long value_ = (long long)(value), wanted_ = (long long)(wanted);                     \
        if (value_ == wanted_) {                                                                  \
            passed++;                                                                             \
        } else {                                                                                  \
            failed++;                                                                             \
            printf("%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #value, value_, wanted_); \
        }                                                                                         \
    } while (0)

typedef struct seen { /* what on_event heard */
    int kinds[8];
    int ends, end_error;
    uint64_t ended_turn, request;
    char session_id[64];
    char text[65536]; /* the texts of all events, one JSON a line */
    size_t len;
    void (*then)(alisio_host *host, const alisio_event *event, struct seen *seen);
    void *data;
} seen;

static inline void copy_field(char *out, size_t size, const char *json, const char *key)
{
    const char *at = strstr(json, key);
    size_t len = at ? strcspn(at + strlen(key), "\"") : 0;

    snprintf(out, size, "%.*s", (int)len, at ? at + strlen(key) : "");
}

static inline void on_event(alisio_host *host, const alisio_event *event, void *data)
{
    seen *s = data;

    if (event->size < sizeof *event || strlen(event->json) != event->json_len)
        failed++;
    if (event->kind >= 0 && event->kind < 8)
        s->kinds[event->kind]++;
    if (s->len + event->json_len + 2 < sizeof s->text)
        s->len += (size_t)sprintf(s->text + s->len, "%s\n", event->json);
    if (event->kind == ALISIO_EV_SESSION)
        copy_field(s->session_id, sizeof s->session_id, event->json, "\"session\":\"");
    if (event->kind == ALISIO_EV_PERMISSION)
        s->request = event->request;
    if (event->kind == ALISIO_EV_TURN_END) {
        s->ends++;
        s->end_error = event->error;
        s->ended_turn = event->turn;
    }
    if (s->then)
        s->then(host, event, s);
}

static inline const char *temp_folder(void)
{
    static char folders[8][256];
    static int used;
    char *folder = folders[used++ % 8];

    snprintf(folder, sizeof folders[0], "%s/alisio-api-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
    return folder;
}

static inline void remove_folder(const char *folder)
{
    char command[300];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        failed++;
}

static inline alisio_options options_for(const char *state, seen *s)
{
    alisio_options o = ALISIO_OPTIONS_INIT;

    memset(s, 0, sizeof *s);
    o.state_dir = state;
    o.on_event = on_event;
    o.on_event_data = s;
    return o;
}

static inline alisio_host *make_host(const alisio_options *o)
{
    alisio_host *host = NULL;
    char why[512] = "";

    if (alisio_create(&host, o, why, sizeof why) != ALISIO_OK) {
        printf("alisio_create: %s\n0 passed, 1 failed, 0 skipped\n", why);
        exit(1);
    }
    return host;
}

static inline int summary(void)
{
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}

#endif
