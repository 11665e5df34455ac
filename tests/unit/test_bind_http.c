/* bind_http: what a script leaves open ends with the host. */
#include "lua_host.h"
#include "unit.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server that takes connections and never says a word. */
static int listen_silently(int *port)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof any;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &len), 0);
    *port = ntohs(any.sin_port);
    return fd;
}

static void a_host_closes_with_transfers_open(void **state)
{
    static const char body[] = "local http, task = require 'std.http', require 'std.task'\n"
                               "return { main = function()\n"
                               "  local url = ('http://127.0.0.1:%d/'):format(PORT)\n"
                               "  task.spawn(http.get, url)\n"
                               "  task.spawn(function() kept = http.stream { url = url } end)\n"
                               "  require('host.http').start('GET', url, {})\n"
                               "  task.sleep(50)\n"
                               "  return 7\n"
                               "end }\n";
    lua_host *l = *state;
    int port, fd = listen_silently(&port);
    char *why;

    lua_pushinteger(al_host_lua(l->host), port);
    lua_setglobal(al_host_lua(l->host), "PORT");
    int code = run_lua(l, body, &why);
    if (why)
        print_message("%s\n", why);
    free(why);
    assert_int_equal(code, 7);
    al_host_close(l->host);
    l->host = NULL;
    assert_string_equal(l->reports, "");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_host_closes_with_transfers_open, lua_host_open,
                                        lua_host_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
