// Layers that have one and the same matrix, as ALBERT's do: what is counted is each matrix once.
import type { Model } from "./report_file";

interface Place {
  layer: number;
  matrix?: string;
  circuit?: string;
}

const first_layer = (model: Model, matrix: string, layer: number): number =>
  model.shared_weights?.find((shared) => shared.matrices.includes(matrix) && shared.layers.includes(layer))?.layers[0] ?? layer;

/**
 * The rows of layers that have a matrix of their own and, of those that share one, of the first that there is. `matrices`: all that have
 * to be
 * the same, where that is more than the row's own.
 */
export function distinct<Row extends Place>(model: Model, rows: readonly Row[], matrices?: readonly string[]): Row[] {
  const kept = new Map<string, number>();
  return rows.filter((row) => {
    const key = (matrices ?? [row.matrix ?? row.circuit ?? ""])
      .map((matrix) => `${matrix} ${first_layer(model, matrix, row.layer)}`)
      .join();
    if (!kept.has(key)) kept.set(key, row.layer);
    return kept.get(key) === row.layer;
  });
}
