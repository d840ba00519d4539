#include <xaas/run/rank_images.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::run {

namespace {

constexpr time_t lifetime = 3600; // seconds
constexpr const char* image_suffix = ".rank-image";
constexpr const char* told_suffix = ".ranks-told";

bool is_old(const fs::path& link) {
  struct stat status{};
  return lstat(link.c_str(), &status) == 0 && status.st_mtime + lifetime < std::time(nullptr);
}

void remove_old(const fs::path& directory) {
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename();
    if ((name.ends_with(image_suffix) || name.ends_with(told_suffix)) && is_old(it->path()))
      unlink(it->path().c_str());
  }
}

enum class Made { yes, there, no };
Made make_link(const std::string& target, const fs::path& link) {
  if (is_old(link))
    unlink(link.c_str());
  if (symlink(target.c_str(), link.c_str()) == 0)
    return Made::yes;
  return errno == EEXIST ? Made::there : Made::no;
}

// "znver4, sm_90". The digest where annotations, of an untrusted image, are not what xaas writes.
std::string describe(const RankImage& image) {
  const auto text = [&](const char* key) {
    const auto found = image.annotations.find(key);
    return found == image.annotations.end() ? std::string() : found->second;
  };
  std::string gpu = text(image::annotation::gpu);
  if (gpu == "none")
    gpu.clear();
  const std::string all = text(image::annotation::cpu) + (gpu.empty() ? "" : ", " + gpu);
  constexpr size_t longest = 80;
  const bool plain =
      !all.empty() && all.size() <= longest && std::all_of(all.begin(), all.end(), [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ',' ||
               c == ' ';
      });
  return plain ? all : image.digest.to_string();
}

// Names the job by the variables that its launcher set.
std::optional<std::string> job_of(const std::map<std::string, std::string>& environment) {
  for (const std::vector<std::string>& variables : runtimes::Knowledge::get().rank_jobs) {
    std::string job;
    for (const std::string& name : variables) {
      const auto found = environment.find(name);
      if (found == environment.end() || found->second.empty()) {
        job.clear();
        break;
      }
      job += name + "=" + found->second + "\n";
    }
    if (!job.empty())
      return job;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> note_of_ranks(const fs::path& directory,
                                         const std::map<std::string, std::string>& environment,
                                         const RankImage& own) {
  const std::optional<std::string> job = job_of(environment);
  if (!job)
    return std::nullopt;
  const std::string name = digest_of(*job + own.reference).hex();
  const fs::path link = directory / (name + image_suffix);
  const std::string target = own.digest.hex() + " " + describe(own);
  const Made made = make_link(target, link);
  if (made == Made::yes)
    remove_old(directory);
  if (made != Made::there)
    return std::nullopt;
  std::error_code code;
  const std::string first = fs::read_symlink(link, code).string();
  const size_t end = first.find(' ');
  if (code || end == std::string::npos || first.substr(0, end) == own.digest.hex())
    return std::nullopt;
  if (make_link(target, directory / (name + told_suffix)) != Made::yes)
    return std::nullopt;
  return "ranks of this job run different images of " + own.reference + ": those for " +
         first.substr(end + 1) + " and for " + describe(own);
}

} // namespace xaas::run
