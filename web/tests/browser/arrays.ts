// Reads matrices written by the program, and computes reference values from them.
import { readFileSync } from "node:fs";

export type Rows = readonly (readonly number[])[];

/** A matrix from a .npy file. */
export function read_npy(file: string): Rows {
  const bytes = readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const header = bytes.subarray(10, 10 + length).toString();
  const [, size, rows = 0, columns = 0] = /'<f([48])'.*'shape': \((\d+), (\d+)\)/.exec(header)?.map(Number) ?? [];
  if (size === undefined) throw new Error(`${file} is not a matrix`);
  const at = (index: number) => (size === 8 ? bytes.readDoubleLE(10 + length + 8 * index) : bytes.readFloatLE(10 + length + 4 * index));
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => at(row * columns + column)));
}

/** float32 tensors from a .safetensors file. */
export function read_tensors(file: string): (name: string) => { shape: number[]; values: Float32Array } {
  const bytes = readFileSync(file);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >;
  return (name) => {
    const found = header[name];
    if (!found) throw new Error(`${file} has no ${name}`);
    const [from, to] = found.data_offsets;
    return { shape: found.shape, values: new Float32Array(new Uint8Array(bytes.subarray(8 + length + from, 8 + length + to)).buffer) };
  };
}

export const transposed = (a: Rows): Rows => (a[0] ?? []).map((_, column) => a.map((row) => row[column] ?? 0));

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

/** a bᵀ. */
export const times_transposed = (a: Rows, b: Rows): number[][] => a.map((row) => b.map((other) => dot(row, other)));

export const norm = (a: Rows): number => Math.sqrt(a.reduce((sum, row) => sum + dot(row, row), 0));

/** Squared singular values in descending order, from Jacobi rotations of the smaller Gram matrix. */
export function squared_singular_values(a: Rows): number[] {
  const gram = a.length <= (a[0]?.length ?? 0) ? times_transposed(a, a) : times_transposed(transposed(a), transposed(a));
  const count = gram.length;
  const total = gram.reduce((sum, row, index) => sum + (row[index] ?? 0), 0);
  for (let sweep = 0; sweep < 12; ++sweep) {
    let turned = false;
    for (let p = 0; p < count; ++p)
      for (let q = p + 1; q < count; ++q) {
        const [row_p, row_q] = [gram[p]!, gram[q]!];
        const [pp, qq, pq] = [row_p[p]!, row_q[q]!, row_p[q]!];
        if (Math.abs(pq) < 1e-9 * total) continue;
        turned = true;
        const theta = (qq - pp) / (2 * pq);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < count; ++k) {
          const [kp, kq] = [gram[k]![p]!, gram[k]![q]!];
          gram[k]![p] = c * kp - s * kq;
          gram[k]![q] = s * kp + c * kq;
        }
        for (let k = 0; k < count; ++k) {
          const [pk, qk] = [row_p[k]!, row_q[k]!];
          row_p[k] = c * pk - s * qk;
          row_q[k] = s * pk + c * qk;
        }
      }
    if (!turned) break;
  }
  return gram.map((row, index) => row[index] ?? 0).sort((x, y) => y - x);
}

/** Energy rank: number of largest squared singular values that reach this fraction of the sum. */
export function energy_rank(squares: readonly number[], share: number): number {
  const total = squares.reduce((sum, value) => sum + value, 0);
  let sum = 0;
  return squares.findIndex((value) => (sum += value) >= share * total) + 1;
}

export function correlation(pairs: readonly (readonly [number, number])[]): number {
  const mean = (side: 0 | 1) => pairs.reduce((sum, pair) => sum + pair[side], 0) / pairs.length;
  const [x, y] = [mean(0), mean(1)];
  const sum = (of: (pair: readonly [number, number]) => number) => pairs.reduce((total, pair) => total + of(pair), 0);
  return sum((p) => (p[0] - x) * (p[1] - y)) / Math.sqrt(sum((p) => (p[0] - x) ** 2) * sum((p) => (p[1] - y) ** 2));
}
