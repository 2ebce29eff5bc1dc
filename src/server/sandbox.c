/* sandbox.c -- a seccomp filter and the drop of privileges; see sandbox.h.
 *
 * It is a deny list, not an allow list: a library may use other system calls
 * after an update.  An attacker who runs code in the server should find no
 * program to start and no way out of the process.
 */
#include "server/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* A process of the same user could read keys from this one's memory, or make it
 * dump core. */
static void hide(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    (void)!prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

#ifdef OWN_ARCH

enum { X32_BIT = 0x40000000 }; /* x32: the same calls under other numbers */

#define LOAD(member)                                                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))
/* Compares the loaded word: the next instruction if equal, else the one behind
 * it. */
#define IF(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define FORBID(call) IF(__NR_##call), REFUSE(EPERM)

/* The flags of clone that create namespaces, in which a process may be root
 * again. */
#define NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static const struct sock_filter rules[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
    REFUSE(EPERM),
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
    REFUSE(EPERM),
    /* other programs and processes */
    FORBID(execve),
    FORBID(execveat),
    FORBID(process_vm_readv),
    FORBID(process_vm_writev),
    FORBID(pidfd_open),
    FORBID(pidfd_getfd),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    FORBID(ptrace), /* the leak sanitizer needs it */
#endif
    /* administration of the machine */
    FORBID(mount),
    FORBID(umount2),
    FORBID(fsopen),
    FORBID(fsconfig),
    FORBID(fsmount),
    FORBID(fspick),
    FORBID(open_tree),
    FORBID(move_mount),
    FORBID(mount_setattr),
    FORBID(pivot_root),
    FORBID(chroot),
    FORBID(setns),
    FORBID(unshare),
    FORBID(init_module),
    FORBID(finit_module),
    FORBID(delete_module),
    FORBID(kexec_load),
    FORBID(kexec_file_load),
    FORBID(reboot),
    FORBID(swapon),
    FORBID(swapoff),
    FORBID(clock_settime),
    FORBID(settimeofday),
    FORBID(adjtimex),
    FORBID(clock_adjtime),
    /* ways around this list, and into the kernel */
    FORBID(open_by_handle_at),
    FORBID(bpf),
    FORBID(perf_event_open),
    FORBID(userfaultfd),
    FORBID(io_uring_setup),
    FORBID(add_key),
    FORBID(request_key),
    FORBID(keyctl),
    /* clone3 has its flags in memory, which a filter cannot read.  ENOSYS makes
     * the C library fall back to clone. */
    IF(__NR_clone3),
    REFUSE(ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
    REFUSE(EPERM),
    ANSWER(SECCOMP_RET_ALLOW),
    /* sockets */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 8),
    LOAD(args[0]),
    IF(AF_INET),
    ANSWER(SECCOMP_RET_ALLOW),
    IF(AF_INET6),
    ANSWER(SECCOMP_RET_ALLOW),
    IF(AF_UNIX),
    ANSWER(SECCOMP_RET_ALLOW),
    REFUSE(EAFNOSUPPORT),
    ANSWER(SECCOMP_RET_ALLOW),
};

bool rn_sandbox(void)
{
    struct sock_fprog program = {
        .len = sizeof(rules) / sizeof(rules[0]),
        .filter = (struct sock_filter *)(void *)rules,
    };

    hide();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return false;
    /* No foreign code runs here, so the costly mitigations of speculative
     * execution are left off. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

#else

bool rn_sandbox(void)
{
    hide();
    (void)!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return false;
}

#endif

static enum rn_code change(const struct passwd *account, struct rn_err *err)
{
    if (initgroups(account->pw_name, account->pw_gid) ||
        setgid(account->pw_gid) || setuid(account->pw_uid))
        return rn_fail_errno(err, errno, "--user %s", account->pw_name);
    if (account->pw_uid != 0 && (setuid(0) == 0 || seteuid(0) == 0)) {
        return rn_fail(err, RN_FORBIDDEN,
                       "--user %s: the process could regain root's rights",
                       account->pw_name);
    }
    return RN_OK;
}

enum rn_code rn_sandbox_drop_privileges(const char *user, struct rn_err *err)
{
    const struct passwd *account;

    errno = 0;
    account = getpwnam(user);
    if (!account)
        return rn_fail(err, RN_BAD_REQUEST, "--user %s: %s", user,
                       errno ? strerror(errno) : "there is no such user");
    if (geteuid() == 0)
        return change(account, err);
    if (geteuid() == account->pw_uid)
        return RN_OK;
    return rn_fail(err, RN_FORBIDDEN,
                   "--user %s: only root can change to another", user);
}
