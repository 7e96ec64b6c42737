// Items of `attention` whose maps and activations a live PyTorch model computes.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attnscope/engine/work_queue.h"
#include "attnscope/features/attention/measured_batch.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/kernel_choice.h"
#include "python/src/bindings.h"
#include "python/src/live_pass.h"

namespace attnscope::python {
namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Maps = nb::ndarray<const float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

MatrixView<const float> rows_view(const Rows& rows) {
  return {rows.data(), static_cast<std::int64_t>(rows.shape(0)),
          static_cast<std::int64_t>(rows.shape(1)), static_cast<std::int64_t>(rows.shape(1))};
}

/// Passes arrays to the observers of an item, in the order of a forward pass of the C++ engine.
class LiveBatch {
 public:
  LiveBatch(const LivePass& live, const std::string& item, int threads)
      : pass_(live.pass()),
        item_(parse_work_item(item, "work item")),
        context_{.threads = threads, .kernels = kernels_of_environment()},
        team_(context_),
        compute_(team_.compute()) {
    if (!has_values()) {
      Record rest;
      for (const auto& [name, value] : item_.parameters.fields()) {
        if (name != "mean_output_row") rest.add(name, value);
      }
      item_.parameters = std::move(rest);
    }
    measured_ = std::make_unique<MeasuredBatch>(item_, live.model(), compute_);
    observer_.on_maps = [this](const LayerMaps& maps) { measured_->add_maps(maps); };
    measured_->watch(pass_, observer_);
  }

  void put_stream(std::int64_t index, const Rows& rows) {
    const nb::gil_scoped_release release;
    if (observer_.on_stream) observer_.on_stream(index, rows_view(rows));
  }

  /// Takes the input of W_Q, W_K and W_V.
  void put_input(std::int64_t layer, const Rows& rows) {
    const nb::gil_scoped_release release;
    if (observer_.on_inputs) observer_.on_inputs(layer, Role::query, rows_view(rows));
    if (!observer_.on_values) return;
    const LayerWeights& weights = pass_.weights().layers.at(static_cast<std::size_t>(layer));
    const HeadShape& heads = pass_.model().spec().dimensions_of(layer).heads;
    const std::int64_t others = heads.total_dim(Role::query) + heads.total_dim(Role::key);
    const MatrixView<const float> input = rows_view(rows);
    Matrix<float> qkv(input.rows, others + heads.total_dim(Role::value));
    apply(*weights.qkv, input, {}, qkv.view(), compute_);
    observer_.on_values(layer,
                        std::as_const(qkv).view().col_block(others, heads.total_dim(Role::value)));
  }

  /// Takes maps (N, H, T, T).
  void put_maps(std::int64_t layer, const Maps& maps) {
    const nb::gil_scoped_release release;
    const auto rows = static_cast<std::int64_t>(maps.shape(2));
    const auto cols = static_cast<std::int64_t>(maps.shape(3));
    LayerMaps out{.layer = layer, .heads = static_cast<std::int64_t>(maps.shape(1)), .maps = {}};
    const auto count = static_cast<std::int64_t>(maps.shape(0)) * out.heads;
    for (std::int64_t at = 0; at < count; ++at) {
      out.maps.push_back({maps.data() + at * rows * cols, rows, cols, cols});
    }
    observer_.on_maps(out);
  }

  /// Takes the input of the output projection, (rows, H d_v).
  void put_heads(std::int64_t layer, const Rows& rows) {
    const nb::gil_scoped_release release;
    Matrix<float> heads = copied(rows_view(rows));  // observers may modify it
    if (observer_.on_heads) observer_.on_heads(layer, heads.view());
  }

  std::string outcomes() {
    const nb::gil_scoped_release release;
    return outcomes_text(measured_->take());
  }

 private:
  /// Whether put_input() can compute the values of all layers.
  bool has_values() const {
    const auto& layers = pass_.weights().layers;
    const auto& specs = pass_.model().spec().layers;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      if (layers[layer].qkv == nullptr || layers[layer].value_norm) return false;
      if (specs[layer].attention_input_factor != 1 || specs[layer].attention.clip) return false;
    }
    return true;
  }

  const ForwardPass& pass_;
  WorkItem item_;
  Context context_;
  LentTeam team_;
  Compute compute_;
  std::unique_ptr<MeasuredBatch> measured_;
  ForwardObserver observer_;
};

}  // namespace

void bind_live_attention(nb::module_& module) {
  nb::class_<LiveBatch>(module, "LiveBatch",
                        "An item of `attention`, whose batch runs in PyTorch. Arrays are passed in "
                        "the order of a forward pass.")
      .def(nb::init<const LivePass&, const std::string&, int>(), nb::arg("live"), nb::arg("item"),
           nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("put_stream", &LiveBatch::put_stream, nb::arg("index"), nb::arg("rows"),
           nb::sig("def put_stream(self, index: int, rows: numpy.typing.NDArray[numpy.float32]) "
                   "-> None"))
      .def("put_input", &LiveBatch::put_input, nb::arg("layer"), nb::arg("rows"),
           nb::sig("def put_input(self, layer: int, rows: numpy.typing.NDArray[numpy.float32]) "
                   "-> None"))
      .def("put_maps", &LiveBatch::put_maps, nb::arg("layer"), nb::arg("maps"),
           nb::sig("def put_maps(self, layer: int, maps: numpy.typing.NDArray[numpy.float32]) "
                   "-> None"))
      .def("put_heads", &LiveBatch::put_heads, nb::arg("layer"), nb::arg("rows"),
           nb::sig("def put_heads(self, layer: int, rows: numpy.typing.NDArray[numpy.float32]) "
                   "-> None"))
      .def("outcomes", &LiveBatch::outcomes, "Return the serialized outcomes.");
}

}  // namespace attnscope::python
