// `matrix` and `similarity --head-matrix` for people: the shape and the corners.
#include <fmt/format.h>

#include "attnscope/features/all_tables.h"
#include "attnscope/features/matrix/matrix_corners.h"
#include "attnscope/rows/table/skipped_lines.h"

namespace attnscope {
namespace {

std::string weight_text(double weight) { return fmt::format("{:.5g}", weight); }
std::string cosine_text(double cosine) { return fmt::format("{:.4f}", cosine); }

class MatrixTable : public ReportCollector {
 public:
  MatrixTable(const WriteOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void add_row(Record row) override { corners_.add(row); }

  void end() override {
    const bool of_cosines = report().command == "similarity";
    corners_.write(options_, of_cosines ? cosine_text : weight_text, out_);
    write_skipped(report(), out_);
    if (of_cosines && corners_.empty()) return;
    out_ << Style(options_.color)
                .dim(of_cosines
                         ? "Cosines between the rows of one head; csv and json have all of them."
                         : "Canonical orientation: rows are outputs. " + options_.spell("out") +
                               " FILE.npy saves it for NumPy.")
         << '\n';
  }

 private:
  WriteOptions options_;
  std::ostream& out_;
  MatrixCorners corners_;
};

}  // namespace

std::unique_ptr<RowSink> make_matrix_table(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<MatrixTable>(options, out);
}

}  // namespace attnscope
