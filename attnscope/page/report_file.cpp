#include "attnscope/page/report_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/page/encoding.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/json.h"

namespace attnscope {
namespace {

constexpr const char* kNull = "random_singular_values";

std::string joined_lines(const std::vector<std::string>& entries) {
  std::string out = "[";
  for (const std::string& entry : entries) out += (out.size() > 1 ? ",\n" : "\n") + entry;
  return out + "\n]";
}

/// Key of a random baseline: the same for matrices of equal shape, whatever their model or scale.
std::string null_key(const Record& row) {
  Record key;
  for (const char* name : {"matrix", "shape", "max_possible_rank"}) {
    if (const Value* value = row.find(name)) key.add(name, *value);
  }
  const Value* head = row.find("head");
  key.add("of_head", head != nullptr && !head->is_null());
  return json_text(key);
}

double number_or(const Record& row, std::string_view name, double otherwise) {
  const Value* value = row.find(name);
  const auto* number = value == nullptr ? nullptr : value->get<double>();
  return number == nullptr ? otherwise : *number;
}

Record described(const FieldLocation& location) {
  const Field& field = *location.field;
  constexpr const char* kTypes[] = {"text", "integer", "number", "flag", "record"};
  Record record = {{"name", location.path},
                   {"type", kTypes[static_cast<std::size_t>(field.type)]},
                   {"heading", field.heading},
                   {"meaning", field.meaning},
                   {"where", field.where}};
  if (!field.unit.empty()) record.add("unit", field.unit);
  if (!field.words.empty()) record.add("words", field.words);
  return record;
}

/// For each kind of row, its fields: name, type, unit, heading, meaning, and their section in docs.
/// Fields inside records have paths ("kv.energy_rank").
Record fields_list() {
  Record kinds;
  for (const RowKind& kind : row_kinds()) {
    Value::List fields;
    for (const FieldLocation& location : field_locations()) {
      if (location.kind == &kind && location.part == "rows")
        fields.emplace_back(described(location));
    }
    kinds.add(std::string(kind.name), std::move(fields));
  }
  return kinds;
}

}  // namespace

/// Packs the rows of one part as they arrive.
class ReportFile::PartSink : public RowSink {
 public:
  PartSink(ReportFile& file, Part part)
      : file_(file), part_(std::move(part)), values_begin_(file_.values_.size()) {
    if (file_.known_id_ == part_.id) return;
    file_.known_.clear();
    file_.known_id_ = part_.id;
  }
  ~PartSink() override {
    if (!ended_) file_.drop_values(values_begin_);
  }

  void begin(const ReportHead& head) override { head_ = head; }

  void add_row(Record row) override {
    // In other parts, a summary row stands for all experts.
    if (!part_.of_experts && row.find("expert") != nullptr) return;
    const double order = part_.order_by.empty() ? 0 : number_or(row, part_.order_by, -1);
    rows_.push_back({order, json_text(file_.pack(row))});
    // Trims once there are twice as many rows as are kept, so each row costs few comparisons.
    if (rows_.size() / 2 > part_.most) keep_most();
    ++count_;
  }
  void add_skipped(Skipped skipped) override { skipped_.push_back(std::move(skipped)); }
  void add_note(std::string note) override {
    notes_.push_back(part_.spell ? spell_parameters(note, part_.spell) : note);
  }

  void end() override {
    keep_most();
    // If everything was skipped, the command itself would report that and fail.
    const bool runs = !rows_.empty() || skipped_.empty();
    Record about = {{"id", part_.id},
                    {"model", part_.model},
                    {"again", runs ? Value(part_.again) : Value()},
                    {"command", head_.command},
                    {"parameters", head_.parameters},
                    {"notes", Value::List(notes_.begin(), notes_.end())}};
    about.add("count", static_cast<std::int64_t>(count_));
    std::string text = json_text(about);
    text.pop_back();
    std::vector<std::string> rows, skipped;
    for (Row& row : rows_) rows.push_back(std::move(row.text));
    for (const Skipped& each : skipped_) skipped.push_back(json_text(skipped_record(each)));
    text += ",\"rows\":" + joined_lines(rows) + ",\"skipped\":" + joined_lines(skipped) + "}";
    file_.parts_.push_back({.id = part_.id,
                            .model = part_.model,
                            .text = std::move(text),
                            .values_begin = values_begin_,
                            .values_end = file_.values_.size(),
                            .notes = std::move(notes_),
                            .skipped = std::move(skipped_)});
    ended_ = true;
  }

 private:
  struct Row {
    double order;
    std::string text;
  };

  void keep_most() {
    if (rows_.size() <= part_.most) return;
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.order > b.order; });
    rows_.resize(part_.most);
  }

  ReportFile& file_;
  Part part_;
  std::size_t values_begin_;
  bool ended_ = false;
  ReportHead head_;
  std::vector<Row> rows_;
  std::size_t count_ = 0;
  std::vector<Skipped> skipped_;
  std::vector<std::string> notes_;
};

ReportFile::ReportFile(Record about, std::vector<Record> models)
    : about_(std::move(about)), models_(std::move(models)) {}

std::unique_ptr<RowSink> ReportFile::sink(Part part) {
  return std::make_unique<PartSink>(*this, std::move(part));
}

void ReportFile::drop_values(std::size_t from) {
  values_.resize(from);
  known_.clear();  // known numbers may be among the removed ones
}

bool ReportFile::holds(std::string_view part) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const PackedPart& each) { return each.id == part; });
}

bool ReportFile::lacks(std::string_view part) const {
  return std::any_of(left_out_.begin(), left_out_.end(),
                     [&](const LeftOut& entry) { return entry.part == part; });
}

void ReportFile::remove_part(std::string_view id) {
  std::erase_if(left_out_, [&](const LeftOut& entry) { return entry.part == id; });
  for (std::size_t at = parts_.size(); at-- > 0;) {
    const PackedPart& part = parts_[at];
    if (part.id != id) continue;
    if (part.values_end == values_.size()) drop_values(part.values_begin);
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void ReportFile::remove_text() {
  std::erase_if(left_out_, [](const LeftOut& entry) { return entry.part == "maps"; });
  if (text_end_ == maps_.size()) maps_.resize(text_begin_);
  text_begin_ = text_end_ = 0;
  for (Value::List* list : {&texts_, &images_, &audio_, &map_list_}) list->clear();
}

void ReportFile::add_text(std::string model, const ShownText& tokens, const ShownText& source,
                          const std::vector<std::int64_t>& pair_texts) {
  const auto list_of = [](const ShownText& shown) {
    Value::List list;
    for (std::size_t at = 0; at < shown.ids.size(); ++at) {
      const Value text = at < shown.texts.size() ? Value(shown.texts[at]) : Value();
      list.emplace_back(Record{{"id", shown.ids[at]}, {"text", text}});
    }
    return list;
  };
  Record entry = {{"model", std::move(model)}, {"tokens", list_of(tokens)}};
  if (!source.ids.empty()) entry.add("source", list_of(source));
  if (!pair_texts.empty()) entry.add("pair_texts", pair_texts);
  texts_.emplace_back(std::move(entry));
}

void ReportFile::add_shown_image(std::string model, const ShownImage& image) {
  images_.emplace_back(Record{{"model", std::move(model)},
                              {"rows", image.rows},
                              {"cols", image.cols},
                              {"patch_rows", image.grid.rows},
                              {"patch_cols", image.grid.cols},
                              {"names", Value::List(image.names.begin(), image.names.end())},
                              {"at", add_text_bytes(image.bytes)}});
}

void ReportFile::add_audio(std::string model, const ShownAudio& audio) {
  std::string bytes;
  for (const double level : audio.levels) bytes += static_cast<char>(std::lround(255 * level));
  audio_.emplace_back(Record{{"model", std::move(model)},
                             {"seconds", audio.seconds},
                             {"frames", std::ssize(audio.levels)},
                             {"at", add_text_bytes(bytes)}});
}

std::int64_t ReportFile::add_text_bytes(const std::string& bytes) {
  const std::size_t at = maps_.size();
  if (text_end_ == 0) text_begin_ = at;
  maps_ += bytes;
  text_end_ = maps_.size();
  return static_cast<std::int64_t>(at);
}

void ReportFile::add_map(const MapLocation& location, MatrixView<const float> map, bool causal) {
  add_map_entry(location, map, causal, map.rows, map.cols, map_bytes(map, causal));
}

void ReportFile::add_thumbnail(const MapLocation& location, MatrixView<const float> map,
                               std::int64_t side) {
  const std::int64_t rows = std::min(side, map.rows), cols = std::min(side, map.cols);
  add_map_entry(location, map, /*causal=*/false, rows, cols, thumbnail_bytes(map, rows, cols));
}

void ReportFile::add_map_entry(const MapLocation& location, MatrixView<const float> map,
                               bool causal, std::int64_t rows, std::int64_t cols,
                               const std::string& bytes) {
  Record entry = {{"model", location.model}, {"layer", location.layer}, {"head", location.head},
                  {"tokens", map.rows},      {"causal", causal},        {"side", rows}};
  if (map.cols != map.rows) entry.add("keys", map.cols).add("key_side", cols);
  entry.add("at", add_text_bytes(bytes));
  map_list_.emplace_back(std::move(entry));
}

void ReportFile::add_image(Value::List& list, Record place, const Image& image) {
  place.add("rows", image.rows)
      .add("cols", image.cols)
      .add("limit", image.limit)
      .add("at", std::ssize(maps_));
  list.emplace_back(std::move(place));
  maps_ += image.bytes;
}

void ReportFile::add_matrix(std::string model, std::int64_t layer, std::string role,
                            const WeightMatrix& matrix, std::int64_t side) {
  const auto shape = std::visit(
      [](const auto& weights) {
        return std::vector<std::int64_t>{weights.rows(), weights.cols()};
      },
      matrix);
  add_image(matrix_list_,
            {{"model", std::move(model)},
             {"layer", layer},
             {"matrix", std::move(role)},
             {"shape", shape}},
            block_means(matrix, side));
}

void ReportFile::add_cosines(std::string model, std::int64_t layer, std::string role,
                             std::int64_t head, MatrixView<const double> cosines) {
  add_image(
      cosine_list_,
      {{"model", std::move(model)}, {"layer", layer}, {"matrix", std::move(role)}, {"head", head}},
      cosines_image(cosines));
}

/// Position of numbers among the values; equal arrays are stored once.
Record ReportFile::place_of(std::span<const double> numbers) {
  std::vector<float> narrow;
  for (const double number : numbers) narrow.push_back(static_cast<float>(number));
  std::string bytes(narrow.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), narrow.data(), bytes.size());
  // Only histogram edges repeat; keys of longer arrays would double the memory.
  constexpr std::size_t kLongestKey = 4096;
  std::int64_t at = std::ssize(values_);
  if (bytes.size() <= kLongestKey) {
    const auto [known, fresh] = known_.emplace(std::move(bytes), at);
    at = known->second;
    if (!fresh) return {{"at", at}, {"length", std::ssize(numbers)}};
  }
  values_.insert(values_.end(), narrow.begin(), narrow.end());
  return {{"at", at}, {"length", std::ssize(numbers)}};
}

Value ReportFile::pack(const Record& row, std::string_view name, const Value& value) {
  if (const auto* record = value.get<Record>()) return pack(*record);
  const auto* array = value.get<Array>();
  const auto* numbers = array == nullptr ? nullptr : std::get_if<std::vector<double>>(&array->data);
  constexpr std::size_t kFew = 8;
  if (numbers == nullptr || numbers->size() <= kFew) return value;
  if (name == kNull) {
    const double scale = number_or(row, "frobenius_norm", 0);
    if (!(scale > 0)) return {};
    const auto [known, fresh] = known_.emplace(null_key(row), std::ssize(values_));
    if (fresh) {
      for (const double number : *numbers) values_.push_back(static_cast<float>(number / scale));
    }
    return Record{{"at", known->second}, {"length", std::ssize(*numbers)}, {"scale", scale}};
  }
  Record place = place_of(*numbers);
  if (array->shape.size() > 1) place.add("shape", array->shape);
  return place;
}

/// Packs a row: moves long arrays to the values, and omits what the page can compute itself.
Record ReportFile::pack(const Record& row) {
  Record out;
  for (const auto& [name, value] : row.fields()) {
    if (name == "cumulative_energy" || name == "density") continue;
    out.add(name, pack(row, name, value));
  }
  return out;
}

std::string ReportFile::results(double seconds) const {
  Value::List skipped;
  for (const LeftOut& entry : left_out_) {
    skipped.emplace_back(
        Record{{"part", entry.part},
               {"model", entry.model},
               {"why", entry.why},
               {"command", entry.command.empty() ? Value() : Value(entry.command)}});
  }
  Record head = {{"schema", "attnscope-report/1"}};
  for (const auto& [name, value] : about_.fields()) head.add(name, value);
  head.add("seconds", seconds)
      .add("models", Value::List(models_.begin(), models_.end()))
      .add("fields", parts_.empty() ? Record() : fields_list())
      .add("skipped", std::move(skipped))
      .add("texts", texts_)
      .add("pictures", images_)
      .add("sounds", audio_)
      .add("maps", map_list_)
      .add("matrices", matrix_list_)
      .add("cosines", cosine_list_);
  std::string text = json_text(head);
  text.pop_back();
  std::vector<std::string> parts;
  for (const PackedPart& part : parts_) parts.push_back(part.text);
  return text + ",\"reports\":" + joined_lines(parts) + "}";
}

std::string ReportFile::values() const { return byte_planes(values_); }

void ReportFile::write(std::string_view page, double seconds, std::ostream& out) const {
  struct Block {
    std::string_view marker;
    std::string bytes;
  };
  const Block blocks[] = {{"@@results@@", base64(gzip(results(seconds)))},
                          {"@@values@@", base64(gzip(values()))},
                          {"@@maps@@", base64(gzip(maps_))}};
  for (const auto& [marker, bytes] : blocks) {
    const std::size_t at = page.find(marker);
    if (at == std::string_view::npos)
      throw std::logic_error("the page template has no placeholder for its data");
    out << page.substr(0, at) << bytes;
    page.remove_prefix(at + marker.size());
  }
  out << page;
}

}  // namespace attnscope
