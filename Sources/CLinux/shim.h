// The parts of Linux that Swift's Glibc module leaves out.
#ifndef KITH_CLINUX_SHIM_H
#define KITH_CLINUX_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>

// Declared only with _GNU_SOURCE, which cannot be set once the Glibc module is built.
extern int accept4(int, struct sockaddr *, socklen_t *, int);
extern int pipe2(int[2], int);
extern int renameat2(int, const char *, int, const char *, unsigned int);
#ifndef O_PATH
#define O_PATH 010000000
#endif

// struct ucred, which needs _GNU_SOURCE too. 0 and the user at the other end of a Unix socket, or -1.
static inline int kith_peer_user(int descriptor, uid_t *user) {
    struct { pid_t pid; uid_t uid; gid_t gid; } credentials;
    socklen_t length = sizeof credentials;
    int result = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
    if (result == 0) *user = credentials.uid;
    return result;
}

// Renames where no file is in the way; EEXIST otherwise, EINVAL where the file system cannot promise that.
static inline int kith_rename_to_new(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */);
}
// Has two names in a folder change places, in one step.
static inline int kith_exchange(int folder, const char *one, const char *other) {
    return renameat2(folder, one, folder, other, 2 /* RENAME_EXCHANGE */);
}

// A socket that becomes readable when a network interface or an address of this machine changes (rtnetlink(7)), or -1.
static inline int kith_network_changes(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    if (descriptor >= 0 && bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

// sync_file_range(2) for the whole file with SYNC_FILE_RANGE_WRITE; needs _GNU_SOURCE too. A hint: it promises nothing.
extern int sync_file_range(int, off_t, off_t, unsigned int);
static inline void kith_start_flushing(int descriptor) { (void)sync_file_range(descriptor, 0, 0, 2); }

// Names the calling thread, as `ps -L` and debuggers show it; at most 15 bytes.
static inline void kith_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// Starts a detached thread with every signal blocked, since signals belong to the program. 0, or an error number.
static inline int kith_start_thread(void *(*run)(void *), void *argument) {
    // The new thread inherits the mask.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

// The standard streams are macros over mutable globals, which Swift takes for shared state.
static inline FILE *kith_stdout(void) { return stdout; }
static inline FILE *kith_stderr(void) { return stderr; }
#endif
