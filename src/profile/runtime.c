// The part of a profile's counters that programs have: writes them to a file when the program or library ends.
//
// Problem: LLVM's instrumentation leaves counters in sections of every program and library. Somebody must write them down
// in LLVM's raw format. Clang links compiler-rt's library for that, which exists for the architectures that a machine has
// packages for, and fits the LLVM that it came with. Deploying has neither that machine nor that LLVM at hand.
//
// Approach: LLVM's own header has the layout of everything in that format. With it, this file is all that is left. It is
// carried as IR for each architecture and lowered like the application. Every program and library has a copy of its own,
// with hidden symbols, and writes a file of its own. A file appears whole, and none is written twice, so ranks need no
// locks on a network file system.
//
// Where: $LLVM_PROFILE_FILE, in which %p is the process, %h the host, and %m the program or library by the names of its
// functions. Without %m, that is appended, because a process may have several. A number follows it where the file is
// there already: of a library with the same names, of one that was loaded before, or of an earlier run.
//
// Besides counts, it keeps the commonest targets of calls through pointers and the commonest lengths of memcpy() and the like,
// as lists at each such place. Like compiler-rt's, these lists may lose counts between threads.
//
// Rejected: merging into one file while the program ends (%m of compiler-rt), which needs locks.
#include <stddef.h>
#include <stdint.h>

// Of every C library; values of <asm-generic/fcntl.h>.
char* getenv(const char*);
int getpid(void);
int gethostname(char*, size_t);
int open(const char*, int, ...);
long write(int, const void*, size_t);
int close(int);
int access(const char*, int);
int link(const char*, const char*);
int rename(const char*, const char*);
int unlink(const char*);
int* __errno_location(void);
enum { write_only = 01, create = 0100, exclusive = 0200, file_exists = 17 };

#define INSTR_PROF_VISIBILITY static __attribute__((unused))
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

typedef struct value_node* PtrToNodeT;
typedef struct value_node {
#define INSTR_PROF_VALUE_NODE(Type, LLVMType, Name, Initializer) Type Name;
#include "llvm/ProfileData/InstrProfData.inc"
} value_node;

#define INSTR_PROF_VALUE_PROF_MEMOP_API
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
extern value_node __start___llvm_prf_vnds[] HIDDEN __attribute__((weak)), __stop___llvm_prf_vnds[] HIDDEN __attribute__((weak));

extern const uint64_t INSTR_PROF_RAW_VERSION_VAR HIDDEN __attribute__((weak)); // of instrumented modules
HIDDEN int INSTR_PROF_PROFILE_RUNTIME_VAR;                                     // which they may refer to

enum { longest_list = 16, longest_path = 4096, most_files = 100000 };

// Takes a node of those that the module has for all of its places; null if none is left.
static value_node* new_node(void) {
  static size_t taken;
  const size_t all = (size_t)(__stop___llvm_prf_vnds - __start___llvm_prf_vnds);
  const size_t index = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  if (index < all)
    return __start___llvm_prf_vnds + index;
  __atomic_store_n(&taken, all, __ATOMIC_RELAXED);
  return 0;
}

// Counts a value at a place of a function, whose lists stand in the order of places.
static void count_value(uint64_t value, const function_data* function, uint32_t place) {
  if (!function || !function->Values)
    return;
  value_node** const list = (value_node**)function->Values + place;
  value_node* rarest = 0;
  value_node** end = list;
  unsigned length = 0;
  for (value_node* node; (node = __atomic_load_n(end, __ATOMIC_ACQUIRE)); end = &node->Next, ++length) {
    if (node->Value == value) {
      ++node->Count;
      return;
    }
    if (!rarest || node->Count < rarest->Count)
      rarest = node;
  }
  value_node* const added = length < longest_list ? new_node() : 0;
  if (added) {
    added->Value = value;
    added->Count = 1;
    value_node* none = 0;
    __atomic_compare_exchange_n(end, &none, added, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  } else if (rarest && (rarest->Count == 0 || --rarest->Count == 0)) { // makes room for a commoner one
    rarest->Value = value;
    rarest->Count = 1;
  }
}

// Calls of these two are a part of instrumented code.
HIDDEN void INSTR_PROF_VALUE_PROF_FUNC(uint64_t value, void* function, uint32_t place) {
  count_value(value, function, place);
}
HIDDEN void INSTR_PROF_VALUE_PROF_MEMOP_FUNC(uint64_t value, void* function, uint32_t place) {
  count_value(InstrProfGetRangeRepValue(value), function, place);
}

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

static void append_signature(path* to, unsigned number) {
  append_number(to, signature(), 16);
  if (number > 0) {
    append(to, ".", 1);
    append_number(to, number, 10);
  }
}

static void expand(path* to, const char* pattern, unsigned number) {
  int has_signature = 0;
  to->length = 0;
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
      append_signature(to, number);
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
    append_signature(to, number);
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

// A file with a buffer, for parts of a few bytes.
typedef struct {
  int file, failed;
  size_t used;
  char bytes[1 << 14];
} output;

static void flush(output* to) {
  to->failed |= !write_all(to->file, to->bytes, to->used);
  to->used = 0;
}

static void put(output* to, const void* bytes, size_t length) {
  for (const char* at = bytes; length > 0; --length) {
    if (to->used == sizeof to->bytes)
      flush(to);
    to->bytes[to->used++] = *at++;
  }
}

static unsigned char length_of_list(const value_node* node) {
  unsigned char length = 0;
  for (; node && length < longest_list; node = node->Next)
    ++length;
  return length;
}

// The layout of ValueProfData and ValueProfRecord. A function without places has none. Other threads may still add to the
// lists, so their lengths are taken once.
static void put_values(output* to, const function_data* function) {
  static unsigned char lengths[1 << 16]; // of places; what is beyond them has no values
  value_node* const* const lists = (value_node* const*)function->Values;
  uint32_t head[2] = {sizeof head, 0}, all = 0; // bytes, kinds; places
  for (int kind = IPVK_First; kind <= IPVK_Last; ++kind) {
    const uint32_t places = function->NumValueSites[kind];
    if (places == 0)
      continue;
    ++head[1];
    head[0] += 8 + ((places + 7) & ~7u);
    for (uint32_t i = 0; i < places; ++i, ++all)
      if (all < sizeof lengths) {
        lengths[all] = lists ? length_of_list(__atomic_load_n(lists + all, __ATOMIC_ACQUIRE)) : 0;
        head[0] += 16u * lengths[all];
      }
  }
  if (head[1] == 0)
    return;
  put(to, head, sizeof head);
  uint32_t first = 0;
  for (int kind = IPVK_First; kind <= IPVK_Last; ++kind) {
    const uint32_t places = function->NumValueSites[kind], record[2] = {(uint32_t)kind, places};
    if (places == 0)
      continue;
    put(to, record, sizeof record);
    static const unsigned char none;
    for (uint32_t i = 0; i < ((places + 7) & ~7u); ++i)
      put(to, i < places && first + i < sizeof lengths ? &lengths[first + i] : &none, 1);
    for (uint32_t i = first; i < first + places && i < sizeof lengths; ++i) {
      const value_node* node = lists ? lists[i] : 0;
      for (unsigned left = lengths[i]; left > 0; --left, node = node->Next) {
        put(to, &node->Value, 8);
        put(to, &node->Count, 8);
      }
    }
    first += places;
  }
}

static int write_values(int file) {
  static output values; // the stack may be small
  values.file = file;
  const char* const end = __stop___llvm_prf_data;
  for (const char* at = __start___llvm_prf_data; at + sizeof(function_data) <= end; at += sizeof(function_data))
    put_values(&values, (const function_data*)(const void*)at);
  flush(&values);
  return !values.failed;
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
         write_part(file, __start___llvm_prf_names, __stop___llvm_prf_names) && write_values(file);
}

// Leaves the file whole, or not at all. False with the error `file_exists` if there is one with that name.
static int write_new_file(const path* final) {
  static path unfinished; // the stack may be small
  unfinished = *final;
  append(&unfinished, ".new", 4);
  if (access(final->text, 0) == 0) {
    *__errno_location() = file_exists;
    return 0;
  }
  const int file = open(unfinished.text, write_only | create | exclusive, 0666);
  if (file < 0)
    return 0;
  const int written = write_profile(file);
  const int whole = close(file) == 0 && written;
  const int there = whole && link(unfinished.text, final->text) == 0;
  const int error = whole && !there ? *__errno_location() : 0;
  if (whole && !there && error != file_exists && rename(unfinished.text, final->text) == 0)
    return 1; // on a file system without hard links
  unlink(unfinished.text);
  *__errno_location() = error;
  return there;
}

// After all other destructors, which are counted, too.
__attribute__((destructor(101))) static void write_when_it_ends(void) {
  if (__start___llvm_prf_data == __stop___llvm_prf_data)
    return;
  static path final;
  const char* const pattern = getenv("LLVM_PROFILE_FILE");
  for (unsigned number = 0; number < most_files; ++number) {
    expand(&final, pattern && *pattern ? pattern : "default-%p.profraw", number);
    if (write_new_file(&final))
      return;
    if (*__errno_location() != file_exists)
      break;
  }
  static path message;
  message.length = 0;
  append(&message, "xaas: the profile cannot be written: ", 37);
  append(&message, final.text, final.length);
  append(&message, "\n", 1);
  write_all(2, message.text, message.length);
}
