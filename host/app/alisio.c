/* The program `alisio`: makes a host and runs the command line, which is Lua, in it. */
#include "core/host.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A standard descriptor that came closed would be the number of the next file that is opened.
 * Standard output is then one that takes nothing, so that what is written is not lost in silence.
 */
static void fill_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

int main(int argc, char **argv)
{
    al_host *host = NULL;
    al_err err = { 0 };
    char text[1024], *why = NULL;
    int code = 1;

    fill_standard();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) { /* loads nothing */
        if (puts("alisio " AL_VERSION_TEXT) >= 0 && fflush(stdout) == 0)
            return 0;
        perror("alisio: standard output");
        return 1;
    }
    if (al_host_open(&host, &(al_host_options){ .argc = argc, .argv = argv }, &err) != AL_OK) {
        fprintf(stderr, "alisio: %s\n", al_err_text(&err, text, sizeof text));
        return 1;
    }
    bool script = argc > 2 && strcmp(argv[1], "script") == 0 && argv[2][0] != '-';
    if (al_host_main(host, script ? "alisio.ui.cli.script" : "alisio.ui.cli", "main", &code,
                     &why) != AL_OK) {
        fprintf(stderr, "alisio: %s\n", why ? why : "not enough memory");
        free(why);
        code = 1;
    }
    al_host_close(host);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) { /* what a script printed */
        perror("alisio: standard output");
        code = 1;
    }
    return code;
}
