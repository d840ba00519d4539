#include "options.h"

#include <spheres/cloud.h>
#include <spheres/field.h>

#include <chrono>
#include <cstdio>

#ifdef _OPENMP
#include <omp.h>
#endif

int main(int count, char** arguments) {
  Options options;
  if (!read_options(count, arguments, options)) {
    std::fprintf(stderr, "usage: soft-spheres [--bodies N] [--grid N] [--steps N] [--threads N]\n");
    return 2;
  }
  int threads = 1;
#ifdef _OPENMP
  if (options.threads > 0)
    omp_set_num_threads(options.threads);
  threads = omp_get_max_threads();
#endif
  cloud* particles = cloud_create(options.bodies);
  if (!particles) {
    std::fprintf(stderr, "soft-spheres: no memory for %d bodies\n", options.bodies);
    return 1;
  }
  spheres::Field field(options.grid);
  cloud_forces(particles);

  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < options.steps; ++step) {
    cloud_step(particles, 1e-5);
    field.step(0.05);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  // Eight digits only: wider vectors add in another order, and fused operations round less often.
  std::printf("threads %d\nenergy-version %s\nchecksum %.7e %.7e\nseconds %.3f\n", threads,
              cloud_energy_version(), cloud_energy(particles), field.total(), seconds.count());
  cloud_destroy(particles);
  return 0;
}
