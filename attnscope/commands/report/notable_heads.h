// Which heads of a model a reader will want to see.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/analyses/similarity.h"
#include "attnscope/results/sink.h"

namespace attnscope {

/// Finds the heads that a reader will want to see among the rows of `attention` that it gives on:
/// those with the largest and smallest of some measures.
class NotableHeads : public RowSink {
 public:
  explicit NotableHeads(RowSink& next) : next_(next) {}

  void begin(const ReportHead& head) override { next_.begin(head); }
  void add_row(Record row) override;
  void add_skipped(Skipped skipped) override { next_.add_skipped(std::move(skipped)); }
  void add_note(std::string note) override { next_.add_note(std::move(note)); }
  void end() override { next_.end(); }

  std::vector<HeadPlace> heads() const;

 private:
  struct Best {
    double value;
    HeadPlace place;
  };
  void keep(const std::string& what, double value, const HeadPlace& place);

  RowSink& next_;
  std::map<std::string, Best> best_;
};

}  // namespace attnscope
