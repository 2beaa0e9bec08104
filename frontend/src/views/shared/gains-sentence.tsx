import type { Capture } from "../../contract/report";
import { Prose } from "../../ui/prose";

/** Which findings save the same, so that nobody adds up their gains. */
export function GainsSentence({ capture: { gains_sentence: sentence } }: { capture: Capture }) {
  if (sentence === "") return null;
  return (
    <p class="muted gains" data-testid="gains-sentence">
      <Prose text={sentence} />
    </p>
  );
}
