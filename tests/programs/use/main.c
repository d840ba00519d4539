#include "abi.h"
static void show(const char *what, T t) {
  printf("%s", what);
  for (int i = 0; i < N; ++i)
    printf(" %.0f", (double)get(&t, i));
  printf("\n");
}
static __attribute__((noinline)) T back(T a, int k, T b) CHANGE(b, k, a)
int main(void) {
  T a = make(1), b = change(a, 2, make(3));
  show("make", a);
  show("change", b);
  printf("total %.1f\n", total(a, 0.5, b));
  show("many", many(3, a, b, make(2)));
  show("through", through(back, a));
  show("pick", pick()(b, 1, a));
  return 0;
}
