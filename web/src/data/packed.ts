// Array encoding of a report: short arrays are stored in place, others in one float32 block for the whole file.

/** Location of an array in the values block: float32 [at, at + length). */
export interface Slice {
  at: number;
  length: number;
}

/** Random baseline values are shared by all rows of a shape and multiplied by `scale`. */
export interface ScaledSlice extends Slice {
  scale: number;
}

export type NumberList = Slice | readonly number[];

/** Row-major order. A missing value is NaN in the values block and null in the row itself. */
export type NumberMatrix = (Slice & { shape: [number, number] }) | (number | null)[][];
