// Two kernels, for a code object.
kernel void one(global int *p) { *p = 1; }
kernel void two(global int *p, int i) { p[i] = 2; }
