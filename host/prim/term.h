/* The terminal: its size, raw mode and the other screen that are always given back, and keys.
 *
 * One terminal at a time is in raw mode. It is restored by al_term_cooked, at exit, and by the
 * signals that end a process, as long as nobody else handles them; its screen with it. */
#ifndef AL_PRIM_TERM_H
#define AL_PRIM_TERM_H
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

bool al_term_is_tty(int fd);
/* False when fd is no terminal or does not say; then the sizes are untouched. */
bool al_term_size(int fd, int *columns, int *rows);

/* No echo, no lines; output stays as it is. With signals, Ctrl-C and Ctrl-Z still signal. AL_EBUSY
 * while another is raw. */
int al_term_raw(int fd, bool signals, al_err *err);
/* Draws on the terminal's other screen (ECMA-48 as xterm extends it), with its cursor hidden, as
 * long as raw mode is on; what stood on the first comes back with al_term_cooked. fd is where to
 * write. */
int al_term_other_screen(int fd, al_err *err);
void al_term_cooked(void); /* fine when nothing is raw */

/* Writes all of it, waiting where the terminal is slow. */
int al_term_write(int fd, const char *bytes, size_t len, al_err *err);

typedef struct al_key {
    char name[32]; /* a character as UTF-8, or "Enter", "Escape", "Up", "F1", … */
    bool ctrl, alt, shift;
} al_key;

/* Keys typed at fd. done is called once a wait: AL_OK with the key, AL_ETIMEOUT, AL_ENOTFOUND at
 * the end of the input, AL_ECANCELED, AL_EIO; it may free or wait again. */
typedef struct al_keys al_keys;
typedef void (*al_keys_done)(int rc, const al_key *key, void *data);

int al_keys_open(al_keys **out, uv_loop_t *loop, int fd, al_err *err);
/* timeout_ms < 0 waits without end. AL_EBUSY while a wait is on. done never runs inside this call.
 */
int al_keys_wait(al_keys *k, int64_t timeout_ms, al_keys_done done, void *data, al_err *err);
void al_keys_cancel(al_keys *k); /* the wait that is on ends soon, with AL_ECANCELED */
/* The same; closed(data) is called from the loop when libuv has let it go. */
void al_keys_close(al_keys *k, void (*closed)(void *data), void *data);

#endif
