#include "lib/descriptor/descriptor_factory.h"

#include "lib/descriptor/chebyshev_derivatives.h"
#include "lib/descriptor/chebyshev_descriptor.h"

namespace rutile {

std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method) {
  return std::make_unique<ChebyshevDescriptor>(options, method);
}

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDescriptorDerivatives(const ChebyshevOptions& options,
                                                                          AngularMethod method) {
  return MakeChebyshevDerivatives<T>(options, method);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                       AngularMethod);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                        AngularMethod);

}  // namespace rutile
