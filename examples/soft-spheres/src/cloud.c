#include <spheres/cloud.h>

#include <stdint.h>
#include <stdlib.h>

static double next_uniform(uint64_t* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(*state >> 11) / 9007199254740992.0;
}

struct cloud* cloud_create(int count) {
  struct cloud* cloud = malloc(sizeof *cloud);
  double* data = calloc((size_t)count * 10, sizeof *data);
  if (!cloud || !data) {
    free(cloud);
    free(data);
    return NULL;
  }
  double** arrays[10] = {&cloud->x,  &cloud->y,  &cloud->z,  &cloud->vx, &cloud->vy,
                         &cloud->vz, &cloud->ax, &cloud->ay, &cloud->az, &cloud->charge};
  for (int i = 0; i < 10; ++i)
    *arrays[i] = data + (size_t)i * (size_t)count;
  cloud->count = count;
  uint64_t state = 20240229;
  for (int i = 0; i < count; ++i) {
    cloud->x[i] = next_uniform(&state);
    cloud->y[i] = next_uniform(&state);
    cloud->z[i] = next_uniform(&state);
    cloud->charge[i] = 0.5 + next_uniform(&state);
  }
  return cloud;
}

void cloud_destroy(struct cloud* cloud) {
  if (cloud)
    free(cloud->x);
  free(cloud);
}

void cloud_step(struct cloud* cloud, double dt) {
  const int count = cloud->count;
  for (int i = 0; i < count; ++i) {
    cloud->vx[i] += 0.5 * dt * cloud->ax[i];
    cloud->vy[i] += 0.5 * dt * cloud->ay[i];
    cloud->vz[i] += 0.5 * dt * cloud->az[i];
    cloud->x[i] += dt * cloud->vx[i];
    cloud->y[i] += dt * cloud->vy[i];
    cloud->z[i] += dt * cloud->vz[i];
  }
  cloud_forces(cloud);
  for (int i = 0; i < count; ++i) {
    cloud->vx[i] += 0.5 * dt * cloud->ax[i];
    cloud->vy[i] += 0.5 * dt * cloud->ay[i];
    cloud->vz[i] += 0.5 * dt * cloud->az[i];
  }
}
