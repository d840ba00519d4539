// Memory in transparent huge pages (Documentation/admin-guide/mm/transhuge.rst of Linux): a page fault then
// brings 2 MiB instead of 4 KiB. src/base/huge_pages.cpp says what that saves. Nothing changes where the
// kernel has none, where memory is granted strictly (vm.overcommit_memory=2), or where the address space has
// a limit.
#pragma once

#include <cstdint>
#include <string>

namespace xaas {

// As buffer.reserve(size), for a buffer of many megabytes, in huge pages.
void reserve(std::string& buffer, uint64_t size);

// Puts the next 128 MiB by which the heap grows in huge pages. For one thread at a time.
void use_huge_pages_for_heap();

// Makes the process ready to fork many workers: also puts its code, which they share, in huge pages. That
// takes memory of its size once. For one thread at a time.
void use_huge_pages_for_workers();

} // namespace xaas
