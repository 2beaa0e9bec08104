import type { Capture, Finding as FindingMessage } from "../../contract/report";
import { stageName } from "../../model/stage-tree";
import { showStage } from "../../state/actions";
import { FindingItem } from "../../ui/finding";

type Props = { readonly finding: FindingMessage; readonly capture: Capture; readonly level: "full" | "brief" };

/** A stage that the Stages view lists is a link to its row. */
export function Finding({ finding, capture, level }: Props) {
  const name = finding.title_stage || finding.stage;
  const isListed = capture.stages.some((stage) => stageName(stage) === name);
  return <FindingItem finding={finding} level={level} showStage={isListed ? () => showStage(name) : null} />;
}
