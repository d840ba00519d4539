#include "classify/classification.h"
#include "classify/typing.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::discover {

namespace {

spec::Requirement needs_of(const SimdEntry& simd) {
  spec::Requirement needs;
  needs.cpu = simd.features;
  return needs;
}

// "sse41" is SSE4.1 and "arm_neon" is NEON; "sse4_1" stays as the project writes it.
std::string set_name(const std::vector<std::string>& telling, const SimdEntry& simd) {
  const std::string name = join(telling, "");
  if (simd.features.size() == 1)
    if (const std::string feature = join(Knowledge::words_of(simd.features.front()), "");
        (telling.size() == 1 && name == feature) || name == "arm" + feature)
      return to_upper(simd.features.front());
  return to_upper(join(telling, "-"));
}

// "pthread" and "pthreads" name pthreads, "threads" does not.
bool names_it(const std::vector<std::string>& telling, const Entry& entry) {
  const std::string name = join(telling, ""), entrys = to_lower(entry.name);
  return name == entrys || name + "s" == entrys;
}

} // namespace

void Switches::add(const Option& option) {
  const Words words = all_.words_of(option.name);
  if (!add_own_library(option, words) && !add_simd(option, words) && !add_precision(option, words) &&
      !add_library_with_gpus(option, words))
    add_entry(option, words);
}

// The application builds a library of its own.
bool Switches::add_own_library(const Option& option, const Words& words) {
  const Knowledge& knowledge = all_.knowledge;
  if (!knowledge.has_own_word(words))
    return false;
  const Entry* const entry = knowledge.entry(knowledge.without(words, true, false));
  if (!entry || entry->is_headers || option.kind == Option::Kind::text || option.takes_place)
    return true;
  // Of several, one that computes; BLAS and LAPACK are one.
  std::string& own = all_.discovery.own_library;
  const bool computes = entry->group == Choice::Group::linear_algebra || entry->group == Choice::Group::fft;
  if ((own == "BLAS" && entry->name == "LAPACK") || (own == "LAPACK" && entry->name == "BLAS")) {
    own = "BLAS/LAPACK";
  } else if (own.empty() || (computes && !own_computes_)) {
    own = entry->name;
    all_.discovery.own_flag = typed_on(all_.system, option);
    own_computes_ = computes;
  }
  return true;
}

bool Switches::add_simd(const Option& option, const Words& words) {
  const SimdEntry* const known_set = all_.knowledge.simd(words);
  const bool all_sets = without_neutral(words) == Words{"simd"};
  const bool assembly = !known_set && (all_sets || all_.knowledge.is_assembly(words));
  if ((!known_set && !assembly) || option.kind == Option::Kind::text || option.takes_place)
    return false;
  static const SimdEntry unnamed; // code for the machine, whatever it is
  const SimdEntry* const simd = known_set ? known_set : &unnamed;
  // Another extension counts only in a project that switches vector instructions in the same way.
  if (!simd->is_vector && !all_sets &&
      !(simd->features.empty() ? all_.has_assembly_switch() : all_.has_vector_switch()))
    return false;
  const Words telling = all_sets ? Words{"simd"} : all_.knowledge.telling(words);
  // "generic code" is any code; "generic" beside names of instruction sets is code without them.
  const bool is_without_sets = known_set && simd->features.empty() && simd->arch.empty();
  if (is_without_sets &&
      (telling.size() != without_neutral(words).size() || (simd->is_vector && !all_.has_vector_switch())))
    return false;
  Choice& known = all_.choice(Choice::Group::simd, set_name(telling, *simd));
  known.flag = typed_on(all_.system, option);
  known.by_default = has_by_default(option);
  known.place = option.place;
  if (!Knowledge::can_require(*simd))
    return true;
  if (DiscoveredPoint* const point = all_.add_point(option, join(telling, "-"), "cpu", needs_of(*simd))) {
    point->simd_features = simd->features;
    point->simd_arch = simd->arch;
  }
  return true;
}

bool Switches::add_precision(const Option& option, const Words& words) {
  const std::string precision = all_.knowledge.precision(words);
  if (precision.empty() || option.kind == Option::Kind::text)
    return false;
  all_.add_point(option, precision, "precision", {});
  return true;
}

bool Switches::add_library_with_gpus(const Option& option, const Words& words) {
  const std::vector<std::string>* const models = all_.knowledge.gpus_of_library(words);
  if (!models || option.kind != Option::Kind::boolean)
    return false;
  all_.discovery.uses_gpus = true;
  for (const std::string& model : *models) {
    Choice& known = all_.choice(Choice::Group::gpu, model);
    if (!known.place.file.empty())
      continue;
    known.flag = typed_on(all_.system, option);
    known.by_default = has_by_default(option);
    known.place = option.place;
  }
  all_.add_point(option, option.name, "gpu", {});
  return true;
}

// "--enable-parallel", "ENABLE_PARALLEL4": MPI, if the sources use MPI, no OpenMP, and no option is named
// after MPI.
bool Switches::is_parallel(const Words& words) const {
  const Words telling = all_.knowledge.telling(words);
  if (telling.back().substr(0, telling.back().find_last_not_of("0123456789") + 1) != "parallel" ||
      (telling != words && telling.size() > 1))
    return false;
  const auto uses = [this](const char* name) {
    return std::any_of(all_.findings.signs.begin(), all_.findings.signs.end(),
                       [&](const Sign& sign) { return sign.name == name; });
  };
  const Entry* const mpi = all_.knowledge.entry({"mpi"});
  return uses("MPI") && !uses("OpenMP") &&
         std::none_of(all_.findings.options.begin(), all_.findings.options.end(), [&](const Option& option) {
           return all_.knowledge.entry(all_.words_of(option.name)) == mpi;
         });
}

// What the option is about, by its name.
const Entry* Switches::entry_of(const Option& option, const Words& words) const {
  const Entry* const entry = all_.knowledge.entry(words);
  if (!entry && is_parallel(words))
    return all_.knowledge.entry({"mpi"});
  if (entry || words.size() < 2)
    return entry;
  // A prefix of this option alone counts if it is a word of the project's name, or if the search for the
  // library depends on the option.
  const Entry* const tail = all_.knowledge.entry({words.begin() + 1, words.end()});
  const Words name = Knowledge::words_of(all_.findings.name);
  const bool is_prefix = tail && (std::find(name.begin(), name.end(), words.front()) != name.end() ||
                                  all_.searches(option, *tail));
  return is_prefix ? tail : nullptr;
}

void Switches::add_entry(const Option& option, const Words& words) {
  const Entry* entry = entry_of(option, words);
  const bool where = !entry && all_.knowledge.has_where_word(words);
  if (where)
    entry = all_.knowledge.entry(all_.knowledge.without(words, false, true));
  if (!entry || all_.is_project(*entry))
    return;
  if (entry->is_layer) {
    if (!where && !option.takes_place && option.kind != Option::Kind::text)
      all_.add_point(option, entry->name, entry->category, entry->needs);
    return;
  }
  Choice& known = all_.choice(entry->group, entry->name);
  if (known.place.file.empty())
    known.place = option.place;
  known.built_in = entry->built_in;
  if (!where && !option.takes_place && option.kind != Option::Kind::text)
    set_switch(option, *entry, known);
  else if (known.flag.empty() && entry->group == Choice::Group::parallel)
    known.by_default = true; // the build asks only where it is, so it is always used
}

// Of several options, the one that the search for the library depends on, or else that has its name.
void Switches::set_switch(const Option& option, const Entry& entry, Choice& known) {
  const bool searches = all_.searches(option, entry);
  const bool names = names_it(all_.knowledge.telling(all_.words_of(option.name)), entry);
  const bool better = !known.flag.empty() && !all_.chosen_by_value.contains({known.group, known.name}) &&
                      ((searches && !searched_by_.count(&entry)) ||
                       (names && !named_by_.count(&entry) && (searches || !searched_by_.count(&entry))));
  if (!known.flag.empty() && !better)
    return;
  if (searches)
    searched_by_.insert(&entry);
  if (names)
    named_by_.insert(&entry);
  known.flag = typed_on(all_.system, option);
  // A library for GPUs is used only once a GPU backend is chosen.
  known.by_default = has_by_default(option) && !(entry.needs.gpu && entry.group != Choice::Group::gpu);
  known.condition = join(option.conditions, " AND ");
  known.place = option.place;
  if (better)
    std::erase_if(all_.discovery.points,
                  [&](const DiscoveredPoint& point) { return point.point.name == to_lower(entry.name); });
  all_.add_point(option, entry.name, entry.category, entry.needs);
}

} // namespace xaas::discover
