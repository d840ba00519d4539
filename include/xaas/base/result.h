// Errors as values.
//
// Every operation that can fail returns Result<T>. An Error has a kind, which alone decides the exit code of
// the program, a message that names the file and the value at fault, and, where we know the way out, a hint.
// Exceptions of libraries end inside the module that owns the library.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace xaas {

// What went wrong, in terms that a caller can act on. The exit codes are part of the command line's contract.
enum class ErrorKind {
  failed,       // 1: the operation failed: a build, a link, a limit of time or memory
  usage,        // 2: unknown option, malformed reference, invalid spec, unknown point, value or CPU
  unsatisfied,  // 3: nothing fits this system; an image of a newer format or LLVM
  not_found,    // 4: file, source tree, spec, tag, image
  denied,       // 5: access denied by a registry
  network,      // 6
  integrity,    // 7: digest or size does not match; damaged or malicious input
  missing_tool, // 8: a needed tool is missing
  storage,      // 9: no space, quota or permission
  interrupted,  // 130 or 143: stopped by a signal
};

// The exit code of the program for an error of this kind. For `interrupted` it is 130, which the program
// replaces by 143 if the signal was SIGTERM.
int exit_code(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string
      message; // outside-in: "deploying oci:./gmx:ir: configuration simd=AVX_512: this CPU lacks avx512f"
  std::string hint;   // what to do about it; empty if we do not know
  std::string output; // of a tool that failed, such as a compiler's messages; shown first

  // The same error, prefixed with the operation: "reading /etc/passwd: Permission denied".
  Error in(const std::string& what) && {
    message = what + ": " + message;
    return std::move(*this);
  }
  Error with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  Error with_output(std::string text) && {
    output = std::move(text);
    return std::move(*this);
  }
};

inline Error make_error(ErrorKind kind, std::string message, std::string hint = {}) {
  return Error{kind, std::move(message), std::move(hint), {}};
}

// The error of a failed system call; `what` names operation and file. ENOENT becomes not_found; EACCES,
// ENOSPC, EDQUOT, EROFS and the like become storage; EINTR becomes interrupted; all others become failed.
Error errno_error(int number, const std::string& what);

// A value or an Error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  // The same result, with `what` in front of the message of an error.
  Result in(const std::string& what) && {
    if (*this)
      return std::move(*this);
    return std::move(*this).error().in(what);
  }

private:
  std::variant<T, Error> state_;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  Result in(const std::string& what) && {
    if (!error_)
      return {};
    return std::move(*error_).in(what);
  }

private:
  std::optional<Error> error_;
};

} // namespace xaas

#define XAAS_CONCAT_(a, b) a##b
#define XAAS_CONCAT(a, b) XAAS_CONCAT_(a, b)
#define XAAS_TRY_(result, declaration, expression)                                                           \
  auto result = (expression);                                                                                \
  if (!result)                                                                                               \
    return std::move(result).error();                                                                        \
  declaration = *std::move(result)

// XAAS_TRY(auto text, read_file(path)): declares `text`, or returns the error from the enclosing function.
#define XAAS_TRY(declaration, expression)                                                                    \
  XAAS_TRY_(XAAS_CONCAT(xaas_result_, __LINE__), declaration, expression)

// XAAS_CHECK(write_file(path, text)): returns the error of a Result<void>, if it is one.
#define XAAS_CHECK(expression)                                                                               \
  do {                                                                                                       \
    if (auto xaas_checked = (expression); !xaas_checked)                                                     \
      return std::move(xaas_checked).error();                                                                \
  } while (false)
