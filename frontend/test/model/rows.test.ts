import { expect, test } from "vitest";
import { CaptureRow } from "../../src/contract/report";
import { whenWords } from "../../src/model/captures";
import { courseOf, withRowNames } from "../../src/model/rows";

function row(name: string, taken: number, taken_by: string): CaptureRow {
  const facts = { id: name, name, run: "exp1", state: "ready", mode: "train", program: 1 };
  return CaptureRow.fromJSON({ ...facts, modified: 9, taken, taken_by });
}

const names = (rows: readonly CaptureRow[]) => courseOf(rows, "exp1", null)?.rows.map(({ name }) => name);

test("two captures half a second apart by their traces or names are a course, whenever their files were changed", () => {
  expect(names([row("b", 8.5, "trace"), row("a", 8, "trace")])).toEqual(["a", "b"]);
  expect(names([row("b", 8.5, "name"), row("a", 8, "name")])).toEqual(["a", "b"]);
  expect(courseOf([row("b", 8.5, "trace"), row("a", 8, "trace")], "exp1", null)?.byFile).toBe(0);
});

test("files that were changed at one moment were copied together, and tell no order", () => {
  expect(courseOf([row("a", 9, "file"), row("b", 9.5, "file")], "exp1", null)).toBeNull();
  expect(courseOf([row("a", 9, "file"), row("b", 11, "file")], "exp1", null)?.byFile).toBe(2);
  expect(courseOf([row("a", 9, "file")], "exp1", null)).toBeNull();
});

test("the sentence above names a capture as its row does: by the time in words instead of its digits", () => {
  const one = row("vm_7.1700000000000000001", 1_700_000_000, "name");
  const said = withRowNames(`most exp1/${one.name}, 90.0%, least exp1/plain, 2%`, [one, row("plain", 9, "name")]);
  expect(said).toBe(`most exp1/vm_7 (${whenWords(1_700_000_000_000, true)}), 90.0%, least exp1/plain, 2%`);
});
