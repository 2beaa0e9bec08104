import { afterEach, beforeEach, expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { httpSource, useSource } from "../../src/data/source";
import { wholeRuns } from "../../src/state/atoms";
import { all, find, open, plain } from "../page";

const NOTE = "another thread than the one that trains takes the batches; that thread waits for them 99.2% of its time";

const fed = WholeRuns.fromJSON({
  runs: [
    {
      run: "exp1",
      seconds: 40,
      steps: 400,
      step_us: 1e5,
      data_wait_note: NOTE,
      points: [{ from_s: 0, to_s: 40, steps: 400, step_us: 1e5 }],
      loaders: [{ name: "Images", is_main: true, batches: 400, epochs: 2, text: "400 batches" }],
    },
  ],
});

beforeEach(() => {
  useSource({ ...httpSource, wholeRuns: () => Promise.resolve({ kind: "ready", value: fed }) });
  wholeRuns.value = fed;
});

afterEach(() => useSource(httpSource));

it("says why the data wait is unknown where another thread takes the batches than the one that trains", () => {
  open({}, "run");
  const wait = find("run-wait");
  expect(wait.dataset.value).toBeUndefined();
  expect(wait.title).toBe(`${NOTE.charAt(0).toUpperCase()}${NOTE.slice(1)}.`);
  expect(plain(wait.parentElement?.textContent ?? "")).toContain("another thread takes the batches");
  const reason = "Unknown: another thread than the one that trains takes its batches.";
  expect(all("run-loaders").map((table) => table.querySelectorAll(`abbr[title="${reason}"]`).length)).toEqual([3]);
});
