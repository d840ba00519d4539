// Memory in transparent huge pages (Documentation/admin-guide/mm/transhuge.rst of Linux): a page fault then
// brings 2 MiB instead of 4 KiB. src/base/huge_pages.cpp says what that saves. Where the kernel has none,
// nothing changes.
#pragma once

#include <cstdint>
#include <string>

namespace xaas {

// As buffer.reserve(size), for a buffer of many megabytes, in huge pages.
void reserve(std::string& buffer, uint64_t size);

// For what the heap grows by from now on. For one thread at a time.
void use_huge_pages_for_heap();

// Before many workers are forked: for their heap, and for this process's code, which they share; that takes
// memory of its size once. Not where the kernel grants no memory beyond what exists (vm.overcommit_memory=2).
// For one thread at a time.
void use_huge_pages_for_workers();

} // namespace xaas
