import type { Comparison } from "../../contract/report";
import { exactUs, formatDuration, plural } from "../../model/format";
import { changeWords, intervalWords } from "../../model/sides";
import { BigNumber, NumberRow } from "../../ui/numbers";

const NO_TIME = "One side has neither steps nor samples.";
const NO_NOISE = "The captures are too short to know their noise.";

export function CompareNumbers({ comparison: { time, unit, before, after } }: { comparison: Comparison }) {
  const per = unit === "" ? "Time" : `Time per ${unit}`;
  return (
    <NumberRow>
      <BigNumber
        label={`${per}, before`}
        testId="number-before"
        value={time?.before_us}
        text={formatDuration(time?.before_us ?? 0)}
        exact={exactUs(time?.before_us ?? 0)}
        note={`mean of ${plural(before.length, "run")}`}
        reason={NO_TIME}
      />
      <BigNumber
        label={`${per}, after`}
        testId="number-after"
        value={time?.after_us}
        text={formatDuration(time?.after_us ?? 0)}
        exact={exactUs(time?.after_us ?? 0)}
        note={`mean of ${plural(after.length, "run")}`}
        reason={NO_TIME}
      />
      <BigNumber
        label="Change"
        testId="number-change"
        value={time?.change}
        text={changeWords(time?.change ?? 0)}
        exact={String(time?.change)}
        note={time?.low === undefined ? NO_NOISE : `${intervalWords(time.low, time.high)} in 19 of 20 cases`}
        reason={NO_TIME}
      />
      <BigNumber
        label="Smallest change to be told"
        testId="number-detectable"
        value={time?.detectable}
        text={changeWords(time?.detectable ?? 0)}
        exact={String(time?.detectable)}
        note="from noise, with these captures"
        reason={NO_NOISE}
      />
    </NumberRow>
  );
}
