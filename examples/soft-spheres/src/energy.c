#include <spheres/cloud.h>

/* Two versions of one function, one of which is chosen at run time, as many applications and libraries do by
 * hand. */

static double energy_plain(const struct cloud* cloud) {
  double sum = 0.0;
  for (int i = 0; i < cloud->count; ++i)
    sum += cloud->vx[i] * cloud->vx[i] + cloud->vy[i] * cloud->vy[i] + cloud->vz[i] * cloud->vz[i];
  return 0.5 * sum;
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx2,fma"))) static double energy_avx2(const struct cloud* cloud) {
  __m256d sums = _mm256_setzero_pd();
  int i = 0;
  for (; i + 4 <= cloud->count; i += 4) {
    const __m256d vx = _mm256_loadu_pd(cloud->vx + i);
    const __m256d vy = _mm256_loadu_pd(cloud->vy + i);
    const __m256d vz = _mm256_loadu_pd(cloud->vz + i);
    sums = _mm256_fmadd_pd(vx, vx, _mm256_fmadd_pd(vy, vy, _mm256_fmadd_pd(vz, vz, sums)));
  }
  double parts[4];
  _mm256_storeu_pd(parts, sums);
  double sum = parts[0] + parts[1] + parts[2] + parts[3];
  for (; i < cloud->count; ++i)
    sum += cloud->vx[i] * cloud->vx[i] + cloud->vy[i] * cloud->vy[i] + cloud->vz[i] * cloud->vz[i];
  return 0.5 * sum;
}

static int has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#else

static double energy_avx2(const struct cloud* cloud) {
  return energy_plain(cloud);
}
static int has_avx2(void) {
  return 0;
}

#endif

double cloud_energy(const struct cloud* cloud) {
  return has_avx2() ? energy_avx2(cloud) : energy_plain(cloud);
}

const char* cloud_energy_version(void) {
  return has_avx2() ? "avx2" : "plain";
}
