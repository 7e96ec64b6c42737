import { counted, format_number } from "../../chart/number_format";
import { analysis } from "../../data/report";
import type { AnalysisId } from "../../data/report_file";
import { h } from "../../page/elements";
import { command_words, controls, makes_words, section } from "../../page/view_parts";
import { download } from "../../page/save_chart";
import type { Context, View } from "../../page/view";
import { commands_in } from "../../shaping/commands";
import { arranged, table_csv, table_of } from "./tables";

const kMostRows = 400; // rows on the page: more would be slow to draw

function draw(context: Context): HTMLElement {
  const { report, state } = context;
  const ids = report.file.reports.map((each) => each.id);
  const id = ids.find((each) => each === state.params.table) ?? ids[0];
  return h(
    "div",
    {},
    h("div", { class: "view-head" }, h("h1", { class: "view" }, "Data")),
    id ? table_part(context, ids, id) : null,
    provenance(context),
  );
}

function table_part(context: Context, ids: AnalysisId[], id: AnalysisId): HTMLElement {
  const { report, state } = context;
  const table = table_of(report, id);
  const [sorted = "", direction] = (state.params.sort ?? "").split(":");
  const column = table.columns.findIndex((each) => each.path === sorted);
  const order = column < 0 ? undefined : { column, down: direction === "down" };
  const found = analysis(report, id);
  const body = h("tbody");
  const count = h("span", { class: "note", role: "status" });
  const fill = (search: string) => {
    const rows = arranged(table, search, order);
    count.textContent = rows.length > kMostRows ? `first ${kMostRows} of ${counted(rows.length, "row")}` : counted(rows.length, "row");
    body.replaceChildren(
      ...rows.slice(0, kMostRows).map((row) =>
        h(
          "tr",
          {},
          row.map((value, index) =>
            h(
              "td",
              { class: table.columns[index]?.text ? "text" : null },
              typeof value === "string" ? value : format_number(value, "tick"),
            ),
          ),
        ),
      ),
    );
  };
  fill(state.params.find ?? "");
  const search = h("input", {
    type: "search",
    "aria-label": "search rows",
    placeholder: "Search",
    value: state.params.find ?? "",
    oninput: () => fill(search.value),
    onchange: () => context.go({ find: search.value || null }),
  });
  return h(
    "div",
    {},
    controls(
      h(
        "select",
        {
          "aria-label": "table",
          onchange: (event: Event) => context.go({ table: (event.target as HTMLSelectElement).value, sort: null, find: null }),
        },
        ids.map((each) => h("option", { value: each, selected: each === id }, each.replace(/_/g, " "))),
      ),
      search,
      count,
      h(
        "button",
        { type: "button", class: "plain", onclick: () => download(`${id}.csv`, new Blob([table_csv(table)], { type: "text/csv" })) },
        "Save CSV",
      ),
      h(
        "button",
        {
          type: "button",
          class: "plain",
          onclick: () => download(`${id}.json`, new Blob([JSON.stringify(found, null, 1)], { type: "application/json" })),
        },
        "Save JSON",
      ),
    ),
    h(
      "div",
      { class: "table-wrap", tabindex: 0, role: "region", "aria-label": `rows of ${id}` },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            table.columns.map((each, index) => {
              const is_sorted = order?.column === index;
              return h(
                "th",
                {
                  scope: "col",
                  class: each.text ? "text" : null,
                  "aria-sort": is_sorted ? (order.down ? "descending" : "ascending") : null,
                },
                h(
                  "button",
                  {
                    type: "button",
                    title: each.meaning || null,
                    onclick: () => context.go({ sort: `${each.path}:${is_sorted && !order.down ? "down" : "up"}` }),
                  },
                  each.heading,
                  is_sorted ? (order.down ? " ↓" : " ↑") : "",
                ),
              );
            }),
          ),
        ),
        body,
      ),
    ),
    found?.again ? h("p", { class: "note" }, "Reproduce with ", commands_in(found.again).map(command_words)) : null,
  );
}

function fact(name: string, value: string): HTMLElement[] {
  return [h("dt", {}, name), h("dd", {}, value)];
}

/** Parameters that are set, as text. */
function parameters_words(parameters: Readonly<Record<string, unknown>>): string {
  return Object.entries(parameters)
    .filter(([, value]) => value !== null && value !== false)
    .map(
      ([name, value]) =>
        `; ${name.replace(/_/g, " ")}${value === true ? "" : ` ${Array.isArray(value) ? value.join(", ") : String(value)}`}`,
    )
    .join("");
}

function provenance({ report }: Context): HTMLElement {
  const { file } = report;
  const skipped = file.reports.flatMap((each) => each.skipped.map((one) => ({ id: each.id, ...one })));
  return section(
    "Provenance",
    null,
    h(
      "dl",
      { class: "facts provenance" },
      fact("attnscope", file.version),
      fact("created", `${file.created.replace("T", " ").replace("Z", " UTC")}, in ${format_number(file.seconds, ".1f")} seconds`),
      h("dt", {}, "reproduce with"),
      h("dd", {}, command_words(file.command)),
      file.models.flatMap((model) =>
        fact(
          model.name,
          Object.entries(model)
            .filter(([name, value]) => name !== "name" && typeof value !== "object")
            .map(([name, value]) => `${name.replace(/_/g, " ")} ${typeof value === "number" ? value.toLocaleString("en") : String(value)}`)
            .join(", "),
        ),
      ),
      file.reports.flatMap((each) =>
        fact(
          `${each.id.replace(/_/g, " ")}${file.models.length > 1 ? ` (${each.model})` : ""}`,
          `${counted(each.rows.length, "row")}${parameters_words(each.parameters)}`,
        ),
      ),
      file.skipped.flatMap((each) =>
        fact(
          "skipped",
          `${each.part.replace(/_/g, " ")} of ${each.model}: ${each.why}` +
            (each.command ? `. ${makes_words(each.command)}: ${each.command}` : ""),
        ),
      ),
      file.reports.flatMap((each) => (each.notes ?? []).flatMap((note) => fact(each.id.replace(/_/g, " "), note))),
      skipped.flatMap((each) =>
        fact(
          "skipped",
          `${each.id}: ${each.model}` +
            (each.layer != null ? `, layer ${each.layer}` : "") +
            (each.matrix ? `, ${each.matrix}` : "") +
            `: ${each.reason}`,
        ),
      ),
    ),
  );
}

export const data_view: View = { id: "data", title: "Data", draw };
