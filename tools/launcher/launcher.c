/* Starts xaas from the relocatable archive with the loader and the libraries of the archive.
 *
 * A program built on Debian 12 needs a newer glibc than many clusters have, and contains the absolute path of
 * its loader. So bin/ contains this static program, which finds its own location and runs
 *
 *     ../libexec/xaas/LOADER --inhibit-cache --library-path ../libexec/xaas/lib --argv0 NAME
 *         ../libexec/xaas/xaas ARGUMENT...
 *
 * With --library-path the loader ignores LD_LIBRARY_PATH. The variable stays set, because compilers and build
 * tools that xaas starts may need it. LD_PRELOAD and LD_AUDIT are removed: they would load libraries of the
 * host beside another libc. A shell script cannot replace this program, because its interpreter is a program
 * of the host.
 *
 * /proc/self/exe of xaas is then the loader. XAAS_LAUNCHER has the path of this program, so that xaas can
 * start itself again.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LOADER "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "ld-linux-aarch64.so.1"
#else
#error "the archive is for x86-64 and AArch64"
#endif

static void say(const char* text) {
  const ssize_t written = write(2, text, strlen(text));
  (void)written;
}

/* to = first + second; 0 if it does not fit. */
static int concatenate(char* to, const char* first, const char* second) {
  const size_t length = strlen(first);
  if (length + strlen(second) >= PATH_MAX)
    return 0;
  memmove(to, first, length);
  strcpy(to + length, second);
  return 1;
}

/* Follows the symbolic links in the last component of a path. Links in the directories before it can stay:
   `..` after them means the parent of their target. */
static int follow_links(char* path) {
  char target[PATH_MAX], next[PATH_MAX];
  for (int count = 0; count < 40; ++count) {
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
      return errno == EINVAL; /* not a link: done */
    target[length] = '\0';
    char* slash = strrchr(path, '/');
    if (target[0] != '/' && slash) {
      slash[1] = '\0';
      if (!concatenate(next, path, target))
        return 0;
      strcpy(path, next);
    } else {
      strcpy(path, target);
    }
  }
  return 0;
}

/* From the path of this program: `self` is its absolute path, `root` the directory with the rest of the
 * archive. */
static int find_root(const char* start, char* self, char* root) {
  if (!start || strlen(start) >= PATH_MAX)
    return 0;
  char path[PATH_MAX], directory[PATH_MAX];
  strcpy(path, start);
  if (!follow_links(path))
    return 0;
  if (path[0] == '/') {
    strcpy(self, path);
  } else {
    if (!getcwd(directory, sizeof directory - 1))
      return 0;
    strcat(directory, "/");
    if (!concatenate(self, directory, path))
      return 0;
  }
  strcpy(directory, self);
  *strrchr(directory, '/') = '\0';
  if (!concatenate(root, directory, "/../libexec/xaas/"))
    return 0;
  return concatenate(path, root, LOADER) && access(path, X_OK) == 0;
}

int main(int count, char** arguments) {
  static char self[PATH_MAX], root[PATH_MAX], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
  const char* name = (const char*)getauxval(AT_EXECFN);
  if (!find_root(name, self, root) && !find_root("/proc/self/exe", self, root)) {
    say("xaas: error: no directory libexec/xaas of the archive beside bin: ");
    say(name ? name : "?");
    say("\nhint: move or link the unpacked archive as a whole\n");
    return 1;
  }
  const char** next = calloc((size_t)count + 8, sizeof *next);
  if (!next || !concatenate(loader, root, LOADER) || !concatenate(libraries, root, "lib") ||
      !concatenate(program, root, "xaas")) {
    say("xaas: error: path too long or out of memory\n");
    return 1;
  }
  unsetenv("LD_PRELOAD");
  unsetenv("LD_AUDIT");
  setenv("XAAS_LAUNCHER", self, 1);

  int used = 0;
  next[used++] = loader;
  next[used++] = "--inhibit-cache";
  next[used++] = "--library-path";
  next[used++] = libraries;
  next[used++] = "--argv0";
  next[used++] = count > 0 ? arguments[0] : self;
  next[used++] = program;
  for (int i = 1; i < count; ++i)
    next[used++] = arguments[i];
  execv(loader, (char* const*)next);
  say("xaas: error: cannot start ");
  say(loader);
  say(": ");
  say(strerror(errno));
  say("\n");
  return 1;
}
