// PNG images as data: URLs, created without a canvas, so that the page, saved SVGs and the program draw the same.
// The data is stored without compression; encoding takes 1 to 2 ms.

const kCrcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (kCrcTable[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  for (let index = 0; index < 4; ++index) bytes[4 + index] = type.charCodeAt(index);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

// RFC 1950 and 1951: stored blocks of at most 65,535 bytes, and the Adler-32 checksum of all data.
function stored(data: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(data.length / 65535));
  const bytes = new Uint8Array(2 + blocks * 5 + data.length + 4);
  bytes.set([0x78, 0x01]);
  let at = 2;
  for (let block = 0; block < blocks; ++block) {
    const part = data.subarray(block * 65535, (block + 1) * 65535);
    const length = part.length;
    bytes.set([block === blocks - 1 ? 1 : 0, length & 255, length >> 8, ~length & 255, (~length >> 8) & 255], at);
    bytes.set(part, at + 5);
    at += 5 + length;
  }
  let [low, high] = [1, 0];
  for (let from = 0; from < data.length; from += 3800) {
    for (const byte of data.subarray(from, from + 3800)) high += low += byte; // sums stay below 2^31 for this many bytes
    low %= 65521;
    high %= 65521;
  }
  new DataView(bytes.buffer).setUint32(at, ((high << 16) | low) >>> 0);
  return bytes;
}

const kDigits = Uint8Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", (digit) => digit.charCodeAt(0));
const digit = (six_bits: number): number => kDigits[six_bits] ?? 0;
const kPadding = "=".charCodeAt(0);

export function base64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
    const [first = 0, second = 0, third = 0] = bytes.subarray(from, from + 3);
    const group = (first << 16) | (second << 8) | third;
    codes.set([digit(group >> 18), digit((group >> 12) & 63), digit((group >> 6) & 63), digit(group & 63)], to);
  }
  const rest = bytes.length % 3;
  if (rest > 0) codes.fill(kPadding, codes.length - (3 - rest));
  let text = "";
  for (let at = 0; at < codes.length; at += 8192) text += String.fromCharCode(...codes.subarray(at, at + 8192));
  return text;
}

/** `rows`: pixels in row-major order. With `palette`, each byte is an index into it. */
function png_file(rows: Uint8Array, width: number, height: number, palette?: Uint8Array): string {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, palette ? 3 : 2], 8); // 8 bits per sample: palette index or RGB
  const of_row = rows.length / Math.max(1, height);
  const filtered = new Uint8Array((of_row + 1) * height); // each row starts with filter type 0 (none)
  for (let row = 0; row < height; ++row) filtered.set(rows.subarray(row * of_row, (row + 1) * of_row), row * (of_row + 1) + 1);
  const parts = [
    Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10),
    chunk("IHDR", header),
    ...(palette ? [chunk("PLTE", palette)] : []),
    chunk("IDAT", stored(filtered)),
    chunk("IEND", new Uint8Array(0)),
  ];
  const file = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return `data:image/png;base64,${base64(file)}`;
}

/** `pixels`: width × height indices into at most 256 colors such as "#1B1B4B". */
export function png_address(pixels: Uint8Array, width: number, height: number, colors: readonly string[]): string {
  const palette = Uint8Array.from(
    colors.flatMap((color) => {
      const number = parseInt(color.slice(1), 16);
      return [number >> 16, (number >> 8) & 255, number & 255];
    }),
  );
  return png_file(pixels, width, height, palette);
}

/** `pixels`: RGB bytes. */
export const png_of_pixels = (pixels: Uint8Array, width: number, height: number): string => png_file(pixels, width, height);
