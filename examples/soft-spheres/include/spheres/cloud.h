/* A cloud of soft spheres: particles that repel each other at short distances. */
#ifndef SPHERES_CLOUD_H
#define SPHERES_CLOUD_H

#ifdef __cplusplus
extern "C" {
#endif

#define SPHERES_API __attribute__((visibility("default")))

/* Coordinates, velocities, accelerations and charges, each in an array of `count` elements. */
struct cloud {
  int count;
  double *x, *y, *z;
  double *vx, *vy, *vz;
  double *ax, *ay, *az;
  double* charge;
};

/* A cloud at rest with positions in the unit cube from a fixed sequence; NULL if out of memory. */
SPHERES_API struct cloud* cloud_create(int count);
SPHERES_API void cloud_destroy(struct cloud* cloud);

/* Computes the accelerations of all particles from their positions. */
SPHERES_API void cloud_forces(struct cloud* cloud);

/* One time step; accelerations are up to date before and after. */
SPHERES_API void cloud_step(struct cloud* cloud, double dt);

/* Kinetic energy. */
SPHERES_API double cloud_energy(const struct cloud* cloud);

/* Which of its versions cloud_energy uses on this machine: "avx2" or "plain". */
SPHERES_API const char* cloud_energy_version(void);

#ifdef __cplusplus
}
#endif

#endif
