// How a report packs arrays: short ones stand where they are, the others in one block of float32 for the whole file.

/** Where an array lies in the block of values: float32 [at, at + length). */
export interface Slice {
  at: number;
  length: number;
}

/** The null's values are shared by all rows of a shape and multiplied by `scale`. */
export interface ScaledSlice extends Slice {
  scale: number;
}

export type NumberList = Slice | readonly number[];

/** Row by row; NaN in the block of values, and null in the row itself, stand for no value. */
export type NumberMatrix = (Slice & { shape: [number, number] }) | (number | null)[][];
