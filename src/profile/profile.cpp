// Problem: profiles come from training runs, perhaps from many ranks on many nodes, in files that anybody may
// have written. LLVM's readers were not made for hostile input, and what LLVM writes depends on the order in
// which counts were added.
//
// Example: two ranks leave rank0.profraw and rank1.profraw. Read in the other order, the hash table of the
// indexed format would have other chains, and the profile another digest, and so every object that was
// lowered with it.
//
// Approach: a confined worker reads the files in the order of their digests, adds them up, and writes the
// sums in the order of the functions' names. A file that is there twice counts twice, as two runs with equal
// counts do.
//
// Rejected: LLVM's order by file names, which hosts and processes decide; trusting indexed profiles because
// we wrote them, because a file says nothing about that.
#include "merge.h"

#include <xaas/base/directory.h>
#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/worker.h>
#include <xaas/profile/profile.h>

#include <llvm/ProfileData/InstrProfReader.h>
#include <llvm/ProfileData/InstrProfWriter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace xaas::profile {

namespace {

constexpr uint64_t largest_file = uint64_t(1) << 30, largest_sum = uint64_t(8) << 30;
constexpr size_t most_files = 100'000;
constexpr double longest = 600; // CPU seconds of a worker

Error damaged(const fs::path& file, const std::string& why) {
  return make_error(ErrorKind::integrity, file.string() + ": " + why);
}

Result<std::vector<fs::path>> files_of(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::path& path : paths) {
    if (!fs::exists(path, code))
      return make_error(ErrorKind::not_found, path.string() + ": does not exist");
    if (!fs::is_directory(path, code)) {
      files.push_back(path);
      continue;
    }
    XAAS_TRY(const std::vector<fs::path> entries, list_directory(path));
    const size_t before = files.size();
    for (const fs::path& entry : entries)
      if (fs::is_regular_file(entry, code) &&
          entry.extension() != ".new") // a program writes that one just now
        files.push_back(entry);
    if (files.size() == before)
      return make_error(ErrorKind::not_found, path.string() + ": no profile is in this directory",
                        "`xaas run --profile " + path.string() +
                            " IMAGE` of an image that was deployed with "
                            "--profile-generate leaves some there");
    if (files.size() > most_files)
      return make_error(ErrorKind::failed,
                        path.string() + ": more than " + std::to_string(most_files) + " files");
  }
  return files;
}

Result<std::vector<File>> read_files(const std::vector<fs::path>& paths) {
  XAAS_TRY(const std::vector<fs::path> names, files_of(paths));
  std::vector<File> files;
  uint64_t sum = 0;
  for (const fs::path& name : names) {
    File file{name, {}, {}};
    XAAS_TRY(file.content, read_file(name, largest_file));
    file.digest = digest_of(file.content);
    sum += file.content.size();
    if (sum > largest_sum)
      return make_error(ErrorKind::failed,
                        name.string() + ": profiles of more than " + std::to_string(largest_sum >> 30) +
                            " GiB in all",
                        "merge them in parts: `xaas profile merge`");
    files.push_back(std::move(file));
  }
  return files;
}

std::string message_of(llvm::Error error) {
  return llvm::toString(std::move(error));
}

std::string name_of(const std::vector<File>& files) {
  const std::string first = files.front().path.string();
  return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " other profiles";
}

// The sums of counts, by function and by its hash.
class Sums {
public:
  Result<void> add(const File& file) {
    auto reader = llvm::InstrProfReader::create(llvm::MemoryBuffer::getMemBuffer(file.content, "", false));
    if (!reader)
      return damaged(file.path, "no profile that this LLVM can read: " + message_of(reader.takeError()));
    if (!(*reader)->isIRLevelProfile() || (*reader)->hasCSIRLevelProfile() ||
        (*reader)->functionEntryOnly() || (*reader)->hasSingleByteCoverage())
      return damaged(file.path, "a profile of another kind of instrumentation");
    for (const llvm::NamedInstrProfRecord& record : **reader)
      XAAS_CHECK(add(file, record));
    if ((*reader)->hasError())
      return damaged(file.path, "a damaged profile: " + message_of((*reader)->getError()));
    return {};
  }

  Result<std::string> indexed() const {
    llvm::InstrProfWriter writer;
    if (llvm::Error error = writer.mergeProfileKind(llvm::InstrProfKind::IRInstrumentation))
      return make_error(ErrorKind::failed, message_of(std::move(error)));
    std::string trouble;
    for (const auto& [function, sums] : sums_) {
      llvm::NamedInstrProfRecord record;
      static_cast<llvm::InstrProfRecord&>(record) = sums;
      record.Name = function.first;
      record.Hash = function.second;
      writer.addRecord(std::move(record), [&](llvm::Error error) { trouble = message_of(std::move(error)); });
    }
    if (!trouble.empty())
      return make_error(ErrorKind::failed, trouble);
    const std::unique_ptr<llvm::MemoryBuffer> written = writer.writeBuffer();
    if (!written)
      return make_error(ErrorKind::failed, "the profile cannot be written");
    return written->getBuffer().str();
  }

private:
  Result<void> add(const File& file, const llvm::NamedInstrProfRecord& record) {
    const auto [place, added] = sums_.try_emplace({record.Name.str(), record.Hash});
    llvm::InstrProfRecord& sums = place->second;
    if (added)
      sums = without_counts(record);
    else if (sums.Counts.size() != record.Counts.size())
      return damaged(file.path, "another number of counts for " + record.Name.str());
    // LLVM sorts values when it merges them, so that the first record is merged like any other.
    llvm::InstrProfRecord other = record;
    bool fits = true;
    sums.merge(other, 1, [&](llvm::instrprof_error error) {
      fits = fits && error == llvm::instrprof_error::counter_overflow; // then the count is the largest
    });
    return fits ? Result<void>() : damaged(file.path, "other values for " + record.Name.str());
  }

  static llvm::InstrProfRecord without_counts(const llvm::InstrProfRecord& like) {
    llvm::InstrProfRecord empty(std::vector<uint64_t>(like.Counts.size(), 0));
    for (uint32_t kind = llvm::IPVK_First; kind <= llvm::IPVK_Last; ++kind) {
      const uint32_t places = like.getNumValueSites(kind);
      empty.reserveSites(kind, places);
      for (uint32_t place = 0; place < places; ++place)
        empty.addValueData(kind, place, {}, nullptr);
    }
    return empty;
  }

  std::map<std::pair<std::string, uint64_t>, llvm::InstrProfRecord> sums_;
};

Result<std::unique_ptr<llvm::IndexedInstrProfReader>> open_indexed(const std::string& bytes) {
  auto reader =
      llvm::IndexedInstrProfReader::create(llvm::MemoryBuffer::getMemBuffer(bytes, "", false), nullptr);
  if (!reader)
    return make_error(ErrorKind::integrity, "the profile: " + message_of(reader.takeError()));
  return std::move(*reader);
}

Result<std::vector<FunctionCounts>> counts_of(const std::string& bytes) {
  XAAS_TRY(const auto reader, open_indexed(bytes));
  std::vector<FunctionCounts> functions;
  for (const llvm::NamedInstrProfRecord& record : *reader)
    functions.push_back(
        {record.Name.str(),
         record.Counts.empty() ? 0 : *std::max_element(record.Counts.begin(), record.Counts.end())});
  if (reader->hasError())
    return make_error(ErrorKind::integrity, "the profile: " + message_of(reader->getError()));
  return functions;
}

constexpr std::string_view crashed = "the profile is probably damaged";

// LLVM's readers check most of a profile, but not all of it. Their crash is no news about this program. Nor
// is a lack of memory for a small file, which lies about the number of its counts.
Result<std::string> read_in_worker(const std::string& what, uint64_t bytes, const WorkerTask& task) {
  constexpr uint64_t at_least = uint64_t(1) << 30, most_for_a_byte = 1000;
  const uint64_t enough = at_least + most_for_a_byte * bytes;
  WorkerLimits limits;
  limits.memory = std::min(enough, memory_limit());
  limits.cpu_seconds = longest;
  limits.name = "the reader of profiles";
  limits.fault = crashed;
  Result<std::string> answer = run_worker(what, task, limits);
  if (answer)
    return answer;
  Error& error = answer.error();
  if (error.message.ends_with("ran out of memory") && limits.memory == enough)
    error.message += "; " + std::string(crashed);
  if (error.message.ends_with(crashed))
    error.kind = ErrorKind::integrity;
  return answer;
}

// Of several files whose reader crashed, the one that does it alone.
Result<void> read_alone(const std::vector<File>& files) {
  for (const File& file : files)
    XAAS_CHECK(
        read_in_worker("reading " + file.path.string(), file.content.size(), [&]() -> Result<std::string> {
          XAAS_CHECK(Sums().add(file));
          return std::string();
        }));
  return {};
}

} // namespace

Result<Profile> merge(std::vector<File> files) {
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::pair(a.digest, a.path) < std::pair(b.digest, b.path);
  });
  uint64_t all = 0;
  for (const File& file : files)
    all += file.content.size();
  // A line with the numbers, then the profile.
  const auto sum_up = [&]() -> Result<std::string> {
    Sums sums;
    for (const File& file : files)
      XAAS_CHECK(sums.add(file));
    XAAS_TRY(const std::string bytes, sums.indexed());
    XAAS_TRY(const std::vector<FunctionCounts> functions, counts_of(bytes));
    uint64_t ran = 0, most = 0;
    for (const FunctionCounts& function : functions) {
      ran += function.most > 0;
      most = std::max(most, function.most);
    }
    return Json{functions.size(), ran, most}.dump() + "\n" + bytes;
  };
  Result<std::string> summed = read_in_worker("reading " + name_of(files), all, sum_up);
  if (!summed && files.size() > 1 && summed.error().message.ends_with(crashed))
    XAAS_CHECK(read_alone(files));
  XAAS_TRY(const std::string answer, std::move(summed));
  const size_t end = std::min(answer.find('\n'), answer.size());
  XAAS_TRY(const Json numbers, parse_json(answer.substr(0, end), "the reader of profiles"));
  Profile profile;
  if (!numbers.is_array() || numbers.size() != 3)
    return make_error(ErrorKind::failed, "the reader of profiles gave no answer");
  profile.functions = numbers[0].get<uint64_t>();
  profile.ran = numbers[1].get<uint64_t>();
  profile.most = numbers[2].get<uint64_t>();
  profile.bytes = std::make_shared<const std::string>(answer.substr(std::min(end + 1, answer.size())));
  profile.digest = digest_of(*profile.bytes);
  return profile;
}

Result<Profile> read_profile(const std::vector<fs::path>& paths) {
  XAAS_TRY(std::vector<File> files, read_files(paths));
  return merge(std::move(files));
}

Result<std::vector<FunctionCounts>> functions_of(const Profile& profile) {
  XAAS_TRY(const std::string answer,
           read_in_worker("reading a profile", profile.bytes->size(), [&]() -> Result<std::string> {
             XAAS_TRY(const std::vector<FunctionCounts> functions, counts_of(*profile.bytes));
             Json list = Json::array();
             for (const FunctionCounts& function : functions)
               if (function.most > 0)
                 list.push_back(Json{function.name, function.most});
             return list.dump(-1, ' ', false, Json::error_handler_t::replace);
           }));
  XAAS_TRY(const Json list, parse_json(answer, "the reader of profiles"));
  std::vector<FunctionCounts> functions;
  for (const Json& each : list)
    functions.push_back({each.at(0).get<std::string>(), each.at(1).get<uint64_t>()});
  std::sort(functions.begin(), functions.end(), [](const FunctionCounts& a, const FunctionCounts& b) {
    return std::tie(b.most, a.name) < std::tie(a.most, b.name);
  });
  return functions;
}

} // namespace xaas::profile
