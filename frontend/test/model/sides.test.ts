import { expect, it } from "vitest";
import { sidesOf } from "../../src/model/sides";
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
