// Diagonal hatch for what must not rest on colour alone: waits and unknown causes.

const TILE = 6;
const cache = new Map<string, CanvasPattern | null>();

/** Stripes of `color` on `ground`; a plain colour where the browser cannot make a pattern. */
export function hatch(context: CanvasRenderingContext2D, color: string, ground: string): CanvasPattern | string {
  const key = `${color}/${ground}`;
  let pattern = cache.get(key);
  if (pattern === undefined) {
    pattern = makePattern(context, color, ground);
    cache.set(key, pattern);
  }
  return pattern ?? color;
}

function makePattern(context: CanvasRenderingContext2D, color: string, ground: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = TILE;
  tile.height = TILE;
  const pen = tile.getContext("2d");
  if (pen === null) return null;
  pen.fillStyle = ground;
  pen.fillRect(0, 0, TILE, TILE);
  pen.strokeStyle = color;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const offset of [-TILE, 0, TILE]) {
    pen.moveTo(offset - 1, TILE + 1);
    pen.lineTo(offset + TILE + 1, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
