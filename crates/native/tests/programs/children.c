// A child process that has threads of its own, and a pipe to it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *w(void *x) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&m);
        n++;
        pthread_mutex_unlock(&m);
    }
    return 0;
}
int main() {
    int p[2];
    pipe(p);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, w, 0);
    pid_t c = fork();
    if (c == 0) {
        pthread_t u;
        close(p[0]);
        pthread_create(&u, 0, w, 0);
        pthread_join(u, 0);
        dprintf(p[1], "child done\n");
        exit(5);
    }
    close(p[1]);
    char b[64];
    ssize_t k = read(p[0], b, 63);
    b[k > 0 ? k : 0] = 0;
    int st;
    waitpid(c, &st, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    printf("%s%d %d\n", b, WEXITSTATUS(st), n);
    FILE *f = popen("echo popen", "r");
    fgets(b, 63, f);
    pclose(f);
    fputs(b, stdout);
    return 0;
}
