#include "lib/matrix/gpu/host_products.h"

namespace rutile {

template class DeviceProducts<float, HostBackend>;
template class DeviceProducts<double, HostBackend>;

}  // namespace rutile
