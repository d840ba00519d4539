#include <xaas/base/file.h>
#include <xaas/base/modesty.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace xaas {

bool in_batch_job() {
  constexpr const char* variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID",
                                       "FLUX_ENCLOSING_ID"};
  return std::any_of(std::begin(variables), std::end(variables),
                     [](const char* variable) { return std::getenv(variable); });
}

unsigned jobs_within(const JobLimits& limits) {
  const uint64_t jobs =
      std::min(std::max<uint64_t>(1, limits.cpus), std::max<uint64_t>(1, limits.memory_bytes >> 30));
  return static_cast<unsigned>(limits.batch_job ? jobs : std::min<uint64_t>(jobs, limits.login_jobs));
}

void be_nice(int niceness) {
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (errno == 0 && now < niceness)
    setpriority(PRIO_PROCESS, 0, niceness);
}

unsigned allowed_jobs(unsigned login_jobs) {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint64_t jobs = std::max(1u, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    jobs = static_cast<uint64_t>(std::max(1, CPU_COUNT(&set)));
  // cgroup v2: "<quota> <period>" in microseconds, or "max <period>".
  if (const Result<std::string> limit = read_file("/sys/fs/cgroup/cpu.max")) {
    const std::vector<std::string> parts = split(trim(*limit), ' ');
    if (parts.size() == 2 && parts[0] != "max") {
      const uint64_t period = std::max<uint64_t>(1, std::strtoull(parts[1].c_str(), nullptr, 10));
      jobs = std::min(jobs, std::max<uint64_t>(1, std::strtoull(parts[0].c_str(), nullptr, 10) / period));
    }
  }
  return jobs_within({jobs, memory_limit(), in_batch_job(), login_jobs});
}

} // namespace xaas
