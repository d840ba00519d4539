/* Pass plugins that misbehave, one for each macro. They need no header of LLVM: the interface is a C structure
   (llvm/Plugins/PassPlugin.h). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef API
#define API 2
#endif

/* Whether this process can do what no plugin may: open a file that is not its own, or a socket, or start a program. */
static void probe(const char *when) {
  const int file = open("/etc/passwd", O_RDONLY), made = open("/tmp/xaas-plugin-was-here", O_CREAT | O_WRONLY, 0600);
  const int socket_made = socket(AF_INET, SOCK_STREAM, 0);
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  fprintf(stderr, "%s: file %s, new file %s, socket %s, process %s\n", when, file < 0 ? "refused" : "OPENED",
          made < 0 ? "refused" : "MADE", socket_made < 0 ? "refused" : "OPENED", child < 0 ? "refused" : "STARTED");
  exit(3);
}

#if defined(LOOPS_AT_START) || defined(OPENS_AT_START) || defined(CRASHES_AT_START)
__attribute__((constructor)) static void start(void) {
#ifdef LOOPS_AT_START
  for (volatile int i = 0;; ++i)
    ;
#elif defined(OPENS_AT_START)
  probe("at start");
#else
  abort();
#endif
}
#endif

#ifdef NEEDS_UNKNOWN
void _ZN4llvm8ValueOf99oldLayoutEv(void); /* which no LLVM has */
#endif

static void register_passes(void *builder) {
  (void)builder;
#ifdef NEEDS_UNKNOWN
  _ZN4llvm8ValueOf99oldLayoutEv();
#endif
#ifdef OPENS
  probe("with a module");
#elif defined(CRASHES)
  *(volatile int *)8 = 1;
#elif defined(LOOPS)
  for (volatile int i = 0;; ++i)
    ;
#else
  probe("unused");
#endif
}

struct info {
  uint32_t api;
  const char *name, *version;
  void (*register_passes)(void *builder);
  int (*generate)(void);
};
#ifndef NO_ENTRY
struct info llvmGetPassPluginInfo(void) { return (struct info){API, "hostile", "1", register_passes, 0}; }
#endif
