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
  std::vector<std::string> texts;  // text of each token; empty without a tokenizer
};

/// The input image of the maps, as the model received it.
struct ShownImage {
  std::int64_t rows = 0, cols = 0;  // pixels
  std::string bytes;                // red, green and blue of each pixel, row by row
  PatchGrid grid;
  std::vector<std::string> names;  // names of the tokens before the patches: "class token"
};

/// The input audio of the maps.
struct ShownAudio {
  double seconds = 0;
  std::vector<double> levels;  // loudness of each frame, from 0 to 1
};

/// Collects and packs the contents of a report. docs/formats.md describes the format
/// ("attnscope-report/1").
class ReportFile {
 public:
  /// `about`: properties of the whole report: version, command, thresholds, …. `models`: the
  /// metadata of each model.
  ReportFile(Record about, std::vector<Record> models);

  /// Adds a property of the whole report.
  void add_about(std::string name, Value value) { about_.add(std::move(name), std::move(value)); }

  /// Receives the rows of one command for one model. `id` names the part for the page; `again` is
  /// the command that prints the same rows. A part with more than `most` rows keeps those with the
  /// largest `order_by`. The sink must not outlive this object. A part is added when its sink's
  /// end() is called.
  struct Part {
    std::string id;
    std::string model;
    std::string again;
    SpellParameter spell = {};  // for notes; may be empty
    std::string order_by = {};
    std::size_t most = SIZE_MAX;
    bool of_experts = false;  // keeps rows of single experts
  };
  std::unique_ptr<RowSink> sink(Part part);

  /// Something that is missing for a model. `part`: the id of the part that would contain it,
  /// "maps" or "matrices".
  struct LeftOut {
    std::string part;
    std::string model;
    std::string why;
    std::string command = {};  // the command that computes it; empty: none
  };
  void add_left_out(LeftOut entry) { left_out_.push_back(std::move(entry)); }
  /// Whether the file has that part, and whether the part is missing, for any model.
  bool holds(std::string_view part) const;
  bool lacks(std::string_view part) const;

  /// Notes for readers of the file, one line each: missing parts with reasons, skipped work, and
  /// the notes of the parts.
  std::vector<std::string> notes() const;

  /// Removes the parts with that id: their rows, and their entries of skipped parts.
  void remove_part(std::string_view id);
  /// Removes tokens, images and audio, together with their maps.
  void remove_text();

  /// Adds the tokens of the sequence whose maps are shown: of the queries, and of the keys if they
  /// belong to another sequence. `pair_texts`: for a pair of texts, the text of each token.
  void add_text(std::string model, const ShownText& tokens, const ShownText& source = {},
                const std::vector<std::int64_t>& pair_texts = {});
  /// Adds the input of maps that do not come from tokens.
  void add_shown_image(std::string model, const ShownImage& image);
  void add_audio(std::string model, const ShownAudio& audio);

  /// Adds a map (T, S) as bytes. Of a causal map (T, T) only the lower triangle is stored.
  void add_map(const MapLocation& location, MatrixView<const float> map, bool causal);
  /// Adds a reduced map: at most side × side cells, each the largest weight in its area.
  void add_thumbnail(const MapLocation& location, MatrixView<const float> map, std::int64_t side);

  /// Adds a weight matrix as an image: means of equal blocks, with at most `side` rows and columns.
  void add_matrix(std::string model, std::int64_t layer, std::string role,
                  const WeightMatrix& matrix, std::int64_t side);

  /// Adds the cosines between the rows of one head, (d, d), as an image. The diagonal, which is
  /// always 1, is set to 0.
  void add_cosines(std::string model, std::int64_t layer, std::string role, std::int64_t head,
                   MatrixView<const double> cosines);

  /// JSON of everything except numbers and maps. `seconds`: run time of the report.
  std::string results(double seconds) const;
  std::string values() const;
  const std::string& maps() const { return maps_; }

  /// Writes the page with all data. `page`: page_template().
  void write(std::string_view page, double seconds, std::ostream& out) const;

 private:
  class PartSink;
  friend class PartSink;

  Value pack(const Record& row, std::string_view name, const Value& value);
  Record pack(const Record& row);
  Record place_of(std::span<const double> numbers);
  void add_map_entry(const MapLocation& location, MatrixView<const float> map, bool causal,
                     std::int64_t rows, std::int64_t cols, const std::string& bytes);
  /// Appends bytes that remove_text() removes later; returns their offset.
  std::int64_t add_text_bytes(const std::string& bytes);
  void add_image(Value::List& list, Record place, const Image& image);
  /// Removes the numbers from index `from` on.
  void drop_values(std::size_t from);

  /// The numbers of a part are contiguous. They are freed only if the part was added last. The same
  /// holds for maps.
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
  /// For the parts with one id: the positions of numbers that were already added, by bytes or
  /// shape.
  std::map<std::string, std::int64_t> known_;
  std::string known_id_;
  std::string maps_;
  /// Range in maps_ from the first to the last map or image of the text.
  std::size_t text_begin_ = 0, text_end_ = 0;
};

}  // namespace attnscope
