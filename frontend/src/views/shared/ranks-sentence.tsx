import type { Ranks } from "../../contract/report";
import { captureOf, stagesAmong } from "../../model/ranks";
import { Prose } from "../../ui/prose";
import { StageWays } from "../../ui/stage-ref";
import { waysInto } from "./open-capture";

/** Who holds up whom; a stage that is named leads to its page in that rank's capture. */
export function RanksSentence({ ranks }: { ranks: Ranks }) {
  const straggler = ranks.owners[0]?.rank;
  const causes = ranks.owners.filter(({ rank }) => rank === straggler).map(({ cause }) => cause);
  return (
    <StageWays.Provider value={waysInto(captureOf(ranks, straggler), stagesAmong(causes))}>
      <Prose text={ranks.sentence} />
    </StageWays.Provider>
  );
}
