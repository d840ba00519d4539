// Guessed options among the declared ones.
#include "readers/cmake/declarations.h"
#include "readers/cmake/guess.h"

namespace xaas::discover {

bool CMakeDeclarations::guess(const CMakeCommand& command, const std::vector<CMakeWord>& words) {
  const std::optional<GuessedOption> guessed = guess_option(command, words);
  if (!guessed || !is_new(guessed->name) || !may_add_option(guessed->name))
    return false;
  if (guessed->form == GuessedOption::Form::boolean) {
    if (guessed->condition.empty())
      declare_boolean(guessed->name, guessed->help, guessed->value, command);
    else
      dependent_option({{guessed->name},
                        {guessed->help, true, true},
                        guessed->value,
                        {guessed->condition, true, true},
                        guessed->otherwise},
                       command);
  } else {
    Option& option = add_option(guessed->name, command);
    option.kind = guessed->form == GuessedOption::Form::choice ? Option::Kind::choice : Option::Kind::text;
    option.help = guessed->help;
    option.takes_place = guessed->form == GuessedOption::Form::place;
    option.values = guessed->values;
    set_initial(option, guessed->value);
    if (!guessed->condition.empty())
      option.conditions.push_back(guessed->condition);
    if (state_.by_default)
      values_.set_cache(guessed->name, {guessed->value.text, guessed->value.known});
  }
  findings_.options[options_.at(guessed->name)].guessed = true;
  return true;
}

} // namespace xaas::discover
