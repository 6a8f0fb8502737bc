// Sizes of a convolution of images with one channel.

#ifndef RUTILE_LIB_KGE_LAYERS_CONVE_CONV_SHAPE_H_
#define RUTILE_LIB_KGE_LAYERS_CONVE_CONV_SHAPE_H_

#include <cstdint>

namespace rutile {

// Convolution without padding, stride 1; the map is its result.
struct ConvShape {
  int64_t image_height = 0, image_width = 0, kernel_height = 0, kernel_width = 0;
  int64_t channels = 0;  // C

  int64_t image_size() const { return image_height * image_width; }
  int64_t map_height() const { return image_height - kernel_height + 1; }
  int64_t map_width() const { return image_width - kernel_width + 1; }
  int64_t map_size() const { return map_height() * map_width(); }  // P
  int64_t taps() const { return kernel_height * kernel_width; }    // K
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_CONVE_CONV_SHAPE_H_
