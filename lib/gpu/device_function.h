// Marks functions that run on a GPU and on the host.
//
// Kernels are written once, as function objects over plain arrays ("bodies"). nvcc compiles them for GPUs
// (cuda_backend-inl.h), and every compiler compiles them for the host (host_backend-inl.h), where tests compare them
// with the CPU kernels. Bodies therefore use neither the standard library's containers nor Abseil.

#ifndef RUTILE_LIB_GPU_DEVICE_FUNCTION_H_
#define RUTILE_LIB_GPU_DEVICE_FUNCTION_H_

#ifdef __CUDACC__
#define RUTILE_DEVICE __host__ __device__
#else
#define RUTILE_DEVICE
#endif

// Unrolls the loop that follows, whose arrays then stay in registers.
#ifdef __CUDA_ARCH__
#define RUTILE_UNROLL _Pragma("unroll")
#else
#define RUTILE_UNROLL
#endif

#endif  // RUTILE_LIB_GPU_DEVICE_FUNCTION_H_
