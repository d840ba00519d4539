#include <xaas/base/text.h>
#include <xaas/base/trace.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace xaas::trace {

namespace {

struct Recording {
  std::mutex mutex;
  std::optional<int64_t> began;
  std::vector<Event> events;
};

Recording& recording_of_this_process() {
  static Recording recording;
  return recording;
}

// The lane of each event: the first in which it follows all others or is inside the one that is still open.
std::vector<size_t> lanes_of(const std::vector<Event>& events) {
  std::vector<std::vector<int64_t>> open; // by lane: ends of the events that are open, the innermost last
  std::vector<size_t> lanes;
  for (const Event& event : events) {
    const auto fits = [&](std::vector<int64_t>& ends) {
      while (!ends.empty() && ends.back() <= event.begin)
        ends.pop_back();
      return ends.empty() || event.end <= ends.back();
    };
    const auto lane = std::find_if(open.begin(), open.end(), fits);
    lanes.push_back(static_cast<size_t>(lane - open.begin()));
    if (lane == open.end())
      open.push_back({event.end});
    else
      lane->push_back(event.end);
  }
  return lanes;
}

} // namespace

int64_t now() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

void start() {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  recording.began = now();
  recording.events.clear();
}

bool recording() {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  return recording.began.has_value();
}

void add(Event event) {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  if (recording.began)
    recording.events.push_back(std::move(event));
}

int64_t last_end() {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  return recording.events.empty() ? recording.began.value_or(0) : recording.events.back().end;
}

Span::Span(std::string category, std::string name) {
  if (recording())
    event_ = Event{std::move(category), std::move(name), now(), 0, Json::object()};
}

void Span::set(const std::string& key, Json value) {
  if (event_)
    event_->details[key] = std::move(value);
}

void Span::end() {
  if (!event_)
    return;
  event_->end = now();
  add(*std::exchange(event_, std::nullopt));
}

Result<void> append_to(const fs::path& file) {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  std::string lines;
  for (const Event& event : std::exchange(recording.events, {}))
    lines += Json{event.category, event.name, event.begin, event.end, event.details}.dump(
                 -1, ' ', false, Json::error_handler_t::replace) +
             "\n";
  return lines.empty() ? Result<void>() : append_file(file, lines);
}

Result<void> add_from(const fs::path& file, const Json& details) {
  std::error_code code;
  if (!fs::exists(file, code))
    return {};
  XAAS_TRY(const std::string text, read_file(file));
  for (const std::string& line : split(text, '\n')) {
    if (line.empty())
      continue;
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_array() || json.size() != 5 || !json[0].is_string() || !json[1].is_string() ||
        !json[2].is_number_integer() || !json[3].is_number_integer() || !json[4].is_object())
      return make_error(ErrorKind::integrity, file.string() + ": not an event: " + line);
    Event event{json[0], json[1], json[2], json[3], json[4]};
    event.details.update(details);
    add(std::move(event));
  }
  return {};
}

Json to_json() {
  Recording& recording = recording_of_this_process();
  const std::scoped_lock lock(recording.mutex);
  std::vector<Event> events = recording.events;
  // Of two that begin together, the outer one first.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.begin, b.end, a.category, a.name) < std::tie(b.begin, a.end, b.category, b.name);
  });
  const int64_t began = recording.began.value_or(0);
  const std::vector<size_t> lanes = lanes_of(events);
  Json json = {{"traceEvents", Json::array()}, {"displayTimeUnit", "ms"}};
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    json["traceEvents"].push_back({{"name", event.name},
                                   {"cat", event.category},
                                   {"ph", "X"},
                                   {"ts", std::max<int64_t>(0, event.begin - began)},
                                   {"dur", std::max<int64_t>(0, event.end - event.begin)},
                                   {"pid", 1},
                                   {"tid", lanes[i] + 1},
                                   {"args", event.details}});
  }
  return json;
}

} // namespace xaas::trace
