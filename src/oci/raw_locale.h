#pragma once

#include <locale.h>

namespace xaas::oci {

// While an object of this class exists, this thread reads names as bytes. libarchive converts names in pax
// headers to the locale's character set and normalizes them (tried with 3.6: in C.UTF-8, "e" with a combining
// accent becomes one character, so a file changes its name). In the C locale it warns and returns the bytes
// unchanged.
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
