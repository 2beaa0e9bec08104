import { expect, it } from "vitest";
import { fitLastWords, fitText, fitTitle, titleLines } from "../../src/canvas/text";

/** Ten pixels per character. */
const context = { measureText: (text: string) => ({ width: 10 * text.length }) } as CanvasRenderingContext2D;

it("cuts text with an ellipsis, and leaves out what would say nothing", () => {
  expect(fitText(context, "decode::PIL", 110)).toBe("decode::PIL");
  expect(fitText(context, "decode::PIL", 80)).toBe("decode:…");
  expect(fitText(context, "decode::PIL", 30)).toBe("");
});

it("keeps the tail of a title", () => {
  expect(fitTitle(context, "DataLoader worker 12", " 12", 120)).toBe("DataLoad… 12");
  expect(fitTitle(context, "Training thread", "", 80)).toBe("Trainin…");
});

it("breaks a title between words where the lane has room for a second line", () => {
  const lines = (title: string, tail: string, most: number): string[] => titleLines(context, title, tail, 130, most);
  expect(lines("DataLoader worker 12", " 12", 2)).toEqual(["DataLoader", "worker 12"]);
  expect(lines("DataLoader worker 12", " 12", 1)).toEqual(["DataLoade… 12"]);
  expect(lines("Memory of this job", "", 2)).toEqual(["Memory of", "this job"]);
  expect(lines("Disk busy", "", 2)).toEqual(["Disk busy"]);
  expect(lines("OperatorsAndCalls", "", 2)).toEqual(["OperatorsAnd…"]);
});

it("drops leading words of what is numbered", () => {
  expect(fitLastWords(context, "batch 12", 80)).toBe("batch 12");
  expect(fitLastWords(context, "batch 12", 30)).toBe("12");
  expect(fitLastWords(context, "batch 12", 10)).toBe("");
});
