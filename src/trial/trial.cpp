#include <xaas/trial/trial.h>

#include "learn.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/project/project.h>

#include <algorithm>

namespace xaas::trial {

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::map<std::string, std::string>;

// Each of them is a build; a tree that needs more than this needs a person.
constexpr size_t most_lessons = 12;

Error out_of_time() {
  return make_error(ErrorKind::failed, "the time for trying is over", "--try-time allows more");
}

class Trial {
public:
  Trial(const Request& request, const discover::Findings& findings, discover::Draft& draft,
        Progress& progress)
      : request_(request), findings_(findings), draft_(draft), progress_(progress) {
    if (request.limit.count() > 0)
      end_ = Clock::now() + request.limit;
  }

  Result<Report> run() {
    const Stopwatch watch;
    XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create(temporary_root(), "xaas-try-"));
    // The front door knows the build's files by the names that its compilers see.
    copy_ = fs::weakly_canonical(directory.path()) / "source";
    XAAS_CHECK(copy_anew());
    XAAS_CHECK(make_first_build());
    if (!report_.error && request_.values) {
      XAAS_CHECK(try_values());
      XAAS_CHECK(try_levels());
    }
    report_.seconds = watch.seconds();
    return std::move(report_);
  }

private:
  // A build may write into its sources before that is noticed, and must not spoil those of the user.
  Result<void> copy_anew() {
    remove_tree(copy_);
    XAAS_CHECK(make_directories(copy_));
    return project::copy_sources(request_.build.source, copy_, {})
        .in("copying " + request_.build.source.string());
  }

  bool is_over() const { return end_ && Clock::now() >= *end_; }

  // --- the first configuration

  Result<void> make_first_build() {
    std::vector<spec::BuildSystem> others = {spec::BuildSystem::cmake, spec::BuildSystem::meson,
                                             spec::BuildSystem::autotools, spec::BuildSystem::make};
    std::erase(others, draft_.application.build.system);
    XAAS_CHECK(build_until_it_works());
    if (!report_.error || !configuring_failed_)
      return {};
    const std::string why = "With " + spec::to_string(draft_.application.build.system) +
                            ", configuring fails: " + report_.attempts.back().error;
    for (const spec::BuildSystem other : others)
      if (report_.error && !is_over())
        XAAS_CHECK(with_build_system(other, why));
    return {};
  }

  // A tree may have several build systems, of which a release keeps only some in order. `why`: the reason for
  // another one.
  Result<void> with_build_system(spec::BuildSystem system, const std::string& why) {
    Result<discover::Findings> findings = discover::read_tree(request_.build.source, system);
    if (!findings)
      return {};
    const discover::Draft before = draft_;
    const discover::Findings findings_before = findings_;
    const Error error = *report_.error;
    findings_ = *std::move(findings);
    draft_ = discover::draft(findings_, discover::classify(findings_), request_.build.arch);
    draft_.remarks.push_back({"/build/system", why});
    report_.attempts.back().learned = "build.system: " + spec::to_string(system);
    say_learned(report_.attempts.back());
    XAAS_CHECK(build_until_it_works());
    if (!report_.error)
      return {};
    draft_ = before; // the first choice is the better place to go on from
    findings_ = findings_before;
    report_.error = error;
    return {};
  }

  // A build with compilers of its own choice makes no IR, and one without -O a slow program. Its draft is the
  // result if nothing better builds.
  Result<void> build_until_it_works() {
    std::optional<std::pair<discover::Draft, std::vector<std::string>>> poor;
    bool goes_on = true;
    for (size_t lesson = 0; goes_on; ++lesson) {
      XAAS_TRY(const Values first, first_configuration());
      XAAS_TRY(const bool built, attempt(first, ""));
      if (built && !failure_.natively && !failure_.unoptimized)
        return accept(programs_);
      if (built)
        poor = {draft_, programs_};
      if (lesson < most_lessons && !is_over())
        report_.attempts.back().learned = learn_from(failure_);
      goes_on = !report_.attempts.back().learned.empty();
      say_learned(report_.attempts.back());
    }
    if (!poor) {
      report_.error = error_;
      return {};
    }
    const bool is_last = report_.attempts.back().built;
    draft_ = std::move(poor->first);
    XAAS_CHECK(accept(poor->second));
    if (!is_last)
      report_.attempts.back().learned = "the draft before this build is kept, because it builds";
    return {};
  }

  Result<void> accept(const std::vector<std::string>& programs) {
    first_content_ = content_;
    report_.attempts.back().learned = choose_entrypoint(programs, draft_);
    say_learned(report_.attempts.back());
    report_.error.reset();
    return {};
  }

  std::string learn_from(const Failure& failure) {
    const Classroom room{failure, findings_, copy_,
                         [](const std::string& program) { return find_program(program).has_value(); }};
    return learn(room, draft_);
  }

  void say_learned(const Attempt& attempt) {
    if (!attempt.learned.empty())
      progress_.note("learned: " + attempt.learned);
  }

  // --- what differs from it

  Result<void> try_values() {
    XAAS_TRY(const Values first, first_configuration());
    for (const spec::SpecializationPoint& point : std::vector(draft_.application.points))
      for (const spec::Value& value : point.values) {
        const auto chosen = first.find(point.name);
        if (point.follows_isa || value.from_source || chosen == first.end() || chosen->second == value.value)
          continue;
        Values values = first;
        values[point.name] = value.value;
        XAAS_CHECK(try_difference(values, point.name + "=" + value.value, {point.name, value.value, "", {}}));
        if (report_.out_of_time)
          return {};
      }
    return {};
  }

  // Points that follow `isa` have other arguments at some levels.
  Result<void> try_levels() {
    XAAS_TRY(const Values first, first_configuration());
    XAAS_TRY(const std::vector<spec::SpecializationPoint> points,
             spec::all_points(draft_.application, request_.build.arch, {}));
    const auto isa =
        std::find_if(points.begin(), points.end(), [](const auto& point) { return point.name == "isa"; });
    if (isa == points.end() || !first.contains("isa"))
      return {};
    XAAS_TRY(std::vector<std::string> before, arguments_of(first));
    for (const spec::Value& level : isa->values) {
      Values values = first;
      values["isa"] = level.value;
      XAAS_TRY(const std::vector<std::string> arguments, arguments_of(values));
      report_.out_of_time |= is_over();
      if (report_.out_of_time)
        return {};
      if (arguments != before)
        XAAS_CHECK(try_level(values, before, arguments));
      before = arguments;
    }
    return {};
  }

  Result<std::vector<std::string>> arguments_of(const Values& values) const {
    const spec::Configuration configuration(values);
    XAAS_TRY(const target::Cpu cpu, spec::cpu_of(configuration, request_.build.arch));
    return spec::arguments_of(draft_.application, configuration, cpu);
  }

  // Leaves out the values that a level has first if it does not build with them.
  Result<void> try_level(const Values& values, const std::vector<std::string>& before,
                         const std::vector<std::string>& arguments) {
    XAAS_TRY(const bool built, attempt(values, "isa=" + values.at("isa")));
    if (built || report_.out_of_time)
      return {};
    const auto has = [](const std::vector<std::string>& all, const std::vector<std::string>& some) {
      return std::all_of(some.begin(), some.end(), [&](const std::string& argument) {
        return std::find(all.begin(), all.end(), argument) != all.end();
      });
    };
    const std::string error = report_.attempts.back().error;
    for (const spec::SpecializationPoint& point : std::vector(draft_.application.points))
      for (const spec::Value& value : point.values)
        if (point.follows_isa && has(arguments, value.arguments) && !has(before, value.arguments))
          leave_out({point.name, value.value, "it does not build here: " + error, {}});
    return {};
  }

  void leave_out(discover::LeftOut what) {
    Attempt& last = report_.attempts.back();
    last.learned = "without " + what.name + "=" + what.value;
    discover::leave_out(draft_, std::move(what));
    say_learned(last);
  }

  // Tries the first configuration with one difference; leaves out what fails.
  Result<void> try_difference(const Values& values, const std::string& changed, discover::LeftOut what) {
    if (is_over()) {
      report_.out_of_time = true;
      return {};
    }
    XAAS_TRY(const bool possible, is_possible(values));
    if (!possible)
      return {};
    XAAS_TRY(bool built, attempt(values, changed));
    if (!built && failure_.cause == build::FailedBuild::Cause::sources_written) {
      report_.attempts.back().learned = learn_from(failure_);
      if (!report_.attempts.back().learned.empty()) {
        XAAS_TRY(built, attempt(values, changed));
      }
    }
    if (built && content_ == first_content_)
      XAAS_CHECK(note_same(what.name, what.value));
    if (built || report_.out_of_time)
      return {};
    what.reason = "it does not build here: " + report_.attempts.back().error;
    leave_out(std::move(what));
    return {};
  }

  // The value stays: at another ISA level, or on another machine, it may make a difference.
  Result<void> note_same(const std::string& point, const std::string& value) {
    XAAS_TRY(const Values first, first_configuration());
    const std::string same = value + " gives the same programs and files as " + first.at(point);
    draft_.remarks.push_back({"/specializations/" + point, "Here " + same + "."});
    report_.attempts.back().learned = point + "=" + same;
    say_learned(report_.attempts.back());
    return {};
  }

  // --- builds

  Result<std::vector<spec::Configuration>> configurations(const std::vector<Values>& chosen) const {
    constexpr size_t limit = 4096;
    XAAS_TRY(const auto points, spec::all_points(draft_.application, request_.build.arch, {}));
    return spec::expand(draft_.application, points, chosen, limit);
  }

  Result<Values> first_configuration() const {
    XAAS_TRY(const std::vector<spec::Configuration> all, configurations({}));
    return all.front().values();
  }

  // Values can exclude each other.
  Result<bool> is_possible(const Values& values) const {
    const Result<std::vector<spec::Configuration>> all = configurations({values});
    if (!all && all.error().kind != ErrorKind::usage)
      return all.error();
    return bool(all);
  }

  // Builds one configuration. Its failure is in `failure_` and `error_`.
  Result<bool> attempt(const Values& values, const std::string& changed) {
    const Stopwatch watch;
    Attempt made;
    made.configuration = spec::Configuration(values).id();
    made.changed = changed;
    progress_.note("trying " + (changed.empty() ? made.configuration : changed));
    failure_ = {};
    const build::Request request = request_for(values, made);
    Result<build::Report> built = build::build_ir_image(request, progress_);
    if (!built && built.error().kind == ErrorKind::interrupted)
      return built.error();
    made.built = bool(built);
    made.seconds = watch.seconds();
    failure_.values = values;
    if (built) {
      note_success(*built);
    } else {
      error_ = built.error();
      made.step = failure_.step;
      made.error = failure_.error.empty() ? built.error().message : failure_.error;
      configuring_failed_ = made.step == "configure";
      report_.out_of_time = is_over();
      progress_.note("failed: " + made.error);
    }
    report_.attempts.push_back(std::move(made));
    if (failure_.cause == build::FailedBuild::Cause::sources_written)
      XAAS_CHECK(copy_anew());
    return bool(built);
  }

  build::Request request_for(const Values& values, Attempt& made) {
    build::Request request = request_.build;
    request.source = copy_;
    request.application = draft_.application;
    request.configurations = {values};
    request.write_image = false;
    request.until_first_write = !draft_.application.build.copy;
    request.logs.clear(); // the log is kept here
    request.watch = [this]() -> Result<void> { return is_over() ? out_of_time() : Result<void>(); };
    request.failed = [this, &made](const build::FailedBuild& failed) {
      failure_ = failure_of(failed);
      made.log =
          project::keep_log(failed.build.log, request_.build.logs,
                            draft_.application.name + "-try-" + std::to_string(report_.attempts.size() + 1));
    };
    return request;
  }

  void note_success(const build::Report& built) {
    const build::ConfigurationReport& first = built.configurations.front();
    programs_ = first.executables;
    content_ = first.content;
    failure_.unoptimized = std::any_of(built.warnings.begin(), built.warnings.end(),
                                       [](const auto& warning) { return warning.kind == "optimization"; });
    failure_.natively = first.units == 0 || first.native_objects > 0; // the latter may also be assembly
    if (failure_.natively)
      failure_.error = "the build does not use the compilers that it is given";
  }

  const Request& request_;
  discover::Findings findings_;
  discover::Draft& draft_;
  Progress& progress_;
  fs::path copy_; // of the sources
  std::optional<Clock::time_point> end_;
  Report report_;
  Failure failure_; // of the last attempt
  Error error_;
  std::vector<std::string> programs_; // of the last attempt that was built
  Digest content_, first_content_;    // of that, and of the first configuration
  bool configuring_failed_ = false;
};

} // namespace

Result<Report> try_draft(const Request& request, const discover::Findings& findings, discover::Draft& draft,
                         Progress& progress) {
  return Trial(request, findings, draft, progress).run();
}

} // namespace xaas::trial
