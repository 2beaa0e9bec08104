import { expect, it } from "vitest";
import { paintBoxes } from "../../src/canvas/box-painter";
import type { Frame } from "../../src/canvas/frame";
import { buildTimeline, type Row } from "../../src/model/lanes";
import { namesWith } from "../../src/model/spans";
import { light } from "../../src/theme/light";
import { lane, timeline } from "../build";

const model = buildTimeline({
  ...timeline([
    {
      ...lane([
        [0, 10],
        [10, 10],
        [20, 10],
      ]),
      name: [0, 1, 0],
    },
  ]),
  names: ["volta", "kernel"],
});

/** How opaque each box is painted. */
function painted(words: readonly string[], ...hidden: readonly Row[]): number[] {
  const alphas: number[] = [];
  const context = {
    globalAlpha: 1,
    fillRect: () => alphas.push(context.globalAlpha),
    measureText: () => ({ width: 1000 }),
    fillText: () => undefined,
  };
  const scale = { range: { startUs: 0, endUs: 100 }, leftPx: 0, rightPx: 1000 };
  const frame = { model, scale, palette: light, found: namesWith(model, words) } as unknown as Frame;
  const row = model.lanes[0]?.rows[0];
  if (row === undefined) throw new Error("no row");
  paintBoxes(context as unknown as CanvasRenderingContext2D, frame, row, 0, "device", hidden);
  return alphas;
}

it("paints all spans in full where nothing is searched", () => {
  expect(painted([])).toEqual([1, 1, 1]);
});

it("leaves what is searched as it is, and makes the others faint", () => {
  const [first, found, last] = painted(["kern"]);
  expect([first, last]).toEqual([0.15, 0.15]);
  expect(found).toBe(1);
});

it("leaves a box of a folded lane as it is where what is searched lies in the rows that it hides", () => {
  const below = { ...lane([[22, 3]]), name: [1] };
  const hidden = buildTimeline({ ...timeline([below]), names: ["volta", "kernel"] }).lanes[0]?.rows ?? [];
  expect(painted(["kern"], ...hidden)).toEqual([0.15, 1, 1]);
  expect(painted(["volt"], ...hidden)).toEqual([1, 0.15, 1]);
  expect(painted(["none"], ...hidden)).toEqual([0.15, 0.15, 0.15]);
});
