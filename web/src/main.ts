import "./page/font.css";
import "./page/style.css";
import { load_report } from "./data/load";
import { h } from "./page/h";
import { start } from "./page/shell";
import { kViews } from "./views/views";

try {
  const report = await load_report();
  if (report) start({ report, views: kViews });
  else document.body.prepend(h("main", { class: "message" }, h("p", {}, "This page holds no report. This makes one:"), h("code", {}, "attnscope report MODEL -o report.html")));
} catch (error) {
  document.body.prepend(h("main", { class: "message", role: "alert" }, h("p", {}, `The report cannot be opened: ${error instanceof Error ? error.message : String(error)}`)));
  throw error;
}
