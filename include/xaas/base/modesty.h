// How much of a machine to use: all of a batch allocation, little of a login node.
#pragma once

#include <cstdint>

namespace xaas {

// Whether this process runs in a batch job, which may use its whole allocation (SLURM_JOB_ID, PBS_JOBID,
// LSB_JOBID, FLUX_JOB_ID, FLUX_ENCLOSING_ID).
bool in_batch_job();

// How many jobs to run at once: what affinity, cgroup and memory allow (1 GiB per job), and at most
// `login_jobs` outside a batch job. At least 1.
unsigned allowed_jobs(unsigned login_jobs);

// The rule by itself, for given numbers.
struct JobLimits {
  uint64_t cpus = 1; // allowed by affinity and cgroup
  uint64_t memory_bytes = 0;
  bool batch_job = false;
  unsigned login_jobs = 8;
};
unsigned jobs_within(const JobLimits& limits);

// Yields the CPU to other processes: raises the niceness of this process, and of those it starts later, to at
// least `niceness`.
void be_nice(int niceness);

} // namespace xaas
