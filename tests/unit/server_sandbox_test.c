/* server_sandbox_test.c -- what a server cannot do any more.
 *
 * Goal: it starts no program, looks into no process, changes nothing of the
 * machine and has no sockets but its own; and it still does what it is there
 * for.  Method: a child enters the sandbox and tries; its exit status says
 * which of the rows was wrong.
 */
#include "server/sandbox.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { GOOD = 100, NO_JAIL = 101 };

static const struct {
    long number;
    long first; /* argument; the others are 0 */
    int error;  /* 0: it works */
} rows[] = {
    { SYS_execve, 0, EPERM },
    { SYS_execveat, 0, EPERM },
    { SYS_process_vm_readv, 1, EPERM },
    { SYS_mount, 0, EPERM },
    { SYS_unshare, 0, EPERM },
    { SYS_bpf, 0, EPERM },
    { SYS_io_uring_setup, 0, EPERM },
    { SYS_keyctl, 0, EPERM },
    { SYS_fsopen, 0, EPERM },
    { SYS_fsconfig, -1, EPERM },
    { SYS_fsmount, -1, EPERM },
    { SYS_fspick, -1, EPERM },
    { SYS_open_tree, -1, EPERM },
    { SYS_move_mount, -1, EPERM },
    { SYS_mount_setattr, -1, EPERM },
    { SYS_pidfd_open, 1, EPERM },
    { SYS_pidfd_getfd, -1, EPERM },
    { SYS_kexec_file_load, -1, EPERM },
    { SYS_clone, CLONE_NEWUSER | SIGCHLD, EPERM },
    { SYS_clone, CLONE_NEWNET | SIGCHLD, EPERM },
    { SYS_clone3, 0, ENOSYS },
    { SYS_socket, AF_PACKET, EAFNOSUPPORT },
    { SYS_socket, AF_NETLINK, EAFNOSUPPORT },
    { SYS_getpid, 0, 0 },
};

static void *live(void *context)
{
    return context;
}

static int try_all(void)
{
    pthread_t thread;

    if (!rn_sandbox())
        return NO_JAIL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return GOOD + 3;
#endif
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        long got = syscall(rows[i].number, rows[i].first, 0, 0, 0, 0);
        if (rows[i].error ? got != -1 || errno != rows[i].error : got < 0)
            return (int)i;
    }
    if (socket(AF_INET, SOCK_STREAM, 0) < 0 ||
        socket(AF_INET6, SOCK_STREAM, 0) < 0 ||
        socket(AF_UNIX, SOCK_STREAM, 0) < 0 ||
        pthread_create(&thread, NULL, live, NULL))
        return GOOD + 2;
    pthread_join(thread, NULL);
    return GOOD;
}

static void a_server_in_jail_serves_and_does_nothing_else(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    if (child == 0)
        _exit(try_all());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_JAIL)
        skip(); /* a kernel without it */
    assert_int_equal(WEXITSTATUS(status), GOOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_in_jail_serves_and_does_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
