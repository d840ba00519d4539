#include "classify/classification.h"
#include "classify/typing.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <set>

namespace xaas::discover {

namespace {

// Whether the build searches for the package with every option at its default.
bool is_unasked(const Classification& all, const Package& package) {
  if (package.alternative || package.reached)
    return !package.alternative;
  for (const std::string& condition : package.conditions)
    for (const Option* option : all.options_in(condition))
      if (option->kind == Option::Kind::boolean &&
          is_on(*option) == (condition.find("NOT") != std::string::npos))
        return false;
  return true;
}

// Whether the option's name has the entry's name among its words: "USE_MKL_WITH_TBB" and TBB.
bool names(const Classification& all, const Option& option, const Entry& entry) {
  const Classification::Words words = all.words_of(option.name);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return all.knowledge.entry({word}) == &entry; });
}

// The one boolean option, meant for users, that the search depends on. Conditions that hold by default do not
// count. Of several, the one with the package's name.
const Option* only_asker(const Classification& all, const Package& package, const Entry& entry) {
  std::set<const Option*> askers;
  for (const std::string& condition : package.conditions)
    for (const Option* option : all.options_in(condition)) {
      const bool negated = condition.find("NOT") != std::string::npos;
      if (negated && option->kind == Option::Kind::boolean && !is_on(*option))
        continue;
      if (option->kind != Option::Kind::boolean || negated ||
          all.knowledge.is_for_developers(all.words_of(option->name)))
        return nullptr;
      if (!all.knowledge.has_own_word(all.words_of(option->name)))
        askers.insert(option);
    }
  if (askers.size() > 1)
    std::erase_if(askers, [&](const Option* option) { return !names(all, *option, entry); });
  return askers.size() == 1 ? *askers.begin() : nullptr;
}

// Whether an option is about another entry, which needs the package: OpenMP, if CUDA is asked for.
bool is_about_another(const Classification& all, const Option& option, const Entry& entry) {
  const Entry* const other = all.knowledge.entry(all.words_of(option.name));
  return other && other != &entry;
}

// Whether the build searches for the package only to build tests, examples or documentation.
bool is_for_tests(const Classification& all, const Package& package) {
  for (const std::string& condition : package.conditions)
    for (const Option* option : all.options_in(condition))
      if (condition.find("NOT") == std::string::npos && option->kind == Option::Kind::boolean &&
          all.knowledge.is_for_developers(all.words_of(option->name)))
        return true;
  return false;
}

// Of several implementations of one interface, a build takes the first that it finds.
bool is_first_vendors(const Classification& all, const Package& package) {
  const auto is_taken = [&](const Choice& choice) {
    const Entry* const entry = all.knowledge.entry(Knowledge::words_of(choice.name), choice.group);
    return choice.by_default && entry && (entry->is_one_vendors || entry->name == "MKL");
  };
  return (package.reached || (package.linked && all.system == spec::BuildSystem::make)) &&
         std::none_of(all.discovery.choices.begin(), all.discovery.choices.end(), is_taken);
}

} // namespace

void add_package(Classification& all, const Package& package) {
  const Classification::Words words = Knowledge::words_of(package.name);
  all.discovery.uses_gpus |= all.knowledge.gpus_of_library(words) != nullptr;
  // "mkl_core", "mkl_intel_thread": parts of MKL.
  const Entry* const entry = all.knowledge.entry(
      words.size() > 1 && words.front() == "mkl" && !all.knowledge.entry(words) ? Classification::Words{"mkl"}
                                                                                : words);
  if (is_for_tests(all, package))
    return;
  if (!entry || entry->is_layer || all.is_project(*entry))
    return;
  for (Choice& known : all.discovery.choices)
    if (to_lower(known.name) == to_lower(entry->name) ||
        (known.group == Choice::Group::fft && to_lower(known.name).starts_with(to_lower(entry->name)))) {
      if (known.version.empty())
        known.version = package.version;
      return;
    }
  if (entry->group == Choice::Group::gpu || entry->group == Choice::Group::parallel) {
    // A package that the build searches for only on request belongs to the option that requests it.
    const Option* asker = only_asker(all, package, *entry);
    if (asker && is_about_another(all, *asker, *entry))
      return;
    // Threads of the C library belong to an option only if it is about them.
    if (asker && entry->is_everywhere && asker->name.find("hread") == std::string::npos &&
        asker->name.find("HREAD") == std::string::npos) {
      if (!has_by_default(*asker))
        return;
      asker = nullptr;
    }
    if (asker) {
      Choice& known = all.choice(entry->group, entry->name);
      known.flag = typed_on(all.system, *asker);
      known.by_default = has_by_default(*asker) && (!entry->needs.gpu || asker->initial == "ON");
      known.version = package.version;
      known.place = asker->place;
      all.add_point(*asker, entry->name, entry->category, entry->needs);
      return;
    }
    if (!is_unasked(all, package) || (entry->is_everywhere && !package.linked))
      return;
  }
  Choice& known = all.choice(entry->group, entry->name);
  known.version = package.version;
  known.place = package.place;
  // Any implementation of a library that several vendors offer will do.
  const bool is_always_used =
      entry->group == Choice::Group::gpu && package.conditions.empty() &&
      (package.required || package.reached || (package.linked && !package.alternative));
  known.by_default = is_always_used || (is_unasked(all, package) && !entry->needs.gpu &&
                                        (!entry->is_one_vendors || is_first_vendors(all, package)));
  known.condition = join(package.conditions, " AND ");
}

} // namespace xaas::discover
