// Owners of OpenSSL's objects, and errors that stay in this module.
#pragma once

#include <openssl/bio.h>
#include <openssl/ct.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace xaas::provenance {

template <auto Function> struct Frees {
  template <typename Object> void operator()(Object* object) const { Function(object); }
};
using Bio = std::unique_ptr<BIO, Frees<BIO_free>>;
using Certificate = std::shared_ptr<X509>;

// Errors of OpenSSL stay in a queue of the thread, and would confuse the next caller.
class CleanErrors {
public:
  CleanErrors() = default;
  CleanErrors(const CleanErrors&) = delete;
  CleanErrors& operator=(const CleanErrors&) = delete;
  ~CleanErrors() { ERR_clear_error(); }
};

inline const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// For readers of PEM: none of our files is encrypted, and OpenSSL's own function asks at the terminal.
inline int no_password(char*, int, int, void*) {
  return -1;
}

// Null unless the text is one certificate in DER.
inline Certificate parse_certificate(std::string_view der) {
  const unsigned char* at = bytes_of(der);
  Certificate certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())), X509_free);
  return certificate && at == bytes_of(der) + der.size() ? certificate : nullptr;
}

} // namespace xaas::provenance
