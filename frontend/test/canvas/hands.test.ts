import { expect, it } from "vitest";
import { Hands } from "../../src/canvas/hands";

function hands() {
  const done: unknown[] = [];
  const made = new Hands({
    pan: (byPx) => done.push(["pan", byPx]),
    pinch: (factor, aroundPx) => done.push(["pinch", factor, aroundPx]),
    select: (extent) => done.push(["select", extent]),
    selected: (extent) => done.push(["selected", extent]),
  });
  return { done, made };
}

it("moves by a drag, and takes a hand that trembles for a click", () => {
  const { done, made } = hands();
  made.down(1, 200, "plot");
  made.move(1, 202);
  expect([done, made.dragged]).toEqual([[], false]);
  made.move(1, 210);
  made.move(1, 215);
  made.up(1);
  expect(done).toEqual([
    ["pan", 10],
    ["pan", 5],
  ]);
  expect([made.dragged, made.busy]).toEqual([true, false]);
});

it("selects by a drag over the ruler, from either side", () => {
  const { done, made } = hands();
  made.down(1, 300, "ruler");
  made.move(1, 250);
  made.up(1);
  const extent = { fromPx: 250, toPx: 300 };
  expect(done).toEqual([
    ["select", extent],
    ["select", null],
    ["selected", extent],
  ]);
});

it("selects nothing by a click on the ruler, by Esc, and when the browser takes the gesture", () => {
  const { done, made } = hands();
  made.down(1, 300, "ruler");
  made.up(1);
  made.down(1, 300, "ruler");
  made.move(1, 350);
  expect(made.cancelSelection()).toBe(true);
  made.up(1);
  expect(made.cancelSelection()).toBe(false);
  made.down(1, 300, "ruler");
  made.move(1, 350);
  made.cancel(1);
  expect(done.filter((one) => (one as unknown[])[0] === "selected")).toEqual([]);
  expect(made.busy).toBe(false);
});

it("zooms by two fingers around the one that rests, and goes on as a drag when one leaves", () => {
  const { done, made } = hands();
  made.down(1, 100, "plot");
  made.down(2, 200, "plot");
  made.move(2, 300);
  made.up(1);
  made.move(2, 310);
  expect(done).toEqual([
    ["pinch", 0.5, 100],
    ["pan", 10],
  ]);
  expect(made.dragged).toBe(true);
});

it("leaves presses beside the plot alone", () => {
  const { done, made } = hands();
  made.down(1, 20, "other");
  made.move(1, 90);
  made.up(1);
  expect([done, made.dragged]).toEqual([[], false]);
});
