// The last error of each thread, and the names and texts of errors.

static _Thread_local error last_error;
static error result(error code) {
  if (code != success && code != not_ready)
    last_error = code;
  return code;
}

static const struct {
  error code;
  const char *name, *text;
} errors[] = {
    {success, "cudaSuccess", "no error"},
    {invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {memory_allocation, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {invalid_configuration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {invalid_symbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {invalid_device_function, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {no_device, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {invalid_resource_handle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {not_ready, "cudaErrorNotReady", "device not ready"},
    {assertion, "cudaErrorAssert", "device-side assert triggered"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {999, "cudaErrorUnknown", "unknown error"},
    {not_supported, "cudaErrorNotSupported", "operation not supported"},
};
const char* cudaGetErrorString(error code) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code)
      return errors[i].text;
  return "unrecognized error code";
}
const char* cudaGetErrorName(error code) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code)
      return errors[i].name;
  return "unrecognized error code";
}
error cudaGetLastError(void) {
  const error code = last_error;
  last_error = success;
  return code;
}
error cudaPeekAtLastError(void) { return last_error; }

// Called by the functions that a deploy adds; `said` is one for each.
int xaas_not_supported(const char* function, int* said) {
  if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
    fprintf(stderr, "xaas: %s() is not supported for kernels on the CPU\n", function);
  return result(not_supported);
}
