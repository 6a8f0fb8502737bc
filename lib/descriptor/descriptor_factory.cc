#include "lib/descriptor/descriptor_factory.h"

#include "lib/descriptor/chebyshev_descriptor.h"

namespace rutile {

std::unique_ptr<const Descriptor> MakeDescriptor(const ChebyshevOptions& options, AngularMethod method) {
  return std::make_unique<ChebyshevDescriptor>(options, method);
}

}  // namespace rutile
