import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison, FlameChange } from "../../src/contract/report";
import { flameOfChange, sidesOf, toneOf } from "../../src/model/flame-change";
import { FlameDifference } from "../../src/views/flame/flame-difference";
import type { Part } from "../build";
import { plain } from "../page";

/** mask 60 to 20 us, load 10 to 11 us, new 0 to 9 us. */
const CHANGE: Part<FlameChange> = {
  scope: "pipeline",
  before_us: 70,
  after_us: 40,
  before_samples: 700,
  after_samples: 400,
  names: ["mask", "load", "new", "/me/train.py", "train.py:41"],
  label: [0, 1, 2],
  file: [3, 3, 3],
  place: [4, 4, 4],
  depth: [0, 0, 0],
  before: [60, 10, 0],
  after: [20, 11, 9],
  self_before: [60, 10, 0],
  self_after: [20, 11, 9],
  error: [5, 5, 4],
  origin: ["user", "library", "user"],
  changed: [true, false, true],
};
const FEW: Part<FlameChange> = { scope: "read::open", text: "Before: too few samples, 3 of 100." };

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

function draw(flames: readonly Part<FlameChange>[]): void {
  const comparison = Comparison.fromJSON({ unit: "sample", flames });
  act(() => render(<FlameDifference comparison={comparison} />, root));
}

const frame = (name: string): HTMLElement | null => root.querySelector(`[data-name="${name}"]`);

/** As a screen reader has it, of the frame that is zoomed to. */
function wordsOf(name: string): string {
  act(() => frame(name)?.click());
  const words = plain(frame(name)?.getAttribute("aria-label"));
  act(() => frame("Whole pipeline")?.click());
  return words;
}

it("has frames as wide as the mean of both sides, so that widths add up", () => {
  const flame = flameOfChange(FlameChange.fromJSON(CHANGE), "Whole pipeline");
  expect(flame.map(({ name, value }) => [name, value])).toEqual([
    ["Whole pipeline", 55],
    ["mask", 40],
    ["load", 10.5],
    ["new", 4.5],
  ]);
});

it("colours what changed beyond the sampling error, by how much", () => {
  const change = FlameChange.fromJSON(CHANGE);
  const flame = flameOfChange(change, "");
  expect(flame.map((one) => toneOf(sidesOf(change, one)))).toEqual(["same", "less-3", "same", "more-3"]);
});

it("judges the whole as it does its functions", () => {
  draw([{ ...CHANGE, whole_error: 6, whole_changed: true }]);
  expect(frame("Whole pipeline")?.getAttribute("data-tone")).toBe("less-2");
  expect(plain(root.querySelector("[data-testid=difference-list] tbody tr")?.textContent)).toContain("−43%");
});

it("says which line has most of a function's change, and how much", () => {
  const names = [
    ...(CHANGE.names ?? []),
    "",
    "x = slow(x)",
    "most of the change is in this line: 55 µs before, 10 µs after",
  ];
  draw([{ ...CHANGE, names, source: [6, 5, 5], line_change: [7, 5, 5] }]);
  expect(wordsOf("mask")).toContain("most of the change is in this line: 55 µs before");
  const rows = [...root.querySelectorAll("[data-testid=difference-list] tbody tr")].map((row) =>
    plain(row.textContent),
  );
  expect(rows[1]).toContain("train.py:41 most of the change is in this line");
  expect(rows[2]).not.toContain("most of the change");
});

it("says of each frame both sides, the change and the error", () => {
  draw([CHANGE, FEW]);
  expect(plain(frame("mask")?.textContent)).toBe("mask train.py:41 −67%");
  expect(wordsOf("load")).toContain("10.0 µs before, 11.0 µs after per sample, +10%");
  expect(wordsOf("load")).toContain("no change beyond it");
  expect(wordsOf("new")).toContain(", new,");
});

it("says where there are too few samples", () => {
  draw([FEW]);
  expect(root.textContent).toContain("Before: too few samples, 3 of 100.");
  expect(root.querySelector(".icicle")).toBeNull();
  draw([]);
  expect(root.textContent).toBe("");
});

it("says which samples times are per: those built, or those that the loop took", () => {
  draw([CHANGE]);
  expect(plain(root.textContent)).toContain(
    "What builds samples is per sample built in the window, all else per sample",
  );
  draw([{ ...CHANGE, scope: "training" }]);
  expect(plain(root.textContent)).toContain("Per sample that the loop took.");
  expect(plain(root.textContent)).toContain("700 stack samples before, 400 stack samples after");
});
