#include "lib/descriptor/descriptor_factory.h"

#include <cstddef>
#include <vector>

#include "lib/descriptor/chebyshev_derivatives.h"
#include "lib/descriptor/chebyshev_descriptor.h"
#include "lib/descriptor/moment_derivatives.h"
#include "lib/descriptor/nearer_sets.h"

namespace rutile {
namespace {

// Returns what make(options) returns for the outermost angular set, followed by that for each nearer one.
template <typename Make>
auto MakeParts(const ChebyshevOptions& options, const Make& make) {
  std::vector<decltype(make(options))> parts;
  parts.push_back(make(options.Outermost()));
  for (size_t k = 0; k < options.nearer.size(); ++k) parts.push_back(make(options.Nearer(k)));
  return parts;
}

}  // namespace

std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method) {
  const auto make = [method](const ChebyshevOptions& part) -> std::unique_ptr<const Descriptor> {
    return std::make_unique<ChebyshevDescriptor>(part, method);
  };
  if (options.nearer.empty()) return make(options);
  return MakeDescriptorOfSets(options, MakeParts(options, make));
}

template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDescriptorDerivatives(const DescriptorOptions& of_any_kind,
                                                                          AngularMethod method) {
  if (!of_any_kind.is_chebyshev()) return MakeMomentDerivatives<T>(of_any_kind.moments());
  const ChebyshevOptions& options = of_any_kind.chebyshev();
  const auto make = [method](const ChebyshevOptions& part) { return MakeChebyshevDerivatives<T>(part, method); };
  if (options.nearer.empty()) return make(options);
  return MakeDerivativesOfSets<T>(options, MakeParts(options, make));
}

template std::unique_ptr<const DescriptorDerivatives<float>> MakeDescriptorDerivatives(const DescriptorOptions&,
                                                                                       AngularMethod);
template std::unique_ptr<const DescriptorDerivatives<double>> MakeDescriptorDerivatives(const DescriptorOptions&,
                                                                                        AngularMethod);

}  // namespace rutile
