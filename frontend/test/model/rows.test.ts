import { expect, test } from "vitest";
import { CaptureRow } from "../../src/contract/report";
import { courseOf } from "../../src/model/rows";

function row(name: string, modified: number): CaptureRow {
  return CaptureRow.fromJSON({
    id: name,
    name,
    run: "exp1",
    state: "ready",
    mode: "train",
    program: 1,
    modified,
  });
}

test("two captures of one process, half a second apart by their names, are a course", () => {
  const rows = [row("vm_7.1700000000500000000", 9), row("vm_7.1700000000000000000", 9)];
  expect(courseOf(rows, "exp1", null)?.rows.map(({ name }) => name)).toEqual([
    "vm_7.1700000000000000000",
    "vm_7.1700000000500000000",
  ]);
});

test("milliseconds in a name, as older versions of torch write them, say when as well", () => {
  const rows = [row("h_1.1700000600000", 9), row("h_1.1700000000000", 9)];
  expect(courseOf(rows, "exp1", null)?.rows.map(({ name }) => name)).toEqual([
    "h_1.1700000000000",
    "h_1.1700000600000",
  ]);
});

test("files without a time in their names that were changed at one moment were copied together", () => {
  expect(courseOf([row("a", 9), row("b", 9.5)], "exp1", null)).toBeNull();
  expect(courseOf([row("a", 9), row("b", 11)], "exp1", null)).not.toBeNull();
  expect(courseOf([row("a", 9)], "exp1", null)).toBeNull();
});
