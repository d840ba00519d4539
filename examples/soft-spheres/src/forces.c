#include <spheres/cloud.h>

/* The force between two spheres at distance r is a polynomial in r^2 that fades to zero at the cut-off, so
   that the loop over pairs only multiplies and adds: its speed follows the width of the vector units. */
#define CUTOFF 0.35

void cloud_forces(struct cloud* cloud) {
  const int count = cloud->count;
  const double *x = cloud->x, *y = cloud->y, *z = cloud->z, *charge = cloud->charge;
  const double scale = 1.0 / (CUTOFF * CUTOFF);
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (int i = 0; i < count; ++i) {
    const double xi = x[i], yi = y[i], zi = z[i];
    double ax = 0.0, ay = 0.0, az = 0.0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int j = 0; j < count; ++j) {
      const double dx = xi - x[j], dy = yi - y[j], dz = zi - z[j];
      const double s = (dx * dx + dy * dy + dz * dz) * scale;
      double fade = 1.0 - s;
      fade = fade > 0.0 ? fade : 0.0;
      const double shape =
          1.0 + s * (-0.5 + s * (0.375 + s * (-0.3125 + s * (0.2734375 + s * (-0.24609375)))));
      const double force = charge[j] * fade * fade * fade * shape;
      ax += force * dx;
      ay += force * dy;
      az += force * dz;
    }
    cloud->ax[i] = charge[i] * ax;
    cloud->ay[i] = charge[i] * ay;
    cloud->az[i] = charge[i] * az;
  }
}
