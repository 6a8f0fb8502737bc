// The image that ConvE stacks of two embeddings, for the code that trains the model and the code that explains it.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_IMAGE_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_IMAGE_H_

#include <cstdint>

#include "lib/kge/layers/conve/conv_shape.h"
#include "lib/kge/model/kge_shape.h"

namespace rutile {

// Returns the sizes of the model's convolution.
inline ConvShape ConvShapeOf(const KgeShape& shape) {
  ConvShape conv;
  conv.image_height = shape.image_height();
  conv.image_width = shape.image_width();
  conv.kernel_height = shape.options.kernel_height;
  conv.kernel_width = shape.options.kernel_width;
  conv.channels = shape.options.output_channels;
  return conv;
}

// Calls body(is_relation, offset in the image, offset in the row, count) for each run of numbers that the image takes
// from one of its two embeddings.
template <typename Body>
void ForRowsOfImage(const KgeShape& shape, const Body& body) {
  const int64_t d = shape.dim(), width = shape.options.embedding_width;
  if (!shape.stacked_in_width()) {
    body(/*relation=*/false, 0, 0, d);
    body(/*relation=*/true, d, 0, d);
    return;
  }
  for (int64_t y = 0; y < shape.options.embedding_height; ++y) {
    body(/*relation=*/false, 2 * y * width, y * width, width);
    body(/*relation=*/true, (2 * y + 1) * width, y * width, width);
  }
}

// Returns the address of a parameter of KgeShape::Offsets; null if the model does not have it.
template <typename T>
T* ParameterAt(T* parameters, int64_t offset) {
  return offset < 0 ? nullptr : parameters + offset;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_CONVE_IMAGE_H_
