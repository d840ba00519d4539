#include <xaas/select/select.h>

#include <algorithm>

namespace xaas::select {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; the last one ends the line.
std::string columns(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i)
      text += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    text += row.back() + "\n";
  }
  return text;
}

std::string section(const std::string& title, std::vector<Row> rows) {
  if (rows.empty())
    return {};
  for (Row& row : rows)
    row[0] = "  " + row[0];
  return title + ":\n" + columns(rows);
}

std::string state_of(const Outcome& value) {
  if (value.chosen)
    return "chosen";
  if (!value.possible)
    return "not possible";
  return value.built ? "possible" : "not built";
}

} // namespace

std::string explain(const Selection& selection) {
  std::string text = "configuration: " + selection.configuration.id() + "\n";
  std::vector<Row> choices = {{"point", "value", "reason"}}, values, needs, rejected;
  for (const Choice& choice : selection.choices)
    choices.push_back({choice.point, choice.value, choice.reason});
  for (const Outcome& value : selection.values) {
    const std::string name = value.point + "=" + value.value;
    values.push_back({name, state_of(value), value.reason});
    for (const Need& need : value.needs)
      if (need.kind != Need::Kind::cpu)
        needs.push_back({name, std::string("from the ") + name_of(need.from), text_of(need)});
  }
  for (const Rejection& rejection : selection.rejected)
    rejected.push_back({rejection.configuration, rejection.reason});
  if (choices.size() > 1)
    text += columns(choices);
  return text + section("values", values) + section("needs", needs) + section("rejected", rejected);
}

} // namespace xaas::select
