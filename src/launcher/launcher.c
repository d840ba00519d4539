// The program that stands in `bin/` of a file tree for several targets.
//
// A tree has each program once for each target, and one name. The kernel starts what has that name, so this
// asks the CPU and starts the program for the best target that it can run:
//
//   /usr/local/bin/solver                               this program
//   /.xaas/targets/haswell/usr/local/bin/solver         what it starts on Haswell
//   /.xaas/targets/x86-64/usr/local/bin/solver          what it starts on older CPUs
//
// The process stays the same, with its arguments, and /proc/self/exe is the program that runs: files that the
// program finds relative to itself are those of its target, which has all of them. The tree may lie anywhere;
// its root is the directory above this file that has the targets.
//
// XAAS_TARGET=NAME chooses a target, XAAS_TARGET=print prints the choice.
//
// It runs in any tree, before any library is found, so it has none and makes its system calls itself. It is
// compiled once for the weakest CPU of each architecture, and its table is written into the finished file
// (launcher.cpp). A shell script was rejected, because the tree may have no shell, and libraries in
// glibc-hwcaps alone, because they know four levels, and programs have code of their own. Exit codes are
// those of a shell: 126 for a program that cannot be started, 127 for one that is not there. Sources: psABI
// of x86-64, 3.4.1, and AAPCS64 with Linux (the initial stack).
#include "table.h"

#include <xaas/target/system_calls.h>

typedef unsigned int u32;
typedef unsigned long u64;

// Not const, because the compiler must not fold the values, which are written into the finished file.
struct launcher_table xaas_launcher_table __attribute__((visibility("default"))) = {.mark = LAUNCHER_MARK};

enum { longest_path = 8192 };

static const char targets_directory[] = "/.xaas/targets";

static u64 length_of(const char* text) {
  u64 length = 0;
  while (text[length])
    ++length;
  return length;
}

static int begins_with(const char* text, const char* start) {
  while (*start)
    if (*text++ != *start++)
      return 0;
  return 1;
}

static int equal(const char* a, const char* b) {
  return begins_with(a, b) && length_of(a) == length_of(b);
}

struct text {
  u64 size, room;
  char* bytes;
};

// Text that does not fit is cut; where that matters, the caller looks at `size`.
static void add(struct text* text, const char* more) {
  for (; *more; ++more, ++text->size)
    if (text->size + 1 < text->room)
      text->bytes[text->size] = *more;
  text->bytes[text->size < text->room ? text->size : text->room - 1] = 0;
}

static int fits(const struct text* text) {
  return text->size < text->room;
}

static char message_bytes[2048], path_bytes[longest_path], own_path[longest_path];
static struct text message = {0, sizeof message_bytes, message_bytes};

// Written in one piece, because the ranks of a parallel program print at the same time.
static void say(int file) {
  write_file(file, message.bytes, message.size < message.room ? message.size : message.room - 1);
}

static void fail(int code, const char* hint) {
  add(&message, "\n");
  if (*hint) {
    add(&message, "hint: ");
    add(&message, hint);
    add(&message, "\n");
  }
  say(2);
  leave_process(code);
}

static const struct launcher_table* const table = &xaas_launcher_table;

static const u64* auxiliary; // pairs of a type and a value

// Which features of the table this CPU and its system lack.
static void find_missing(u64 missing[2]) {
  struct cpu_answers answers;
  start_asking(&answers, auxiliary);
  missing[0] = missing[1] = 0;
  for (u32 i = 0; i < table->features; ++i)
    if (!has_feature(&answers, &table->feature[i]))
      missing[i / 64] |= 1UL << (i % 64);
}

static int runs(const struct launcher_target* target, const u64 missing[2]) {
  return !(target->needs[0] & missing[0]) && !(target->needs[1] & missing[1]);
}

static int has_device(const struct launcher_target* target) {
  return !*target->device || is_there(target->device);
}

static void add_lacking(const struct launcher_target* target, const u64 missing[2]) {
  enum { shown = 4 };
  u32 count = 0;
  for (u32 i = 0; i < table->features; ++i)
    if ((target->needs[i / 64] & missing[i / 64]) >> (i % 64) & 1) {
      if (count < shown)
        add(&message, count ? ", " : "");
      if (count < shown)
        add(&message, table->feature[i].name);
      ++count;
    }
  if (count > shown)
    add(&message, " and others");
}

// Sets `path` to the directory of the target.
static void set_directory(struct text* path, u64 root, const struct launcher_target* target) {
  path->size = 0;
  own_path[root] = 0;
  add(path, own_path);
  own_path[root] = '/';
  add(path, targets_directory);
  add(path, "/");
  add(path, target->directory);
}

// Sets `path` to the program for the target. False if the target has none of this name.
static int find_program(struct text* path, u64 root, const struct launcher_target* target) {
  set_directory(path, root, target);
  add(path, own_path + root); // with a slash
  return fits(path) && is_there(path->bytes);
}

// Where this program is. Without /proc, as in a plain chroot, the kernel tells the name by which it was
// started, which can be a link beside it, but not the name of a script that has this program as its
// interpreter.
static void find_own_path(const char* name) {
  enum { executed_name = 31 }; // AT_EXECFN
  const long size = read_link("/proc/self/exe", own_path, sizeof own_path - 1);
  if (size > 0 && size < (long)sizeof own_path - 1) {
    own_path[size] = 0;
    return;
  }
  const u64* entry = auxiliary;
  while (entry[0] && entry[0] != executed_name)
    entry += 2;
  struct text path = {0, sizeof own_path, own_path};
  if (entry[0])
    add(&path, (const char*)entry[1]);
  if (*own_path == '/' && fits(&path))
    return;
  add(&message, name);
  add(&message, ": cannot read /proc/self/exe");
  fail(126, "without /proc, start it by an absolute path");
}

// The size of the root's path: the targets are there.
static u64 find_root(void) {
  struct text place = {0, sizeof path_bytes, path_bytes};
  for (u64 at = length_of(own_path); at-- > 0;) {
    if (own_path[at] != '/')
      continue;
    own_path[at] = 0;
    place.size = 0;
    add(&place, own_path);
    add(&place, targets_directory);
    own_path[at] = '/';
    if (fits(&place) && is_there(place.bytes))
      return at;
  }
  add(&message, own_path);
  add(&message, ": no directory above it has .xaas/targets");
  fail(127, "it starts a program of the tree that it was written with; link to it instead of copying it");
  return 0;
}

static const struct launcher_target* by_name(const char* name) {
  for (u32 i = 0; i < table->targets; ++i)
    if (equal(table->target[i].name, name))
      return &table->target[i];
  add(&message, own_path);
  add(&message, ": XAAS_TARGET=");
  add(&message, name);
  add(&message, ": no such target; there are ");
  for (u32 i = 0; i < table->targets; ++i) {
    add(&message, i ? ", " : "");
    add(&message, table->target[i].name);
  }
  fail(126, "");
  return 0;
}

// The best target: the first of the table whose features the CPU has and that has the program, of those first
// that also find their device.
static const struct launcher_target* choose(struct text* path, u64 root) {
  u64 missing[2];
  find_missing(missing);
  for (int device = 1; device >= 0; --device)
    for (u32 i = 0; i < table->targets; ++i) {
      const struct launcher_target* const target = &table->target[i];
      if (runs(target, missing) && (!device || has_device(target)) && find_program(path, root, target))
        return target;
    }
  int exists = 0;
  for (u32 i = 0; i < table->targets; ++i)
    exists |= find_program(path, root, &table->target[i]);
  add(&message, own_path);
  if (!exists) {
    add(&message, ": no target has a program of this name and place");
    fail(127, "it starts a program of the tree that it was written with; link to it instead of copying it");
  }
  add(&message, ": no target has this program for this CPU");
  const char* separator = ": ";
  for (u32 i = 0; i < table->targets; ++i) {
    const struct launcher_target* const target = &table->target[i];
    if (runs(target, missing) || !find_program(path, root, target))
      continue;
    add(&message, separator);
    separator = "; ";
    add(&message, target->name);
    add(&message, " needs ");
    add_lacking(target, missing);
  }
  fail(126, "deploy it for this machine with `xaas deploy`");
  return 0;
}

static char* allocate(u64 size) {
  const long result = allocate_pages(size);
  if (result < 0 && result > -4096) {
    add(&message, own_path);
    add(&message, ": no memory");
    fail(126, "");
  }
  return (char*)result;
}

static int has_separator(const char* path) {
  for (; *path; ++path)
    if (*path == ':' || *path == ';' || *path == '$')
      return 1;
  return 0;
}

// LD_LIBRARY_PATH for the program, or null: it stays as it is. First come the target's directories of
// libraries that their users do not find relative to themselves. Before a directory of the tree, which has
// libraries of the weakest target, comes the target's own:
//
//   before   /opt/lib:/tree/usr/local/lib
//   after    /opt/lib:/tree/.xaas/targets/haswell/usr/local/lib:/tree/usr/local/lib
//
// A program of this target that starts another one leaves nothing to add.
static char* library_path(u64 root, const struct launcher_target* target, const char* before) {
  const u64 own_length = root + sizeof targets_directory + sizeof target->directory;
  u64 entries = 1, room = 64;
  for (const char* at = before ? before : ""; *at; ++at, ++room)
    entries += *at == ':';
  room += room; // each entry at most twice
  for (const char* at = table->libraries; *at; at += length_of(at) + 1, ++entries)
    room += length_of(at) + 2;
  struct text path = {0, room + entries * own_length, 0};
  path.bytes = allocate(path.room);
  struct text directory = {0, sizeof path_bytes, allocate(sizeof path_bytes)};
  set_directory(&directory, root, target);
  add(&path, "LD_LIBRARY_PATH=");
  const u64 name = path.size;
  u64 last = name; // where the entry before begins
  for (const char* at = table->libraries; *at; at += length_of(at) + 1) {
    add(&path, path.size == name ? "" : ":");
    last = path.size;
    add(&path, directory.bytes);
    add(&path, "/");
    add(&path, at);
  }
  if (*table->libraries && has_separator(directory.bytes)) {
    add(&message, directory.bytes);
    add(&message, ": LD_LIBRARY_PATH cannot name it, because of a colon, a semicolon or a dollar sign");
    fail(126, "move the tree");
  }
  if (!before || !*before)
    return path.size == name ? 0 : path.bytes;

  const char* rest = before;
  const u64 own = path.size - name;
  if (own && begins_with(before, path.bytes + name) && (before[own] == 0 || before[own] == ':'))
    rest += before[own] ? own + 1 : own;
  else if (own)
    add(&path, ":");
  if (rest != before && *rest)
    add(&path, ":");
  while (*rest) {
    const char* end = rest;
    while (*end && *end != ':')
      ++end;
    char entry[longest_path];
    struct text text = {0, sizeof entry, entry};
    for (const char* at = rest; at != end; ++at) {
      const char letter[2] = {*at, 0};
      add(&text, letter);
    }
    own_path[root] = 0;
    const int below = fits(&text) && begins_with(entry, own_path) && entry[root] == '/';
    own_path[root] = '/';
    if (below && !begins_with(entry + root, "/.xaas/")) {
      const u64 size = directory.size;
      add(&directory, entry + root);
      if (fits(&directory) && !has_separator(directory.bytes) && is_there(directory.bytes) &&
          !(begins_with(path.bytes + last, directory.bytes) && path.bytes[last + directory.size] == ':')) {
        add(&path, directory.bytes);
        add(&path, ":");
      }
      directory.size = size;
    }
    last = path.size;
    for (const char* at = rest; at != end; ++at) {
      const char letter[2] = {*at, 0};
      add(&path, letter);
    }
    if (*end)
      add(&path, ":");
    rest = *end ? end + 1 : end;
  }
  return equal(path.bytes + name, before) ? 0 : path.bytes;
}

static const char* reason_of(long failed) {
  switch (-failed) {
  case 2:
    return "it or its loader does not exist";
  case 7:
    return "the arguments and the environment are too long";
  case 8:
    return "the kernel does not know its format";
  case 12:
    return "no memory";
  case 13:
    return "permission denied";
  default:
    return "the kernel does not start it";
  }
}

__attribute__((used, noreturn)) void xaas_launch(u64* stack) {
  const u64 count = stack[0];
  char** const arguments = (char**)(stack + 1);
  char** const environment = arguments + count + 1;
  const char *wanted = 0, *libraries = 0;
  u64 variables = 0, place = 0;
  for (; environment[variables]; ++variables) {
    if (begins_with(environment[variables], "XAAS_TARGET="))
      wanted = environment[variables] + 12;
    if (begins_with(environment[variables], "LD_LIBRARY_PATH=")) {
      libraries = environment[variables] + 16;
      place = variables;
    }
  }
  auxiliary = (const u64*)(environment + variables + 1);
  find_own_path(count ? arguments[0] : "xaas launcher");
  const u64 root = find_root();
  struct text path = {0, sizeof path_bytes, path_bytes};
  const int prints = wanted && equal(wanted, "print");
  const struct launcher_target* target = 0;
  if (wanted && *wanted && !prints) {
    target = by_name(wanted);
    if (!find_program(&path, root, target)) {
      add(&message, own_path);
      add(&message, ": target ");
      add(&message, target->name);
      add(&message, " has no such program");
      fail(127, "");
    }
  } else {
    target = choose(&path, root);
  }
  if (prints) {
    add(&message, target->name);
    add(&message, " ");
    add(&message, path.bytes);
    add(&message, "\n");
    say(1);
    leave_process(0);
  }
  char** variables_of_program = environment;
  char* const entry = library_path(root, target, libraries);
  if (entry && libraries) {
    environment[place] = entry;
  } else if (entry) {
    variables_of_program = (char**)allocate((variables + 2) * sizeof(char*));
    for (u64 i = 0; i < variables; ++i)
      variables_of_program[i] = environment[i];
    variables_of_program[variables] = entry;
    variables_of_program[variables + 1] = 0;
  }
  const long failed = execute(path.bytes, arguments, variables_of_program);
  add(&message, path.bytes);
  add(&message, ": ");
  add(&message, reason_of(failed));
  fail(failed == -2 ? 127 : 126, "");
  __builtin_unreachable();
}

// The kernel starts here, with the arguments on the stack.
#ifdef __x86_64__
__asm__(".globl _start\n"
        "_start:\n"
        "  xor %ebp, %ebp\n"
        "  mov %rsp, %rdi\n"
        "  and $-16, %rsp\n"
        "  call xaas_launch\n"
        "  hlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
        "_start:\n"
        "  mov x29, xzr\n"
        "  mov x30, xzr\n"
        "  mov x0, sp\n"
        "  bl xaas_launch\n"
        "  brk #1\n");
#endif
