#include "attnscope/checkpoint/llama2c.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

constexpr std::string_view kLlama2cMagic = "24ka";  // in versions from 1 on
constexpr std::size_t kNumberBytes = 4, kNumbers = 7, kNewHeaderBytes = 256;
constexpr std::int64_t kMaxWidth = 1 << 20, kMaxLayers = 1 << 12, kMaxTokens = 1 << 24;

struct Header {
  std::int64_t version = 0;
  std::int64_t width = 0, mlp_width = 0, layers = 0, heads = 0, kv_heads = 0, vocabulary = 0,
               context = 0;
  bool tied = false;
  std::size_t bytes = 0;  // size of the header itself
};

bool has_magic(std::span<const std::byte> file) {
  return file.size() >= kLlama2cMagic.size() &&
         std::memcmp(file.data(), kLlama2cMagic.data(), kLlama2cMagic.size()) == 0;
}

/// Returns nothing if the numbers cannot belong to a model.
std::optional<Header> header_of(std::span<const std::byte> file) {
  const bool named = has_magic(file);
  const std::size_t first = named ? 2 * kNumberBytes : 0;
  const std::size_t end = first + kNumbers * kNumberBytes;
  if (file.size() < (named ? kNewHeaderBytes : end)) return std::nullopt;
  const auto number_at = [&](std::size_t at) -> std::int64_t {
    return load_number<std::int32_t>(file.data() + at);
  };
  const auto number = [&](std::size_t index) { return number_at(first + index * kNumberBytes); };
  Header out{.version = named ? number_at(kNumberBytes) : 0,
             .width = number(0),
             .mlp_width = number(1),
             .layers = number(2),
             .heads = number(3),
             .kv_heads = number(4),
             .vocabulary = number(5),
             .context = number(6),
             .bytes = named ? kNewHeaderBytes : end};
  // In version 0, a negative vocab_size means that the LM head is stored separately.
  out.tied = named ? file[end] != std::byte{0} : out.vocabulary > 0;
  if (!named) out.vocabulary = std::abs(out.vocabulary);
  const auto within = [](std::int64_t value, std::int64_t most) {
    return value > 0 && value <= most;
  };
  const bool audio = within(out.width, kMaxWidth) && within(out.mlp_width, kMaxWidth) &&
                     within(out.layers, kMaxLayers) && within(out.heads, out.width) &&
                     within(out.kv_heads, out.heads) && within(out.vocabulary, kMaxTokens) &&
                     within(out.context, kMaxTokens) && out.width % (2 * out.heads) == 0 &&
                     out.heads % out.kv_heads == 0;
  return audio ? std::optional(out) : std::nullopt;
}

/// Reads one tensor after another from the file's bytes.
class Taker {
 public:
  Taker(ByteReader& in, FileContents& contents) : in_(in), contents_(contents) {}

  std::span<const std::byte> bytes(std::int64_t elements) {
    const std::uint64_t size = static_cast<std::uint64_t>(elements) * kNumberBytes;  // < 2^46
    if (size > in_.left()) {
      refuse(in_.where(), "is shorter than its header specifies",
             "truncated download, or not a llama2.c file?");
    }
    return in_.pass_over(size);
  }

  TensorView view(Shape shape) {
    TensorView out{.dtype = DType::f32, .shape = std::move(shape)};
    out.bytes = bytes(out.element_count());
    return out;
  }

  void whole(const std::string& tensor, Shape shape) {
    contents_.tensors.push_back({tensor, view(std::move(shape))});
  }

  /// Reads one tensor per layer. With `heads`, rotary pairs are adjacent rows in each head.
  void each_layer(std::int64_t layers, const std::string& tensor, const Shape& shape,
                  std::int64_t heads = 0) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      TensorView view = this->view(shape);
      if (heads > 0) {
        view = with_rows_in_order(
            view, {.groups = heads, .outer = 2, .inner = shape[0] / heads / 2, .run = 1});
      }
      contents_.tensors.push_back(
          {"model.layers." + std::to_string(layer) + "." + tensor + ".weight", std::move(view)});
    }
  }

 private:
  ByteReader& in_;
  FileContents& contents_;
};

std::string config_of(const Header& header) {
  return nlohmann::json({{"model_type", "llama"},
                         {"hidden_size", header.width},
                         {"intermediate_size", header.mlp_width},
                         {"num_hidden_layers", header.layers},
                         {"num_attention_heads", header.heads},
                         {"num_key_value_heads", header.kv_heads},
                         {"vocab_size", header.vocabulary},
                         {"max_position_embeddings", header.context},
                         {"rms_norm_eps", 1e-5},
                         {"rope_theta", 10000.0},
                         {"tie_word_embeddings", header.tied},
                         {"bos_token_id", 1},
                         {"eos_token_id", 2}})
      .dump();
}

}  // namespace

bool is_llama2c(std::span<const std::byte> start) {
  return has_magic(start) || header_of(start).has_value();
}

FileContents parse_llama2c(std::span<const std::byte> file, std::string_view name) {
  ByteReader in(file, {std::string(name)}, "the file");
  const auto found = header_of(file);
  if (!found) refuse(in.where(), "the header is not that of a llama2.c checkpoint");
  const Header& header = *found;
  if (header.version > 1) {
    throw Error(ErrorKind::unsupported,
                {.file = std::string(name),
                 .problem = "version " + std::to_string(header.version) +
                            " of the llama2.c format is not supported, expected 0 or 1"});
  }
  in.pass_over(header.bytes);

  FileContents out{.config = config_of(header)};
  Taker taker(in, out);
  const std::int64_t layers = header.layers, width = header.width, mlp_width = header.mlp_width;
  const std::int64_t head_dim = width / header.heads, kv_width = head_dim * header.kv_heads;
  const bool norms_first = header.version == 1;
  const auto embedding = [&] {
    taker.whole("model.embed_tokens.weight", {header.vocabulary, width});
  };
  const auto attention_norms = [&] { taker.each_layer(layers, "input_layernorm", {width}); };
  const auto mlp_norms = [&] { taker.each_layer(layers, "post_attention_layernorm", {width}); };
  const auto last_norm = [&] { taker.whole("model.norm.weight", {width}); };
  if (norms_first) {
    attention_norms();
    mlp_norms();
    last_norm();
    embedding();
  } else {
    embedding();
    attention_norms();
  }
  taker.each_layer(layers, "self_attn.q_proj", {width, width}, header.heads);
  taker.each_layer(layers, "self_attn.k_proj", {kv_width, width}, header.kv_heads);
  taker.each_layer(layers, "self_attn.v_proj", {kv_width, width});
  taker.each_layer(layers, "self_attn.o_proj", {width, width});
  if (!norms_first) mlp_norms();
  taker.each_layer(layers, "mlp.gate_proj", {mlp_width, width});
  taker.each_layer(layers, "mlp.down_proj", {width, mlp_width});
  taker.each_layer(layers, "mlp.up_proj", {mlp_width, width});
  if (!norms_first) {
    last_norm();
    taker.bytes(header.context * head_dim);  // cosines and sines of positions
  }
  if (!header.tied) taker.whole("lm_head.weight", {header.vocabulary, width});
  if (in.left() > 0) {
    refuse(in.where(), "is " + counted(in.left(), "byte") + " longer than its header specifies");
  }
  return out;
}

FileContents read_llama2c(const MappedFile& file, std::string_view name) {
  file.need(file.bytes().first(std::min(kNewHeaderBytes, file.bytes().size())));
  return parse_llama2c(file.bytes(), name);
}

}  // namespace attnscope
