/*
 * A judge server for measurements: one thread, one epoll, loopback only.
 *
 *     cc -O2 -o stub stub.c && ./stub 8150:50 8151:50:reply.txt
 *
 * Each argument opens a port: PORT:MILLISECONDS[:FILE]. Whatever is posted there is answered so many milliseconds after
 * its last byte came, with the text `[[A]]`, or with what FILE holds. The shape of the answer follows the path: OpenAI
 * chat completions, OpenAI responses (/responses) or Anthropic messages (/messages); a chat that offers tools is
 * answered with a call of the first one, whose arguments are the text. GET /count tells how many posts came and how
 * many were in flight at most; GET /reset forgets that.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PORTS = 8, MOST_EVENTS = 256, FIRST_ROOM = 16384, MOST_TEXT = 65536 };
enum { CHAT, TOOL, RESPONSES, MESSAGES, SHAPES };

typedef struct {
    char *bytes;
    size_t size;
} Answer;

typedef struct Client Client;

/* Answers to one port are due in the order in which they were asked for, since all wait equally long: a ring. */
typedef struct {
    uint64_t due;
    Client *client;
    uint32_t life;
    const Answer *answer;
} Due;

typedef struct {
    int fd;
    uint64_t wait_ns;
    Answer answers[SHAPES];
    Due *ring;
    size_t first, waiting, room;
    uint64_t count, most;
} Port;

struct Client {
    int fd; /* -1: closed */
    uint32_t life;
    Port *port;
    char *in, *out;
    size_t got, in_room, left, out_room;
    Client *next_free;
};

static Port ports[MOST_PORTS];
static int n_ports, epoll_fd;
static Client *free_clients;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *grown(void *old, size_t size) {
    void *new = realloc(old, size);
    if (!new) fail("realloc");
    return new;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Return a text as a JSON string, with its quotes. */
static char *quoted(const char *text) {
    char *made = grown(NULL, 6 * strlen(text) + 3), *end = made;
    *end++ = '"';
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') *end++ = '\\', *end++ = *c;
        else if ((unsigned char)*c < 0x20) end += sprintf(end, "\\u%04x", *c);
        else *end++ = *c;
    }
    strcpy(end, "\"");
    return made;
}

static Answer answer(char *body) {
    Answer made;
    int size = asprintf(&made.bytes, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                        strlen(body), body);
    if (size < 0) fail("asprintf");
    made.size = (size_t)size;
    free(body);
    return made;
}

static void write_answers(Port *port, const char *text) {
    static const char *const shapes[SHAPES] = {
        [CHAT] = "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1760000000,\"model\":\"stub-judge\","
                 "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":%s,\"refusal\":null},"
                 "\"logprobs\":null,\"finish_reason\":\"stop\"}],"
                 "\"usage\":{\"prompt_tokens\":380,\"completion_tokens\":5,\"total_tokens\":385}}",
        [TOOL] = "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1760000000,\"model\":\"stub-judge\","
                 "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\","
                 "\"type\":\"function\",\"function\":{\"name\":\"final_result\",\"arguments\":%s}}]},\"logprobs\":null,"
                 "\"finish_reason\":\"tool_calls\"}],"
                 "\"usage\":{\"prompt_tokens\":380,\"completion_tokens\":5,\"total_tokens\":385}}",
        [RESPONSES] = "{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1760000000,\"status\":\"completed\","
                      "\"error\":null,\"incomplete_details\":null,\"model\":\"stub-judge\",\"output\":[{\"type\":\"message\","
                      "\"id\":\"msg_1\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
                      "\"text\":%s,\"annotations\":[]}]}],\"parallel_tool_calls\":true,\"tool_choice\":\"auto\",\"tools\":[],"
                      "\"usage\":{\"input_tokens\":380,\"output_tokens\":5,\"total_tokens\":385}}",
        [MESSAGES] = "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"stub-judge\","
                     "\"content\":[{\"type\":\"text\",\"text\":%s}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
                     "\"usage\":{\"input_tokens\":380,\"output_tokens\":5}}",
    };
    char *said = quoted(text);
    for (int shape = 0; shape < SHAPES; shape++) {
        char *body;
        if (asprintf(&body, shapes[shape], said) < 0) fail("asprintf");
        port->answers[shape] = answer(body);
    }
    free(said);
}

static void watch(Client *client, uint32_t events, int how) {
    struct epoll_event event = {.events = events, .data.ptr = client};
    if (epoll_ctl(epoll_fd, how, client->fd, &event)) fail("epoll_ctl");
}

static void hang_up(Client *client) {
    close(client->fd);
    client->fd = -1;
    client->life++; /* what is due to it is dropped */
    client->got = client->left = 0;
    client->next_free = free_clients;
    free_clients = client;
}

static void say(Client *client, const char *bytes, size_t size) {
    if (!client->left) {
        ssize_t sent = send(client->fd, bytes, size, MSG_NOSIGNAL);
        if (sent == (ssize_t)size || (sent < 0 && errno != EAGAIN)) return;
        if (sent > 0) bytes += sent, size -= (size_t)sent;
    }
    if (client->left + size > client->out_room)
        client->out = grown(client->out, client->out_room = 2 * (client->left + size));
    memcpy(client->out + client->left, bytes, size);
    client->left += size;
    watch(client, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
}

static void say_rest(Client *client) {
    ssize_t sent = send(client->fd, client->out, client->left, MSG_NOSIGNAL);
    if (sent > 0) memmove(client->out, client->out + sent, client->left -= (size_t)sent);
    if (!client->left) watch(client, EPOLLIN, EPOLL_CTL_MOD);
}

static void put_off(Port *port, Client *client, const Answer *what) {
    if (port->waiting == port->room) {
        size_t room = port->room ? 2 * port->room : 1024;
        Due *ring = grown(NULL, room * sizeof *ring);
        for (size_t i = 0; i < port->waiting; i++) ring[i] = port->ring[(port->first + i) % port->room];
        free(port->ring);
        port->ring = ring, port->room = room, port->first = 0;
    }
    port->ring[(port->first + port->waiting++) % port->room] =
        (Due){now_ns() + port->wait_ns, client, client->life, what};
    if (port->waiting > port->most) port->most = port->waiting;
}

static int has(const char *in, size_t size, const char *what) { return memmem(in, size, what, strlen(what)) != NULL; }

static int shape_of(const char *line, size_t line_size, const char *body, size_t size) {
    if (has(line, line_size, "/messages")) return MESSAGES;
    if (has(line, line_size, "/responses")) return RESPONSES;
    return has(body, size, "\"tools\":[{") || has(body, size, "\"tools\": [{") ? TOOL : CHAT;
}

static void tell(Client *client, const char *line, size_t size) {
    Port *port = client->port;
    if (has(line, size, "/reset")) port->count = 0, port->most = port->waiting;
    char body[128], head[256];
    int length = snprintf(body, sizeof body, "{\"count\":%llu,\"most\":%llu}", (unsigned long long)port->count,
                          (unsigned long long)port->most);
    int total = snprintf(head, sizeof head,
                         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, body);
    say(client, head, (size_t)total);
}

/* Return the size of the first whole request; 0 if there is none yet. */
static size_t request_size(const char *in, size_t got, size_t *head_size) {
    const char *head_end = memmem(in, got, "\r\n\r\n", 4);
    if (!head_end) return 0;
    size_t head = (size_t)(head_end - in) + 4, body = 0;
    for (const char *line = in; line && line < head_end; line = memchr(line, '\n', (size_t)(head_end - line))) {
        line += *line == '\n';
        if (!strncasecmp(line, "content-length:", 15)) body = strtoul(line + 15, NULL, 10);
        if (!strncasecmp(line, "transfer-encoding:", 18)) {
            const char *last = memmem(head_end + 2, got - head + 2, "\r\n0\r\n\r\n", 7);
            if (!last) return 0;
            body = (size_t)(last + 7 - in) - head;
        }
    }
    *head_size = head;
    return got >= head + body ? head + body : 0;
}

static void take_requests(Client *client) {
    size_t used = 0, head, size;
    while ((size = request_size(client->in + used, client->got - used, &head))) {
        const char *start = client->in + used;
        size_t line = (size_t)((const char *)memchr(start, '\r', size) - start);
        Port *port = client->port;
        if (!strncmp(start, "GET ", 4)) {
            tell(client, start, line);
        } else {
            port->count++;
            put_off(port, client, &port->answers[shape_of(start, line, start + head, size - head)]);
        }
        used += size;
    }
    memmove(client->in, client->in + used, client->got -= used);
    client->in[client->got] = 0;
}

static void hear(Client *client) {
    if (client->in_room - client->got < 4096) client->in = grown(client->in, (client->in_room *= 2) + 1);
    ssize_t came = recv(client->fd, client->in + client->got, client->in_room - client->got, 0);
    if (came <= 0) {
        if (came == 0 || errno != EAGAIN) hang_up(client);
        return;
    }
    client->got += (size_t)came;
    client->in[client->got] = 0;
    take_requests(client);
}

static void welcome(Port *port) {
    int fd;
    while ((fd = accept4(port->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        Client *client = free_clients;
        if (client) free_clients = client->next_free;
        else if (!(client = calloc(1, sizeof *client))) fail("calloc");
        if (!client->in) client->in = grown(NULL, (client->in_room = FIRST_ROOM) + 1);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        client->fd = fd, client->port = port;
        watch(client, EPOLLIN, EPOLL_CTL_ADD);
    }
}

static void open_port(char *argument) {
    if (n_ports == MOST_PORTS) exit(2);
    Port *port = &ports[n_ports++];
    char *number = strtok(argument, ":"), *wait = strtok(NULL, ":"), *file = strtok(NULL, ":");
    static char text[MOST_TEXT];
    strcpy(text, "[[A]]");
    if (file) {
        FILE *from = fopen(file, "r");
        if (!from) fail(file);
        text[fread(text, 1, MOST_TEXT - 1, from)] = 0;
        fclose(from);
    }
    write_answers(port, text);
    port->wait_ns = (uint64_t)(1e6 * (wait ? atof(wait) : 0));
    port->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    setsockopt(port->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(number))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(port->fd, (struct sockaddr *)&at, sizeof at) || listen(port->fd, 4096)) fail(number);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = port};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, port->fd, &event)) fail("epoll_ctl");
}

static int is_port(const void *which) { return which >= (void *)ports && which < (void *)(ports + MOST_PORTS); }

/* Answer what is due, and return how long to sleep; -1: until something comes. */
static int64_t settle(void) {
    int64_t least = -1;
    uint64_t now = now_ns();
    for (Port *port = ports; port < ports + n_ports; port++) {
        for (; port->waiting && port->ring[port->first].due <= now; port->waiting--) {
            Due *due = &port->ring[port->first];
            port->first = (port->first + 1) % port->room;
            if (due->client->fd >= 0 && due->client->life == due->life) say(due->client, due->answer->bytes, due->answer->size);
        }
        if (port->waiting) {
            int64_t wait = (int64_t)(port->ring[port->first].due - now);
            if (least < 0 || wait < least) least = wait;
        }
    }
    return least;
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(0);
    for (int i = 1; i < count; i++) open_port(arguments[i]);
    puts("ready");
    fflush(stdout);
    struct epoll_event events[MOST_EVENTS];
    for (;;) {
        int64_t sleep = settle();
        struct timespec wait = {sleep / 1000000000, sleep % 1000000000};
        int came = epoll_pwait2(epoll_fd, events, MOST_EVENTS, sleep < 0 ? NULL : &wait, NULL);
        if (came < 0 && errno != EINTR) fail("epoll_pwait2");
        for (int i = 0; i < came; i++) {
            if (is_port(events[i].data.ptr)) {
                welcome(events[i].data.ptr);
                continue;
            }
            Client *client = events[i].data.ptr;
            if (client->fd >= 0 && events[i].events & EPOLLOUT && client->left) say_rest(client);
            if (client->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT) hear(client);
        }
    }
}
