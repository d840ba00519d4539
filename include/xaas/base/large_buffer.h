// Room for the content of a large file.
#pragma once

#include <cstdint>
#include <string>

namespace xaas {

// As buffer.reserve(size). A large buffer asks for large pages (madvise(2), MADV_HUGEPAGE), because the first
// access to each page costs more than filling it: in pages of 4 KiB, a library of 150 MB takes 37,000 page
// faults.
void reserve(std::string& buffer, uint64_t size);

} // namespace xaas
