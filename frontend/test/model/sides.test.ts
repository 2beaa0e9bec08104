import { expect, it } from "vitest";
import { changeWords, intervalWords, sidesOf, suggestBefore } from "../../src/model/sides";
import { entry } from "../build";

const captures = [
  entry({ id: "new/b", run: "new", name: "b", modified: 4 }),
  entry({ id: "new/a", run: "new", name: "a", modified: 3 }),
  entry({ id: "new/r", run: "new", name: "r", modified: 3, mode: "replay" }),
  entry({ id: "old/a", run: "old", name: "a", modified: 2 }),
  entry({ id: "old/x", run: "old", name: "x", modified: 1, state: "error" }),
];

it("offers runs of several captures as one side, then single captures that can be read", () => {
  expect(sidesOf(captures).map((side) => [side.key, side.ids.length])).toEqual([
    ["run:new", 3],
    ["capture:new/b", 1],
    ["capture:new/a", 1],
    ["capture:new/r", 1],
    ["capture:old/a", 1],
  ]);
});

it("suggests an older capture of the same kind, of another run if there is one", () => {
  const [newest, second, replay, old] = captures as [
    (typeof captures)[0],
    (typeof captures)[0],
    (typeof captures)[0],
    (typeof captures)[0],
  ];
  expect(suggestBefore(captures, newest)).toBe("capture:old/a");
  expect(suggestBefore([newest, second], newest)).toBe("capture:new/a");
  expect(suggestBefore(captures, replay)).toBeNull();
  expect(suggestBefore(captures, old)).toBe("capture:new/b");
});

it("writes changes with their sign, and nothing as nothing", () => {
  expect([0.104, -0.05, 0.0001, 0.95].map(changeWords)).toEqual([
    "+10\u00a0%",
    "−5.0\u00a0%",
    "0.0\u00a0%",
    "+95\u00a0%",
  ]);
  expect(intervalWords(-0.1, 0.2)).toBe("−10\u00a0% to +20\u00a0%");
  expect(intervalWords(undefined, 0.2)).toBe("");
});
