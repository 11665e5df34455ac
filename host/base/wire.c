/* Frames over a byte stream, and over a local socket with descriptors. */
#include "base/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* whoever makes the socket sets SO_NOSIGPIPE there */
#endif

static void put_head(unsigned char head[AL_WIRE_HEAD], al_wire_type type, size_t len)
{
    head[0] = (unsigned char)len;
    head[1] = (unsigned char)(len >> 8);
    head[2] = (unsigned char)(len >> 16);
    head[3] = (unsigned char)(len >> 24);
    head[4] = (unsigned char)type;
}

int al_wire_frame(al_buf *out, al_wire_type type, const void *body, size_t len)
{
    unsigned char head[AL_WIRE_HEAD];

    if (len > AL_WIRE_MAX)
        return AL_ELIMIT;
    if (al_buf_reserve(out, sizeof head + len) != AL_OK) /* both or nothing */
        return out->failed;
    put_head(head, type, len);
    al_buf_add(out, head, sizeof head);
    return al_buf_add(out, body, len);
}

int al_wire_parse(const char *bytes, size_t have, al_wire_type *type, const char **body,
                  size_t *len, size_t *used)
{
    const unsigned char *head = (const unsigned char *)bytes;
    size_t n;

    if (have < 4)
        return 0;
    n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    if (n > AL_WIRE_MAX)
        return AL_EDATA;
    if (have < AL_WIRE_HEAD)
        return 0;
    if (head[4] < AL_WIRE_REQUEST || head[4] > AL_WIRE_CANCEL)
        return AL_EDATA;
    if (have - AL_WIRE_HEAD < n)
        return 0;
    *type = (al_wire_type)head[4];
    *body = bytes + AL_WIRE_HEAD;
    *len = n;
    *used = AL_WIRE_HEAD + n;
    return 1;
}

/* After a call failed with errno: true when it may be tried again (now, or once fd is ready). */
static bool again(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };

    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

typedef union fd_room {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(AL_WIRE_MAX_FDS * sizeof(int))];
} fd_room;

int al_wire_send(int fd, al_wire_type type, const void *body, size_t len, const int *fds, int nfds)
{
    unsigned char head[AL_WIRE_HEAD];
    struct iovec iov[2] = { { head, sizeof head }, { (void *)(uintptr_t)body, len } };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
    fd_room room = { 0 };

    if (len > AL_WIRE_MAX)
        return AL_ELIMIT;
    if (nfds < 0 || nfds > AL_WIRE_MAX_FDS)
        return AL_EINVAL;
    put_head(head, type, len);
    if (nfds) {
        size_t size = (size_t)nfds * sizeof(int);

        msg.msg_control = room.bytes;
        msg.msg_controllen = CMSG_SPACE(size);
        room.head.cmsg_level = SOL_SOCKET;
        room.head.cmsg_type = SCM_RIGHTS;
        room.head.cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(&room.head), fds, size);
    }
    while (iov[0].iov_len + iov[1].iov_len) {
        ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

        if (n < 0 && again(fd, POLLOUT))
            continue;
        if (n < 0)
            return AL_EIO;
        for (int i = 0; i < 2; i++) {
            size_t part = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

            iov[i].iov_base = (char *)iov[i].iov_base + part;
            iov[i].iov_len -= part;
            n -= (ssize_t)part;
        }
        msg.msg_control = NULL; /* they went with the first byte */
        msg.msg_controllen = 0;
    }
    return AL_OK;
}

/* Takes the descriptors of a message: into fds while they fit, else all are closed. */
static int take_fds(struct msghdr *msg, int *fds, int room, int *nfds)
{
    bool fits = !(msg->msg_flags & MSG_CTRUNC);

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
#ifndef MSG_CMSG_CLOEXEC
            fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
            if (*nfds < room) {
                fds[(*nfds)++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits ? AL_OK : AL_EDATA;
}

/* Reads the first bytes of a frame, at most the head; their number, 0 at the end, AL_E*. */
static int first_bytes(int fd, int flags, unsigned char head[AL_WIRE_HEAD], int *fds, int room,
                       int *nfds)
{
    struct iovec iov = { head, AL_WIRE_HEAD };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    fd_room control;
    ssize_t n;

#ifdef MSG_CMSG_CLOEXEC
    flags |= MSG_CMSG_CLOEXEC;
#endif
    do {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof control.bytes;
        n = recvmsg(fd, &msg, flags);
    } while (n < 0 && again(fd, POLLIN));
    if (n < 0)
        return AL_EIO;
    return take_fds(&msg, fds, room, nfds) == AL_OK ? (int)n : AL_EDATA;
}

static int fill(int fd, void *out, size_t len)
{
    char *p = out;

    while (len) {
        ssize_t n = recv(fd, p, len, 0);

        if (n < 0 && again(fd, POLLIN))
            continue;
        if (n < 0)
            return AL_EIO;
        if (n == 0)
            return AL_EDATA; /* closed within a frame */
        p += n;
        len -= (size_t)n;
    }
    return AL_OK;
}

static int recv_body(int fd, al_buf *body, size_t len)
{
    while (body->len < len) {
        size_t part = len - body->len < 65536 ? len - body->len : 65536;
        int rc = al_buf_reserve(body, part);

        if (rc == AL_OK)
            rc = fill(fd, body->data + body->len, part);
        if (rc != AL_OK)
            return rc;
        body->len += part;
        body->data[body->len] = '\0';
    }
    return AL_OK;
}

static int recv_frame(int fd, al_wire_type *type, al_buf *body, int *fds, int room, int *nfds)
{
    unsigned char head[AL_WIRE_HEAD];
    const char *none;
    size_t len = 0, used;
    int rc = first_bytes(fd, 0, head, fds, room, nfds);

    if (rc <= 0)
        return rc;
    if (rc < AL_WIRE_HEAD)
        if ((rc = fill(fd, head + rc, (size_t)(AL_WIRE_HEAD - rc))) != AL_OK)
            return rc;
    /* Checks head and length by the one rule; 0 means that a body has to follow. */
    rc = al_wire_parse((const char *)head, AL_WIRE_HEAD, type, &none, &len, &used);
    if (rc < 0)
        return rc;
    len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    *type = (al_wire_type)head[4];
    rc = recv_body(fd, body, len);
    return rc == AL_OK ? 1 : rc;
}

int al_wire_recv(int fd, al_wire_type *type, al_buf *body, int *fds, int *nfds)
{
    int got = 0, rc;

    al_buf_clear(body);
    rc = recv_frame(fd, type, body, fds, nfds ? *nfds : 0, &got);
    if (rc != 1)
        while (got > 0)
            close(fds[--got]);
    if (nfds)
        *nfds = got;
    return rc;
}

int al_wire_peek(int fd, int *fds, int *nfds)
{
    unsigned char head[AL_WIRE_HEAD];
    int room = *nfds, n;

    *nfds = 0;
    n = first_bytes(fd, MSG_PEEK, head, fds, room, nfds);
    return n < 0 ? n : AL_OK;
}
