import { expect, it } from "vitest";
import { entryWords, fullName, groupByRun, modeLabel } from "../../src/model/captures";
import { entry } from "../build";

it("groups captures by run in the order of the newest", () => {
  const groups = groupByRun([
    entry({ id: "b/2", run: "b" }),
    entry({ id: "a/1", run: "a" }),
    entry({ id: "b/1", run: "b" }),
  ]);
  expect(groups.map((group) => [group.run, group.captures.length])).toEqual([
    ["b", 2],
    ["a", 1],
  ]);
});

it("names a capture with its run, and says what it is", () => {
  expect([fullName(entry({})), fullName(entry({ run: "." }))]).toEqual(["exp1 / c", "c"]);
  expect([modeLabel("unannotated"), modeLabel(null), modeLabel("odd")]).toEqual(["plain capture", "", "odd"]);
  expect(entryWords(entry({ state: "loading" }))).toBe("loading");
  expect(entryWords(entry({ mode: null }))).toBe("ready");
});
