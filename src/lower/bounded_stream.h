// The output of a back end, in memory and limited: a few bytes of assembly (`.fill`) can make an object of
// any size.
#pragma once

#include <xaas/lower/lower.h>

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/raw_ostream.h>

#include <cstring>

namespace xaas::lower {

// Outlives the stream, which the back end owns.
struct BoundedOutput {
  OutputLimit limit;
  llvm::SmallString<0> bytes = {};
  uint64_t written = 0;

  bool exceeded() const { return written > limit.bytes; }
};

class BoundedStream : public llvm::raw_pwrite_stream {
public:
  explicit BoundedStream(BoundedOutput& output) : output_(output) { SetUnbuffered(); }

private:
  void write_impl(const char* data, size_t size) override {
    output_.written += size;
    if (!output_.exceeded())
      output_.bytes.append(data, data + size);
    else if (output_.limit.exceeded)
      output_.limit.exceeded();
  }
  void pwrite_impl(const char* data, size_t size, uint64_t offset) override {
    if (offset + size <= output_.bytes.size())
      std::memcpy(output_.bytes.data() + offset, data, size);
  }
  uint64_t current_pos() const override { return output_.written; }

  BoundedOutput& output_;
};

} // namespace xaas::lower
