// Makes the kernel and the initial parameters of any shape: of plain networks, or of a many-body potential.

#ifndef RUTILE_LIB_MANY_BODY_ATOM_KERNEL_FACTORY_H_
#define RUTILE_LIB_MANY_BODY_ATOM_KERNEL_FACTORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/machine/parallel_for.h"
#include "lib/network/atom_kernel.h"
#include "lib/network/network_shape.h"

namespace rutile {

// Returns a ManyBodyKernel if the shape has moments, and a NetworkKernel otherwise. T is float or double. pool: not
// owned, must outlive the kernel; null means one thread. CHECK-fails on a shape that is not valid.
template <typename T>
std::unique_ptr<AtomKernel<T>> MakeAtomKernel(const NetworkShape& shape, ThreadPool* pool = nullptr);

// Returns [num_parameters()] initial parameters. The networks' are those of InitialNetworkParameters. With moments, C
// and v are normal with deviation 1, since the formula has their 1 / sqrt(fan-in), and w is so with deviation 1 /
// num_products(). Each of these groups of each species has its own random stream.
std::vector<double> InitialAtomParameters(const NetworkShape& shape, uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_ATOM_KERNEL_FACTORY_H_
