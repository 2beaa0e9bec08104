// What the page has to say of the link that led to it, and of the way to the log directory.

import { source } from "../data/source";
import { fullName } from "../model/captures";
import { formatCount } from "../model/format";
import {
  entry,
  goneId,
  isGone,
  printing,
  runs,
  runsError,
  servedView,
  unknownSteps,
  unknownView,
  type View,
  view,
} from "../state/atoms";
import { Problems } from "../ui/states";

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

/** More than so many lines in a file would push what it is about off the screen. */
const FEW_PROBLEMS = 2;

/** What could not be looked into; in a file, which has one line for each file that was left out of it, maybe many. */
export function NotRead({ problems }: { problems: readonly string[] }) {
  if (source().live || printing.value || problems.length <= FEW_PROBLEMS) return <Problems problems={problems} />;
  return (
    <details class="problems" data-testid="problems-folded">
      <summary>{formatCount(problems.length)} files are not in this report</summary>
      <Problems problems={problems} />
    </details>
  );
}
