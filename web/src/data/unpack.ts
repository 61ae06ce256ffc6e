// Undoes the packing of arrays: base64, deflate, byte planes, differences between rows.
import type { Packed } from "./document";

export type Numbers = Int16Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array;

const arrays = {
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

async function inflate(text: string): Promise<Uint8Array> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function unpack(packed: Packed): Promise<Numbers> {
  const planes = await inflate(packed.data);
  const { count, columns } = packed;
  const width = arrays[packed.type].BYTES_PER_ELEMENT;
  if (planes.length !== count * width) {
    throw new Error(`a packed array has ${planes.length} bytes instead of ${count * width}`);
  }
  const bytes = new Uint8Array(planes.length);
  for (let b = 0; b < width; ++b) {
    for (let i = 0; i < count; ++i) bytes[i * width + b] = planes[b * count + i]!;
  }
  const values = new arrays[packed.type](bytes.buffer);
  if (packed.delta) {
    for (let i = columns; i < count; ++i) values[i] = values[i]! + values[i - columns]!; // typed arrays wrap around
  }
  return values;
}
