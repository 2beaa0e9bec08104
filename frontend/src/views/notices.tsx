// What the page has to say of the link that led to it, and of the way to the log directory.

import { source } from "../data/source";
import { fullName } from "../model/captures";
import {
  entry,
  goneId,
  isGone,
  runs,
  runsError,
  servedView,
  unknownSteps,
  unknownView,
  type View,
  view,
} from "../state/atoms";

export function Notices({ labels }: { labels: Readonly<Record<View, string>> }) {
  return (
    <>
      {runs.value !== null && runsError.value !== null && (
        <p class="error-line" role="status" data-testid="connection-lost">
          {runsError.value} What was loaded stays on screen.
        </p>
      )}
      {goneId.value !== null && entry.value !== null && (
        <p class="gone muted" role="status" data-testid="capture-gone">
          {goneId.value} is not in {source().live ? "the log directory" : "this file"}; showing {fullName(entry.value)}.
        </p>
      )}
      {isGone.value && entry.value !== null && (
        <p class="gone muted" role="status" data-testid="capture-kept">
          {fullName(entry.value)} is no longer in the log directory; what was read of it stays until another capture is
          chosen.
        </p>
      )}
      {servedView.value !== null && (
        <p class="gone muted" role="status" data-testid="view-needs-server">
          {labels[servedView.value]} needs TensorBoard: it is in the tab, not in this file.
        </p>
      )}
      {unknownView.value !== null && (
        <p class="gone muted" role="status" data-testid="view-unknown">
          There is no view {unknownView.value}; showing {labels[view.value]}.
        </p>
      )}
      {unknownSteps.value !== null && (
        <p class="gone muted" role="status" data-testid="steps-unknown">
          steps={unknownSteps.value} is no range of steps, such as 3..7; showing all steps.
        </p>
      )}
    </>
  );
}
