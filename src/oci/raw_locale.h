#pragma once

#include <locale.h>

namespace xaas::oci {

// While it lives, this thread reads names as bytes. libarchive converts the names of pax headers to the
// locale's character set and normalises them on the way (tried with 3.6: in C.UTF-8, "e" with a combining
// accent becomes one character, so a file changes its name); in the C locale it warns and gives the bytes as
// they are.
class RawLocale {
public:
  RawLocale() : locale_(newlocale(LC_ALL_MASK, "C", nullptr)), before_(uselocale(locale_)) {}
  RawLocale(const RawLocale&) = delete;
  RawLocale& operator=(const RawLocale&) = delete;
  ~RawLocale() {
    uselocale(before_);
    freelocale(locale_);
  }

private:
  locale_t locale_, before_;
};

} // namespace xaas::oci
