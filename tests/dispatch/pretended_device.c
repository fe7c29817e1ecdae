/* A CUDA runtime that reports one device which is not there, and a cuDNN of any version.
 *
 * Preloaded, it answers the few calls that PyTorch's dispatch of attention makes: how many devices, which compute
 * capability (PRETEND_DEVICE=9.0), which cuDNN (PRETEND_CUDNN=91900). See ask_any_device.py for how it is built.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_types.h"

static cudaError_t pretend(struct cudaDeviceProp *device) {
  const char *wanted = getenv("PRETEND_DEVICE");
  memset(device, 0, sizeof *device);
  strcpy(device->name, "pretended");
  device->major = 9;
  if (wanted) sscanf(wanted, "%d.%d", &device->major, &device->minor);
  device->multiProcessorCount = 132;
  device->warpSize = 32;
  device->totalGlobalMem = 80ULL << 30;
  device->maxThreadsPerBlock = 1024;
  device->maxThreadsPerMultiProcessor = 2048;
  device->sharedMemPerBlock = 49152;
  device->sharedMemPerBlockOptin = 232448;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *device, int at) { return pretend(device); }
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *device, int at) { return pretend(device); }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { *version = 13000; return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(void *stream, int *status) { *status = 0; return cudaSuccess; }
cudaError_t cudaFree(void *memory) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, int which, int device) { *value = 0; return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

size_t cudnnGetVersion(void) {
  const char *wanted = getenv("PRETEND_CUDNN");
  return wanted ? strtoul(wanted, NULL, 10) : 0;
}
