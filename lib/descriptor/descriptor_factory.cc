#include "lib/descriptor/descriptor_factory.h"

#include "lib/descriptor/chebyshev_descriptor.h"
#include "lib/descriptor/moment_derivatives.h"
#include "lib/descriptor/reference_derivatives.h"

namespace rutile {

std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method) {
  return std::make_unique<ChebyshevDescriptor>(options, method);
}

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDescriptorDerivatives(const ChebyshevOptions& options,
                                                                          AngularMethod method) {
  if (method == AngularMethod::kMoments) return MakeMomentDerivatives<T>(options);
  return MakeReferenceDerivatives<T>(options);
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                       AngularMethod);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                        AngularMethod);

}  // namespace rutile
