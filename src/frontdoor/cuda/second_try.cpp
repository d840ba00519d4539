#include "cuda/second_try.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <utility>

namespace xaas::frontdoor {

namespace {

clang::LangOptions language() {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 = true;
  options.CUDA = options.LineComment = options.Bool = true;
  return options;
}

// Headers also take the version as a sign of nvcc's own language (see NvccTranslation::is_verbose), so that
// only a source gets it that fails without.
std::vector<std::string> version_macros(int64_t version) {
  return {"-D__CUDACC_VER_MAJOR__=" + std::to_string(version / 1000),
          "-D__CUDACC_VER_MINOR__=" + std::to_string(version % 1000 / 10), "-D__CUDACC_VER_BUILD__=0"};
}

} // namespace

std::string with_joined_brackets(const std::string& source) {
  using clang::tok::TokenKind;
  std::string result = source;
  const clang::LangOptions options = language();
  const char* const start = source.data();
  clang::Lexer lexer(clang::SourceLocation(), options, start, start, start + source.size());
  clang::Token token;
  TokenKind before = TokenKind::unknown;
  size_t end = 0; // of the token before
  for (bool at_end = false; !at_end;) {
    at_end = lexer.LexFromRawLexer(token);
    const size_t at = static_cast<size_t>(lexer.getBufferLocation() - start) - token.getLength();
    const bool joins = (before == TokenKind::lessless && token.is(TokenKind::less)) ||
                       (before == TokenKind::greatergreater && token.is(TokenKind::greater));
    if (joins && source.find_first_not_of(" \t", end) == at)
      std::swap(result[end], result[at]);
    before = token.getKind();
    end = at + token.getLength();
  }
  return result;
}

Result<std::vector<std::string>> second_try(const std::optional<int64_t>& cuda_version,
                                            const std::vector<std::string>& inputs,
                                            const fs::path& directory) {
  std::vector<std::string> options;
  if (cuda_version)
    options = version_macros(*cuda_version);
  for (const std::string& input : inputs) {
    if (fs::path(input).extension() != ".cu")
      continue;
    XAAS_TRY(const std::string text, read_file(input));
    const std::string joined = with_joined_brackets(text);
    if (joined == text)
      continue;
    const fs::path copy = directory / (std::to_string(options.size()) + ".cu");
    XAAS_CHECK(write_file(copy, joined));
    options.insert(options.end(), {"-Xclang", "-remap-file", "-Xclang", input + ";" + copy.string()});
  }
  return options;
}

} // namespace xaas::frontdoor
