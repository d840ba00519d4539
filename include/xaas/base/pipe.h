// Both ends of a pipe, closed by the destructor and by exec.
#pragma once

#include <xaas/base/file_descriptor.h>
#include <xaas/base/result.h>

#include <string>

namespace xaas {

class Pipe {
public:
  // `what` begins the message of an error.
  static Result<Pipe> open(const std::string& what);
  int read_end() const { return read_.get(); }
  int write_end() const { return write_.get(); }
  FileDescriptor& read_side() { return read_; }
  FileDescriptor& write_side() { return write_; }
  void close_read() { read_.close(); }
  void close_write() { write_.close(); }

private:
  Pipe(int read_end, int write_end) : read_(read_end), write_(write_end) {}
  FileDescriptor read_, write_;
};

} // namespace xaas
