// Streams and events. Every stream is idle whenever the program asks.

struct event {
  struct timespec time;
  int recorded, without_time;
};
static error new_handle(void** handle, size_t size) {
  *handle = calloc(1, size);
  return *handle ? success : result(memory_allocation);
}
error cudaStreamCreate(void** stream) { return new_handle(stream, 16); }
error cudaStreamCreateWithFlags(void** stream, unsigned flags) { return (void)flags, new_handle(stream, 16); }
error cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return (void)flags, (void)priority, new_handle(stream, 16);
}
error cudaStreamDestroy(void* stream) { return free(stream), success; }
error cudaStreamSynchronize(void* stream) { return (void)stream, success; }
error cudaStreamQuery(void* stream) { return (void)stream, success; }
error cudaStreamWaitEvent(void* stream, void* event, unsigned flags) { return (void)stream, (void)event, (void)flags, success; }
error cudaStreamGetPriority(void* stream, int* priority) {
  (void)stream;
  *priority = 0;
  return success;
}
error cudaStreamGetFlags(void* stream, unsigned* flags) {
  (void)stream;
  *flags = 0;
  return success;
}
error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return success;
}
error cudaStreamAddCallback(void* stream, void (*call)(void*, error, void*), void* data, unsigned flags) {
  (void)flags;
  call(stream, success, data);
  return success;
}
error cudaLaunchHostFunc(void* stream, void (*call)(void*), void* data) {
  (void)stream;
  call(data);
  return success;
}
error cudaEventCreate(void** event) { return new_handle(event, sizeof(struct event)); }
error cudaEventCreateWithFlags(void** event, unsigned flags) {
  const error code = cudaEventCreate(event);
  if (code == success)
    ((struct event*)*event)->without_time = (flags & 2) != 0; // cudaEventDisableTiming
  return code;
}
error cudaEventDestroy(void* event) { return free(event), success; }
error cudaEventRecord(struct event* event, void* stream) {
  (void)stream;
  if (!event)
    return result(invalid_resource_handle);
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  event->recorded = 1;
  return success;
}
error cudaEventRecordWithFlags(struct event* event, void* stream, unsigned flags) {
  return (void)flags, cudaEventRecord(event, stream);
}
error cudaEventSynchronize(void* event) { return event ? success : result(invalid_resource_handle); }
error cudaEventQuery(void* event) { return event ? success : result(invalid_resource_handle); }
error cudaEventElapsedTime(float* milliseconds, const struct event* start, const struct event* end) {
  if (!start || !end || !start->recorded || !end->recorded || start->without_time || end->without_time)
    return result(invalid_resource_handle);
  *milliseconds = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 +
                          (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
  return success;
}
error cudaEventElapsedTime_v2(float* milliseconds, const struct event* start, const struct event* end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}
