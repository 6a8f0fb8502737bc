// ConvE's layers from embeddings to v(head, relation) on a device, forward and backward;
// lib/kge/layers/conve/conve_layers.h has the same for the CPU, and is the definition.
//
//   DeviceConveLayers<float, CudaBackend> layers(&backend, shape);  // if WhyNoDeviceConve says ""
//   layers.Forward(parameters, batch, v);                           // v [B, d]
//   // ... v gives d_v = d loss / d v ...
//   layers.Backward(parameters, batch, v, d_v, gradient, d_heads, d_relations);
//   // download layers.statistics() with the loss: ConveStatistics (conve_statistics.h) reads them
//
// nvcc compiles this file, so it uses the standard library alone.

#ifndef RUTILE_LIB_KGE_GPU_CONVE_LAYERS_INL_H_
#define RUTILE_LIB_KGE_GPU_CONVE_LAYERS_INL_H_

#include <cstdint>
#include <string>

#include "lib/gpu/device_array-inl.h"
#include "lib/kge/gpu/bodies/conve_image_slope_bodies-inl.h"
#include "lib/kge/gpu/bodies/conve_map_bodies-inl.h"
#include "lib/kge/gpu/bodies/conve_output_bodies-inl.h"
#include "lib/kge/gpu/bodies/conve_statistics_bodies-inl.h"
#include "lib/kge/gpu/conve_view-inl.h"
#include "lib/kge/gpu/kge_step_shape.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/gpu/device_products-inl.h"

namespace rutile {

// Returns why the device cannot have ConvE's layers of this shape, or "". max_shared_bytes: of the backend.
template <typename T>
std::string WhyNoDeviceConve(const KgeStepShape& shape, int64_t max_shared_bytes) {
  const ConvSizes conv(shape);
  const int64_t bytes = ConveMapSlopesBody<T, KernelSize<0, 0>>::SharedBytes(conv, 1);
  const int64_t of_images = ImageSlopesBody<T, KernelSize<0, 0>>::SharedBytes(conv);
  const int64_t most = bytes > of_images ? bytes : of_images;
  if (most <= max_shared_bytes) return "";
  return "an image of " + std::to_string(shape.image_height()) + " x " + std::to_string(shape.image_width()) +
         " and a kernel of " + std::to_string(shape.kernel_height) + " x " + std::to_string(shape.kernel_width) +
         " need " + std::to_string(most) + " bytes of shared memory, and the GPU has " +
         std::to_string(max_shared_bytes) + ": choose smaller embeddings, or train on CPUs";
}

// T is float or double. Pointers are to the device's memory; calls return when their work is queued. It keeps of
// Forward what Backward needs. Sums over examples are in fp64, in an order that depends on sizes alone. One thread at a
// time may use an object.
template <typename T, typename Backend>
class DeviceConveLayers {
 public:
  // The backend must outlive this. WhyNoDeviceConve says "".
  DeviceConveLayers(Backend* backend, const KgeStepShape& shape)
      : backend_(backend),
        shape_(shape),
        conv_(shape),
        forward_groups_(GroupChannels(conv_.channels, GroupSize<ConveMapsBody<T, KernelSize<0, 0>>>())),
        backward_groups_(GroupChannels(conv_.channels, GroupSize<ConveMapSlopesBody<T, KernelSize<0, 0>>>())),
        products_(backend),
        maps_(backend),
        hidden_(backend),
        d_fc_(backend),
        d_maps_(backend),
        d_images_(backend),
        matrix_(backend),
        statistics_(backend),
        image_moments_(backend),
        patch_moments_(backend),
        patches_(backend),
        map_sums_(backend),
        totals_(backend),
        slopes_(backend) {
    statistics_.Resize(ConveStatisticsLayout(shape).size);
  }

  // Sets how products with the weights of fc round their factors; only with T = float. By default they do not. The
  // convolution is not rounded.
  template <typename U = T>
  void SetRounding(FactorRounding rounding) {
    products_.template SetRounding<U>(rounding);
  }

  // Computes v [B, d].
  void Forward(const T* parameters, const KgeDeviceBatch& batch, T* v) {
    if (batch.size == 0) return;
    const View view(shape_, parameters, batch, statistics_.data());
    FindStatistics(view);
    MakeMaps(view);
    hidden_.Resize(batch.size * shape_.dim);
    const int64_t features = shape_.num_features();
    products_.Multiply({maps_.data(), features, false}, {parameters + shape_.fc_weight, features, true}, batch.size,
                       shape_.dim, features, hidden_.data(), shape_.dim, /*add=*/false);
    FinishOutput(view, v);
  }

  // Adds d loss / d parameters to gradient [P], of conv, norms and fc, after Forward of the same parameters and batch;
  // overwrites d_heads and d_relations [B, d] with the gradients of each example's rows. d_v: [B, d].
  void Backward(const T* parameters, const KgeDeviceBatch& batch, const T* v, const T* d_v, T* gradient, T* d_heads,
                T* d_relations) {
    if (batch.size == 0) return;
    const View view(shape_, parameters, batch, statistics_.data());
    BackwardOutput(view, v, d_v, gradient);
    const int64_t features = shape_.num_features(), d = shape_.dim;
    products_.Multiply({d_fc_.data(), d, true}, {maps_.data(), features, false}, d, features, batch.size,
                       gradient + shape_.fc_weight, features, /*add=*/true);
    d_maps_.Resize(batch.size * features);
    products_.Multiply({d_fc_.data(), d, false}, {parameters + shape_.fc_weight, features, false}, batch.size, features,
                       d, d_maps_.data(), features, /*add=*/false);
    BackwardMaps(view, gradient);
    BackwardImages(view, gradient, {d_heads, d_relations});
  }

  // The statistics of norms in the last Forward, on the device, as ConveStatisticsLayout has them.
  const double* statistics() const { return statistics_.data(); }
  int64_t num_statistics() const { return statistics_.size(); }

  // Bytes of the device's memory that the object holds.
  int64_t device_bytes() const {
    return (maps_.size() + hidden_.size() + d_fc_.size() + d_maps_.size() + d_images_.size() + matrix_.size()) *
               static_cast<int64_t>(sizeof(T)) +
           (statistics_.size() + image_moments_.size() + patch_moments_.size() + patches_.size() + map_sums_.size() +
            totals_.size() + 2 * slopes_.size()) *
               static_cast<int64_t>(sizeof(double));
  }

  // The parts of Forward and Backward without the products, which conve_check.cu measures one by one.
  using View = ConveView<T>;
  void FindStatistics(const View& view) {
    if (!view.training) {
      backend_->ForEach(1 + shape_.channels + shape_.dim, RunningStatisticsBody<T>{view});
      return;
    }
    if (shape_.has_input_norm) {
      image_moments_.Resize(2 * view.size);
      backend_->ForEachBlock(view.size, ImageMomentsBody<T>::SharedBytes(conv_),
                             ImageMomentsBody<T>{view, image_moments_.data()});
      backend_->ForEachBlock(1, InputNormBody<T>::SharedBytes(), InputNormBody<T>{view, image_moments_.data()});
    }
    const int64_t stride = NumPatchMoments(conv_);
    patch_moments_.Resize(view.size * stride);
    patches_.Resize(conv_.taps + static_cast<int64_t>(conv_.taps) * conv_.taps);
    backend_->ForEachBlock(view.size, PatchMomentsBody<T>::SharedBytes(conv_),
                           PatchMomentsBody<T>{view, patch_moments_.data(), stride});
    backend_->ForEachBlock(1, MapNormBody<T>::SharedBytes(),
                           MapNormBody<T>{view, patch_moments_.data(), stride, Patches()});
  }
  void MakeMaps(const View& view) {
    maps_.Resize(view.size * shape_.num_features());
    WithKernel([&](auto kernel) {
      using Body = ConveMapsBody<T, decltype(kernel)>;
      backend_->ForEachBlock(view.size * forward_groups_.count, Body::SharedBytes(conv_, forward_groups_.size),
                             Body{view, forward_groups_, maps_.data()});
    });
  }
  void FinishOutput(const View& view, T* v) {
    backend_->ForEachBlock(ColumnTile::NumBlocks(shape_.dim), ColumnTile::SharedBytes(),
                           OutputBody<T>{view, hidden_.data(), v});
  }
  void BackwardOutput(const View& view, const T* v, const T* d_v, T* gradient) {
    d_fc_.Resize(view.size * shape_.dim);
    backend_->ForEachBlock(ColumnTile::NumBlocks(shape_.dim), OutputSlopesBody<T>::SharedBytes(),
                           OutputSlopesBody<T>{view, hidden_.data(), v, d_v, d_fc_.data(), gradient});
  }
  void BackwardMaps(const View& view, T* gradient) {
    map_sums_.Resize(view.size * conv_.channels * (conv_.taps + 1));
    d_images_.Resize(view.size * backward_groups_.count * conv_.image);
    WithKernel([&](auto kernel) {
      using Body = ConveMapSlopesBody<T, decltype(kernel)>;
      backend_->ForEachBlock(
          view.size * backward_groups_.count, Body::SharedBytes(conv_, backward_groups_.size),
          Body{view, backward_groups_, maps_.data(), d_maps_.data(), map_sums_.data(), d_images_.data()});
    });
    slopes_.Resize(conv_.channels);
    backend_->ForEachBlock(conv_.channels, ConvGradientBody<T>::SharedBytes(conv_),
                           ConvGradientBody<T>{view, Patches(), map_sums_.data(), slopes_.data(), gradient});
  }
  void BackwardImages(const View& view, T* gradient, const RowSlopes<T>& rows) {
    if (view.training) {
      matrix_.Resize(conv_.taps + static_cast<int64_t>(conv_.taps) * conv_.taps);
      backend_->ForEach(matrix_.size(), MapCorrectionBody<T>{view, slopes_.data(), matrix_.data()});
    }
    image_moments_.Resize(2 * view.size);
    WithKernel([&](auto kernel) {
      using Body = ImageSlopesBody<T, decltype(kernel)>;
      backend_->ForEachBlock(view.size, Body::SharedBytes(conv_),
                             Body{view, static_cast<int>(backward_groups_.count), matrix_.data(), d_images_.data(),
                                  image_moments_.data(), rows});
    });
    if (!shape_.has_input_norm) return;
    totals_.Resize(2);
    backend_->ForEachBlock(1, InputNormGradientBody<T>::SharedBytes(),
                           InputNormGradientBody<T>{view, image_moments_.data(), totals_.data(), gradient});
    backend_->ForEach(view.size * conv_.image, InputNormSlopesBody<T>{view, totals_.data(), d_images_.data(), rows});
  }

 private:
  // Channels of a block: few enough that a small batch has blocks for the whole device.
  static constexpr int kGroup = 8;

  // Calls function(KernelSize) with the kernel's size, if code for it was compiled.
  template <typename Function>
  void WithKernel(const Function& function) const {
    if (conv_.kernel_height == 3 && conv_.kernel_width == 3) return function(KernelSize<3, 3>());
    function(KernelSize<0, 0>());
  }
  // Returns the most channels that fit into a block's shared memory, up to kGroup.
  template <typename Body>
  int GroupSize() const {
    int size = conv_.channels < kGroup ? conv_.channels : kGroup;
    while (size > 1 && Body::SharedBytes(conv_, size) > backend_->max_shared_bytes()) --size;
    return size;
  }
  PatchStatistics Patches() { return {patches_.data(), patches_.data() + conv_.taps}; }

  Backend* const backend_;
  const KgeStepShape shape_;
  const ConvSizes conv_;
  const ChannelGroups forward_groups_, backward_groups_;
  DeviceProducts<T, Backend> products_;
  DeviceArray<T, Backend> maps_, hidden_, d_fc_, d_maps_, d_images_, matrix_;
  DeviceArray<double, Backend> statistics_, image_moments_, patch_moments_, patches_, map_sums_, totals_;
  DeviceArray<MapSlopes, Backend> slopes_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_CONVE_LAYERS_INL_H_
