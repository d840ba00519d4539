#include <xaas/base/pipe.h>

#include <cerrno>
#include <fcntl.h>

namespace xaas {

Result<Pipe> Pipe::open(const std::string& what) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return errno_error(errno, what);
  return Pipe(ends[0], ends[1]);
}

} // namespace xaas
