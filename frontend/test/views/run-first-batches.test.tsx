import { afterEach, expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { runs, wholeRuns } from "../../src/state/atoms";
import { entry, runsOf } from "../build";
import { find, open, plain } from "../page";

afterEach(() => {
  wholeRuns.value = null;
});

it.each([
  [{ epochs: 2, first_batch_epochs: 2 }, "first batch 64.1 ms on average"],
  [{ epochs: 14, first_batch_epochs: 13 }, "first batch 64.1 ms on average, of 13 of them"],
  [{ epochs: 2000, first_batch_epochs: 1300 }, "first batch 64.1 ms on average, of 1,300 of them"],
  [{ epochs: 3, first_batch_epochs: 1 }, "first batch 64.1 ms, of 1 of them"],
  [{ epochs: 3, first_batch_us: undefined }, ""],
])("says of how many epochs the first batch is known: %o", (known, words) => {
  wholeRuns.value = WholeRuns.fromJSON({ runs: [{ run: "exp1", steps: 400, first_batch_us: 64_100, ...known }] });
  runs.value = runsOf({ captures: [entry({ run: "exp1" })] });
  open({}, "run");
  expect(plain(find("run-epochs").nextElementSibling?.textContent)).toBe(words);
});
