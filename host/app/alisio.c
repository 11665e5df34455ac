/* The program `alisio`: makes a host and runs the command line, which is Lua, in it. */
#include "core/host.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    al_host *host = NULL;
    al_err err = { 0 };
    char text[1024], *why = NULL;
    int code = 1;

    if (argc == 2 && strcmp(argv[1], "--version") == 0) { /* loads nothing */
        puts("alisio " AL_VERSION_TEXT);
        return 0;
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
    return code;
}
