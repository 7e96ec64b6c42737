// Layers that share a matrix, as in ALBERT: each matrix is counted once.
import type { Model } from "./report_file";

interface Place {
  layer: number;
  matrix?: string;
  circuit?: string;
}

const first_layer = (model: Model, matrix: string, layer: number): number =>
  model.shared_weights?.find((shared) => shared.matrices.includes(matrix) && shared.layers.includes(layer))?.layers[0] ?? layer;

/**
 * Rows without duplicates from shared matrices: of layers that share a matrix, only the first row is kept. `matrices`: all matrices that
 * must be shared, if there are more than the row's own.
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
