static int state = 3;
__thread int own;
int first(int x) { return x + state; }
int second(int x) { return first(x) * own; }
extern int elsewhere __attribute__((weak));
int *third(void) { return &elsewhere; }
__attribute__((constructor)) static void start(void) { ++state; }
