// Problem: most makefiles of small applications have no install step, so something has to name their
// programs. Approach: evaluate GNU make's variables, conditionals and rules without running a shell. A
// program is a file that the default goal needs, that a recipe writes, and that is neither an object nor a
// source. A value that depends on a shell is unknown, and a name with an unknown part names nothing.
// Rejected: `make -pn`, which knows everything but runs $(shell) and remakes included makefiles. Reading a
// tree must execute nothing in it.
#include "readers/make/rules.h"

#include "readers/make/text.h"
#include "readers/make/values.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <map>
#include <set>

namespace xaas::discover {

namespace {

using Words = std::vector<std::string>;
using namespace make_text;

constexpr int deepest_include = 16;

// Whether a command is a compiler, linker or archiver by its usual names.
bool is_tool(const std::string& word) {
  std::string name = word.substr(word.rfind('/') + 1);
  name.erase(0, std::min(name.find_first_not_of("@-+"), name.size()));
  if (const size_t version = name.find_last_not_of("-.0123456789"); version != std::string::npos)
    name.resize(version + 1);
  for (const char* ending : {"cc", "c++", "cxx", "clang", "++", "fortran", "flang", "f77", "f90", "ftn", "ld",
                             "ar", "CC", "icx", "icpx", "ifort", "ifx", "libtool", "ranlib"})
    if (name.ends_with(ending))
      return true;
  return false;
}

struct Rule {
  Words needs;
  std::vector<std::string> recipe;
};

class Makefile {
public:
  Makefile(const TreeFiles& tree, const std::string& directory, const std::string& arch)
      : tree_(tree), directory_(directory), values_(tree, directory, arch) {}

  void read(const std::string& path) {
    const std::optional<std::string> text = tree_.text(path);
    if (!text || ++includes_ > 256 || ++depth_ > deepest_include)
      return;
    current_.clear();
    std::string line;
    size_t at = 0;
    bool defining = false;
    const size_t conditions = conditions_.size();
    while (at < text->size() && !is_spent()) {
      values_.charge(0);
      const size_t end = std::min(text->find('\n', at), text->size());
      line += text->substr(at, end - at);
      at = end + 1;
      if (line.ends_with("\\")) {
        line.back() = ' ';
        continue;
      }
      const std::string word = line.substr(0, line.find_first_of(" \t", line.find_first_not_of(' ')));
      if (defining)
        defining = trim(word) != "endef";
      else if (trim(word) == "define")
        defining = true;
      else
        read_line(line);
      line.clear();
    }
    conditions_.resize(std::min(conditions, conditions_.size()));
    --depth_;
  }

  MakeProducts products() {
    MakeProducts found;
    found.has_install = rules_.count("install") > 0;
    if (const std::string named = trim(values_.value_of(".DEFAULT_GOAL")); !named.empty())
      default_goal_ = named;
    std::set<std::string> seen;
    Words open;
    if (!default_goal_.empty())
      open.push_back(default_goal_);
    while (!open.empty() && !is_spent()) {
      values_.charge(1);
      const std::string target = open.back();
      open.pop_back();
      if (!seen.insert(target).second)
        continue;
      const auto rule = rules_.find(target);
      if (rule == rules_.end() && !pattern_for(target))
        continue;
      const Rule nothing;
      const Rule& own = rule == rules_.end() ? nothing : rule->second;
      open.insert(open.end(), own.needs.begin(), own.needs.end());
      if (!phony_.count(target) && is_linked(target, own))
        (is_library(target) ? found.libraries : found.programs).push_back(target);
    }
    std::sort(found.programs.begin(), found.programs.end());
    std::sort(found.libraries.begin(), found.libraries.end());
    return found;
  }
  bool is_spent() const { return values_.is_spent(); }

private:
  enum class Truth { no, yes, either };
  struct Condition {
    bool active = true; // this branch is read
    bool taken = false; // one that is surely true was read
    bool outer = true;  // the block around it is read
  };

  bool active() const { return conditions_.empty() || conditions_.back().active; }

  static bool is_library(const std::string& target) {
    return target.ends_with(".a") || target.ends_with(".so") || target.find(".so.") != std::string::npos;
  }

  // A file that a recipe makes with a compiler, linker or archiver and whose name has no suffix of a source,
  // object or text file.
  bool is_linked(const std::string& target, const Rule& rule) {
    const std::string name = target.substr(target.rfind('/') + 1);
    if (name.empty() || name.find(unknown) != std::string::npos || name.find('%') != std::string::npos ||
        target.starts_with("/") || target.find("..") != std::string::npos || tree_.has(directory_ + target))
      return false;
    if (const size_t dot = name.rfind('.');
        !is_library(target) && dot != std::string::npos && dot + 1 < name.size()) {
      const std::string ending = name.substr(dot + 1);
      static const std::set<std::string> of_programs = {"exe", "x", "out", "bin"};
      if (!of_programs.count(ending) && ending.find_first_not_of("0123456789") != std::string::npos)
        return false;
    }
    const Rule* const pattern = rule.recipe.empty() ? pattern_for(target) : nullptr;
    const std::vector<std::string>& recipe = pattern ? pattern->recipe : rule.recipe;
    if (recipe.empty()) // make's built-in rule
      return std::any_of(rule.needs.begin(), rule.needs.end(), [&](const std::string& need) {
        static const std::set<std::string> endings = {".o", ".c", ".cc", ".cpp", ".C", ".f", ".F", ".p"};
        return need.starts_with(target) && endings.count(need.substr(target.size())) > 0;
      });
    return std::any_of(recipe.begin(), recipe.end(),
                       [&](const std::string& line) { return makes(line, target); });
  }

  // Whether a line of a recipe makes the target: "$(CC) -o $(PROG) $(OBJS)".
  bool makes(const std::string& line, const std::string& target) {
    if (line.find("MAKE") != std::string::npos) // a make in another directory
      return false;
    std::string named = line;
    for (const char* automatic : {"$@", "$(@)", "${@}"})
      named = replace_all(named, automatic, target);
    const Words words = words_of(values_.expand(named));
    const auto is_target = [&](const std::string& word) {
      return word == target || word == "./" + target || word == "-o" + target;
    };
    const auto at = std::find_if(words.begin(), words.end(), is_target);
    if (at == words.end())
      return false;
    return at->starts_with("-o") || (at != words.begin() && *(at - 1) == "-o") ||
           std::any_of(words.begin(), at, is_tool);
  }

  const Rule* pattern_for(const std::string& target) const {
    for (const auto& [pattern, rule] : patterns_)
      if (matches(target, pattern) && !target.ends_with(".o"))
        return &rule;
    return nullptr;
  }

  void read_line(const std::string& line) {
    if (line.starts_with("\t") && !current_.empty()) {
      if (active())
        for (const std::string& target : current_)
          add_recipe(target, trim(line));
      return;
    }
    const std::string text = trim(without_comment(line));
    if (text.empty() || read_conditional(text) || !active())
      return;
    const Words words = words_of(text);
    if (words[0] == "include" || words[0] == "-include" || words[0] == "sinclude") {
      for (const std::string& file : words_of(values_.expand(text.substr(words[0].size()))))
        read(directory_ + file);
      return;
    }
    if (words[0] == "vpath" || words[0] == "unexport" || words[0] == "undefine")
      return;
    if (!read_assignment(text))
      read_rule(text);
  }

  static std::string without_comment(const std::string& line) {
    for (size_t at = 0; at < line.size(); ++at)
      if (line[at] == '#' && (at == 0 || line[at - 1] != '\\'))
        return line.substr(0, at);
    return line;
  }

  bool read_conditional(const std::string& text) {
    std::string rest = text;
    bool otherwise = false;
    if (rest.starts_with("else") && (rest.size() == 4 || std::isspace(static_cast<unsigned char>(rest[4])))) {
      otherwise = true;
      rest = trim(rest.substr(4));
    }
    const std::string word = rest.substr(0, rest.find_first_of(" \t("));
    if (!otherwise && word == "endif") {
      if (!conditions_.empty())
        conditions_.pop_back();
      return true;
    }
    const bool test = word == "ifeq" || word == "ifneq" || word == "ifdef" || word == "ifndef";
    if (!test && !otherwise)
      return false;
    if (!otherwise && conditions_.size() < 1000)
      conditions_.push_back({false, false, active()});
    if (conditions_.empty())
      return true;
    Condition& condition = conditions_.back();
    if (!condition.outer || condition.taken) {
      condition.active = false;
      return true;
    }
    const Truth truth = test ? truth_of(word, trim(rest.substr(word.size()))) : Truth::yes;
    condition.active = truth != Truth::no;
    condition.taken = truth == Truth::yes;
    return true;
  }

  Truth truth_of(const std::string& word, const std::string& arguments) {
    if (word == "ifdef" || word == "ifndef") {
      const bool defined = !values_.is_empty(trim(values_.expand(arguments)));
      return defined == (word == "ifdef") ? Truth::yes : Truth::no;
    }
    std::string left, right;
    if (arguments.starts_with("(")) {
      const size_t comma = end_of_part(arguments, 1, ')', true);
      const size_t end = end_of_part(arguments, std::min(comma + 1, arguments.size()), ')', false);
      left = arguments.substr(1, comma - 1);
      right = comma < end ? arguments.substr(comma + 1, end - comma - 1) : std::string();
    } else if (!arguments.empty()) {
      const size_t end = arguments.find(arguments[0], 1);
      if (end == std::string::npos)
        return Truth::either;
      left = arguments.substr(1, end - 1);
      right = trim(arguments.substr(end + 1));
      right = right.size() >= 2 ? right.substr(1, right.size() - 2) : std::string();
    }
    left = trim(values_.expand(left)), right = trim(values_.expand(right));
    if (left.find(unknown) != std::string::npos || right.find(unknown) != std::string::npos)
      return Truth::either;
    return (left == right) == (word == "ifeq") ? Truth::yes : Truth::no;
  }

  bool read_assignment(std::string text) {
    for (const char* word : {"export ", "override ", "private "})
      if (text.starts_with(word))
        text = trim(text.substr(std::string(word).size()));
    const size_t end = text.find_first_of("=:");
    if (end == std::string::npos)
      return text.empty();
    size_t equal = text.find('=');
    // A colon that is not part of an assignment operator makes it a rule.
    if (equal == std::string::npos || (text[end] == ':' && equal > end + 3) ||
        (text[end] == ':' && text.substr(end, equal - end).find_first_not_of(':') != std::string::npos))
      return false;
    char kind = '=';
    size_t name_end = equal;
    if (equal > 0 && std::string(":?+!").find(text[equal - 1]) != std::string::npos) {
      kind = text[equal - 1];
      name_end = text.find_last_not_of(":?+!", equal - 1) + 1;
    }
    const std::string name = trim(values_.expand(text.substr(0, name_end))),
                      value = trim(text.substr(equal + 1));
    if (name.find_first_of(" \t") != std::string::npos)
      return false;
    if (kind == '!')
      values_.set(name, std::string(1, unknown));
    else if (kind == '+')
      values_.add(name, value);
    else if (kind == ':')
      values_.store(name, value);
    else if (kind == '=' || !values_.has(name))
      values_.set(name, value);
    return true;
  }

  void read_rule(const std::string& text) {
    current_.clear();
    // References may contain colons, so the rule is expanded first.
    const std::string line = values_.expand(text.substr(0, text.find(';')));
    size_t colon = line.find(':');
    if (colon == std::string::npos)
      return;
    current_ = words_of(line.substr(0, colon));
    for (std::string& target : current_)
      if (target.starts_with("./"))
        target.erase(0, 2);
    while (colon < line.size() && line[colon] == ':')
      ++colon;
    std::string rest = line.substr(colon);
    if (rest.find('=') != std::string::npos) // a variable of these targets
      return;
    if (const size_t pattern = rest.find(':'); pattern != std::string::npos)
      rest = rest.substr(pattern + 1);
    std::replace(rest.begin(), rest.end(), '|', ' ');
    const Words needs = words_of(rest);
    for (const std::string& target : current_) {
      if (target == ".PHONY")
        phony_.insert(needs.begin(), needs.end());
      if (default_goal_.empty() && !target.starts_with(".") && target.find('%') == std::string::npos)
        default_goal_ = target;
      if (target.find('%') != std::string::npos)
        continue;
      Rule& rule = rules_[target];
      for (const std::string& need : needs)
        if (values_.charge(need.size()); !is_spent())
          rule.needs.push_back(need.starts_with("./") ? need.substr(2) : need);
    }
    if (text.find(';') != std::string::npos)
      for (const std::string& target : current_)
        add_recipe(target, trim(text.substr(text.find(';') + 1)));
  }

  void add_recipe(const std::string& target, std::string line) {
    values_.charge(line.size());
    if (target.find('%') == std::string::npos)
      rules_[target].recipe.push_back(std::move(line));
    else if (auto known = std::find_if(patterns_.begin(), patterns_.end(),
                                       [&](const auto& each) { return each.first == target; });
             known != patterns_.end())
      known->second.recipe.push_back(std::move(line));
    else
      patterns_.push_back({target, {{}, {std::move(line)}}});
  }

  const TreeFiles& tree_;
  std::string directory_; // with a slash at its end, or empty
  MakeValues values_;
  std::map<std::string, Rule> rules_;
  std::vector<std::pair<std::string, Rule>> patterns_; // rules with `%`
  std::set<std::string> phony_;
  std::vector<Condition> conditions_;
  Words current_; // targets whose recipe is being read
  std::string default_goal_;
  int depth_ = 0, includes_ = 0;
};

} // namespace

MakeProducts read_make_products(const TreeFiles& tree, const std::string& path, const std::string& arch,
                                std::vector<std::string>& notes) {
  const size_t slash = path.rfind('/');
  Makefile makefile(tree, slash == std::string::npos ? std::string() : path.substr(0, slash + 1), arch);
  makefile.read(path);
  MakeProducts products = makefile.products();
  if (makefile.is_spent())
    notes.push_back(path + ": its rules are too long to be evaluated to the end");
  else if (!products.has_install && products.programs.empty() && products.libraries.empty())
    notes.push_back(path + ": has no target `install` for DESTDIR, and its outputs are unknown; list the "
                           "files in build.install");
  return products;
}

} // namespace xaas::discover
