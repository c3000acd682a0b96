// A server and its clients, and all calls that wait for descriptors.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
static int port, ls;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int served;
static void *conn(void *x) {
    int s = (int)(long)x;
    char b[32];
    ssize_t n;
    while ((n = recv(s, b, sizeof b, 0)) > 0) {
        for (ssize_t i = 0; i < n; i++)
            b[i] += 1;
        send(s, b, n, 0);
    }
    close(s);
    pthread_mutex_lock(&m);
    served++;
    pthread_mutex_unlock(&m);
    return 0;
}
static void *server(void *x) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        int s = accept(ls, 0, 0);
        pthread_create(&t[i], 0, conn, (void *)(long)s);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
static void *client(void *x) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connect(s, (void *)&a, sizeof a);
    char b[8] = "abc";
    write(s, b, 3);
    struct pollfd p = {s, POLLIN, 0};
    poll(&p, 1, -1);
    int k = 0;
    while (k < 3) {
        int n = read(s, b + k, 3 - k);
        k += n;
    }
    close(s);
    return strcmp(b, "bcd") == 0 ? (void *)1 : 0;
}
int main() {
    ls = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bind(ls, (void *)&a, sizeof a);
    listen(ls, 5);
    socklen_t l = sizeof a;
    getsockname(ls, (void *)&a, &l);
    port = a.sin_port;
    pthread_t s, c[3];
    pthread_create(&s, 0, server, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&c[i], 0, client, 0);
    long ok = 0;
    for (int i = 0; i < 3; i++) {
        void *r;
        pthread_join(c[i], &r);
        ok += (long)r;
    }
    pthread_join(s, 0);
    int e = eventfd(0, 0), ep = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev);
    int r0 = epoll_wait(ep, &ev, 1, 10);
    eventfd_write(e, 1);
    int r1 = epoll_wait(ep, &ev, 1, -1);
    fd_set f;
    FD_ZERO(&f);
    FD_SET(e, &f);
    int r2 = select(e + 1, &f, 0, 0, 0);
    sigset_t ss;
    struct timespec ts = {0, 1000};
    int r3 = ppoll(0, 0, &ts, 0);
    printf("%ld %d %d %d %d %d\n", ok, served, r0, r1, r2, r3);
    return 0;
}
