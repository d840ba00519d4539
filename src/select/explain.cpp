#include <xaas/select/select.h>

#include <algorithm>

namespace xaas::select {
namespace {

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width) + 2, ' ');
  return text;
}

} // namespace

std::string explain(const Selection& selection) {
  size_t point_width = 5, value_width = 5, configuration_width = 0;
  for (const Choice& choice : selection.choices) {
    point_width = std::max(point_width, choice.point.size());
    value_width = std::max(value_width, choice.value.size());
  }
  for (const Rejection& rejection : selection.rejected)
    configuration_width = std::max(configuration_width, rejection.configuration.size());
  std::string text = "configuration: " + selection.configuration.id() + "\n";
  if (!selection.choices.empty())
    text += padded("point", point_width) + padded("value", value_width) + "reason\n";
  for (const Choice& choice : selection.choices)
    text += padded(choice.point, point_width) + padded(choice.value, value_width) + choice.reason + "\n";
  if (!selection.rejected.empty())
    text += "rejected:\n";
  for (const Rejection& rejection : selection.rejected)
    text += "  " + padded(rejection.configuration, configuration_width) + rejection.reason + "\n";
  return text;
}

} // namespace xaas::select
