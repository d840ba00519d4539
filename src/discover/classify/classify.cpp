// Which options are specialization points.
//
// An option is one if its name, without the project's prefix and neutral words ("ENABLE", "USE"), is the name
// of an entry of the knowledge, or if at least half of its values are. Names decide, not descriptions: a
// description that mentions CUDA may be about anything. Rejected: a score over many weak signs, because
// nobody can predict its result from the sources.
#include "classify/classification.h"
#include "classify/typing.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace xaas::discover {

namespace {

using Words = Classification::Words;

class Classifier {
public:
  explicit Classifier(const Findings& findings) : all_(findings) {}

  Discovery run() {
    Switches switches(all_);
    for (const Option& option : all_.findings.options)
      if (option.kind == Option::Kind::choice && !is_yes_no_choice(option))
        add_choice(all_, option);
      else
        switches.add(option);
    for (const Package& package : all_.findings.packages)
      add_package(all_, package);
    for (const Sign& sign : all_.findings.signs)
      add_sign(sign);
    add_machine_flags();
    if (all_.discovery.own_library.empty())
      std::tie(all_.discovery.own_library, all_.discovery.own_flag) = all_.own_fft;
    join_blas_and_lapack();
    follow_gpus();
    find_gpu_switch();
    return std::move(all_.discovery);
  }

private:
  bool is_yes_no_choice(const Option& option) const {
    return std::all_of(option.values.begin(), option.values.end(),
                       [this](const auto& value) { return all_.knowledge.is_neutral_value(value); });
  }

  // A GPU programming model that sources use is always needed if no option and no search is about GPUs.
  void add_sign(const Sign& sign) {
    const Entry* const entry = all_.knowledge.entry(Knowledge::words_of(sign.name), Choice::Group::gpu);
    const auto is_gpu = [](const Choice& choice) { return choice.group == Choice::Group::gpu; };
    if (!entry || std::any_of(all_.discovery.choices.begin(), all_.discovery.choices.end(), is_gpu))
      return;
    Choice& known = all_.choice(Choice::Group::gpu, entry->name);
    known.by_default = true;
    known.place = sign.place;
  }

  // Sources that the build compiles for several instruction sets, although no option asks for them: code that
  // is chosen when the program runs. A makefile may also have one for all sources.
  void add_machine_flags() {
    std::map<std::string, Place> sets;
    for (const auto& [flag, place] : all_.findings.machine_flags) {
      const std::string name = flag.substr(std::string_view("-m").size());
      const SimdEntry* const simd = all_.knowledge.simd(Knowledge::words_of(name));
      if (simd && simd->is_vector && (name.starts_with("avx") || name.find("sse") < 2))
        sets.emplace(name, place);
    }
    if (sets.size() > 1 || all_.system == spec::BuildSystem::make)
      for (const auto& [name, place] : sets)
        add_machine_flag(name, place);
  }

  void add_machine_flag(const std::string& name, const Place& place) {
    const std::vector<std::string> features = all_.knowledge.simd(Knowledge::words_of(name))->features;
    for (const Choice& choice : all_.discovery.choices)
      if (choice.group == Choice::Group::simd)
        if (const SimdEntry* const other = all_.knowledge.simd(Knowledge::words_of(choice.name));
            other && other->features == features)
          return; // an option asks for it
    Choice& known = all_.choice(Choice::Group::simd, to_upper(name));
    known.by_default = true;
    known.place = place;
  }

  // BLAS and LAPACK are needed together, so they are one choice.
  void join_blas_and_lapack() {
    const auto find = [this](const std::string& name) {
      return std::find_if(
          all_.discovery.choices.begin(), all_.discovery.choices.end(), [&](const Choice& choice) {
            return choice.group == Choice::Group::linear_algebra && to_lower(choice.name) == name;
          });
    };
    const auto blas = find("blas"), lapack = find("lapack");
    if (blas == all_.discovery.choices.end() && lapack != all_.discovery.choices.end())
      lapack->name = "BLAS/LAPACK"; // LAPACK needs BLAS
    if (blas == all_.discovery.choices.end() || lapack == all_.discovery.choices.end())
      return;
    blas->by_default = blas->by_default || lapack->by_default;
    blas->name = "BLAS/LAPACK";
    all_.discovery.choices.erase(lapack);
  }

  // A vendor's library without a switch of its own is used with that vendor's GPUs.
  void follow_gpus() {
    for (Choice& choice : all_.discovery.choices) {
      const Entry* const entry = all_.knowledge.entry(Knowledge::words_of(choice.name), choice.group);
      if (!entry || !entry->needs.gpu || entry->needs.gpu->vendor.empty() || !choice.flag.empty() ||
          choice.group == Choice::Group::gpu)
        continue;
      for (const Choice& backend : all_.discovery.choices)
        if (const Entry* const model =
                all_.knowledge.entry(Knowledge::words_of(backend.name), Choice::Group::gpu);
            model && backend.group == Choice::Group::gpu && model->needs.gpu &&
            model->needs.gpu->vendor == entry->needs.gpu->vendor)
          choice.by_default |= backend.by_default;
    }
  }

  void find_gpu_switch() {
    std::vector<Choice*> backends;
    for (Choice& choice : all_.discovery.choices)
      if (choice.group == Choice::Group::gpu)
        backends.push_back(&choice);
    if (backends.empty())
      return;
    all_.discovery.uses_gpus = true;
    for (const Option& option : all_.findings.options)
      if (const Words words = all_.words_of(option.name);
          !words.empty() && words.back() == "gpu" && without_neutral(words).size() == 1) {
        all_.discovery.gpu_flag = typed_on(all_.system, option);
        if (option.kind == Option::Kind::boolean)
          follow_gpu_switch(option, backends);
        return;
      }
    if (std::all_of(backends.begin(), backends.end(),
                    [&](const Choice* choice) { return choice->flag == backends.front()->flag; }))
      all_.discovery.gpu_flag = backends.front()->flag;
  }

  static spec::Requirement any_gpu() {
    spec::Requirement needs;
    needs.gpu.emplace();
    return needs;
  }

  // Backends without a switch of their own have that for GPUs.
  void follow_gpu_switch(const Option& option, std::vector<Choice*> backends) {
    std::erase_if(backends, [](const Choice* backend) { return !backend->flag.empty(); });
    if (backends.empty())
      return;
    for (Choice* const backend : backends) {
      backend->flag = all_.discovery.gpu_flag;
      backend->by_default = has_by_default(option);
    }
    const Entry* const entry =
        all_.knowledge.entry(Knowledge::words_of(backends.front()->name), Choice::Group::gpu);
    const bool is_one = backends.size() == 1 && entry;
    all_.add_point(option, is_one ? entry->name : "gpu", "gpu", is_one ? entry->needs : any_gpu());
  }

  Classification all_;
};

} // namespace

Discovery classify(const Findings& findings) {
  return Classifier(findings).run();
}

} // namespace xaas::discover
