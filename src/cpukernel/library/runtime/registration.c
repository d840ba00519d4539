// Modules, kernels and variables of device code, which a program registers when it starts.

static struct xaas_module* modules;
struct __attribute__((visibility("default"))) handle {
  struct xaas_module* module;
};
struct known_function {
  const void* host;
  const struct xaas_kernel* kernel;
  const char* name;
  struct known_function* next;
};
struct known_variable {
  const void* host;
  void* address;
  size_t size;
  struct known_variable* next;
};
enum { buckets = 1024 };
static struct known_function* functions[buckets];
static struct known_variable* variables[buckets];
static size_t bucket_of(const void* address) { return (size_t)address / 16 % buckets; }

void xaas_register_module(struct xaas_module* module) {
  module->next = modules;
  modules = module;
  for (uint32_t i = 0; xaas_checked && i < module->memory_count; ++i)
    xaas_checks_add(module->memory[i].address, module->memory[i].size, "a variable");
}

static struct xaas_module* module_of(const char* image) {
  static const char mark[] = "xaas-cpu:";
  if (image && !memcmp(image, mark, sizeof(mark) - 1))
    for (struct xaas_module* each = modules; each; each = each->next)
      if (!strcmp(each->image, image))
        return each;
  return NULL; // code that only a GPU runs
}

void** __cudaRegisterFatBinary(const void* wrapper) {
  struct handle* handle = malloc(sizeof(*handle));
  if (!handle)
    abort();
  const char* image;
  memcpy(&image, (const char*)wrapper + 8, sizeof(image)); // after magic number and version
  handle->module = module_of(image);
  return (void**)handle;
}
void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }
void __cudaUnregisterFatBinary(void** handle) { free(handle); }
char __cudaInitModule(void** handle) { return (void)handle, 1; }

void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int limit, void* tid,
                            void* bid, void* block, void* grid, int* warp) {
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  const struct xaas_module* module = ((struct handle*)handle)->module;
  struct known_function* known = malloc(sizeof(*known));
  if (!known)
    abort();
  *known = (struct known_function){host, NULL, name, functions[bucket_of(host)]};
  for (uint32_t i = 0; module && i < module->kernel_count; ++i)
    if (!strcmp(module->kernels[i].name, name))
      known->kernel = &module->kernels[i];
  functions[bucket_of(host)] = known;
}

static void register_variable(void** handle, const void* host, const char* name, void** holder) {
  const struct xaas_module* module = ((struct handle*)handle)->module;
  for (uint32_t i = 0; module && i < module->variable_count; ++i) {
    const struct xaas_variable* variable = &module->variables[i];
    if (strcmp(variable->name, name))
      continue;
    struct known_variable* known = malloc(sizeof(*known));
    if (!known)
      abort();
    *known = (struct known_variable){host, variable->address, variable->size, variables[bucket_of(host)]};
    variables[bucket_of(host)] = known;
    if (holder)
      *holder = variable->address;
    return;
  }
}
void __cudaRegisterVar(void** handle, char* host, char* address, const char* name, int external, size_t size,
                       int constant, int global) {
  (void)address, (void)external, (void)size, (void)constant, (void)global;
  register_variable(handle, host, name, NULL);
}
void __cudaRegisterManagedVar(void** handle, void** host, char* address, const char* name, int external, size_t size,
                              int constant, int global) {
  (void)address, (void)external, (void)size, (void)constant, (void)global;
  register_variable(handle, host, name, host);
}

static const struct known_function* function_of(const void* host) {
  for (const struct known_function* each = functions[bucket_of(host)]; each; each = each->next)
    if (each->host == host)
      return each;
  return NULL;
}
static const struct known_variable* variable_of(const void* host) {
  for (const struct known_variable* each = variables[bucket_of(host)]; each; each = each->next)
    if (each->host == host)
      return each;
  return NULL;
}
