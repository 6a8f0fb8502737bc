// The image that ConvE makes of two embeddings, as what trains and what explains the model see it.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_IMAGE_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_IMAGE_H_

#include <cstdint>

#include "lib/kge/layers/conv_shape.h"
#include "lib/kge/model/kge_shape.h"

namespace rutile {

inline ConvShape ConvShapeOf(const KgeShape& shape) {
  ConvShape conv;
  conv.image_height = shape.image_height();
  conv.image_width = shape.image_width();
  conv.kernel_height = shape.options.kernel_height;
  conv.kernel_width = shape.options.kernel_width;
  conv.channels = shape.options.output_channels;
  return conv;
}

// Calls body(of the relation's row?, part of the image, part of the row, numbers) for each run of numbers.
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

// Where a parameter of KgeShape::Offsets lies; null where the model has none of it.
template <typename T>
T* ParameterAt(T* parameters, int64_t offset) {
  return offset < 0 ? nullptr : parameters + offset;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_IMAGE_H_
