// Matrices stored in rows and images.
import type { NumberMatrix } from "./packed";
import { numbers, type Report } from "./report";
import type { MatrixImage, HeadOverlapRow } from "./report_file";

/** Heads × heads; null if a head is zero. */
export const overlap_matrix = (report: Report, { overlap }: HeadOverlapRow): (number | null)[][] => number_rows(report, overlap);

/** Matrix rows, with null for missing numbers. Small matrices are stored in the row itself, others in the values block. */
export function number_rows(report: Report, matrix: NumberMatrix): (number | null)[][] {
  if (Array.isArray(matrix)) return matrix as (number | null)[][];
  const { shape } = matrix as Exclude<NumberMatrix, readonly unknown[]>;
  const [rows, columns] = shape;
  const all = numbers(report, matrix as Exclude<NumberMatrix, readonly unknown[]>);
  return Array.from({ length: rows }, (_, row) =>
    Array.from(all.subarray(row * columns, (row + 1) * columns), (value) => (Number.isFinite(value) ? value : null)),
  );
}

export const image_of = (report: Report, model: string, layer: number, matrix: string): MatrixImage | undefined =>
  report.file.matrices.find((each) => each.model === model && each.layer === layer && each.matrix === matrix);

/** The numbers of an image in row-major order, in 127 steps on either side of 0. */
export function image_values(report: Report, image: Omit<MatrixImage, "shape">): Float64Array {
  const bytes = report.maps.subarray(image.at, image.at + image.rows * image.cols);
  return Float64Array.from(bytes, (byte) => ((byte - 128) / 127) * image.limit);
}
