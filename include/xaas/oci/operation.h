// Errors of operations on images, which name the image once.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <utility>

namespace xaas::oci {

// The error with "OPERATION NAME: " in front. What it says of that itself is not repeated: the functions
// below begin their messages with the name of the image, or with the operation.
Error in_operation(Error error, const std::string& operation, const std::string& name);

template <typename T>
Result<T> in_operation(Result<T> result, const std::string& operation, const std::string& name) {
  if (result)
    return result;
  return in_operation(std::move(result).error(), operation, name);
}

} // namespace xaas::oci
