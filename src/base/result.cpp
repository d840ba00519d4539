#include <xaas/base/result.h>

#include <cerrno>
#include <cstring>

namespace xaas {

int exit_code(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::failed:
    return 1;
  case ErrorKind::usage:
    return 2;
  case ErrorKind::unsatisfied:
    return 3;
  case ErrorKind::not_found:
    return 4;
  case ErrorKind::denied:
    return 5;
  case ErrorKind::network:
    return 6;
  case ErrorKind::integrity:
    return 7;
  case ErrorKind::missing_tool:
    return 8;
  case ErrorKind::storage:
    return 9;
  case ErrorKind::interrupted:
    return 130;
  }
  return 1;
}

Error errno_error(int number, const std::string& what) {
  ErrorKind kind = ErrorKind::failed;
  std::string hint;
  switch (number) {
  case ENOENT:
  case ENOTDIR:
    kind = ErrorKind::not_found;
    break;
  case EACCES:
  case EPERM:
  case EROFS:
    kind = ErrorKind::storage;
    break;
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    kind = ErrorKind::storage;
    hint = "free some space there, or choose another place (TMPDIR for temporary files)";
    break;
  case EINTR:
    kind = ErrorKind::interrupted;
    break;
  default:
    break;
  }
  return make_error(kind, what + ": " + std::strerror(number), hint);
}

} // namespace xaas
