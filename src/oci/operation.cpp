#include <xaas/oci/operation.h>

namespace xaas::oci {

Error in_operation(Error error, const std::string& operation, const std::string& name) {
  const std::string whole = operation + " " + name;
  for (bool again = true; again;) {
    again = false;
    for (const std::string& prefix : {name + ": ", whole + ": "})
      if (error.message.starts_with(prefix)) {
        error.message.erase(0, prefix.size());
        again = true;
      }
  }
  return std::move(error).in(whole);
}

} // namespace xaas::oci
