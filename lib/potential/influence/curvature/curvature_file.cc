#include "lib/potential/influence/curvature/curvature_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/all_finite.h"
#include "lib/base/interrupt.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/file/plain_sha256.h"
#include "lib/network/network_shape.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"
#include "lib/trace/scope.h"

namespace rutile {
namespace {

int64_t SizeOf(const std::vector<ColumnRange>& columns) {
  int64_t size = 0;
  for (const ColumnRange& range : columns) size += range.size();
  return size;
}

absl::string_view BytesOf(absl::Span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

absl::Status Error(const TensorFile& file, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(file.path, ": ", message));
}

// Adds what both kinds have.
Schema SchemaOf(absl::string_view kind, absl::string_view summary, std::vector<TensorRule> tensors) {
  tensors.insert(tensors.end(),
                 {{"columns", {DType::kI64}, {"R", "2"}, true, "[begin, end) of the parameters that count, ascending"},
                  {"scale", {DType::kF64}, {"2"}, true, "of energies and of force components"},
                  {"energy_curvature",
                   {DType::kF64},
                   {"1"},
                   true,
                   "second derivative of a structure's loss by its energy per atom, 1/(eV/atom)²"}});
  return {std::string(kind),
          std::string(summary),
          std::move(tensors),
          {
              {"model", true, "SHA-256 of the model: of descriptor, network, scales and parameters"},
              {"damping", false, "as `--damping` of tracin"},
              {"probes", false, "combinations of the outputs of each structure; 0: each output by itself"},
              {"train_sha256", false, "of the training data, and of the numbers of the structures that count"},
              {"calibration", false, "what the scales come from, for people"},
          }};
}

absl::StatusOr<std::unique_ptr<InverseCurvature>> ReadFactor(const TensorFile& file, int64_t size) {
  const absl::Span<const double> packed = file.tensors.At("factor").values<double>();
  if (size == 0 || size > (int64_t{1} << 20) || static_cast<int64_t>(packed.size()) != size * (size + 1) / 2) {
    return Error(file, absl::StrCat("tensor \"factor\": ", packed.size(), " numbers, expected C (C + 1) / 2 for the ",
                                    size, " parameters of \"columns\""));
  }
  if (!AllFinite(packed)) return Error(file, "tensor \"factor\": holds numbers that are not finite");
  std::vector<double> factor(size * size, 0.0);
  const double* next = packed.data();
  for (int64_t i = 0; i < size; ++i, next += i) {
    std::copy_n(next, i + 1, factor.begin() + i * size);
    if (next[i] > 0) continue;
    return Error(file, absl::StrCat("tensor \"factor\": diagonal number ", i, " is ", next[i], ", expected above 0"));
  }
  return InverseOfFactor(std::move(factor));
}

absl::StatusOr<std::unique_ptr<InverseCurvature>> ReadRows(const TensorFile& file, int64_t size) {
  const absl::Span<const double> rows = file.tensors.At("rows").values<double>();
  const absl::Span<const double> inverse_root = file.tensors.At("inverse_root").values<double>();
  if (size == 0 || static_cast<int64_t>(inverse_root.size()) != size) {
    return Error(file, absl::StrCat("tensor \"inverse_root\": ", inverse_root.size(),
                                    " numbers, expected one for each of ", "the ", size, " parameters of \"columns\""));
  }
  if (static_cast<int64_t>(rows.size()) >= size * size) {
    return Error(file, absl::StrCat("tensor \"rows\": ", rows.size() / size, " rows, expected fewer than the ", size,
                                    " parameters of \"columns\""));
  }
  for (const double each : inverse_root) {
    if (std::isfinite(each) && each > 0) continue;
    return Error(file, absl::StrCat("tensor \"inverse_root\": holds ", each, ", expected finite numbers above 0"));
  }
  if (!AllFinite(rows)) return Error(file, "tensor \"rows\": holds numbers that are not finite");
  std::unique_ptr<InverseCurvature> made =
      InverseOfScaledRows({{rows.begin(), rows.end()}, {inverse_root.begin(), inverse_root.end()}}, /*pool=*/nullptr);
  if (made == nullptr) {
    RETURN_IF_ERROR(CheckInterrupt());
    return Error(file,
                 "tensor \"rows\": so large that solutions lose half of their digits; make the file again with more "
                 "--damping");
  }
  return made;
}

}  // namespace

int64_t Curvature::size() const { return SizeOf(columns); }

const Schema& CurvatureSchema() {
  static const Schema& schema = *new Schema(SchemaOf(
      "curvature/1",
      "The curvature of a potential's training loss at its parameters, made by `tracin --mode=curvature`; `evaluate "
      "--uncertainty` computes standard deviations with it. With L the factor, the energy has the standard deviation "
      "scale |L⁻¹ dE/d(parameters)|. C parameters count, in R ranges; T = C (C + 1) / 2.",
      {{"factor",
        {DType::kF64},
        {"T"},
        true,
        "L, lower triangle, row by row: L Lᵀ is the Gauss-Newton matrix of the sum of losses, and damping"}}));
  return schema;
}

const Schema& CurvatureRowsSchema() {
  static const Schema& schema = *new Schema(
      SchemaOf("curvature/2",
               "The same where the outputs, or probes, that the matrix is made of are fewer than parameters. With Z "
               "the rows and "
               "g = `inverse_root` dE/d(parameters), element by element, the energy has the standard deviation scale "
               "√(gᵀ (1 + Zᵀ Z)⁻¹ g). C parameters count, in R ranges, and M rows are there.",
               {{"rows",
                 {DType::kF64},
                 {"M", "C"},
                 true,
                 "Z: derivatives of outputs by the parameters, times the root of their curvature and `inverse_root`"},
                {"inverse_root", {DType::kF64}, {"C"}, true, "1/√ of the damping of the sum of losses, above 0"}}));
  return schema;
}

std::string ModelDigest(const Potential& potential) {
  const NetworkShape& shape = potential.shape;
  PlainSha256 hash;
  hash.Update(absl::StrCat(potential.descriptor.ToJson(), "\n", absl::StrJoin(shape.hidden, ","), "\n",
                           kActivationNames.Name(shape.activation), "\n", shape.num_parameters(), "\n"));
  hash.Update(BytesOf(potential.parameters.ToDoubles()));
  hash.Update(BytesOf(potential.feature_scaling.mean));
  hash.Update(BytesOf(potential.feature_scaling.scale));
  hash.Update(BytesOf(absl::MakeConstSpan(&potential.energy_scaling.scale, 1)));
  return hash.HexDigest();
}

absl::Status WriteCurvature(absl::string_view path, const Curvature& curvature) {
  const ProfileScope scope(Stage::kWrite);
  const int64_t size = curvature.size();
  std::vector<int64_t> columns;
  for (const ColumnRange& range : curvature.columns) columns.insert(columns.end(), {range.begin, range.end});
  NamedTensors tensors;
  CHECK_EQ(curvature.inverse->size(), size);
  const std::vector<double>& factor = curvature.inverse->Factor();
  if (!factor.empty()) {
    Tensor packed = Tensor::Zeros(DType::kF64, {size * (size + 1) / 2});
    double* next = packed.mutable_values<double>().data();
    for (int64_t i = 0; i < size; ++i) next = std::copy_n(&factor[i * size], i + 1, next);
    tensors.Set("factor", packed);
  } else {
    const CurvatureRows& rows = curvature.inverse->Rows();
    // They are large, and outlive the tensor.
    tensors.Set("rows", Tensor::View(DType::kF64, {static_cast<int64_t>(rows.rows.size()) / size, size},
                                     rows.rows.data(), /*owner=*/nullptr));
    tensors.Set("inverse_root", Tensor::Of(rows.inverse_root));
  }
  tensors.Set("scale", Tensor::Of(std::vector<double>{curvature.energy_scale, curvature.force_scale}));
  tensors.Set("energy_curvature", Tensor::Of(std::vector<double>{curvature.energy_curvature}));
  tensors.Set("columns", Tensor::Of<int64_t>(columns, {static_cast<int64_t>(curvature.columns.size()), 2}));
  Metadata metadata = curvature.metadata;
  metadata["kind"] = (factor.empty() ? CurvatureRowsSchema() : CurvatureSchema()).kind;
  metadata["model"] = curvature.model;
  return WriteTensorFile(path, metadata, tensors);
}

absl::StatusOr<Curvature> ReadCurvature(absl::string_view path) {
  ASSIGN_OR_RETURN(const TensorFile file, ReadTensorFile(path));
  const auto kind = file.metadata.find("kind");
  const bool has_rows = kind != file.metadata.end() && kind->second == CurvatureRowsSchema().kind;
  ASSIGN_OR_RETURN(const auto sizes, CheckSchema(has_rows ? CurvatureRowsSchema() : CurvatureSchema(), file));
  Curvature curvature;
  curvature.path = std::string(path);
  curvature.model = file.metadata.at("model");
  curvature.metadata = file.metadata;
  const absl::Span<const int64_t> columns = file.tensors.At("columns").values<int64_t>();
  int64_t last = 0;
  for (size_t r = 0; r < columns.size(); r += 2) {
    if (columns[r] < last || columns[r + 1] <= columns[r]) {
      return Error(file, absl::StrCat("tensor \"columns\": row ", r / 2, " is ", columns[r], " to ", columns[r + 1],
                                      ", expected ascending ranges"));
    }
    last = columns[r + 1];
    curvature.columns.push_back({columns[r], columns[r + 1]});
  }
  const int64_t size = curvature.size();
  ASSIGN_OR_RETURN(curvature.inverse, has_rows ? ReadRows(file, size) : ReadFactor(file, size));
  const absl::Span<const double> scale = file.tensors.At("scale").values<double>();
  curvature.energy_scale = scale[0];
  curvature.force_scale = scale[1];
  curvature.energy_curvature = file.tensors.At("energy_curvature").values<double>()[0];
  for (const double each : scale) {
    if (std::isfinite(each) && each > 0) continue;
    return Error(file, absl::StrCat("tensor \"scale\": holds ", each, ", expected finite numbers above 0"));
  }
  if (!std::isfinite(curvature.energy_curvature) || curvature.energy_curvature < 0) {
    return Error(file, absl::StrCat("tensor \"energy_curvature\": is ", curvature.energy_curvature,
                                    ", expected a finite number of at least 0"));
  }
  return curvature;
}

absl::StatusOr<size_t> FindMemberOf(const Curvature& curvature, absl::Span<const Potential> potentials,
                                    absl::Span<const std::string> names) {
  size_t member = 0;
  if (potentials.size() > 1) {
    while (member < potentials.size() && ModelDigest(potentials[member]) != curvature.model) ++member;
  }
  if (member == potentials.size()) {
    return absl::InvalidArgumentError(absl::StrCat(curvature.path, ": is of none of the ", member,
                                                   " members of the committee: make one of a member with tracin "
                                                   "--mode=curvature"));
  }
  RETURN_IF_ERROR(CheckCurvatureOf(curvature, potentials[member], names[member]));
  return member;
}

absl::Status CheckCurvatureOf(const Curvature& curvature, const Potential& potential, absl::string_view model) {
  if (curvature.model != ModelDigest(potential)) {
    return absl::InvalidArgumentError(absl::StrCat(
        curvature.path, ": is not of ", model,
        ", but of another model or of other parameters: make one with tracin --mode=curvature and this model"));
  }
  if (curvature.columns.back().end <= potential.shape.num_parameters()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(curvature.path, ": tensor \"columns\" ends at ",
                                                 curvature.columns.back().end, ", and ", model, " has ",
                                                 potential.shape.num_parameters(), " parameters"));
}

}  // namespace rutile
