#include "lib/descriptor/descriptor_factory.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "lib/descriptor/chebyshev_derivatives.h"
#include "lib/descriptor/chebyshev_descriptor.h"
#include "lib/descriptor/nearer_sets.h"

namespace rutile {

std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method) {
  if (options.nearer.empty()) return std::make_unique<ChebyshevDescriptor>(options, method);
  std::vector<std::unique_ptr<const Descriptor>> parts;
  parts.push_back(std::make_unique<ChebyshevDescriptor>(options.Outermost(), method));
  for (size_t k = 0; k < options.nearer.size(); ++k) {
    parts.push_back(std::make_unique<ChebyshevDescriptor>(options.Nearer(k), method));
  }
  return MakeDescriptorOfSets(options, std::move(parts));
}

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDescriptorDerivatives(const ChebyshevOptions& options,
                                                                          AngularMethod method) {
  if (options.nearer.empty()) return MakeChebyshevDerivatives<T>(options, method);
  std::vector<std::unique_ptr<const DescriptorDerivatives<T>>> parts;
  parts.push_back(MakeChebyshevDerivatives<T>(options.Outermost(), method));
  for (size_t k = 0; k < options.nearer.size(); ++k) {
    parts.push_back(MakeChebyshevDerivatives<T>(options.Nearer(k), method));
  }
  return MakeDerivativesOfSets<T>(options, std::move(parts));
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                       AngularMethod);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeDescriptorDerivatives(const ChebyshevOptions&,
                                                                                        AngularMethod);

}  // namespace rutile
