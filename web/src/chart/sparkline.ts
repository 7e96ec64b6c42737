// A word-sized line over layers, with its baseline.
import { color_of, type Color, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";

export interface Spark {
  values: readonly (number | null)[];
  null_values?: readonly (number | null)[] | number;
  color: Color;
}

export function draw_spark(spark: Spark, theme: Theme, width = 92, height = 36): Tree {
  const nulls = typeof spark.null_values === "number" ? spark.values.map(() => spark.null_values as number) : (spark.null_values ?? []);
  const known = [...spark.values, ...nulls].filter((value): value is number => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (index: number) => 3 + (index * (width - 6)) / Math.max(1, spark.values.length - 1);
  const y = (value: number) => (high > low ? height - 4 - ((value - low) * (height - 8)) / (high - low) : height / 2);
  const path = (values: readonly (number | null)[]) =>
    values
      .map((value, index) =>
        value === null ? "" : `${index === 0 || values[index - 1] === null ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`,
      )
      .join("");
  const stroke = color_of(theme, spark.color);
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    nulls.length > 0 &&
      s("path", { d: path(nulls), fill: "none", stroke: theme.baseline_line, "stroke-width": 1.2, "stroke-dasharray": "4 3" }),
    s("path", { d: path(spark.values), fill: "none", stroke, "stroke-width": 1.5 }),
    spark.values.length <= 16 &&
      spark.values.map((value, index) => value !== null && s("circle", { cx: x(index), cy: y(value), r: 1.8, fill: stroke })),
  );
}
