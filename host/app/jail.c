/* jail PROGRAM [ARG…]: runs a program and ends it with all it started. jail --probe prints what
 * this system offers, as JSON.
 *
 * The host gives environment, folder and descriptors 0 to 2 as the program shall have them, and on
 * 3 a socket: it sends one frame with the spec, this process answers {"pid":…} when the program
 * runs and one result or error at its end. Any byte later asks to stop; the socket's end means that
 * the host is gone. Host side: prim/proc. */
#include "base/json.h"
#include "base/wire.h"
#include "jail/landlock.h"
#include "jail/sandbox.h"
#include "jail/sanitizer.h"
#include "jail/seccomp.h"
#include "jail/session.h"
#include "jail/supervisor.h"
#include "jail/tree.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__) && !defined(AL_PORTABLE)
#include <sys/prctl.h>
#endif

enum { CHANNEL = 3, SPEC_MAX = 64 * 1024, PLACES = 256 };

typedef struct spec {
    al_session session;
    al_watch watch;
    al_sandbox sandbox;
    al_place places[PLACES];
    al_buf paths; /* of places, each ended by a zero byte */
} spec;

static uint64_t number(const char *json, size_t len, const char *key)
{
    int64_t n = 0;

    return al_json_get_int(json, len, key, &n) && n > 0 ? (uint64_t)n : 0;
}

/* The paths of list `key`, an array of strings, as places like `kind`. */
static int read_places(spec *s, const char *json, size_t len, const char *key, al_place kind)
{
    const char *list;
    al_json_type type;
    al_json j;

    if (!al_json_get_raw(json, len, key, &list, &len))
        return AL_OK;
    al_json_open(&j, list, len, 2);
    al_json_next(&j);
    while ((type = al_json_next(&j)) == AL_JSON_STRING && s->sandbox.n < PLACES) {
        kind.path = s->paths.data + s->paths.len;
        if (j.len == 0 || j.text[0] != '/' || memchr(j.text, '\0', j.len) ||
            s->paths.len + j.len + 1 > SPEC_MAX) /* the room does not move */
            break;
        al_buf_add(&s->paths, j.text, j.len);
        al_buf_char(&s->paths, '\0');
        s->places[s->sandbox.n++] = kind;
    }
    al_json_close(&j);
    return type == AL_JSON_ARRAY_END ? AL_OK : AL_EDATA;
}

static int read_sandbox(spec *s, const char *json, size_t len)
{
    if (al_buf_reserve(&s->paths, SPEC_MAX + 1) != AL_OK ||
        read_places(s, json, len, "read", (al_place){ 0 }) != AL_OK ||
        read_places(s, json, len, "write", (al_place){ .writable = true }) != AL_OK ||
        read_places(s, json, len, "memory", (al_place){ .memory = true }) != AL_OK ||
        !al_json_get_bool(json, len, "namespaces", &s->sandbox.namespaces))
        return AL_EDATA;
    s->sandbox.places = s->places;
    s->session.sandbox = &s->sandbox;
    return AL_OK;
}

static void read_limits(spec *s, const char *json, size_t len)
{
    al_limits *limits = &s->session.limits;

    s->session.confined = true;
    limits->no_core = true;
    limits->memory_bytes = number(json, len, "memoryBytes");
    limits->open_files = number(json, len, "openFiles");
    limits->file_bytes = number(json, len, "fileBytes");
    limits->cpu_seconds = (number(json, len, "cpuMs") + 999) / 1000;
    s->watch.max_processes = (unsigned)number(json, len, "processes");
}

/* {"v":1,"timeoutMs":…,"graceMs":…,"limits":{"memoryBytes","openFiles","fileBytes","cpuMs",
 * "processes"},"sandbox":{"namespaces":bool,"read":[path],"write":[path],"memory":[path]}}; with
 * limits, even empty ones, the program gets no new privileges. */
static int read_spec(spec *s, al_err *err)
{
    al_buf body;
    al_wire_type type;
    const char *part;
    size_t len;
    int nfds = 0, rc;

    al_buf_init(&body, SPEC_MAX);
    al_buf_init(&s->paths, SPEC_MAX + 1);
    rc = al_wire_recv(CHANNEL, &type, &body, NULL, &nfds);
    if (rc == 1 && type == AL_WIRE_REQUEST && number(body.data, body.len, "v") == AL_WIRE_VERSION) {
        rc = AL_OK;
        s->watch.timeout_ms = number(body.data, body.len, "timeoutMs");
        s->watch.grace_ms = number(body.data, body.len, "graceMs");
        if (al_json_get_raw(body.data, body.len, "limits", &part, &len))
            read_limits(s, part, len);
        if (al_json_get_raw(body.data, body.len, "sandbox", &part, &len))
            rc = read_sandbox(s, part, len);
    } else {
        rc = AL_EDATA;
    }
    al_buf_free(&body);
    return rc == AL_OK ? AL_OK
                       : al_err_set(err, AL_EDATA, "internal", "jail", "no spec on descriptor 3");
}

static void send_frame(al_wire_type type, const al_buf *body)
{
    if (!body->failed)
        al_wire_send(CHANNEL, type, body->data, body->len, NULL, 0);
}

static void field(al_json_out *o, const char *key, uint64_t value)
{
    al_json_key(o, key);
    al_json_int(o, (int64_t)value);
}

static void send_outcome(const al_outcome *out)
{
    al_json_out o;
    al_buf body;

    al_buf_init(&body, 0);
    al_json_out_init(&o, &body);
    al_json_begin_object(&o);
    al_json_key(&o, "reason");
    al_json_cstring(&o, out->reason);
    al_json_key(&o, "limit");
    al_json_cstring(&o, out->limit);
    al_json_key(&o, "code");
    al_json_int(&o, out->code);
    field(&o, "signal", (uint64_t)out->signal);
    field(&o, "ended", out->ended);
    al_json_key(&o, "left");
    al_json_bool(&o, out->left);
    field(&o, "processes", out->processes);
    field(&o, "wallMs", out->wall_ms);
    field(&o, "userMs", out->user_ms);
    field(&o, "systemMs", out->system_ms);
    field(&o, "maxRssBytes", out->max_rss_bytes);
    al_json_end_object(&o);
    send_frame(AL_WIRE_RESULT, &body);
    al_buf_free(&body);
}

static void send_error(const al_err *err)
{
    al_buf body;

    al_buf_init(&body, 0);
    al_err_json(err, &body);
    send_frame(AL_WIRE_ERROR, &body);
    al_buf_free(&body);
}

static void send_pid(pid_t pid)
{
    al_buf body;

    al_buf_init(&body, 0);
    al_buf_printf(&body, "{\"pid\":%ld}", (long)pid);
    send_frame(AL_WIRE_PROGRESS, &body);
    al_buf_free(&body);
}

/* The program's pipes and folder are its own: held here too, they would never end or be free. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null > CHANNEL)
        close(null);
    if (chdir("/") != 0)
        return; /* the folder stays in use until the end */
}

static int probe(void)
{
    al_err missing = { 0 };
    bool namespaces = al_sandbox_try_namespaces(&missing) == AL_OK;
    al_buf out;
    al_json_out o;

    al_buf_init(&out, 0);
    al_json_out_init(&o, &out);
    al_json_begin_object(&o);
    field(&o, "landlock", (uint64_t)al_landlock_abi());
    al_json_key(&o, "seccomp");
    al_json_bool(&o, al_seccomp_available());
    al_json_key(&o, "namespaces");
    al_json_bool(&o, namespaces);
    al_json_key(&o, "noNamespaces"); /* why */
    al_json_cstring(&o, namespaces ? NULL : missing.detail);
    al_json_key(&o, "tree");
    al_json_bool(&o, al_tree_adopt());
    al_json_end_object(&o);
    printf("%.*s\n", (int)out.len, out.data);
    al_buf_free(&out);
    return 0;
}

int main(int argc, char **argv)
{
    static spec job;
    al_started started;
    al_outcome outcome;
    al_err err = { 0 };

    job.session.argv = argv + 1;
    job.watch.channel = CHANNEL;
    if (argc == 2 && strcmp(argv[1], "--probe") == 0)
        return probe();
    if (argc < 2 || fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) != 0) {
        fputs("usage: jail PROGRAM [ARG...], with a socket to its host as descriptor 3\n", stderr);
        return 2;
    }
#if defined(__linux__) && !defined(AL_PORTABLE)
    if (!AL_SANITIZER) /* its leak check is a kind of debugger, which this keeps out */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0); /* a script may have stopped this process */
#endif
    al_limits_close_from(CHANNEL + 1);
    al_supervisor_prepare();
    al_tree_adopt();
    if (read_spec(&job, &err) != AL_OK || al_session_start(&job.session, &started, &err) != AL_OK) {
        send_error(&err);
        return 1;
    }
    let_go();
    send_pid(started.pid);
    job.watch.over = started.over;
    al_supervise(&job.watch, started.pid, &outcome);
    send_outcome(&outcome);
    while (outcome.left && !al_tree_end(1000, NULL, NULL))
        continue;
    al_buf_free(&job.paths);
    return 0;
}
