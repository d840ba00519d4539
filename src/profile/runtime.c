// The part of a profile's counters that programs have: writes them to a file when the program or library ends.
//
// Problem: LLVM's instrumentation leaves counters in sections of every program and library. Somebody must write them down
// in LLVM's raw format. Clang links compiler-rt's library for that, which exists for the architectures that a machine has
// packages for, and fits the LLVM that it came with. Deploying has neither that machine nor that LLVM at hand.
//
// Approach: LLVM's own header has the layout of everything in that format. With it, this file is all that is left. It is
// carried as IR for each architecture and lowered like the application. Every program and library has a copy of its own,
// with hidden symbols, and writes a file of its own. A file appears whole, by renaming, and no file is written twice, so
// ranks need no locks on a network file system.
//
// Where: $LLVM_PROFILE_FILE, in which %p is the process, %h the host, and %m the program or library by the names of its
// functions. Without %m, that is appended, because a process may have several.
//
// Rejected: merging into one file while the program ends (%m of compiler-rt), which needs locks; the values of calls and
// lengths, which compiler-rt also records.
#include <stddef.h>
#include <stdint.h>

// Of every C library; values of <asm-generic/fcntl.h>.
char* getenv(const char*);
int getpid(void);
int gethostname(char*, size_t);
int open(const char*, int, ...);
long write(int, const void*, size_t);
int close(int);
int rename(const char*, const char*);
int unlink(const char*);
enum { write_only = 01, create = 0100, exclusive = 0200 };

#define VALUE_PROF_KIND(Enumerator, Value, Description) Enumerator = Value,
enum value_kind {
#include "llvm/ProfileData/InstrProfData.inc"
};

typedef void* IntPtrT;
typedef struct {
#define INSTR_PROF_DATA(Type, LLVMType, Name, Initializer) Type Name;
#include "llvm/ProfileData/InstrProfData.inc"
} function_data;

typedef struct {
#define INSTR_PROF_RAW_HEADER(Type, Name, Initializer) Type Name;
#include "llvm/ProfileData/InstrProfData.inc"
} raw_header;

#undef INSTR_PROF_DATA_DEFINED
#include "llvm/ProfileData/InstrProfData.inc"

#define HIDDEN __attribute__((visibility("hidden")))
// The linker defines these; nothing is instrumented where it does not.
#define SECTION(Name)                                                                                        \
  extern const char __start_##Name[] HIDDEN __attribute__((weak));                                           \
  extern const char __stop_##Name[] HIDDEN __attribute__((weak))
SECTION(__llvm_prf_data);
SECTION(__llvm_prf_cnts);
SECTION(__llvm_prf_names);

extern const uint64_t INSTR_PROF_RAW_VERSION_VAR HIDDEN __attribute__((weak)); // of instrumented modules
HIDDEN int INSTR_PROF_PROFILE_RUNTIME_VAR;                                     // which they may refer to

enum { longest_path = 4096 };

static size_t length_of(const char* text) {
  size_t length = 0;
  while (text[length])
    ++length;
  return length;
}

typedef struct {
  char text[longest_path];
  size_t length;
} path;

static void append(path* to, const char* text, size_t length) {
  for (size_t i = 0; i < length && to->length + 1 < longest_path; ++i)
    to->text[to->length++] = text[i];
  to->text[to->length] = 0;
}

static void append_number(path* to, uint64_t number, unsigned base) {
  char digits[20];
  size_t at = sizeof digits;
  do
    digits[--at] = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  append(to, digits + at, sizeof digits - at);
}

static uint64_t signature(void) { // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char* at = __start___llvm_prf_names; at != __stop___llvm_prf_names; ++at)
    hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
  return hash;
}

static void expand(path* to, const char* pattern) {
  int has_signature = 0;
  for (; *pattern; ++pattern) {
    if (*pattern != '%') {
      append(to, pattern, 1);
      continue;
    }
    char host[256] = "";
    switch (*++pattern) {
    case 'p':
      append_number(to, (uint64_t)getpid(), 10);
      break;
    case 'h':
      gethostname(host, sizeof host - 1);
      append(to, host, length_of(host));
      break;
    case 'm':
      append_number(to, signature(), 16);
      has_signature = 1;
      break;
    case 0:
      --pattern;
      break;
    default:
      append(to, pattern, 1);
    }
  }
  if (!has_signature) {
    append(to, ".", 1);
    append_number(to, signature(), 16);
  }
}

static int write_all(int file, const void* bytes, size_t length) {
  const char* at = bytes;
  while (length > 0) {
    const long written = write(file, at, length);
    if (written <= 0)
      return 0;
    at += written;
    length -= (size_t)written;
  }
  return 1;
}

static int write_part(int file, const char* start, const char* end) { // up to a multiple of 8 bytes
  static const char zeros[8];
  const size_t length = (size_t)(end - start);
  return write_all(file, start, length) && write_all(file, zeros, -length & 7);
}

static int write_profile(int file) {
  const size_t counters = (size_t)(__stop___llvm_prf_cnts - __start___llvm_prf_cnts);
  const size_t data = (size_t)(__stop___llvm_prf_data - __start___llvm_prf_data);
  const raw_header header = {.Magic = INSTR_PROF_RAW_MAGIC_64,
                             .Version = INSTR_PROF_RAW_VERSION_VAR,
                             .NumData = data / sizeof(function_data),
                             .NumCounters = counters / sizeof(uint64_t),
                             .NamesSize = (size_t)(__stop___llvm_prf_names - __start___llvm_prf_names),
                             .CountersDelta = (uintptr_t)__start___llvm_prf_cnts - (uintptr_t)__start___llvm_prf_data,
                             .BitmapDelta = 0 - (uintptr_t)__start___llvm_prf_data,
                             .NamesDelta = (uintptr_t)__start___llvm_prf_names,
                             .ValueKindLast = IPVK_Last};
  return write_all(file, &header, sizeof header) && write_part(file, __start___llvm_prf_data, __stop___llvm_prf_data) &&
         write_part(file, __start___llvm_prf_cnts, __stop___llvm_prf_cnts) &&
         write_part(file, __start___llvm_prf_names, __stop___llvm_prf_names);
}

// After all other destructors, which are counted, too.
__attribute__((destructor(101))) static void write_when_it_ends(void) {
  if (__start___llvm_prf_data == __stop___llvm_prf_data)
    return;
  static path final, unfinished; // the stack may be small
  final.length = 0;
  const char* const pattern = getenv("LLVM_PROFILE_FILE");
  expand(&final, pattern && *pattern ? pattern : "default-%p.profraw");
  unfinished = final;
  append(&unfinished, ".new", 4);
  const int file = open(unfinished.text, write_only | create | exclusive, 0666);
  const int written = file >= 0 && write_profile(file);
  const int closed = file >= 0 && close(file) == 0;
  if (written && closed && rename(unfinished.text, final.text) == 0)
    return;
  if (file >= 0)
    unlink(unfinished.text);
  static path message;
  message.length = 0;
  append(&message, "xaas: the profile cannot be written: ", 37);
  append(&message, final.text, final.length);
  append(&message, "\n", 1);
  write_all(2, message.text, message.length);
}
