import type { Comparison } from "../../contract/report";
import { exactNumber, formatChange, formatInterval, plural } from "../../model/format";
import type { Reason } from "../../model/reasons";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";

const NO_TIME: Reason = { title: "Unknown", message: "One side has neither steps nor samples." };
const NO_NOISE: Reason = { title: "Too short to compare", message: "The captures are too short to know their noise." };

export function CompareNumbers({ comparison: { time, unit, before, after } }: { comparison: Comparison }) {
  const per = unit === "" ? "Time" : `Time per ${unit}`;
  const interval = formatInterval(time?.low, time?.high);
  return (
    <NumberRow>
      <BigNumber
        label={`${per}, before`}
        testId="number-before"
        {...asDuration(time?.before_us)}
        note={`mean of ${plural(before.length, "run")}`}
        reason={NO_TIME}
      />
      <BigNumber
        label={`${per}, after`}
        testId="number-after"
        {...asDuration(time?.after_us)}
        note={`mean of ${plural(after.length, "run")}`}
        reason={NO_TIME}
      />
      <BigNumber
        label="Change"
        testId="number-change"
        {...asChange(time?.change)}
        note={interval === "" ? NO_NOISE.message : `95% interval: ${interval}`}
        reason={NO_TIME}
      />
      <BigNumber
        label="Smallest detectable change"
        testId="number-detectable"
        {...asChange(time?.detectable)}
        note="with these captures"
        reason={NO_NOISE}
      />
    </NumberRow>
  );
}

function asChange(change: number | undefined) {
  if (change === undefined) return { value: change, text: "" };
  return { value: change, text: formatChange(change), exact: `${exactNumber(100 * change)}%` };
}
