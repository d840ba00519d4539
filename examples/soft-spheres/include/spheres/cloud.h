/* A cloud of soft spheres: particles that push each other away within a short distance. */
#ifndef SPHERES_CLOUD_H
#define SPHERES_CLOUD_H

#ifdef __cplusplus
extern "C" {
#endif

#define SPHERES_API __attribute__((visibility("default")))

/* Coordinates, velocities, accelerations and charges, each in an array of `count`. */
struct cloud {
  int count;
  double *x, *y, *z;
  double *vx, *vy, *vz;
  double *ax, *ay, *az;
  double* charge;
};

/* A cloud at rest with positions in the unit cube from a fixed sequence; NULL: out of memory. */
SPHERES_API struct cloud* cloud_create(int count);
SPHERES_API void cloud_destroy(struct cloud* cloud);

/* The accelerations of all particles from the positions of all. */
SPHERES_API void cloud_forces(struct cloud* cloud);

/* One step in time, with accelerations known before and after. */
SPHERES_API void cloud_step(struct cloud* cloud, double dt);

/* Kinetic energy. */
SPHERES_API double cloud_energy(const struct cloud* cloud);

/* Which of its versions cloud_energy uses on this machine: "avx2" or "plain". */
SPHERES_API const char* cloud_energy_version(void);

#ifdef __cplusplus
}
#endif

#endif
