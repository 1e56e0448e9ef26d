// The program of the emulated machine. Its first argument says what it does; its name is the scene's.
//   NAME grow MB_A_SECOND [MB]     takes memory at this rate until it is killed, or until it has so much: then it sleeps
//   NAME grow MB_A_SECOND MB exit  ends instead
//   NAME heap MB_A_SECOND          takes memory from malloc at this rate until it is killed: remember_session called by
//                                  handle_request
//   NAME thrash MB SECONDS         takes so much memory, notes the event "filled", touches it at random so long, and ends
//   NAME write FILE MB_A_SECOND MB writes a file, and ends
//   NAME files DIR COUNT           makes empty files, and ends
//   record PROGRAM...              runs it in a terminal of 120×40 and writes to stdout what it prints ("O"), the lines that
//                                  come from stdin ("E", events), and twice a second the state of the memory ("T"), each
//                                  as "KIND MILLISECONDS LENGTH\n" and LENGTH bytes; until the event "over". It types what
//                                  follows "key:" in an event
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    if (fd >= 0) {
        if (write(fd, text, strlen(text)) < 0) perror(path);
        close(fd);
    }
}

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Anonymous memory, touched: every second page does not compress.
static char *take(size_t bytes) {
    static unsigned long x = 88172645463325252UL;
    char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(1);
    for (size_t i = 0; i < bytes; i += 8) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        *(unsigned long *)(p + i) = i / 4096 % 2 ? x : i;
    }
    return p;
}

// Sleeps until the next tenth of a second since `began`.
static void pace(long began, long tenths) {
    long wait = began + tenths * 100 - now();
    if (wait > 0) usleep(wait * 1000);
}

static void grow(double rate, double most, int ends) {
    long began = now();
    size_t taken = 0;
    for (long tenths = 1; taken < most * 1048576; tenths++) {
        pace(began, tenths);
        size_t bytes = (size_t)(rate * 1048576 / 10) & ~4095UL;
        take(bytes);
        taken += bytes;
    }
    while (!ends) pause();
}

// Small blocks, as a program does that keeps an entry per request.
__attribute__((noinline)) static void remember_session(void) {
    char *entry = malloc(1000);
    if (!entry) exit(1);
    memset(entry, 1, 1000);
}

// Counts, so that the call above returns to it.
__attribute__((noinline)) static void handle_request(void) {
    static volatile long handled;
    remember_session();
    handled++;
}

static void grow_heap(double rate) {
    long began = now();
    for (long tenths = 1;; tenths++) {
        pace(began, tenths);
        for (long i = 0; i < rate * 1048576 / 10 / 1008; i++) handle_request();
    }
}

static void thrash(size_t bytes, long seconds) {
    char *p = take(bytes);
    put("/tmp/events", "filled\n");
    for (long end = now() + seconds * 1000; now() < end;) p[((size_t)random() * 4096 + random()) % bytes]++;
}

static void write_file(const char *path, double rate, int mb) {
    char *part = take(1048576);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    long began = now();
    for (int i = 0; i < mb; i++) {
        pace(began, i * 10 / rate);
        if (write(fd, part, 1048576) != 1048576) exit(1);
    }
}

static void make_files(const char *dir, int count) {
    char path[256];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
}

static void send(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(1, bytes, length);
        if (n > 0) bytes += n, length -= n;
    }
}

static void emit(char kind, const char *bytes, size_t length) {
    char head[64];
    send(head, snprintf(head, sizeof head, "%c %ld %zu\n", kind, now(), length));
    send(bytes, length);
}

static char *slurp(const char *path) {
    static char text[8192];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0) close(fd);
    return text;
}

// What the memory is like: of the machine, and current/limit of each cgroup.
static void state(void) {
    static const char *const wanted[][2] = {{"/proc/meminfo", "MemAvailable:"}, {"/proc/meminfo", "MemFree:"},
        {"/proc/meminfo", "SwapFree:"}, {"/proc/vmstat", "pgmajfault "}, {"/proc/vmstat", "oom_kill "},
        {"/proc/pressure/memory", "some "}, {"/proc/pressure/memory", "full "}};
    static const char *const groups[][3] = {{"/sys/fs/cgroup/%s/memory.current", "current", "max"},
        {"/sys/fs/cgroup/memory/%s/memory.usage_in_bytes", "usage_in_bytes", "limit_in_bytes"}};
    static const char *const depths[] = {"*", "*/*", "*/*/*"};
    char out[8192], path[512];
    size_t n = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char *at = strstr(slurp(wanted[i][0]), wanted[i][1]);
        if (at) n += snprintf(out + n, 200, "%.*s; ", (int)strcspn(at, "\n"), at);
    }
    for (int i = 0; i < 6; i++) {
        glob_t found;
        snprintf(path, sizeof path, groups[i / 3][0], depths[i % 3]);
        if (glob(path, 0, 0, &found) == 0)
            for (size_t g = 0; g < found.gl_pathc && n < 7000; g++) {
                char *text = slurp(found.gl_pathv[g]);
                int folder = strlen(found.gl_pathv[g]) - strlen(groups[i / 3][1]);
                n += snprintf(out + n, 300, "%.*s %.*s", folder - 8 - 15, found.gl_pathv[g] + 15, (int)strcspn(text, "\n"), text);
                snprintf(path, sizeof path, "%.*s%s", folder, found.gl_pathv[g], groups[i / 3][2]);
                text = slurp(path);
                n += snprintf(out + n, 100, "/%.*s; ", (int)strcspn(text, "\n"), text);
            }
        globfree(&found);
    }
    emit('T', out, n);
}

static int record(char **program) {
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    struct termios raw;
    if (tcgetattr(1, &raw) == 0) cfmakeraw(&raw), tcsetattr(1, TCSANOW, &raw);
    int terminal;
    pid_t child = forkpty(&terminal, 0, 0, &size);
    if (child == 0) {
        execvp(program[0], program);
        _exit(127);
    }
    put("/proc/self/oom_score_adj", "-1000");
    mlockall(MCL_CURRENT | MCL_FUTURE);
    static char bytes[1 << 16];
    struct pollfd fds[] = {{.fd = terminal, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    for (long next = now();;) {
        long wait = next - now();
        if (wait <= 0) state(), next += 500;
        if (poll(fds, 2, wait > 0 ? wait : 0) <= 0) continue;
        if (fds[0].revents) {
            ssize_t n = read(terminal, bytes, sizeof bytes);
            if (n > 0) emit('O', bytes, n);
            else fds[0].fd = -1, emit('E', "gone", 4);
        }
        if (fds[1].revents & POLLIN) {
            ssize_t n = read(0, bytes, sizeof bytes - 1);
            bytes[n > 0 ? n : 0] = 0;
            for (char *line = strtok(bytes, "\n"); line; line = strtok(0, "\n")) {
                emit('E', line, strlen(line));
                if (strncmp(line, "key:", 4) == 0 && write(terminal, line + 4, strlen(line + 4)) < 0) perror("terminal");
                if (strcmp(line, "over") == 0) {
                    kill(child, SIGKILL);
                    waitpid(child, 0, 0);
                    tcdrain(1);
                    return 0;
                }
            }
        }
    }
}

int main(int count, char **args) {
    if (count > 1 && strstr(args[0], "record")) return record(args + 1);
    const char *what = count > 2 ? args[1] : "";
    if (strcmp(what, "grow") == 0) grow(atof(args[2]), count > 3 ? atof(args[3]) : 1e9, count > 4);
    else if (strcmp(what, "heap") == 0) grow_heap(atof(args[2]));
    else if (strcmp(what, "thrash") == 0) thrash(atol(args[2]) << 20, count > 3 ? atol(args[3]) : 10);
    else if (strcmp(what, "write") == 0 && count > 4) write_file(args[2], atof(args[3]), atoi(args[4]));
    else if (strcmp(what, "files") == 0 && count > 3) make_files(args[2], atoi(args[3]));
    else return 2;
}
