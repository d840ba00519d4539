// Problem: compilers allocate much and live for some tenths of a second, and page faults are a fifth to a
// third of that time. A worker has more of them than a process of its own would: a fork does not copy the
// page tables of mapped files, so the worker comes to some 500 faults for the program's code and constants
// (16 pages each); and the kernel copies, page by page, blocks that the parent has freed and the worker
// allocates.
//
//     deploying minimap2 (26 modules)          faults   CPU seconds (mean of 5 runs in turn)
//     as it is                                 100,000         10.9
//     heap and code in huge pages               70,000         10.1
//     and pages of free blocks given back       43,000          8.4
//
// Approach: the heap is made to grow by a large piece, of which only touched huge pages exist. The code is
// copied to anonymous memory, for which the kernel has huge pages on every file system, and moved over the
// mapping of the file; children get its page tables, an entry for 2 MiB, when they are forked. Before that,
// the parent gives back the pages of free blocks.
//
// Limits: the heap beyond that piece has small pages. Moved code has no file, so that profilers (perf) do not
// know its functions, and no branch target identification (AArch64), which the program is not built with.
//
// Rejected:
// - huge pages of the file's own mapping: few kernels have CONFIG_READ_ONLY_THP_FOR_FS
// - glibc's tunable glibc.malloc.hugetlb: it is read from the environment when a program starts
// - constant data, too: another 60 MiB, and no gain that could be measured
// - several modules in one worker: a hostile module could then change the objects of others
//   (lower/workers.cpp)
#include <xaas/base/file.h>
#include <xaas/base/huge_pages.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace xaas {

namespace {

constexpr uintptr_t page_bytes = uintptr_t(1) << 21; // on x86-64, and on AArch64 with pages of 4 KiB
constexpr size_t heap_bytes = size_t(128) << 20;     // address space, of which little may be used
constexpr int largest_in_heap = 32 << 20;            // of blocks: the most that glibc allows
constexpr size_t growth = 16 << 20;   // more than the heap has left, less than the largest block
constexpr int usual_growth = 1 << 20; // afterwards

struct PageRange {
  uintptr_t start = 0, end = 0;
  size_t size() const { return end > start ? end - start : 0; }
};

// The whole huge pages within a range.
PageRange inner(uintptr_t start, uintptr_t end) {
  return {(start + page_bytes - 1) & ~(page_bytes - 1), end & ~(page_bytes - 1)};
}

void advise(const PageRange& range) {
  if (range.size() > 0)
    madvise(reinterpret_cast<void*>(range.start), range.size(), MADV_HUGEPAGE); // failing changes nothing
}

std::string content_of(const char* file) {
  const Result<std::string> text = read_file(file);
  return text ? *text : std::string();
}

// Address space that is hardly used counts where memory is granted strictly, and where it is limited.
bool address_space_is_free() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (rlimit limit{}; getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
      return false;
  return !content_of("/proc/sys/vm/overcommit_memory").starts_with("2");
}

bool kernel_has_them() {
  const std::string enabled = content_of("/sys/kernel/mm/transparent_hugepage/enabled");
  return !enabled.empty() && enabled.find("[never]") == std::string::npos &&
         content_of("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").starts_with("2097152");
}

// The code of the program itself, which the list has first.
int find_code(dl_phdr_info* object, size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && !(segment.p_flags & PF_W)) {
      const uintptr_t start = object->dlpi_addr + segment.p_vaddr;
      *static_cast<PageRange*>(found) = inner(start, start + segment.p_memsz);
    }
  }
  return 1; // no other object
}

// This function is part of the code that moves: the pages that it returns to have the same contents.
void move_code() {
  PageRange code;
  dl_iterate_phdr(find_code, &code);
  if (code.size() == 0)
    return;
  const size_t mapped = code.size() + page_bytes;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t start = inner(begin, begin + mapped).start, end = start + code.size();
  char* const copy = reinterpret_cast<char*>(start);
  advise({start, end});
  std::memcpy(copy, reinterpret_cast<const void*>(code.start), code.size());
  __builtin___clear_cache(copy, copy + code.size());
  // A policy may forbid code that no file has (SELinux, execmem). Moving fails before it removes the old
  // mapping, or for lack of memory for page tables, of which it needs a few.
  if (mprotect(copy, code.size(), PROT_READ | PROT_EXEC) != 0 ||
      mremap(copy, code.size(), code.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
             reinterpret_cast<void*>(code.start)) == MAP_FAILED)
    munmap(copy, code.size());
  munmap(memory, start - begin);
  munmap(reinterpret_cast<void*>(end), begin + mapped - end);
}

} // namespace

void reserve(std::string& buffer, uint64_t size) {
  buffer.reserve(size);
  const auto begin = reinterpret_cast<uintptr_t>(buffer.data());
  advise(inner(begin, begin + buffer.capacity()));
}

void use_huge_pages_for_heap() {
  if (!address_space_is_free())
    return;
  static const auto first = reinterpret_cast<uintptr_t>(sbrk(0));
  // Large blocks come from the heap, too, and it does not shrink: a compiler ends soon.
  mallopt(M_MMAP_THRESHOLD, largest_in_heap);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, heap_bytes);
  void* volatile block = std::malloc(growth); // volatile: not left out
  std::free(block);
  mallopt(M_TOP_PAD, usual_growth);
  advise(inner(first, reinterpret_cast<uintptr_t>(sbrk(0))));
}

void use_huge_pages_for_workers() {
  if (!kernel_has_them() || !address_space_is_free())
    return;
  static bool moved = false;
  if (!std::exchange(moved, true))
    move_code();
  malloc_trim(0);
  use_huge_pages_for_heap();
}

} // namespace xaas
