import { expect, it } from "vitest";
import {
  type Flame,
  type FrameFacts,
  frameKey,
  frameOfKey,
  growFlame,
  layFlame,
  searchFlame,
  turnTo,
} from "../../src/model/flame";

const row = (depth: number, name: string, value: number, origin = "user"): FrameFacts => ({
  depth,
  name,
  value,
  origin,
  place: `${name}.py:1`,
  file: `/home/me/${name}.py`,
  source: "",
});

/** whole 100: sample 90 (decode::PIL 60 (load 50), mask 20), log 1 */
const FLAME: Flame = growFlame("Whole pipeline", 100, "operator", [
  row(0, "sample::D", 90, "stage"),
  row(1, "mask", 20),
  row(1, "decode::PIL", 60, "stage"),
  row(2, "load", 50, "library"),
  row(0, "log", 1),
]);

const named = (index: number): string => FLAME[index]?.name ?? "";

it("hangs each frame under its caller, the largest first, and leaves its callees out of its own time", () => {
  expect(FLAME.map(({ parent }) => named(parent))).toEqual([
    "",
    "Whole pipeline",
    "sample::D",
    "sample::D",
    "decode::PIL",
    "Whole pipeline",
  ]);
  expect(FLAME[1]?.children.map(named)).toEqual(["decode::PIL", "mask"]);
  expect(FLAME.map(({ own }) => own)).toEqual([9, 10, 20, 10, 50, 1]);
});

it("colours functions by the stage that they run in", () => {
  expect(FLAME.map(({ token }) => token)).toEqual(["operator", "sample", "sample", "decode", "decode", "operator"]);
});

it("lays children side by side under their caller, and joins those that are too narrow to draw", () => {
  const boxes = layFlame(FLAME, 0, 0.05);
  expect(boxes.map((box) => [box.frame?.name ?? box.count, box.row, box.left, box.width])).toEqual([
    ["Whole pipeline", 0, 0, 1],
    ["sample::D", 1, 0, 0.9],
    ["decode::PIL", 2, 0, 0.6],
    ["mask", 2, 0.6, 0.2],
    ["load", 3, 0, 0.5],
  ]);
  const many = growFlame(
    "w",
    10,
    "read",
    Array.from({ length: 10 }, (_, n) => row(0, `f${n}`, 1)),
  );
  const [, rest] = layFlame(many, 0, 0.2);
  expect([rest?.frame, rest?.count, rest?.width]).toEqual([null, 10, expect.closeTo(1)]);
});

it("makes the frame that is zoomed into as wide as the picture, below its callers", () => {
  const boxes = layFlame(FLAME, 3, 0.001);
  expect(boxes.map((box) => [box.frame?.name, box.row, box.width])).toEqual([
    ["Whole pipeline", 0, 1],
    ["sample::D", 1, 1],
    ["decode::PIL", 2, 1],
    ["load", 3, 50 / 60],
  ]);
});

it("counts the time of what is found once where one match calls another", () => {
  expect(searchFlame(FLAME, "LOAD")).toEqual({ frames: new Set([4]), value: 50 });
  expect(searchFlame(FLAME, "d").value).toBe(90);
  expect(searchFlame(FLAME, "  ").frames.size).toBe(0);
  expect(searchFlame(FLAME, "/home/me/mask").value).toBe(20);
});

it("walks over the frames that are drawn", () => {
  const boxes = layFlame(FLAME, 0, 0.001);
  expect(named(turnTo(boxes, 0, "down"))).toBe("sample::D");
  expect(named(turnTo(boxes, 1, "down"))).toBe("decode::PIL");
  expect(named(turnTo(boxes, 3, "right"))).toBe("mask");
  expect(named(turnTo(boxes, 2, "left"))).toBe("decode::PIL");
  expect(named(turnTo(boxes, 2, "right"))).toBe("mask");
  expect(named(turnTo(boxes, 4, "up"))).toBe("decode::PIL");
  expect(turnTo(boxes, 0, "up")).toBe(0);
});

it("finds a frame again by its key, and the whole where the tree is another", () => {
  const [frame] = FLAME.filter(({ name }) => name === "load");
  expect(frameOfKey(FLAME, frame === undefined ? null : frameKey(frame))).toBe(4);
  for (const key of ["3~load", "99~load", "load", "", null]) expect(frameOfKey(FLAME, key)).toBe(0);
});

it("lays out 5,000 frames", () => {
  const rows = Array.from({ length: 5000 }, (_, n) => row(n % 50, `f${n}`, 50 - (n % 50)));
  expect(layFlame(growFlame("w", 5000, "read", rows), 0, 0.0001)).toHaveLength(5001);
});
