/* Tests whose subject changes the process for good run in a forked child. CHECK reports the line
 * that fails and ends the child; CHILD_TEST(f) makes a cmocka test of `int f(void *)`. */
#ifndef AL_TEST_CHILD_H
#define AL_TEST_CHILD_H
// clang-format off: cmocka.h needs these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(99);                                                      \
        }                                                                   \
    } while (0)

#define CHILD_TEST(function)                                           \
    {                                                                  \
#function, in_child, NULL, NULL, (void *)&(int (*[1])(void *)) \
        {                                                              \
            function                                                   \
        }                                                              \
    }

/* The wait status of body run in a child. */
static inline int child_status(int (*body)(void *), void *arg)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(body(arg));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void in_child(void **state)
{
    int status = child_status(*(int (**)(void *)) * state, NULL);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
