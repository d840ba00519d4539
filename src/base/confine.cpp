// Problem: LLVM and lld are large and parse untrusted input. One vulnerability, and a module acts with the
// rights of the user who deploys.
//
// Approach: three layers. A limit of zero open files, where none are needed, works on every system. Landlock
// restricts paths: only it keeps a process that uses files away from the user's other files. seccomp
// restricts system calls: only it prevents sockets, programs, other processes, and what Landlock leaves open
// (file modes, limits of other processes). Layers that a container or an old kernel lacks are skipped;
// missing_confinement() reports them.
//
// The filter allows a list of calls. All others fail as on a kernel without them, so that libraries fall back
// to something else; killing the process would end it for merely probing.
#include <xaas/base/confine.h>
#include <xaas/base/file_descriptor.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace xaas {

namespace {

// --- Landlock

constexpr uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t rename_or_link = uint64_t(1) << 13; // since ABI 2
constexpr uint64_t truncating = uint64_t(1) << 14;     // since ABI 3
constexpr uint64_t first_abi = rename_or_link - 1;     // all rights of ABI 1
constexpr uint64_t writing = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                             LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                             LANDLOCK_ACCESS_FS_MAKE_REG | rename_or_link | truncating;

long landlock_abi() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

uint64_t handled_rights(long abi) {
  return first_abi | (abi >= 2 ? rename_or_link : 0) | (abi >= 3 ? truncating : 0);
}

Result<void> allow(int ruleset, const fs::path& path, uint64_t rights) {
  const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = file.get();
  if (file.get() < 0 || syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return errno_error(errno, "confining a worker to " + path.string());
  return {};
}

Result<void> confine_paths(const Confinement& confinement) {
  const long abi = landlock_abi();
  if (abi < 1)
    return {};
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = handled_rights(abi);
  const FileDescriptor ruleset(static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0)));
  if (ruleset.get() < 0)
    return errno_error(errno, "confining a worker");
  for (const fs::path& file : confinement.readable)
    XAAS_CHECK(allow(ruleset.get(), file, reading));
  for (const fs::path& directory : confinement.writable)
    XAAS_CHECK(allow(ruleset.get(), directory, writing & handled_rights(abi)));
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return errno_error(errno, "confining a worker");
  return {};
}

// --- seccomp

// For computing, threads, and reading and writing open files.
constexpr auto common_calls = std::to_array<const char*>({"brk",
                                                          "clock_getres",
                                                          "clock_gettime",
                                                          "clock_nanosleep",
                                                          "close",
                                                          "dup",
                                                          "exit",
                                                          "exit_group",
                                                          "fadvise64",
                                                          "futex",
                                                          "getcpu",
                                                          "getegid",
                                                          "geteuid",
                                                          "getgid",
                                                          "getpid",
                                                          "getrandom",
                                                          "getrlimit",
                                                          "getrusage",
                                                          "gettid",
                                                          "gettimeofday",
                                                          "getuid",
                                                          "madvise",
                                                          "membarrier",
                                                          "mprotect",
                                                          "mremap",
                                                          "munmap",
                                                          "nanosleep",
                                                          "poll",
                                                          "ppoll",
                                                          "pread64",
                                                          "preadv",
                                                          "pwrite64",
                                                          "read",
                                                          "readv",
                                                          "restart_syscall",
                                                          "rseq",
                                                          "rt_sigaction",
                                                          "rt_sigpending",
                                                          "rt_sigprocmask",
                                                          "rt_sigreturn",
                                                          "sched_getaffinity",
                                                          "sched_yield",
                                                          "set_robust_list",
                                                          "sigaltstack",
                                                          "sysinfo",
                                                          "time",
                                                          "uname",
                                                          "write",
                                                          "writev"});

// Landlock decides which files these can reach.
constexpr auto file_calls = std::to_array<const char*>(
    {"access",   "faccessat", "faccessat2", "fallocate", "fchmod",     "fcntl",    "fdatasync",  "fstat",
     "fstatfs",  "fsync",     "ftruncate",  "getcwd",    "getdents64", "lseek",    "lstat",      "mkdir",
     "mkdirat",  "msync",     "newfstatat", "open",      "openat",     "readlink", "readlinkat", "rename",
     "renameat", "renameat2", "stat",       "statfs",    "statx",      "umask",    "unlink",     "unlinkat"});

bool has_seccomp() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

// Like the macros SCMP_A0 and so on, which are C only.
scmp_arg_cmp equals(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}
scmp_arg_cmp masked_equals(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// The properties of a confinement that select the system calls of its filter.
struct FilterKind {
  bool uses_files;
  bool further;
};

class Filter {
public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(ENOSYS))) {}
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() { seccomp_release(context_); }

  template <size_t count> bool allow(const std::array<const char*, count>& names) {
    return std::all_of(names.begin(), names.end(), [this](const char* name) {
      const int number = seccomp_syscall_resolve_name(name);
      // A negative number means that this architecture lacks the call.
      return number < 0 || seccomp_rule_add(context_, SCMP_ACT_ALLOW, number, 0) == 0;
    });
  }
  // Threads, but no processes. clone3 passes its flags in memory, which no filter can see; if it fails, the C
  // library uses clone.
  bool allow_threads() {
    return seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                            masked_equals(0, CLONE_THREAD, CLONE_THREAD)) == 0;
  }
  // For abort() and raise(): signals to itself.
  bool allow_own_signals(uint32_t process) {
    return seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, equals(0, process)) == 0;
  }
  // Private mappings only: the data limit does not count memory shared between processes.
  bool allow_own_memory() {
    constexpr scmp_datum_t mask = MAP_SHARED | MAP_ANONYMOUS;
    for (const scmp_datum_t kind : {scmp_datum_t(0), scmp_datum_t(MAP_SHARED), scmp_datum_t(MAP_ANONYMOUS)})
      if (seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, masked_equals(3, mask, kind)) != 0)
        return false;
    return true;
  }
  // Allows reading its own limits, not setting them.
  bool allow_own_limits() {
    return seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, equals(0, 0), equals(2, 0)) ==
           0;
  }
  // For confine() again. Nothing of this gives back what is gone.
  bool allow_less() {
    return seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), 0) == 0 &&
           seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, equals(0, 0)) == 0 &&
           seccomp_rule_add(context_, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, equals(0, PR_SET_NO_NEW_PRIVS)) ==
               0;
  }
  bool allow_all(FilterKind kind, uint32_t process) {
    return context_ != nullptr && allow(common_calls) && (!kind.uses_files || allow(file_calls)) &&
           allow_threads() && allow_own_signals(process) && allow_own_memory() &&
           (kind.further ? allow_less() : allow_own_limits());
  }
  // For all threads, which a plugin may have started before. Without them, it is not needed.
  bool load() {
    seccomp_attr_set(context_, SCMP_FLTATR_CTL_TSYNC, 1);
    return seccomp_load(context_) == 0;
  }
  // The program that load() loads; empty on failure.
  std::vector<sock_filter> instructions() const {
    const FileDescriptor file(memfd_create("filter", MFD_CLOEXEC));
    struct stat status{};
    if (file.get() < 0 || seccomp_export_bpf(context_, file.get()) != 0 || fstat(file.get(), &status) != 0)
      return {};
    std::vector<sock_filter> instructions(static_cast<size_t>(status.st_size) / sizeof(sock_filter));
    const size_t bytes = instructions.size() * sizeof(sock_filter);
    return pread(file.get(), instructions.data(), bytes, 0) == static_cast<ssize_t>(bytes)
               ? instructions
               : std::vector<sock_filter>();
  }

private:
  scmp_filter_ctx context_;
};

// Making a filter takes milliseconds. A process that starts many workers makes it once, for a process number
// that no process has.
class PreparedFilter {
public:
  // False if libseccomp's program has another form than expected. confine() then makes the same filter
  // itself.
  bool prepare(FilterKind kind) {
    if (!instructions_.empty())
      return true;
    Filter filter;
    if (filter.allow_all(kind, placeholder))
      instructions_ = filter.instructions();
    if (std::count_if(instructions_.begin(), instructions_.end(), is_placeholder) != 1 ||
        BPF_CLASS(instructions_.back().code) != BPF_RET)
      instructions_.clear();
    return !instructions_.empty();
  }

  // False if it is not prepared, or if the kernel refuses it.
  bool load() const {
    std::vector<sock_filter> instructions = instructions_;
    const auto place = std::find_if(instructions.begin(), instructions.end(), is_placeholder);
    if (place == instructions.end())
      return false;
    place->k = static_cast<uint32_t>(getpid());
    const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

private:
  static constexpr uint32_t placeholder = 0x70726f63; // above the kernel's PID_MAX_LIMIT
  static bool is_placeholder(const sock_filter& instruction) {
    return BPF_CLASS(instruction.code) == BPF_JMP && instruction.k == placeholder;
  }

  std::vector<sock_filter> instructions_; // empty: not prepared
};

PreparedFilter& prepared_filter(FilterKind kind) {
  static std::array<PreparedFilter, 4> filters;
  return filters[(kind.uses_files ? 1 : 0) + (kind.further ? 2 : 0)];
}

FilterKind kind_of(const Confinement& confinement) {
  return {confinement.uses_files(), confinement.further};
}

Result<void> confine_calls(const Confinement& confinement) {
  if (!has_seccomp())
    return {};
  const FilterKind kind = kind_of(confinement);
  bool loaded = prepared_filter(kind).load();
  if (!loaded) {
    Filter filter;
    loaded = filter.allow_all(kind, static_cast<uint32_t>(getpid())) && filter.load();
  }
  if (!loaded)
    return make_error(ErrorKind::failed, "confining a worker: the kernel refused its system call filter");
  return {};
}

// --- limits

// A generous estimate of the data that the process already has: the allocator's memory without what is free
// at its end, and an allowance for the rest. It does not read /proc, which an empty root lacks.
uint64_t own_data_bytes() {
  const struct mallinfo2 memory = mallinfo2();
  return memory.arena - memory.keepcost + memory.hblkhd + (uint64_t(64) << 20);
}

#if __has_feature(address_sanitizer)
constexpr bool has_shadow_memory = true; // terabytes, which count as data
#else
constexpr bool has_shadow_memory = false;
#endif

Result<void> limit(int resource, uint64_t value) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0)
    return errno_error(errno, "confining a worker");
  const rlimit wanted{std::min<rlim_t>(value, now.rlim_cur), std::min<rlim_t>(value, now.rlim_max)};
  if (setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) != 0)
    return errno_error(errno, "confining a worker");
  return {};
}

} // namespace

bool prepare_to_confine(const Confinement& confinement) {
  if (!has_seccomp())
    return true;
  const bool prepared = prepared_filter(kind_of(confinement)).prepare(kind_of(confinement));
  return confinement.further ? prepare_to_confine({}) && prepared : prepared;
}

Result<void> confine(const Confinement& confinement) {
  XAAS_CHECK(limit(RLIMIT_CORE, 0));
  if (confinement.max_memory && !has_shadow_memory)
    XAAS_CHECK(limit(RLIMIT_DATA, own_data_bytes() + confinement.max_memory));
  if (const uint64_t bytes = confinement.max_file ? confinement.max_file : confinement.max_memory)
    XAAS_CHECK(limit(RLIMIT_FSIZE, bytes));
  // Landlock and seccomp require this of an unprivileged process.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errno_error(errno, "confining a worker");
  XAAS_CHECK(confine_paths(confinement));
  if (!confinement.uses_files())
    XAAS_CHECK(limit(RLIMIT_NOFILE, 0));
  return confine_calls(confinement);
}

std::vector<std::string> missing_confinement() {
  std::vector<std::string> missing;
  if (landlock_abi() < 1)
    missing.emplace_back("Landlock");
  if (!has_seccomp())
    missing.emplace_back("seccomp");
  return missing;
}

} // namespace xaas
