#include "lib/mace/mace_file.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/all_finite.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/mace/radial_splines.h"
#include "lib/tensorfile/tensor_header.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

constexpr char kKind[] = "mace/1";
constexpr char kSplines[] = "radial_splines", kSplineError[] = "radial_spline_error";

std::string LayerName(int layer, absl::string_view what) { return absl::StrCat("layer", layer + 1, ".", what); }

// Tensors of the file, with the checks that all need.
class Tensors {
 public:
  explicit Tensors(const NamedTensors& tensors) : tensors_(tensors) {}

  // Returns the shape of a tensor of fp64, or an error if there is none.
  absl::StatusOr<std::vector<int64_t>> Shape(const std::string& name) const {
    const Tensor* const tensor = tensors_.Find(name);
    used_.insert(name);
    if (tensor == nullptr) return absl::InvalidArgumentError(absl::StrCat("has no tensor \"", name, "\""));
    if (tensor->dtype() != DType::kF64) {
      return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\" is ",
                                                     DescribeShape(tensor->dtype(), tensor->shape()),
                                                     ", expected numbers of type F64"));
    }
    return tensor->shape();
  }

  // Returns the values of a tensor of this shape.
  absl::StatusOr<std::vector<double>> Values(const std::string& name, const std::vector<int64_t>& shape) const {
    ASSIGN_OR_RETURN(const std::vector<int64_t> found, Shape(name));
    if (found != shape) {
      return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\" is ", DescribeShape(DType::kF64, found),
                                                     ", expected ", DescribeShape(DType::kF64, shape)));
    }
    std::vector<double> values = tensors_.At(name).ToDoubles();
    if (AllFinite(values)) return values;
    return absl::InvalidArgumentError(
        absl::StrCat("tensor \"", name, "\" holds NaN or infinity, expected finite numbers"));
  }

  bool Has(const std::string& name) const { return tensors_.Has(name); }

  // INVALID_ARGUMENT naming a tensor that nothing has asked for: the model would be another without it.
  absl::Status CheckAllUsed() const {
    for (const auto& [name, tensor] : tensors_) {
      if (used_.count(name) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("tensor \"", name,
                       "\" has no place in a model of these layers: a tensor beside it is missing, or "
                       "it is of another version"));
    }
    return absl::OkStatus();
  }

 private:
  const NamedTensors& tensors_;
  mutable std::set<std::string> used_;
};

// Reads the matrices of the radial MLP, each of which has as many rows as the one before it has columns.
absl::Status DecodeRadial(const Tensors& tensors, int layer, int64_t inputs, int64_t outputs,
                          std::vector<std::vector<double>>* radial) {
  int64_t width = inputs;
  for (int k = 0; k == 0 || tensors.Has(LayerName(layer, absl::StrCat("radial.", k))); ++k) {
    const std::string name = LayerName(layer, absl::StrCat("radial.", k));
    ASSIGN_OR_RETURN(const std::vector<int64_t> shape, tensors.Shape(name));
    const int64_t columns = shape.size() == 2 ? shape[1] : 0;
    if (columns == 0) {
      return absl::InvalidArgumentError(absl::StrCat("tensor \"", name, "\" is ", DescribeShape(DType::kF64, shape),
                                                     ", expected a matrix of ", width, " rows"));
    }
    ASSIGN_OR_RETURN(std::vector<double> matrix, tensors.Values(name, {width, columns}));
    radial->push_back(std::move(matrix));
    width = columns;
  }
  if (width == outputs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor \"", LayerName(layer, absl::StrCat("radial.", radial->size() - 1)), "\" has ", width,
                   " columns, expected (max_l + 1) channels, ", outputs));
}

absl::StatusOr<MaceLayer> DecodeLayer(const Tensors& tensors, const MaceModel& model, int t) {
  const int64_t s = model.num_species(), k = model.channels, l = model.neighborhood.max_l + 1;
  MaceLayer layer;
  ASSIGN_OR_RETURN(layer.up, tensors.Values(LayerName(t, "up"), {t == 0 ? s : k, k}));
  RETURN_IF_ERROR(DecodeRadial(tensors, t, model.neighborhood.num_radial, l * k, &layer.radial));
  ASSIGN_OR_RETURN(const std::vector<int64_t> mix_shape, tensors.Shape(LayerName(t, "mix")));
  const bool one_for_all = !mix_shape.empty() && mix_shape[0] == 1;
  ASSIGN_OR_RETURN(layer.mix, tensors.Values(LayerName(t, "mix"), {one_for_all ? 1 : s, l, k, k}));
  ASSIGN_OR_RETURN(layer.product, tensors.Values(LayerName(t, "product"), {s, k, model.num_products()}));
  ASSIGN_OR_RETURN(layer.linear, tensors.Values(LayerName(t, "linear"), {k, k}));
  if (tensors.Has(LayerName(t, "skip"))) {
    const std::vector<int64_t> shape = t == 0 ? std::vector<int64_t>{s, k} : std::vector<int64_t>{s, k, k};
    ASSIGN_OR_RETURN(layer.skip, tensors.Values(LayerName(t, "skip"), shape));
  }
  const std::string plain = LayerName(t, "readout"), hidden = LayerName(t, "readout_hidden");
  if (tensors.Has(plain) == tensors.Has(hidden)) {
    return absl::InvalidArgumentError(absl::StrCat("has ",
                                                   tensors.Has(plain) ? "both tensors" : "neither of the tensors",
                                                   " \"", plain, "\" and \"", hidden, "\", expected one of them"));
  }
  if (tensors.Has(plain)) {
    ASSIGN_OR_RETURN(layer.readout, tensors.Values(plain, {k}));
    return layer;
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, tensors.Shape(hidden));
  const int64_t nodes = shape.size() == 2 ? shape[1] : 0;
  ASSIGN_OR_RETURN(layer.readout_hidden, tensors.Values(hidden, {k, nodes}));
  ASSIGN_OR_RETURN(layer.readout_out, tensors.Values(LayerName(t, "readout_out"), {nodes}));
  if (nodes > 0) return layer;
  return absl::InvalidArgumentError(absl::StrCat("tensor \"", hidden, "\" has no columns"));
}

absl::Status DecodeSplines(const TensorFile& file, MaceModel* model) {
  const auto found = file.metadata.find(kSplines);
  if (found == file.metadata.end()) return absl::OkStatus();
  int knots = 0;
  if (!absl::SimpleAtoi(found->second, &knots) || knots < 2 || knots > MaceModel::kMostKnots) {
    return absl::InvalidArgumentError(absl::StrCat("metadata \"", kSplines, "\" is \"", found->second,
                                                   "\", expected a number of knots from 2 to ", MaceModel::kMostKnots));
  }
  if (model->neighborhood.cutoff <= RadialSplines::kFirstKnot) {
    return absl::InvalidArgumentError(absl::StrCat("has splines and a cutoff of ", model->neighborhood.cutoff,
                                                   " Å, expected more than ", RadialSplines::kFirstKnot, " Å"));
  }
  model->radial_splines = knots;
  return absl::OkStatus();
}

absl::StatusOr<MaceModel> Decode(const TensorFile& file) {
  MaceModel model;
  ASSIGN_OR_RETURN(model.neighborhood, MomentOptions::FromJson(file.metadata.at("descriptor")));
  if (model.neighborhood.basis != RadialBasis::kBessel) {
    return absl::InvalidArgumentError("metadata \"descriptor\" has radial functions that are not Bessel's");
  }
  if (model.neighborhood.min_cutoff != 0) {
    return absl::InvalidArgumentError(absl::StrCat("metadata \"descriptor\" has a min_cutoff of ",
                                                   model.neighborhood.min_cutoff, ", expected 0: MACE has none"));
  }
  const Tensors tensors(file.tensors);
  ASSIGN_OR_RETURN(model.atomic_energies, tensors.Values("atomic_energy", {model.num_species()}));
  ASSIGN_OR_RETURN(model.frequency, tensors.Values("frequency", {model.neighborhood.num_radial}));
  ASSIGN_OR_RETURN(const std::vector<double> scale, tensors.Values("scale", {}));
  ASSIGN_OR_RETURN(const std::vector<double> shift, tensors.Values("shift", {}));
  model.scale = scale[0];
  model.shift = shift[0];
  ASSIGN_OR_RETURN(const std::vector<int64_t> up, tensors.Shape(LayerName(0, "up")));
  // Memory is taken for tensors that are there, so that any number of channels is harmless.
  if (up.size() != 2 || up[1] < 1 || up[1] > (int64_t{1} << 20)) {
    return absl::InvalidArgumentError(absl::StrCat("tensor \"", LayerName(0, "up"), "\" is ",
                                                   DescribeShape(DType::kF64, up), ", expected [species, channels]"));
  }
  model.channels = static_cast<int>(up[1]);
  const int num_layers = tensors.Has(LayerName(1, "up")) ? 2 : 1;
  for (int t = 0; t < num_layers; ++t) {
    ASSIGN_OR_RETURN(MaceLayer layer, DecodeLayer(tensors, model, t));
    model.layers.push_back(std::move(layer));
  }
  RETURN_IF_ERROR(tensors.CheckAllUsed());
  RETURN_IF_ERROR(DecodeSplines(file, &model));
  return model;
}

TensorRule Rule(std::string name, std::vector<std::string> shape, bool required, std::string doc) {
  return {std::move(name), {DType::kF64}, std::move(shape), required, std::move(doc)};
}

}  // namespace

const Schema& MaceSchema() {
  static const Schema& schema = *new Schema{
      kKind,
      "A MACE model of scalar messages that mace-torch trained, written by python/rutile/import_mace.py. S species, K "
      "channels, "
      "L = max_l, N radial functions, Q nodes of the readout, P = 2 + L + the number of cubic products "
      "(docs/methods.md "
      "has these and the harmonics). Constants of mace-torch (1/√K, the mean number of neighbors, the factor of silu) "
      "are in the matrices, which multiply rows from the right. φ_n(r) = sin(frequency_n r) / r · f(r / cutoff); "
      "`layer1.radial.0`, `layer1.radial.1`, ... are the MLP φ → [L+1, K] with silu between products; A_lmk = Σ_j R_lk "
      "u_jk Y_lm; Z = A · mix; h = (Σ_p product · I_p(Z)) · linear + skip; the energy of an atom is atomic_energy + "
      "shift + scale · Σ over layers of h · readout, or of silu(h · readout_hidden) · readout_out. A second layer, if "
      "there is one, has the same tensors as `layer2.`; there `up` is [K, K], u = h · up, and `skip` [S, K, K], which "
      "multiplies the first layer's h.",
      {
          Rule("atomic_energy", {"S"}, true, "eV"),
          Rule("scale", {}, true, "eV"),
          Rule("shift", {}, true, "eV per atom"),
          Rule("frequency", {"N"}, true, "1/Å"),
          Rule("layer1.up", {"S", "K"}, true, "u_j of each species"),
          Rule("layer1.radial.0", {"N", "H"}, true, "the first matrix of the MLP"),
          Rule("layer1.mix", {"M", "L+1", "K", "K"}, true, "M = S, or 1 for all species"),
          Rule("layer1.product", {"S", "K", "P"}, true, "weights of the invariant products"),
          Rule("layer1.linear", {"K", "K"}, true, "multiplies the sums of products"),
          Rule("layer1.skip", {"S", "K"}, false, "added to h"),
          Rule("layer1.readout", {"K"}, false, "this, or the next two"),
          Rule("layer1.readout_hidden", {"K", "Q"}, false, "before silu"),
          Rule("layer1.readout_out", {"Q"}, false, "after it"),
      },
      {
          {"descriptor", true, "JSON, as that of moments: species, cutoff, radial_functions, max_l, envelope"},
          {"units", false, "Å, eV"},
          {kSplines, false,
           "number of knots of the splines as which R is computed, in place of the MLP (evaluate --splines_output)"},
          {kSplineError, false,
           "the largest difference of these splines from the MLP, relative to its largest value, and the same of "
           "slopes"},
      }};
  return schema;
}

bool IsMaceFile(const TensorFile& file) {
  const auto kind = file.metadata.find("kind");
  return kind != file.metadata.end() && absl::StartsWith(kind->second, "mace/");
}

absl::StatusOr<std::shared_ptr<const MaceModel>> DecodeMace(const TensorFile& file) {
  RETURN_IF_ERROR(CheckSchema(MaceSchema(), file).status());
  absl::StatusOr<MaceModel> model = Decode(file);
  if (!model.ok()) return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", model.status().message()));
  return std::make_shared<const MaceModel>(*std::move(model));
}

absl::Status WriteMace(absl::string_view path, const MaceModel& model, const Metadata& own) {
  const int64_t s = model.num_species(), k = model.channels, l = model.neighborhood.max_l + 1;
  CHECK(model.layers.size() == 1 || model.layers.size() == 2) << model.layers.size();
  NamedTensors tensors;
  const auto set = [&](const std::string& name, const std::vector<double>& values, std::vector<int64_t> shape) {
    tensors.Set(name, Tensor::Of<double>(values, std::move(shape)));
  };
  tensors.Set("scale", Tensor::Scalar(model.scale));
  tensors.Set("shift", Tensor::Scalar(model.shift));
  set("atomic_energy", model.atomic_energies, {s});
  set("frequency", model.frequency, {model.neighborhood.num_radial});
  for (size_t t = 0; t < model.layers.size(); ++t) {
    const MaceLayer& layer = model.layers[t];
    const auto name = [t](absl::string_view what) { return LayerName(static_cast<int>(t), what); };
    set(name("up"), layer.up, {t == 0 ? s : k, k});
    int64_t width = model.neighborhood.num_radial;
    for (size_t m = 0; m < layer.radial.size(); ++m) {
      const int64_t columns = static_cast<int64_t>(layer.radial[m].size()) / width;
      set(name(absl::StrCat("radial.", m)), layer.radial[m], {width, columns});
      width = columns;
    }
    set(name("mix"), layer.mix, {static_cast<int64_t>(layer.mix.size()) / (l * k * k), l, k, k});
    set(name("product"), layer.product, {s, k, model.num_products()});
    set(name("linear"), layer.linear, {k, k});
    if (!layer.skip.empty() && t == 0) set(name("skip"), layer.skip, {s, k});
    if (!layer.skip.empty() && t == 1) set(name("skip"), layer.skip, {s, k, k});
    if (!layer.readout.empty()) set(name("readout"), layer.readout, {k});
    if (layer.readout_hidden.empty()) continue;
    const auto nodes = static_cast<int64_t>(layer.readout_out.size());
    set(name("readout_hidden"), layer.readout_hidden, {k, nodes});
    set(name("readout_out"), layer.readout_out, {nodes});
  }
  Metadata metadata = own;
  metadata["kind"] = kKind;
  metadata.erase(kSplines);
  metadata.erase(kSplineError);
  if (model.radial_splines > 0) {
    const SplineError error = MeasureSplines(model, model.radial_splines);
    metadata[kSplines] = absl::StrCat(model.radial_splines);
    metadata[kSplineError] = absl::StrFormat("%.2g, %.2g", error.value, error.slope);
  }
  metadata["descriptor"] = model.neighborhood.ToJson();
  metadata["units"] = "length Å, energy eV";
  return WriteTensorFile(path, metadata, tensors);
}

}  // namespace rutile
