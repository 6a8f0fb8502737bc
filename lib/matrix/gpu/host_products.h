// DeviceProducts on the host, compiled with optimization: tests that include this multiply several times as fast.

#ifndef RUTILE_LIB_MATRIX_GPU_HOST_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_GPU_HOST_PRODUCTS_H_

#include "lib/gpu/host_backend-inl.h"
#include "lib/matrix/gpu/device_products-inl.h"

namespace rutile {

extern template class DeviceProducts<float, HostBackend>;
extern template class DeviceProducts<double, HostBackend>;

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_HOST_PRODUCTS_H_
