#include "attnscope/checkpoint/pytorch/distributed.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/archive.h"
#include "attnscope/checkpoint/pytorch/pickle.h"
#include "attnscope/checkpoint/pytorch/pickled_tensor.h"
#include "attnscope/checkpoint/pytorch/state_dict.h"
#include "attnscope/checkpoint/pytorch/storages.h"
#include "attnscope/checkpoint/weight_files.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

constexpr std::uint64_t kMostCopiedBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30;
constexpr std::string_view kOptimizerStarts[] = {"optim.", "optimizer.", "optim_state.",
                                                 "optimizers."};

/// Reads the objects of torch.distributed.checkpoint.metadata.
class MetadataReader {
 public:
  MetadataReader(const Pickle& pickle, const FileLocation& where)
      : pickle_(pickle), where_(where) {}

  std::vector<DistributedTensor> read() const {
    const std::map<std::pair<std::string, Shape>, DistributedChunk> stored = read_storage();
    std::vector<DistributedTensor> tensors;
    const std::vector<PickleRef> items =
        items_of(pickle_, field(pickle_.root, "state_dict_metadata"));
    for (std::size_t item = 0; item + 1 < items.size(); item += 2) {
      DistributedTensor tensor{.name = text(items[item])};
      const PickleRef chunks = attribute(items[item + 1], "chunks");
      if (chunks == kNoPickleRef || is_of_optimizer(tensor.name)) continue;  // not a tensor
      tensor.shape = shape(field(items[item + 1], "size"));
      for (const PickleRef chunk : pickle_.at(chunks).items) {
        const Shape offsets = shape(field(chunk, "offsets"));
        const auto found = stored.find({tensor.name, offsets});
        if (found == stored.end()) {
          refuse(where_, "no file contains the chunk of '" + verbatim(tensor.name) + "' at " +
                             shape_text(offsets));
        }
        DistributedChunk& own = tensor.chunks.emplace_back(found->second);
        own.sizes = shape(field(chunk, "sizes"));
        if (own.sizes.size() != tensor.shape.size() || offsets.size() != tensor.shape.size()) {
          refuse(where_, "a chunk of '" + verbatim(tensor.name) + "' has another number of axes");
        }
      }
      std::sort(tensor.chunks.begin(), tensor.chunks.end(),
                [](const auto& a, const auto& b) { return a.offsets < b.offsets; });
      tensors.push_back(std::move(tensor));
    }
    if (tensors.empty()) refuse(where_, "lists no tensors of a model");
    return tensors;
  }

 private:
  static bool is_of_optimizer(const std::string& name) {
    return std::ranges::any_of(kOptimizerStarts,
                               [&](std::string_view start) { return name.starts_with(start); });
  }

  /// The chunks of all tensors, by name and offsets.
  std::map<std::pair<std::string, Shape>, DistributedChunk> read_storage() const {
    std::map<std::pair<std::string, Shape>, DistributedChunk> stored;
    const std::vector<PickleRef> items = items_of(pickle_, field(pickle_.root, "storage_data"));
    for (std::size_t item = 0; item + 1 < items.size(); item += 2) {
      const PickleRef offset = attribute(items[item], "offset");
      const PickleRef value = items[item + 1];
      if (offset == kNoPickleRef || pickle_.at(offset).kind == PickleKind::none) continue;
      DistributedChunk chunk{.file = text(field(value, "relative_path")),
                             .first = number(field(value, "offset")),
                             .bytes = number(field(value, "length")),
                             .offsets = shape(offset)};
      if (!is_plain_file_name(chunk.file)) {
        refuse(where_, "names the file '" + verbatim(chunk.file) +
                           "', which is not a plain file name in the folder of the index");
      }
      std::pair key(text(field(items[item], "fqn")), chunk.offsets);
      stored.emplace(std::move(key), std::move(chunk));
    }
    return stored;
  }

  /// An attribute of an object; kNoPickleRef if it has none.
  PickleRef attribute(PickleRef object, std::string_view name) const {
    if (object == kNoPickleRef || pickle_.at(object).kind != PickleKind::object) {
      return kNoPickleRef;
    }
    const PickleRef state = pickle_.at(object).state;
    return state == kNoPickleRef ? kNoPickleRef : find_item(pickle_, state, name);
  }

  PickleRef field(PickleRef object, std::string_view name) const {
    const PickleRef found = attribute(object, name);
    if (found == kNoPickleRef) {
      refuse(where_, "has no '" + std::string(name) + "' where torch stores it");
    }
    return found;
  }

  std::string text(PickleRef value) const {
    const PickleNode& node = pickle_.at(value);
    if (node.kind != PickleKind::text || first_broken_utf8(node.text)) {
      refuse(where_, "a name is not UTF-8 text");
    }
    return std::string(node.text);
  }

  std::uint64_t number(PickleRef value) const {
    const PickleNode& node = pickle_.at(value);
    if (node.kind != PickleKind::integer || node.integer < 0) {
      refuse(where_, "an offset or length is not a whole number from 0");
    }
    return static_cast<std::uint64_t>(node.integer);
  }

  /// A torch.Size: a call with a tuple.
  Shape shape(PickleRef value) const {
    constexpr std::size_t kMaxAxes = 16;
    const PickleNode* node = &pickle_.at(value);
    if (node->kind == PickleKind::object && node->arguments != kNoPickleRef) {
      const PickleNode& arguments = pickle_.at(node->arguments);
      if (arguments.items.size() == 1) node = &pickle_.at(arguments.items.front());
    }
    if (node->kind != PickleKind::tuple || node->items.size() > kMaxAxes) {
      refuse(where_, "a shape is not a torch.Size of at most 16 axes");
    }
    Shape out;
    for (const PickleRef item : node->items) {
      constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;
      const std::uint64_t size = number(item);
      if (size > kMostElements) refuse(where_, "a tensor has more than 2^40 elements in an axis");
      out.push_back(static_cast<std::int64_t>(size));
    }
    return out;
  }

  const Pickle& pickle_;
  const FileLocation& where_;
};

/// The only axis along which the chunks are split; 0 for a single chunk. Throws if they leave gaps.
std::size_t split_axis(const DistributedTensor& tensor, const FileLocation& where) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const bool whole = std::ranges::all_of(tensor.chunks, [&](const DistributedChunk& chunk) {
      return chunk.sizes[axis] == tensor.shape[axis];
    });
    if (!whole) axes.push_back(axis);
  }
  if (axes.size() > 1 || (axes.size() == 1 && axes.front() > 1)) {
    throw Error(ErrorKind::unsupported,
                {.file = where.file,
                 .tensor = tensor.name,
                 .problem = verbatim("tensor '" + tensor.name +
                                     "' is split along several axes, or along an axis after the "
                                     "second"),
                 .hint = "join it: python -m torch.distributed.checkpoint.format_utils "
                         "dcp_to_torch FOLDER model.pt"});
  }
  const std::size_t axis = axes.empty() ? 0 : axes.front();
  std::int64_t next = 0;
  for (const DistributedChunk& chunk : tensor.chunks) {
    const bool follows = tensor.shape.empty() || chunk.offsets[axis] == next;
    if (!follows || (tensor.shape.empty() && tensor.chunks.size() > 1)) {
      refuse(where, "the chunks of '" + verbatim(tensor.name) + "' leave gaps or overlap");
    }
    if (tensor.shape.empty()) continue;
    next += chunk.sizes[axis];
    if (next > tensor.shape[axis]) break;
  }
  if (tensor.chunks.empty() || (!tensor.shape.empty() && next != tensor.shape[axis])) {
    refuse(where, "the chunks of '" + verbatim(tensor.name) + "' do not cover its shape");
  }
  return axis;
}

/// Copies contiguous chunks that are split along the first axis.
TensorView copied_chunks(const DistributedTensor& tensor, std::span<const TensorView> chunks,
                         const FileLocation& where, FileContents& memory) {
  std::uint64_t bytes = 0, held = 0;
  for (const TensorView& chunk : chunks) bytes += chunk.bytes.size();
  for (const auto& block : memory.memory) held += block->size();
  if (bytes > kMostCopiedBytes || held > kMostCopiedBytes - bytes) {
    refuse(where, "tensors other than matrices are split and exceed 1 GiB");
  }
  const auto joined = std::make_shared<std::vector<std::byte>>();
  joined->reserve(bytes);
  for (const TensorView& chunk : chunks) {
    joined->insert(joined->end(), chunk.bytes.begin(), chunk.bytes.end());
  }
  memory.memory.push_back(joined);
  return {.dtype = chunks.front().dtype, .shape = tensor.shape, .bytes = *joined};
}

/// `unpacked_left`: limit for the bytes that are unpacked into `memory`, which is reduced by them.
TensorView view_of_chunk(const MappedFile& file, const DistributedChunk& chunk,
                         const std::string& tensor, std::uint64_t& unpacked_left,
                         FileContents& memory) {
  const FileLocation where = {file.path().string(), "tensor '" + tensor + "'"};
  const std::span<const std::byte> bytes = file.bytes();
  if (chunk.first > bytes.size() || chunk.bytes > bytes.size() - chunk.first) {
    refuse(where, "the index names bytes after the end of the file");
  }
  const auto need = [&](std::span<const std::byte> part) { file.need(part); };
  Archive archive(bytes.subspan(chunk.first, chunk.bytes), where.file, need);
  const Pickle pickle = archive.pickle();
  if (!is_tensor(pickle, pickle.root)) refuse(where, "a chunk is not a tensor");
  const PickledTensor described = describe_tensor(pickle, pickle.root, where);
  if (!described.skipped.empty()) refuse(where, described.skipped);
  Storages storages([&](const PickledStorage& storage) { return archive.storage(storage.key); },
                    archive.is_big_endian(), unpacked_left, need);
  TensorView view = storages.view(described, where);
  for (auto& block : storages.memory()) {
    unpacked_left -= block->size();
    memory.memory.push_back(std::move(block));
  }
  if (view.shape != chunk.sizes) {
    refuse(where,
           "a chunk has shape " + shape_text(view.shape) + ", expected " + shape_text(chunk.sizes));
  }
  return view;
}

}  // namespace

std::vector<DistributedTensor> parse_distributed_index(std::span<const std::byte> pickle,
                                                       const FileLocation& where) {
  return MetadataReader(read_pickle(pickle, where), where).read();
}

std::vector<FileContents> read_distributed(std::span<const DistributedTensor> tensors,
                                           std::span<const MappedFile> files,
                                           const FileLocation& index) {
  std::map<std::string, std::size_t> numbers;
  for (const MappedFile& file : files) {
    numbers.emplace(file.path().filename().string(), numbers.size());
  }
  std::vector<FileContents> contents(files.size());
  std::uint64_t unpacked_left = kMostUnpacked;
  for (const DistributedTensor& tensor : tensors) {
    if (tensor.chunks.empty()) continue;
    FileContents& own = contents[numbers.at(tensor.chunks.front().file)];
    std::vector<TensorView> chunks;
    for (const DistributedChunk& chunk : tensor.chunks) {
      const MappedFile& file = files[numbers.at(chunk.file)];
      chunks.push_back(view_of_chunk(file, chunk, tensor.name, unpacked_left, own));
    }
    own.tensors.push_back({tensor.name, joined_chunks(tensor, std::move(chunks), index, own)});
  }
  return contents;
}

TensorView joined_chunks(const DistributedTensor& tensor, std::vector<TensorView> chunks,
                         const FileLocation& where, FileContents& memory) {
  const std::size_t axis = split_axis(tensor, where);
  if (chunks.size() == 1) return chunks.front();
  for (const TensorView& chunk : chunks) {
    if (chunk.dtype != chunks.front().dtype || !chunk.strides.empty()) {
      refuse(where,
             "the chunks of '" + verbatim(tensor.name) + "' differ in dtype, or are not row-major");
    }
  }
  const bool by_columns = axis == 1;
  const bool lazy = tensor.shape.size() == 2 && chunks.front().dtype != DType::f64;
  if (!lazy && !by_columns) return copied_chunks(tensor, chunks, where, memory);
  if (!lazy) {
    refuse(where, "'" + verbatim(tensor.name) +
                      "' is split by columns, but is not a matrix of at "
                      "most 32 bits per element");
  }
  std::vector<RowPart> rows;
  for (TensorView& chunk : chunks) rows.push_back({std::move(chunk), by_columns});
  const TensorView all = one_after_another(std::move(rows));
  return by_columns ? transposed(all) : all;
}

}  // namespace attnscope
