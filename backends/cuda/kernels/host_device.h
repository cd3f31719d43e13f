#ifndef VELLUM_BACKENDS_CUDA_KERNELS_HOST_DEVICE_H_
#define VELLUM_BACKENDS_CUDA_KERNELS_HOST_DEVICE_H_

// Marks what runs on the device and, so that it can be tested without one, on the host. Other compilers than nvcc see a
// plain function.
#ifdef __CUDACC__
#define VELLUM_HOST_DEVICE __host__ __device__
#else
#define VELLUM_HOST_DEVICE
#endif

#endif  // VELLUM_BACKENDS_CUDA_KERNELS_HOST_DEVICE_H_
