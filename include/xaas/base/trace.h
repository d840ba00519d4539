// Where the time of a build or a deploy goes: spans with names, recorded while it runs.
//
// The recording belongs to the process, as LLVM's own does (llvm/Support/TimeProfiler.h), because spans come
// from modules that share nothing else. It costs nothing unless start() was called. Threads may record at
// once. What a forked child records is lost with it.
//
// Written in the Trace Event Format (JSON object format, complete events), which Perfetto and
// chrome://tracing read.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace xaas::trace {

// Records from now on.
void start();
bool recording();

// Microseconds of a clock that all processes of a machine share.
int64_t now();

struct Event {
  std::string category; // docs/command-line.md lists them: phase, module, ...
  std::string name;
  int64_t begin = 0, end = 0; // as now() counts
  Json details = Json::object();
};
void add(Event event);

// When the last recorded event ended, or the recording began.
int64_t last_end();

// A span from its construction to its end, if one is recorded.
class Span {
public:
  Span(std::string category, std::string name);
  Span(Span&& other) noexcept : event_(std::exchange(other.event_, std::nullopt)) {}
  Span& operator=(Span&&) = delete;
  ~Span() { end(); }
  void set(const std::string& key, Json value);
  void end(); // now; later calls do nothing
  void drop() { event_.reset(); }

private:
  std::optional<Event> event_;
};

// Appends the events that are recorded to a file, which several processes may do at once, and forgets them.
Result<void> append_to(const fs::path& file);
// Adds the events of such a file, with more details. A file that does not exist has none; a damaged line is
// an integrity error.
Result<void> add_from(const fs::path& file, const Json& details);

// The events, in the order of their beginning, with times relative to start(). Events that overlap without
// nesting are in different lanes (threads of the format), of which as few as possible are used.
Json to_json();

} // namespace xaas::trace
