#include <xaas/base/large_buffer.h>

#include <sys/mman.h>

namespace xaas {

void reserve(std::string& buffer, uint64_t size) {
  buffer.reserve(size);
  constexpr uintptr_t large_page = uintptr_t(2) << 20;
  const auto begin = reinterpret_cast<uintptr_t>(buffer.data());
  const uintptr_t first = (begin + large_page - 1) / large_page * large_page;
  const uintptr_t end = (begin + buffer.capacity()) / large_page * large_page;
  if (end > first)
    madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE); // a hint: failing changes nothing
}

} // namespace xaas
