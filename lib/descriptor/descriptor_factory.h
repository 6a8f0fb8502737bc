// Makes descriptors from options. This is the only place that knows every descriptor.

#ifndef RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_FACTORY_H_
#define RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_FACTORY_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/descriptor_options.h"

namespace rutile {

// Returns the fast implementation. method: for Chebyshev descriptors. Options must be valid: call Validate() first.
std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method);

// Returns the fast implementation with derivatives; T is float or double. Options must be valid.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDescriptorDerivatives(const DescriptorOptions& options,
                                                                          AngularMethod method);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_DESCRIPTOR_FACTORY_H_
