import { afterEach, expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { runs, wholeRuns } from "../../src/state/atoms";
import { entry, runsOf } from "../build";
import { find, open, plain } from "../page";

afterEach(() => {
  wholeRuns.value = null;
});

it("has a row for each of several DataLoaders", () => {
  const main = {
    name: "Train, num_workers=2",
    is_main: true,
    batches: 1000,
    epochs: 10,
    data_wait_us: 2e6,
    share: 0.1,
  };
  const other = {
    name: "Test, num_workers=0",
    batches: 200,
    epochs: 10,
    data_wait_us: 4.3e6,
    first_waits_us: 1e6,
    between_us: 5e5,
  };
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ run: "exp1", steps: 1000, loaders: [main, other] }] });
  runs.value = runsOf({ captures: [entry({ run: "exp1" })] });
  open({}, "run");
  const rows = [...find("run-loaders").querySelectorAll("tbody tr")].map((row) =>
    [...(row as HTMLTableRowElement).cells].map((cell) => plain(cell.textContent)),
  );
  expect(rows[0]?.slice(0, 5)).toEqual([
    "Train, num_workers=2 (the steps above are its own)",
    "1,000",
    "10",
    "2.00 s",
    "10.0%",
  ]);
  expect(rows[1]?.[0]).toBe("Test, num_workers=0");
  expect(rows[1]?.slice(3)).toEqual(["4.30 s", expect.anything(), "1.00 s", "500 ms"]);
});

it("says whose part of the steps' data wait is, and how busy whose workers are, where steps take from several", () => {
  const main = { name: "Labelled", is_main: true, batches: 260, data_wait_part: 0.05, busy_share: 0.016 };
  const other = { name: "Unlabelled", batches: 260, data_wait_part: 0.95, busy_share: 0.99 };
  const validation = { name: "Validation", batches: 20 };
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ run: "exp1", steps: 250, loaders: [main, other, validation] }] });
  runs.value = runsOf({ captures: [entry({ run: "exp1" })] });
  open({}, "run");
  const rows = [...find("run-loaders").querySelectorAll("tbody tr")].map((row) =>
    [...(row as HTMLTableRowElement).cells].map((cell) => plain(cell.textContent)),
  );
  expect(rows.map((cells) => cells.slice(-2))).toEqual([
    ["5.00%", "1.60%"],
    ["95.0%", "99.0%"],
    [expect.not.stringContaining("%"), expect.not.stringContaining("%")],
  ]);
});
