// The content of a page: reports of several commands, numbers and maps, packed into one
// self-contained HTML file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/page/encoding.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Which head a map belongs to.
struct MapLocation {
  std::string model;
  std::int64_t layer = 0;
  std::int64_t head = 0;
};

/// The tokens along one axis of maps.
struct ShownText {
  std::vector<std::int64_t> ids;
  std::vector<std::string> texts;  // of each; none without a tokenizer
};

/// The image that maps are of, as the model read it.
struct ShownImage {
  std::int64_t rows = 0, cols = 0;  // pixels
  std::string bytes;                // red, green and blue of each, row by row
  PatchGrid grid;
  std::vector<std::string> names;  // of the rows before its patches: "class token"
};

/// The sound that maps are of.
struct ShownAudio {
  double seconds = 0;
  std::vector<double> levels;  // how loud each frame is, from 0 to 1
};

/// Collects, then packs. docs/formats.md describes what it makes ("attnscope-report/1").
class ReportFile {
 public:
  /// `about`: facts of the report as a whole: version, command, thresholds, …. `models`: the facts
  /// of each model.
  ReportFile(Record about, std::vector<Record> models);

  /// Takes the rows of one command about one model. `id` names the part for the page; `again` is
  /// the command that prints the same rows. A part with more than `most` rows keeps those with the
  /// largest `order_by`. The sink must not outlive this. A part is added when its sink's end() is
  /// called.
  struct Part {
    std::string id;
    std::string model;
    std::string again;
    SpellParameter spell = {};  // of notes; may be empty
    std::string order_by = {};
    std::size_t most = SIZE_MAX;
    bool of_experts = false;  // keeps rows of single experts
  };
  std::unique_ptr<RowSink> sink(Part part);

  /// Something that the file lacks for a model. `part`: the id of the part that would hold it,
  /// "maps" or "matrices".
  struct LeftOut {
    std::string part;
    std::string model;
    std::string why;
    std::string command = {};  // the command that makes it; empty: none
  };
  void add_left_out(LeftOut entry) { left_out_.push_back(std::move(entry)); }
  /// Whether the file has that part, and whether it lacks it, for any model.
  bool holds(std::string_view part) const;
  bool lacks(std::string_view part) const;

  /// Notes for readers of the file, a line each: what it lacks and why, what was skipped, and the
  /// notes of its parts.
  std::vector<std::string> notes() const;

  /// Removes the parts of that id: their rows, and their entries of what was left out.
  void remove_part(std::string_view id);
  /// Removes the tokens, pictures and sounds, and their maps likewise.
  void remove_text();

  /// The tokens of the sequence whose maps are shown: of queries, and of keys where those are of
  /// another sequence.
  void add_text(std::string model, const ShownText& tokens, const ShownText& source = {});
  /// In place of tokens, what else maps are of.
  void add_shown_image(std::string model, const ShownImage& image);
  void add_audio(std::string model, const ShownAudio& audio);

  /// A map (T, S), as bytes of its weights. A causal one, (T, T), is kept as its triangle.
  void add_map(const MapLocation& location, MatrixView<const float> map, bool causal);
  /// The same at a smaller size: at most side × side cells, each the largest weight in its area.
  void add_thumbnail(const MapLocation& location, MatrixView<const float> map, std::int64_t side);

  /// A weight matrix as an image: means of equal blocks, with at most `side` rows and columns.
  void add_matrix(std::string model, std::int64_t layer, std::string role,
                  const WeightMatrix& matrix, std::int64_t side);

  /// The cosines between the rows of one head, (d, d), as an image. The diagonal, which is always
  /// 1, is left at 0.
  void add_cosines(std::string model, std::int64_t layer, std::string role, std::int64_t head,
                   MatrixView<const double> cosines);

  /// JSON of everything but numbers and maps. `seconds`: what the report took.
  std::string results(double seconds) const;
  std::string values() const;
  const std::string& maps() const { return maps_; }

  /// The page with all data in it. `page`: page_template().
  void write(std::string_view page, double seconds, std::ostream& out) const;

 private:
  class PartSink;
  friend class PartSink;

  Value pack(const Record& row, std::string_view name, const Value& value);
  Record pack(const Record& row);
  Record place_of(std::span<const double> numbers);
  void add_map_entry(const MapLocation& location, MatrixView<const float> map, bool causal,
                     std::int64_t rows, std::int64_t cols, const std::string& bytes);
  /// Appends bytes that remove_text() removes; where they begin.
  std::int64_t add_text_bytes(const std::string& bytes);
  void add_image(Value::List& list, Record place, const Image& image);
  /// Removes the numbers from index `from` on.
  void drop_values(std::size_t from);

  /// A part's numbers are contiguous. They are freed only if it was added last. Maps likewise.
  struct PackedPart {
    std::string id, model;
    std::string text;  // JSON
    std::size_t values_begin = 0, values_end = 0;
    std::vector<std::string> notes = {};
    std::vector<Skipped> skipped = {};
  };

  Record about_;
  std::vector<Record> models_;
  std::vector<PackedPart> parts_;
  std::vector<LeftOut> left_out_;
  Value::List texts_, images_, audio_, map_list_, matrix_list_, cosine_list_;
  std::vector<float> values_;
  /// For the parts of one id: where numbers that were already added begin, by their bytes or shape.
  std::map<std::string, std::int64_t> known_;
  std::string known_id_;
  std::string maps_;
  /// In maps_: where the first map or picture of the text begins, and the last one ends.
  std::size_t text_begin_ = 0, text_end_ = 0;
};

}  // namespace attnscope
