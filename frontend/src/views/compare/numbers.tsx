import type { Comparison, Quantity } from "../../contract/report";
import { exactNumber, formatChange, plural } from "../../model/format";
import type { Reason } from "../../model/reasons";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { intervalNote } from "./intervals";

const NO_TIME: Reason = { title: "Unknown", message: "One side has neither steps nor samples." };

export function CompareNumbers({ comparison: { time, unit, before, after } }: { comparison: Comparison }) {
  const per = unit === "" ? "Time" : `Time per ${unit}`;
  // The title may go on where the label has no room: "time per sample within an epoch".
  const of = unit === "step" ? ", the window over its steps" : "";
  const within = time?.title.startsWith(per.toLowerCase()) ? time.title.slice(per.length).replace(" ", ", ") : "";
  return (
    <NumberRow>
      <BigNumber
        label={`${per}, before`}
        testId="number-before"
        {...asDuration(time?.before_us)}
        note={`${runsOf(before)}${within}${of}`}
        reason={NO_TIME}
      />
      <BigNumber
        label={`${per}, after`}
        testId="number-after"
        {...asDuration(time?.after_us)}
        note={`${runsOf(after)}${within}${of}`}
        reason={NO_TIME}
      />
      <BigNumber
        label="Change"
        testId="number-change"
        {...asChange(time?.outcome === "too_short" ? undefined : time?.change)}
        note={time === undefined ? "" : intervalNote(time)}
        reason={time === undefined ? NO_TIME : noChange(time)}
      />
      <BigNumber
        label="Smallest detectable change"
        testId="number-detectable"
        {...asChange(time?.outcome === "too_short" ? undefined : time?.detectable)}
        note={detectableNote(time?.detectable)}
        reason={time === undefined ? NO_TIME : noLimit(time)}
      />
    </NumberRow>
  );
}

function runsOf(side: Comparison["before"]): string {
  return side.length === 1 ? "1 run" : `mean of ${plural(side.length, "run")}`;
}

/** The same distance the other way: of times, 24% more is as far as 19% less. */
function detectableNote(slower: number | undefined): string {
  return slower === undefined ? "with these captures" : `or ${formatChange(1 / (1 + slower) - 1)}, with these captures`;
}

/** Why there is no change, in the words that the report has for the interval; what "likely" rests on behind a semicolon. */
function noChange({ interval_text }: Quantity): Reason {
  return { title: interval_text, message: interval_text };
}

/** Why there is no smallest detectable change: none that the sides could show would be worth saying, or there are no limits. */
function noLimit(time: Quantity): Reason {
  if (time.outcome === "too_short" || time.outcome === "identical") {
    const [why = ""] = time.interval_text.split("; ");
    return { title: why, message: why };
  }
  return {
    title: "more than +100%",
    message: "With these captures only a change of more than +100% would be certain.",
  };
}

function asChange(change: number | undefined) {
  if (change === undefined) return { value: change, text: "" };
  return { value: change, text: formatChange(change), exact: `${exactNumber(100 * change)}%` };
}
