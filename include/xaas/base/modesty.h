// How much of a machine we take: all of it in a batch job, little of a login node.
#pragma once

#include <cstdint>

namespace xaas {

// Whether a batch system started us, so that what it gave us is ours (SLURM_JOB_ID, PBS_JOBID, LSB_JOBID).
bool in_batch_job();

// How many jobs to run at once: what affinity, cgroup and memory allow (a job is taken to need 1 GiB), and at
// most `login_jobs` outside a batch job. At least 1.
unsigned allowed_jobs(unsigned login_jobs);

// The rule, apart from where the numbers are from.
struct JobLimits {
  uint64_t cpus = 1; // of affinity and cgroup
  uint64_t memory_bytes = 0;
  bool batch_job = false;
  unsigned login_jobs = 8;
};
unsigned jobs_within(const JobLimits& limits);

// Leaves the CPU to others where they want it: the niceness of this process and of what it starts is at least
// `niceness` from now on.
void be_nice(int niceness);

} // namespace xaas
