#include "machine.h"
#include "mounts.h"

#include <xaas/base/file_descriptor.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fnmatch.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

namespace xaas::system {

Watch::Access::Access(Watch* watch, const fs::path& path)
    : watch_(watch), entered_(watch && !(watch->steps_ & 1)) {
  if (!entered_) // nested in another access, which covers it
    return;
  std::strncpy(watch_->path_, path.c_str(), sizeof(watch_->path_) - 1);
  watch_->steps_.fetch_add(1, std::memory_order_release);
}

Watch::Access::~Access() {
  if (entered_)
    watch_->steps_.fetch_add(1, std::memory_order_release);
}

std::string Watch::current() const {
  return steps() & 1 ? std::string(path_, strnlen(path_, sizeof(path_))) : std::string();
}

Machine::Machine(const Probes& probes, Watch* watch, std::vector<std::string> skipped)
    : root_(probes.root), environment_(probes.environment), search_path_(probes.path),
      skipped_(std::move(skipped)), watch_(watch),
      deadline_(std::chrono::steady_clock::now() + probes.limits.files), limit_(probes.limits.files) {
  if (search_path_.empty())
    search_path_ = split(environment("PATH"), ':');
}

bool Machine::blocked(const fs::path& path) const {
  if (out_of_time())
    return true;
  return !skipped_.empty() && place_of(path.native(), skipped_);
}

bool Machine::has(const std::string& absolute) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return false;
  const Watch::Access access(watch_, file);
  std::error_code code;
  return fs::exists(file, code);
}

bool Machine::may_use(const std::string& absolute) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return false;
  const Watch::Access access(watch_, file);
  return ::access(file.c_str(), R_OK | W_OK) == 0;
}

bool Machine::is_setuid(const fs::path& file) const {
  if (blocked(file))
    return false;
  const Watch::Access access(watch_, file);
  struct stat status{};
  return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_ISUID);
}

std::string Machine::text(const std::string& absolute, uint64_t limit) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return {};
  const Watch::Access access(watch_, file);
  std::error_code code;
  if (!fs::is_regular_file(file, code)) // reading a pipe might never end
    return {};
  const Result<std::string> content = read_file(file, limit);
  if (!content && content.error().kind == ErrorKind::integrity)
    note(absolute + ": larger than " + std::to_string(limit >> 20) + " MiB, not read");
  return content ? trim(*content) : std::string();
}

std::string Machine::start_of(const std::string& absolute, size_t size) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return {};
  const Watch::Access access(watch_, file);
  std::error_code code;
  if (!fs::is_regular_file(file, code))
    return {};
  const Result<FileDescriptor> opened = open_file(file);
  if (!opened)
    return {};
  std::string content(size, '\0');
  const ssize_t count = read(opened->get(), content.data(), size);
  content.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return content;
}

class Machine::Pieces : public std::streambuf {
public:
  Pieces(const Machine& machine, fs::path file, FileDescriptor descriptor)
      : machine_(machine), file_(std::move(file)), descriptor_(std::move(descriptor)),
        piece_(size_t(1) << 20, '\0') {}

protected:
  int_type underflow() override {
    if (machine_.out_of_time())
      return traits_type::eof();
    const Watch::Access access(machine_.watch_, file_);
    const ssize_t count = read(descriptor_.get(), piece_.data(), piece_.size());
    if (count <= 0)
      return traits_type::eof();
    setg(piece_.data(), piece_.data(), piece_.data() + count);
    return traits_type::to_int_type(piece_[0]);
  }

private:
  const Machine& machine_;
  fs::path file_;
  FileDescriptor descriptor_;
  std::string piece_;
};

std::unique_ptr<std::streambuf> Machine::stream(const std::string& absolute) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return nullptr;
  const Watch::Access access(watch_, file);
  std::error_code code;
  if (!fs::is_regular_file(file, code))
    return nullptr;
  Result<FileDescriptor> opened = open_file(file);
  return opened ? std::make_unique<Pieces>(*this, file, *std::move(opened)) : nullptr;
}

std::optional<uint64_t> Machine::number(const std::string& absolute) const {
  return parse_number(text(absolute));
}

std::vector<std::string> Machine::entries(const std::string& absolute) const {
  std::vector<std::string> names;
  const fs::path directory = path(absolute);
  if (blocked(directory))
    return names;
  const Watch::Access access(watch_, directory);
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end; entry.increment(code)) {
    if (names.size() == most_entries) {
      note(absolute + ": more than " + std::to_string(most_entries) + " entries, the others were skipped");
      break;
    }
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Machine::glob(const std::string& pattern) const {
  std::vector<std::string> found = {""};
  for (const std::string& part : split(pattern.substr(1), '/')) {
    std::vector<std::string> next;
    const bool plain = part.find_first_of("*?[") == std::string::npos;
    for (const std::string& directory : found) {
      if (plain) {
        next.push_back(directory + "/" + part);
        continue;
      }
      for (const std::string& name : entries(directory.empty() ? "/" : directory))
        if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0)
          next.push_back(directory + "/" + name);
      if (next.size() > most_matches) {
        note(pattern + ": more than " + std::to_string(most_matches) + " matches, the others were skipped");
        next.resize(most_matches);
        break;
      }
    }
    found = std::move(next);
  }
  std::erase_if(found, [&](const std::string& match) { return !has(match); });
  return found;
}

std::string Machine::identity(const std::string& directory) const {
  const fs::path file = path(directory);
  if (blocked(file))
    return {};
  const Watch::Access access(watch_, file);
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return {};
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string Machine::target(const std::string& absolute) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return absolute;
  const Watch::Access access(watch_, file);
  std::error_code code;
  const fs::path real = fs::canonical(file, code), root = fs::canonical(root_, code);
  if (code || real.empty())
    return absolute;
  const fs::path inside = relative_under(real, root);
  return inside.empty() ? absolute : "/" + inside.string();
}

void Machine::touch(const std::string& absolute, const std::function<void(const fs::path&)>& use) const {
  const fs::path file = path(absolute);
  if (blocked(file))
    return;
  const Watch::Access access(watch_, file);
  std::error_code code;
  if (fs::is_regular_file(file, code))
    use(file);
}

std::string Machine::environment(const std::string& name) const {
  if (environment_.empty()) {
    const char* value = std::getenv(name.c_str());
    return value ? value : "";
  }
  const auto found = environment_.find(name);
  return found == environment_.end() ? "" : found->second;
}

std::vector<std::string> Machine::environment_names() const {
  std::vector<std::string> names;
  if (environment_.empty())
    for (char** entry = environ; entry && *entry; ++entry)
      names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (const auto& [name, value] : environment_)
    names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<fs::path> Machine::find_program(const std::string& name) const {
  for (const std::string& directory : search_path_) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
    if (blocked(candidate))
      continue;
    const Watch::Access access(watch_, candidate);
    std::error_code code;
    if (fs::is_regular_file(candidate, code) && ::access(candidate.c_str(), X_OK) == 0)
      return fs::absolute(candidate, code);
  }
  return std::nullopt;
}

void Machine::note(const std::string& words) const {
  if (std::find(notes_.begin(), notes_.end(), words) == notes_.end())
    notes_.push_back(words);
}

bool Machine::out_of_time() const {
  if (std::chrono::steady_clock::now() < deadline_)
    return false;
  note("examining files took more than " + std::to_string(limit_.count() / 1000) +
       " s; the remaining files were skipped");
  return true;
}

std::optional<uint64_t> parse_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data())
    return std::nullopt;
  return value;
}

std::vector<uint64_t> parse_number_list(const std::string& text) {
  std::set<uint64_t> numbers;
  for (const std::string& range : split(text, ',')) {
    const std::optional<uint64_t> first = parse_number(range);
    const size_t dash = range.find('-');
    const std::optional<uint64_t> last =
        dash == std::string::npos ? first : parse_number(range.substr(dash + 1));
    if (first && last && *last >= *first && *last - *first < 65536)
      for (uint64_t number = *first; number <= *last; ++number)
        numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

} // namespace xaas::system
